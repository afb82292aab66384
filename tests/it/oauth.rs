//! The binary against a tool server that wants authorization: logins, runs with tokens, and where no token may appear.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use monolith_core::transcript::SealedEntry;
use serde_json::Value;

use crate::fixture::{Fixture, Left, calls, entries_of, says};
use crate::oauth_server::{Manner, OAuthServer, parameter};

/// A contract `c.yaml` with that server and so many calls, and more keys of the server.
fn write(fixture: &Fixture, server: &OAuthServer, more: &str, times: usize) {
    let terms = format!(
        "tool_policy: optional\ntools: {{mcp: {{web: {{url: '{}'{more}}}}}}}\n",
        server.url()
    );
    let call = calls("web__whoami", "{}");
    let mut lines = vec![call.as_str(); times];
    let done = says("Done.");
    lines.push(&done);
    fixture.script(&terms, &lines);
}

fn run(fixture: &Fixture, id: &str) -> Left {
    fixture.run(&["run", "--json", "--run-id", id, "--contract", "c.yaml"])
}

/// Returns the model's view of the tool.
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
fn begin(fixture: &Fixture, arguments: &[&str]) -> (Child, String) {
    let mut child = fixture
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

/// Returns the address of the authorization server's redirect.
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
fn log_in(fixture: &Fixture, more: &[&str]) -> String {
    let arguments = [&["mcp", "login", "web", "--contract", "c.yaml"], more].concat();
    let (child, address) = begin(fixture, &arguments);
    let reply = get(&sent_back(&address));
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    let left = ended(child);
    assert_eq!(left.code, 0, "{}", left.err);
    left.err
}

/// Every byte that a fixture keeps outside its key folder.
fn kept(fixture: &Fixture) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut folders = vec![fixture.path(".")];
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

/// Checks that no output and no file holds a token, the code or the client's secret.
#[track_caller]
fn check_nothing_leaks(fixture: &Fixture, server: &OAuthServer, said: &[&str]) {
    let export = fixture.path("export.jsonl");
    fixture.ok(&["export", "r", "-o", export.to_str().unwrap()]);
    let shown = fixture.ok(&["show", "r"]);
    let plain = fixture.plain_store();
    drop(plain);
    let mut secrets = server.tokens();
    secrets.extend([
        "canary-code-1".to_owned(),
        "canary-client-secret-1".to_owned(),
    ]);
    let kept = kept(fixture);
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
    let (fixture, server) = (Fixture::new(), OAuthServer::new(Manner::default()));
    write(&fixture, &server, "", 1);
    let before = run(&fixture, "before");
    assert_eq!(before.code, 3, "{}", before.printed());
    assert!(
        before.printed().contains("monolith mcp login web"),
        "{}",
        before.printed()
    );
    assert!(
        server.requests("GET /authorize").is_empty(),
        "a run begins no login"
    );

    let login = log_in(&fixture, &[]);
    let token = fs::read_dir(fixture.path("home/keys")).unwrap().flatten();
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

    let after = run(&fixture, "r");
    assert_eq!(after.code, 0, "{}", after.printed());
    let seen = observed(&after);
    assert!(seen[0].starts_with("you sent [REDACTED:"), "{seen:?}");
    check_nothing_leaks(
        &fixture,
        &server,
        &[&login, &after.printed(), &before.printed()],
    );
    let tokens = server.tokens();
    for request in server.requests("") {
        // To the server, and to its authorization server when it is used up.
        let holds = tokens.iter().any(|token| request.contains(token.as_str()));
        assert!(!holds || request.starts_with("POST /mcp "), "{request}");
    }

    let listed = fixture.ok(&["mcp", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["logins"][0]["server"], Value::String(server.url()));
    fixture.ok(&["mcp", "logout", "web", "--contract", "c.yaml"]);
    assert!(!token.exists());
    assert_eq!(run(&fixture, "again").code, 3);
}

#[test]
fn a_token_that_is_spent_in_the_middle_of_a_run_is_refreshed_and_the_next_one_is_not_shown_either()
{
    let manner = Manner {
        spent_by_a_call: true,
        ..Manner::default()
    };
    let (fixture, server) = (Fixture::new(), OAuthServer::new(manner));
    write(&fixture, &server, "", 3);
    log_in(&fixture, &[]);
    let ended = run(&fixture, "r");
    assert_eq!(ended.code, 0, "{}", ended.printed());
    let seen = observed(&ended);
    assert_eq!(seen.len(), 3);
    assert!(
        seen.iter().all(|text| text.starts_with("you sent [")),
        "{seen:?}"
    );
    // One of the login, and one for each call behind the first.
    assert_eq!(server.tokens().len(), 6);
    check_nothing_leaks(&fixture, &server, &[&ended.printed()]);
}

#[test]
fn a_token_is_refreshed_before_it_expires() {
    let manner = Manner {
        expires_in: Some(1),
        ..Manner::default()
    };
    let (fixture, server) = (Fixture::new(), OAuthServer::new(manner));
    write(&fixture, &server, "", 1);
    log_in(&fixture, &[]);
    let refused = || {
        let all = server.requests("POST /mcp ").into_iter();
        all.filter(|request| request.contains("canary-access-token-0001"))
            .count()
    };
    server.behave(Manner {
        expires_in: Some(3_600),
        ..Manner::default()
    });
    let ended = run(&fixture, "r");
    assert_eq!(ended.code, 0, "{}", ended.printed());
    assert_eq!(refused(), 0, "the token of the login is stale at once");
    assert_eq!(server.tokens().len(), 4);
}

#[test]
fn of_two_processes_that_refresh_none_loses_the_token() {
    let (fixture, server) = (Fixture::new(), OAuthServer::new(Manner::default()));
    write(&fixture, &server, "", 1);
    log_in(&fixture, &[]);
    for round in 0..3 {
        server.revoke();
        let begin = |id: String| {
            fixture
                .command(&["run", "--json", "--run-id", &id, "--contract", "c.yaml"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let both = [begin(format!("a{round}")), begin(format!("b{round}"))];
        for child in both {
            let left = ended(child);
            assert_eq!(left.code, 0, "{}", left.printed());
        }
    }
    // A refresh token that is used twice ends all of them: then no further run would come up.
    let after = run(&fixture, "after");
    assert_eq!(after.code, 0, "{}", after.printed());
}

#[test]
fn a_refresh_that_is_refused_is_an_error_of_the_call_that_names_the_login() {
    let (fixture, server) = (Fixture::new(), OAuthServer::new(Manner::default()));
    write(&fixture, &server, "", 2);
    log_in(&fixture, &[]);
    server.behave(Manner {
        spent_by_a_call: true,
        refreshes_none: true,
        ..Manner::default()
    });
    let ended = run(&fixture, "r");
    assert_eq!(ended.code, 0, "{}", ended.printed());
    let seen = observed(&ended);
    assert!(seen[0].starts_with("you sent "), "{seen:?}");
    let entries = entries_of(&fixture.path("home/runs.db"));
    let is_typed = |entry: &SealedEntry| entry.event.contains("AUTHORIZATION_REQUIRED");
    assert!(entries.iter().any(|(_, entry)| is_typed(entry)));
    assert!(seen[1].contains("refused with invalid_grant"), "{seen:?}");
    assert!(seen[1].contains("monolith mcp login web"), "{seen:?}");
    check_nothing_leaks(&fixture, &server, &[&ended.printed()]);
}

#[test]
fn a_scope_that_a_call_lacks_is_asked_for_with_those_before_it() {
    let manner = Manner {
        call_scope: Some("write"),
        ..Manner::default()
    };
    let (fixture, server) = (Fixture::new(), OAuthServer::new(manner));
    write(&fixture, &server, "", 1);
    log_in(&fixture, &[]);
    let refused = run(&fixture, "before");
    let seen = observed(&refused);
    assert!(
        seen[0].contains("monolith mcp login web --scope 'write'"),
        "{seen:?}"
    );
    log_in(&fixture, &["--scope", "write"]);
    let asked = server.requests("GET /authorize");
    let query = asked[1].split(['?', ' ']).nth(2).unwrap();
    assert_eq!(parameter(query, "scope").as_deref(), Some("read write"));
    let ended = run(&fixture, "r");
    assert!(
        observed(&ended)[0].starts_with("you sent "),
        "{}",
        ended.printed()
    );
}

#[test]
fn an_answer_of_another_issuer_or_another_login_gets_no_token() {
    let manner = Manner {
        answers_as: Some("https://evil.example.com"),
        ..Manner::default()
    };
    let (fixture, server) = (Fixture::new(), OAuthServer::new(manner));
    write(&fixture, &server, "", 1);
    let arguments = ["mcp", "login", "web", "--contract", "c.yaml"];
    let (child, address) = begin(&fixture, &arguments);
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
    let (fixture, server) = (Fixture::new(), OAuthServer::new(Manner::default()));
    let url = server.url();
    let (mut child, address) = begin(&fixture, &["mcp", "login", "--url", &url]);
    let back = sent_back(&address);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "not an address\n{back}").unwrap();
    let left = ended(child);
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(left.err.contains("it is no address"), "{}", left.err);
    assert!(!left.err.contains("canary"), "{}", left.err);
    drop(stdin);
    write(&fixture, &server, "", 1);
    assert_eq!(
        run(&fixture, "r").code,
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
    let (fixture, server) = (Fixture::new(), OAuthServer::new(manner));
    write(&fixture, &server, "", 1);
    let left = fixture.run(&["mcp", "login", "web", "--contract", "c.yaml"]);
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
    let (fixture, server) = (Fixture::new(), OAuthServer::new(manner));
    let issuer = format!("http://127.0.0.1:{}", server.port);
    let oauth = format!(
        ", oauth: {{grant: client_credentials, client_id: robot, client_secret_env: ROBOT, issuer: '{issuer}'}}"
    );
    write(&fixture, &server, &oauth, 1);
    let unset = run(&fixture, "unset");
    assert!(
        unset.printed().contains("ROBOT is not set"),
        "{}",
        unset.printed()
    );
    let arguments = ["run", "--json", "--run-id", "r", "--contract", "c.yaml"];
    let mut command = fixture.command(&arguments);
    let left: Left = command
        .env("ROBOT", "canary-robot-secret")
        .output()
        .unwrap()
        .into();
    assert_eq!(left.code, 0, "{}", left.printed());
    assert!(
        observed(&left)[0].starts_with("you sent ["),
        "{}",
        left.printed()
    );
    check_nothing_leaks(&fixture, &server, &[&left.printed()]);
    let login = fixture.run(&["mcp", "login", "web", "--contract", "c.yaml"]);
    assert_eq!(login.code, 4, "{}", login.printed());

    // The secret goes to the issuer that the contract names, and nowhere else.
    write(
        &fixture,
        &server,
        &oauth.replace(&issuer, "https://auth.example.com"),
        1,
    );
    let before = server.requests("POST /token").len();
    let mut command = fixture.command(&["run", "--contract", "c.yaml"]);
    let left: Left = command
        .env("ROBOT", "canary-robot-secret")
        .output()
        .unwrap()
        .into();
    assert_eq!(left.code, 3, "{}", left.printed());
    assert_eq!(server.requests("POST /token").len(), before);
}
