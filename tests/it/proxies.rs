//! Proxies of the environment, against the binary: a proxy on loopback answers for hosts that nobody else can find.

use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, says};
use crate::http::{HttpRequest, serving};

/// A contract that asks a model at that address.
fn asks(fixture: &Fixture, address: &str) {
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntargets: [{{provider: web, model: m, context_window: 9000}}]\n\
             providers: {{web: {{type: openai, base_url: '{address}'}}}}\n"
        ),
    );
}

/// A proxy that answers requests for `.example` itself and opens no tunnel. Returns its variable's value, and the heads of the requests.
fn proxy(body: impl Fn(&HttpRequest) -> Value + Send + 'static) -> (String, Receiver<String>) {
    let (heads, seen) = channel();
    let port = serving(move |request| {
        let _ = heads.send(request.head.clone());
        if request.head.starts_with("CONNECT ") {
            return ("502 no tunnel".to_owned(), String::new());
        }
        let answer = "200 OK\r\ncontent-type: application/json".to_owned();
        (answer, body(request).to_string())
    });
    (format!("http://user:hunter2pass@127.0.0.1:{port}"), seen)
}

fn run_with(fixture: &Fixture, args: &[&str], variables: &[(&str, &str)]) -> Left {
    let mut command = fixture.command(args);
    command.envs(variables.iter().copied());
    command.output().unwrap().into()
}

/// The answer of a model server.
fn answer(_: &HttpRequest) -> Value {
    let said: Value = serde_json::from_str(&says("Done.")).unwrap();
    said["response"].clone()
}

fn first_lines(seen: &Receiver<String>) -> Vec<String> {
    let heads = seen.try_iter();
    heads
        .filter_map(|head| head.lines().next().map(str::to_owned))
        .collect()
}

#[test]
fn a_model_is_asked_through_the_proxy_of_the_environment_which_is_recorded_without_its_password() {
    let fixture = Fixture::new();
    asks(&fixture, "http://model.example/v1");
    let (address, seen) = proxy(answer);
    let run = ["run", "c.yaml", "--run-id", "r"];
    let left = run_with(&fixture, &run, &[("HTTP_PROXY", &address)]);
    assert_eq!(
        (left.code, left.out.trim()),
        (0, "Done."),
        "{}",
        left.printed()
    );
    let heads: Vec<String> = seen.try_iter().collect();
    let asked = heads.iter().find(|head| head.starts_with("POST "));
    let asked = asked.expect("no request reached the proxy").to_lowercase();
    assert!(
        asked.starts_with("post http://model.example/v1/chat/completions http/1.1"),
        "{asked}"
    );
    assert!(asked.contains("proxy-authorization: basic "), "{asked}");
    let at = address.split_once('@').unwrap().1;
    let shown = fixture.ok(&["show", "r"]);
    let line = format!("address   web at http://model.example/v1 through http://{at}\n");
    assert!(shown.contains(&line), "{shown}");
    let exported = fixture.ok(&["export", "r"]);
    assert!(
        exported.contains(&format!("\"proxy\":\"http://{at}\"")),
        "{exported}"
    );
    assert!(!exported.contains("hunter2pass"));
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
}

#[test]
fn a_tunnel_is_asked_for_by_https_and_no_proxy_and_loopback_go_around() {
    let fixture = Fixture::new();
    let (address, seen) = proxy(answer);
    let both = [("https_proxy", address.as_str()), ("http_proxy", &address)];
    asks(&fixture, "https://model.example/v1");
    let left = run_with(&fixture, &["run", "c.yaml"], &both);
    assert_ne!(left.code, 0, "{}", left.printed());
    assert!(
        !left.printed().contains("hunter2pass"),
        "{}",
        left.printed()
    );
    let lines = first_lines(&seen);
    assert!(
        lines
            .iter()
            .all(|line| line == "CONNECT model.example:443 HTTP/1.1"),
        "{lines:?}"
    );
    assert!(!lines.is_empty());

    let direct = serving(|request| {
        let answer_of = answer(request).to_string();
        (
            "200 OK\r\ncontent-type: application/json".to_owned(),
            answer_of,
        )
    });
    asks(&fixture, &format!("http://127.0.0.1:{direct}/v1"));
    let left = run_with(&fixture, &["run", "c.yaml"], &both);
    assert_eq!(left.code, 0, "{}", left.printed());
    asks(&fixture, "http://model.example/v1");
    let [secure, plain] = both;
    let exempt = [secure, plain, ("NO_PROXY", "other,.example")];
    let left = run_with(&fixture, &["run", "c.yaml"], &exempt);
    assert_ne!(left.code, 0, "{}", left.printed());
    assert_eq!(first_lines(&seen), [""; 0]);
}

