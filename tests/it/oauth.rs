//! The binary against a tool server that wants authorization: logins, runs with tokens, and where no token may appear.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use monolith::SealedEntry;
use serde_json::Value;

use crate::desk::{Desk, Left, calls, entries_of, says};
use crate::oauth_server::{Manner, OAuthServer, parameter};

/// A contract `c.yaml` with that server and so many calls, and more keys of the server.
fn write(desk: &Desk, server: &OAuthServer, more: &str, times: usize) {
    let terms = format!(
        "tool_policy: optional\ntools: {{mcp: {{web: {{url: '{}'{more}}}}}}}\n",
        server.url()
    );
    let call = calls("web__whoami", "{}");
    let mut lines = vec![call.as_str(); times];
    let done = says("Done.");
    lines.push(&done);
    desk.script(&terms, &lines);
}

fn run(desk: &Desk, id: &str) -> Left {
    desk.run(&["run", "--json", "--run-id", id, "--contract", "c.yaml"])
}

/// What the model saw of the tool.
fn observed(ended: &Left) -> Vec<String> {
    let document = ended.document();
    let conversation = document["conversation"].as_array().cloned();
    let messages = conversation.unwrap_or_default();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Begins a login, up to the address that it prints.
fn begin(desk: &Desk, arguments: &[&str]) -> (Child, String) {
    let mut child = desk
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut address).unwrap();
    (child, address.trim().to_owned())
}

/// A browser's request: the head of what comes back.
fn get(address: &str) -> String {
    let url = url::Url::parse(address).unwrap();
    let place = (url.host_str().unwrap(), url.port().unwrap());
    let mut stream = TcpStream::connect(place).unwrap();
    let query = url.query().unwrap_or_default();
    let request = format!(
        "GET {}?{query} HTTP/1.1\r\nhost: {}:{}\r\n\r\n",
        url.path(),
        place.0,
        place.1
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    reply
}

/// Where the authorization server sends the browser.
fn sent_back(address: &str) -> String {
    let reply = get(address);
    let location = reply
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    location.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

fn ended(child: Child) -> Left {
    child.wait_with_output().unwrap().into()
}

/// A whole login in a browser that allows it.
#[track_caller]
fn log_in(desk: &Desk, more: &[&str]) -> String {
    let arguments = [&["mcp", "login", "web", "--contract", "c.yaml"], more].concat();
    let (child, address) = begin(desk, &arguments);
    let reply = get(&sent_back(&address));
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    let left = ended(child);
    assert_eq!(left.code, 0, "{}", left.err);
    left.err
}

/// Every byte that a desk keeps outside its key folder.
fn kept(desk: &Desk) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut folders = vec![desk.path(".")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("keys") {
                folders.push(path);
            } else if path.is_file() {
                bytes.extend(fs::read(&path).unwrap());
            }
        }
    }
    bytes
}

/// Nothing that was said or kept holds a token, the code or the client's secret.
#[track_caller]
fn check_nothing_leaks(desk: &Desk, server: &OAuthServer, said: &[&str]) {
    let export = desk.path("export.jsonl");
    desk.ok(&["export", "r", "-o", export.to_str().unwrap()]);
    let shown = desk.ok(&["show", "r"]);
    let plain = desk.plain_store();
    drop(plain);
    let mut secrets = server.tokens();
    secrets.extend([
        "canary-code-1".to_owned(),
        "canary-client-secret-1".to_owned(),
    ]);
    let kept = kept(desk);
    let kept = String::from_utf8_lossy(&kept);
    for secret in secrets {
        assert!(!kept.contains(&secret), "{secret} is kept");
        assert!(!shown.contains(&secret), "{secret} is shown");
        for text in said {
            assert!(!text.contains(&secret), "{secret} was said: {text}");
        }
    }
}

#[test]
fn a_run_without_a_token_names_the_login_and_one_with_it_shows_no_token() {
    let (desk, server) = (Desk::new(), OAuthServer::new(Manner::default()));
    write(&desk, &server, "", 1);
    let before = run(&desk, "before");
    assert_eq!(before.code, 3, "{}", before.said());
    assert!(
        before.said().contains("monolith mcp login web"),
        "{}",
        before.said()
    );
    assert!(
        server.requests("GET /authorize").is_empty(),
        "a run begins no login"
    );

    let login = log_in(&desk, &[]);
    let token = fs::read_dir(desk.path("home/keys")).unwrap().flatten();
    let token = token.map(|entry| entry.path());
    let token = token.filter(|path| path.extension().is_some_and(|end| end == "token"));
    let [token] = token.collect::<Vec<_>>().try_into().unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&token).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
    }
    let asked = server.requests("GET /authorize")[0].clone();
    let query = asked.split(['?', ' ']).nth(2).unwrap();
    assert_eq!(parameter(query, "resource"), Some(server.url()));
    assert_eq!(parameter(query, "scope").as_deref(), Some("read"));

    let after = run(&desk, "r");
    assert_eq!(after.code, 0, "{}", after.said());
    let seen = observed(&after);
    assert!(seen[0].starts_with("you sent [REDACTED:"), "{seen:?}");
    check_nothing_leaks(&desk, &server, &[&login, &after.said(), &before.said()]);
    let tokens = server.tokens();
    for request in server.requests("") {
        // To the server, and to its authorization server when it is used up.
        let holds = tokens.iter().any(|token| request.contains(token.as_str()));
        assert!(!holds || request.starts_with("POST /mcp "), "{request}");
    }

    let listed = desk.ok(&["mcp", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["logins"][0]["server"], Value::String(server.url()));
    desk.ok(&["mcp", "logout", "web", "--contract", "c.yaml"]);
    assert!(!token.exists());
    assert_eq!(run(&desk, "again").code, 3);
}

