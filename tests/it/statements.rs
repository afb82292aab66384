//! Statements of servers about themselves: they are recorded with the run, and shown.

use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, calls, says};
use crate::http;

/// The key of a query, which a server repeats.
const KEY: &str = "canary-key-0123456789";

/// A server on loopback that answers what `respond` makes of the head and the body of a request; returns its port.
pub fn serving(respond: impl Fn(&str, &str) -> Value + Send + 'static) -> u16 {
    http::serving(move |asked| {
        let status =
            format!("200 OK\r\nServer: llama.cpp\r\nX-Model-Version: 7 {KEY}\r\nset-cookie: a=b");
        (status, respond(&asked.head, &asked.body).to_string())
    })
}

/// A llama-server, as far as a run asks it anything; returns its port.
fn llama_server() -> u16 {
    serving(|asked, _| {
        if asked.starts_with("GET /props") {
            json!({"build_info": "b77-abc", "chat_template": "{{ messages }}", "model_path": "models/m.gguf",
                "default_generation_settings": {"n_ctx": 9000}})
        } else if asked.starts_with("POST ") {
            let message = json!({"role": "assistant", "content": "fine"});
            json!({"model": "m-2026\u{1b}[31m", "system_fingerprint": "fp_77",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        } else {
            json!({"data": []})
        }
    })
}

/// A server that wants a key wants it at `/props`, too.
#[test]
fn properties_are_asked_for_with_the_key_and_the_headers_of_the_contract() {
    let port = serving(|asked, _| {
        let head = asked.to_ascii_lowercase();
        let allowed = ["authorization: bearer canary-key", "x-tenant: seven"];
        if asked.starts_with("GET /props") && allowed.iter().all(|one| head.contains(one)) {
            json!({"build_info": "b77-abc"})
        } else if asked.starts_with("POST ") {
            let message = json!({"role": "assistant", "content": "fine"});
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        } else {
            json!({"data": []})
        }
    });
    let fixture = Fixture::new();
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntool_policy: optional\ntargets: [{{provider: web, model: m}}]\n\
             context_budget: {{context_window: 9000}}\n\
             providers: {{web: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1', \
             api_key_env: OWN_KEY, headers: {{x-tenant: seven}}}}}}\n"
        ),
    );
    let mut command = fixture.command(&["run", "c.yaml", "--run-id", "r"]);
    let output = command.env("OWN_KEY", KEY).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let probed = &events(&fixture, "r", "probed")[0]["targets"][0];
    assert_eq!(
        probed["properties"],
        json!([{"name": "build_info", "value": "b77-abc"}]),
        "{probed}"
    );
}

/// A server may say something else of itself with each answer.
#[test]
fn what_servers_say_is_shown_in_a_bounded_number_of_lines() {
    let fixture = Fixture::new();
    let line = |n: usize| {
        let call = calls("echo", &format!("{{\"text\":\"{n}\"}}"));
        let mut call: Value = serde_json::from_str(&call).unwrap();
        call["response"]["system_fingerprint"] = json!(format!("fp_{n}"));
        call.to_string()
    };
    let mut lines: Vec<String> = (0..40).map(line).collect();
    lines.push(says("Done."));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    fixture.script(
        "tool_policy: optional\nmax_turns: 50\ntools: {builtin: [echo]}\n",
        &lines,
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let shown = fixture.ok(&["show", "r"]);
    let servers = shown.lines().filter(|line| line.starts_with("server  "));
    assert_eq!(servers.count(), 33, "{shown}");
    assert!(shown.contains("\nserver    … "), "{shown}");
}

#[test]
fn what_a_model_server_says_twice_is_shown_once() {
    let port = serving(|asked, _| {
        let answer: Value = serde_json::from_str(&says("Hi.")).unwrap();
        if asked.starts_with("POST ") {
            answer["response"].clone()
        } else {
            json!({"data": []})
        }
    });
    let fixture = Fixture::new();
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntool_policy: optional\ntargets: [{{provider: web, model: m, context_window: 9000}}]\n\
             providers: {{web: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1'}}}}\n"
        ),
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let shown = fixture.ok(&["show", "r"]);
    assert_eq!(
        shown.matches("says: server llama.cpp").count(),
        1,
        "{shown}"
    );
}

/// The values of the events of that kind.
fn events(fixture: &Fixture, run: &str, kind: &str) -> Vec<Value> {
    let raw = fixture.ok(&["show", run, "--raw"]);
    let entries = raw.lines().map(|line| serde_json::from_str(line).unwrap());
    let events = entries.map(|entry: Value| entry["event"]["event"].clone());
    let of_kind = events.filter(|event| event["kind"] == kind);
    of_kind.map(|event| event["value"].clone()).collect()
}

/// Shows semantics §9: Probed and InferenceReturned.
#[test]
fn what_a_model_server_says_of_itself_is_recorded_and_shown() {
    let port = llama_server();
    let fixture = Fixture::new();
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntool_policy: optional\ntargets: [{{provider: web, model: m}}]\n\
             context_budget: {{context_window: 9000}}\n\
             providers: {{web: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1?token={KEY}'}}}}\n"
        ),
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let headers = |value: &Value| {
        assert_eq!(value[0], json!({"name": "server", "value": "llama.cpp"}));
        assert_eq!(value[1]["name"], "x-model-version");
        let version = value[1]["value"].as_str().unwrap();
        assert!(version.starts_with("7 [REDACTED:"), "{value}");
        assert_eq!(value[2], Value::Null, "{value}");
    };
    let probed = &events(&fixture, "r", "probed")[0]["targets"][0];
    headers(&probed["server_headers"]);
    let properties = probed["properties"].as_array().unwrap();
    let names: Vec<&Value> = properties.iter().map(|one| &one["name"]).collect();
    assert_eq!(
        names,
        ["build_info", "chat_template", "model_path", "n_ctx"],
        "{probed}"
    );
    assert_eq!(properties[0]["value"], "b77-abc");
    let returned = &events(&fixture, "r", "inference_returned")[0];
    headers(&returned["server_headers"]);
    assert_eq!(
        returned["result"]["served_by"],
        json!({"model": "m-2026\u{1b}[31m", "system_fingerprint": "fp_77"})
    );
    let shown = fixture.ok(&["show", "r"]);
    assert!(!shown.contains('\u{1b}'), "{shown}");
    for line in [
        "server    web/m says: server llama.cpp, x-model-version 7 [REDACTED:",
        ", n_ctx 9000, when it was asked before the run\n",
        "server    web/m says: model m-2026\\u{1b}[31m, system_fingerprint fp_77, server llama.cpp, ",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
    // Values decoded from the bytes are compared with the bytes.
    let text = fixture.ok(&["export", "r"]);
    assert!(text.contains("\"system_fingerprint\":\"fp_77\""));
}

/// Shows semantics §9 for tool servers.
#[test]
fn what_a_tool_server_says_of_itself_is_recorded_and_shown() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let fixture = Fixture::new();
    let server = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/telling_server.py"
    );
    let server = std::fs::read_to_string(server).unwrap();
    let printed = r#""serverInfo": {"name": "telling", "version": "1\u001b[31m"}, "instructions": "Ask\nme.","#;
    let server = server.replace(
        r#""serverInfo": {"name": "telling", "version": "1"},"#,
        printed,
    );
    assert!(server.contains(printed));
    fixture.write("server.py", &server);
    let terms = format!(
        "tool_policy: optional\ntools: {{workspace: ., mcp: {{t: {{command: python3, args: ['{}']}}}}}}\n",
        fixture.path("server.py").display()
    );
    fixture.script(&terms, &[&says("fine")]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let started = &events(&fixture, "r", "run_started")[0];
    let said = &started["tool_servers"];
    assert_eq!(said.as_array().map(Vec::len), Some(1), "{said}");
    assert_eq!(said[0]["server"], "t");
    assert_eq!(said[0]["name"], "telling");
    assert_eq!(said[0]["version"], "1\u{1b}[31m");
    assert_eq!(said[0]["instructions"], "Ask\nme.");
    let protocol = said[0]["protocol"].as_str().unwrap();
    let shown = fixture.ok(&["show", "r"]);
    let line = format!(
        "server    t says: telling 1\\u{{1b}}[31m protocol {protocol}, instructions \"Ask me.\""
    );
    assert!(
        shown.contains(&line) && !shown.contains('\u{1b}'),
        "{shown}"
    );
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
}