#[test]
fn a_proxy_that_cannot_be_used_is_named_before_the_run_and_by_doctor() {
    let fixture = Fixture::new();
    asks(&fixture, "https://model.example/v1");
    let socks = [("HTTPS_PROXY", "socks5://u:hunter2pass@p.example:1080")];
    for command in [&["run", "c.yaml"][..], &["doctor"]] {
        let left = run_with(&fixture, command, &socks);
        assert_ne!(left.code, 0, "{command:?}: {}", left.printed());
        let said = left.printed();
        assert!(
            said.contains("HTTPS_PROXY names no proxy that can be used"),
            "{said}"
        );
        assert!(!said.contains("hunter2pass"), "{said}");
    }
    let named = [
        ("HTTPS_PROXY", "http://u:hunter2pass@p.example:3128"),
        ("NO_PROXY", "a.example"),
    ];
    let said = run_with(&fixture, &["doctor"], &named).printed();
    assert!(
        said.contains("HTTPS_PROXY is http://p.example:3128, not for a.example"),
        "{said}"
    );
}

/// The rule of docs/design/address-guard.md: the proxy finds out what a name means, and what is written out is judged here.
#[test]
fn a_service_that_its_author_names_is_reached_through_the_proxy_and_an_address_of_a_model_never() {
    let fixture = Fixture::new();
    let (address, seen) = proxy(|_| json!({"at": "the office"}));
    let service = |url: &str| {
        let rest =
            format!("tools: {{rest: {{ask: {{description: d, method: GET, url: '{url}'}}}}}}\n");
        fixture.script(&rest, &[&calls("rest__ask", "{}"), &says("Done.")]);
        run_with(
            &fixture,
            &["run", "c.yaml", "--json"],
            &[("HTTP_PROXY", &address)],
        )
    };
    let left = service("http://office.example/x");
    assert!(left.out.contains("the office"), "{}", left.printed());
    assert_eq!(first_lines(&seen), ["GET http://office.example/x HTTP/1.1"]);
    let left = service("http://10.1.2.3/x");
    assert!(left.printed().contains("10.1.2.3"), "{}", left.printed());
    assert_eq!(first_lines(&seen), [""; 0]);

    let web =
        "tools: {builtin: [http_get], http_get: {hosts: [office.example], schemes: [http]}}\n";
    let asked = calls("http_get", r#"{"url": "http://office.example/x"}"#);
    fixture.script(web, &[&asked, &says("Done.")]);
    let left = run_with(
        &fixture,
        &["run", "c.yaml", "--json"],
        &[("HTTP_PROXY", &address)],
    );
    assert!(
        left.out.contains("office.example was not found"),
        "{}",
        left.printed()
    );
    assert_eq!(first_lines(&seen), [""; 0]);
}

#[test]
fn a_tool_server_is_reached_through_the_proxy() {
    let fixture = Fixture::new();
    let (address, seen) = proxy(|request| {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"},
            }),
            Some("tools/list") => {
                json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]})
            }
            Some("tools/call") => json!({"content": [{"type": "text", "text": "from afar"}]}),
            _ => json!({}),
        };
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    });
    let servers = "tools: {mcp: {far: {url: 'http://mcp.example/mcp'}}}\n";
    fixture.script(servers, &[&calls("far__hello", "{}"), &says("Done.")]);
    let left = run_with(
        &fixture,
        &["run", "c.yaml", "--json"],
        &[("HTTP_PROXY", &address)],
    );
    assert!(left.out.contains("from afar"), "{}", left.printed());
    let lines = first_lines(&seen);
    assert!(
        lines.contains(&"POST http://mcp.example/mcp HTTP/1.1".to_owned()),
        "{lines:?}"
    );
}