#[test]
fn a_token_that_is_spent_in_the_middle_of_a_run_is_refreshed_and_the_next_one_is_not_shown_either()
{
    let manner = Manner {
        spent_by_a_call: true,
        ..Manner::default()
    };
    let (desk, server) = (Desk::new(), OAuthServer::new(manner));
    write(&desk, &server, "", 3);
    log_in(&desk, &[]);
    let ended = run(&desk, "r");
    assert_eq!(ended.code, 0, "{}", ended.said());
    let seen = observed(&ended);
    assert_eq!(seen.len(), 3);
    assert!(
        seen.iter().all(|text| text.starts_with("you sent [")),
        "{seen:?}"
    );
    // One of the login, and one for each call behind the first.
    assert_eq!(server.tokens().len(), 6);
    check_nothing_leaks(&desk, &server, &[&ended.said()]);
}

#[test]
fn a_token_is_refreshed_before_it_expires() {
    let manner = Manner {
        expires_in: Some(1),
        ..Manner::default()
    };
    let (desk, server) = (Desk::new(), OAuthServer::new(manner));
    write(&desk, &server, "", 1);
    log_in(&desk, &[]);
    let refused = || {
        let all = server.requests("POST /mcp ").into_iter();
        all.filter(|request| request.contains("canary-access-token-0001"))
            .count()
    };
    server.behave(Manner {
        expires_in: Some(3_600),
        ..Manner::default()
    });
    let ended = run(&desk, "r");
    assert_eq!(ended.code, 0, "{}", ended.said());
    assert_eq!(refused(), 0, "the token of the login is stale at once");
    assert_eq!(server.tokens().len(), 4);
}

#[test]
fn of_two_processes_that_refresh_none_loses_the_token() {
    let (desk, server) = (Desk::new(), OAuthServer::new(Manner::default()));
    write(&desk, &server, "", 1);
    log_in(&desk, &[]);
    for round in 0..3 {
        server.revoke();
        let begin = |id: String| {
            desk.command(&["run", "--json", "--run-id", &id, "--contract", "c.yaml"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let both = [begin(format!("a{round}")), begin(format!("b{round}"))];
        for child in both {
            let left = ended(child);
            assert_eq!(left.code, 0, "{}", left.said());
        }
    }
    // A refresh token that is used twice ends all of them: then no further run would come up.
    let after = run(&desk, "after");
    assert_eq!(after.code, 0, "{}", after.said());
}

#[test]
fn a_refresh_that_is_refused_is_an_error_of_the_call_that_names_the_login() {
    let (desk, server) = (Desk::new(), OAuthServer::new(Manner::default()));
    write(&desk, &server, "", 2);
    log_in(&desk, &[]);
    server.behave(Manner {
        spent_by_a_call: true,
        refreshes_none: true,
        ..Manner::default()
    });
    let ended = run(&desk, "r");
    assert_eq!(ended.code, 0, "{}", ended.said());
    let seen = observed(&ended);
    assert!(seen[0].starts_with("you sent "), "{seen:?}");
    let entries = entries_of(&desk.path("home/runs.db"));
    let is_typed = |entry: &SealedEntry| entry.event.contains("AUTHORIZATION_REQUIRED");
    assert!(entries.iter().any(|(_, entry)| is_typed(entry)));
    assert!(seen[1].contains("refused with invalid_grant"), "{seen:?}");
    assert!(seen[1].contains("monolith mcp login web"), "{seen:?}");
    check_nothing_leaks(&desk, &server, &[&ended.said()]);
}

#[test]
fn a_scope_that_a_call_lacks_is_asked_for_with_those_before_it() {
    let manner = Manner {
        call_scope: Some("write"),
        ..Manner::default()
    };
    let (desk, server) = (Desk::new(), OAuthServer::new(manner));
    write(&desk, &server, "", 1);
    log_in(&desk, &[]);
    let refused = run(&desk, "before");
    let seen = observed(&refused);
    assert!(
        seen[0].contains("monolith mcp login web --scope 'write'"),
        "{seen:?}"
    );
    log_in(&desk, &["--scope", "write"]);
    let asked = server.requests("GET /authorize");
    let query = asked[1].split(['?', ' ']).nth(2).unwrap();
    assert_eq!(parameter(query, "scope").as_deref(), Some("read write"));
    let ended = run(&desk, "r");
    assert!(
        observed(&ended)[0].starts_with("you sent "),
        "{}",
        ended.said()
    );
}

#[test]
fn an_answer_of_another_issuer_or_another_login_gets_no_token() {
    let manner = Manner {
        answers_as: Some("https://evil.example.com"),
        ..Manner::default()
    };
    let (desk, server) = (Desk::new(), OAuthServer::new(manner));
    write(&desk, &server, "", 1);
    let arguments = ["mcp", "login", "web", "--contract", "c.yaml"];
    let (child, address) = begin(&desk, &arguments);
    let back = sent_back(&address);
    // Another state first: it is no answer, and does not end the login.
    let other = back.replace("state=", "state=x");
    assert!(get(&other).starts_with("HTTP/1.1 404"));
    assert!(get(&back).starts_with("HTTP/1.1 400"));
    let left = ended(child);
    assert_eq!(left.code, 3, "{}", left.err);
    assert!(
        left.err.contains("it is from another issuer"),
        "{}",
        left.err
    );
    assert!(server.requests("POST /token").is_empty());
    assert!(!left.err.contains("canary-code-1"));
}

#[test]
fn a_pasted_address_is_an_answer_too() {
    let (desk, server) = (Desk::new(), OAuthServer::new(Manner::default()));
    let url = server.url();
    let (mut child, address) = begin(&desk, &["mcp", "login", "--url", &url]);
    let back = sent_back(&address);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "not an address\n{back}").unwrap();
    let left = ended(child);
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(left.err.contains("it is no address"), "{}", left.err);
    assert!(!left.err.contains("canary"), "{}", left.err);
    drop(stdin);
    write(&desk, &server, "", 1);
    assert_eq!(
        run(&desk, "r").code,
        0,
        "a token is for an address, not for a name"
    );
}

#[test]
fn metadata_of_another_resource_begins_no_login() {
    let manner = Manner {
        other_resource: Some("https://evil.example.com/mcp"),
        ..Manner::default()
    };
    let (desk, server) = (Desk::new(), OAuthServer::new(manner));
    write(&desk, &server, "", 1);
    let left = desk.run(&["mcp", "login", "web", "--contract", "c.yaml"]);
    assert_eq!(left.code, 3);
    assert!(
        left.err.contains("metadata of another resource"),
        "{}",
        left.err
    );
    assert!(server.requests("POST /register").is_empty());
}

#[test]
fn a_client_with_a_secret_of_its_own_needs_no_login() {
    let manner = Manner {
        registers_none: true,
        ..Manner::default()
    };
    let (desk, server) = (Desk::new(), OAuthServer::new(manner));
    let issuer = format!("http://127.0.0.1:{}", server.port);
    let oauth = format!(
        ", oauth: {{grant: client_credentials, client_id: robot, client_secret_env: ROBOT, issuer: '{issuer}'}}"
    );
    write(&desk, &server, &oauth, 1);
    let unset = run(&desk, "unset");
    assert!(
        unset.said().contains("ROBOT is not set"),
        "{}",
        unset.said()
    );
    let arguments = ["run", "--json", "--run-id", "r", "--contract", "c.yaml"];
    let mut command = desk.command(&arguments);
    let left: Left = command
        .env("ROBOT", "canary-robot-secret")
        .output()
        .unwrap()
        .into();
    assert_eq!(left.code, 0, "{}", left.said());
    assert!(
        observed(&left)[0].starts_with("you sent ["),
        "{}",
        left.said()
    );
    check_nothing_leaks(&desk, &server, &[&left.said()]);
    let login = desk.run(&["mcp", "login", "web", "--contract", "c.yaml"]);
    assert_eq!(login.code, 4, "{}", login.said());

    // The secret goes to the issuer that the contract names, and nowhere else.
    write(
        &desk,
        &server,
        &oauth.replace(&issuer, "https://auth.example.com"),
        1,
    );
    let before = server.requests("POST /token").len();
    let mut command = desk.command(&["run", "--contract", "c.yaml"]);
    let left: Left = command
        .env("ROBOT", "canary-robot-secret")
        .output()
        .unwrap()
        .into();
    assert_eq!(left.code, 3, "{}", left.said());
    assert_eq!(server.requests("POST /token").len(), before);
}
