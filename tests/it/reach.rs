//! The destinations of keys and requests: a contract that a stranger wrote collects no key, and what it reaches is listed.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, says};
use crate::http::serving;

const KEY: &str = "canary-key-0123456789";

/// A model server on loopback that says the same to every POST, and keeps the head of every request.
struct Server {
    heads: Arc<Mutex<Vec<String>>>,
    port: u16,
}

impl Server {
    fn saying(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).unwrap();
        let body = line["response"].to_string();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&heads);
        let port = serving(move |asked| {
            kept.lock().unwrap().push(asked.head.to_ascii_lowercase());
            let status = "200 OK\r\ncontent-type: application/json".to_owned();
            (status, body.clone())
        });
        Self { heads, port }
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    fn heads(&self) -> String {
        self.heads.lock().unwrap().concat()
    }
}

impl Fixture {
    fn provider(&self, provider: &str, more: &str) {
        let contract = format!(
            "task: hi\ntool_policy: optional\ntargets: [{{provider: web, model: m}}]\n\
             context_budget: {{context_window: 9000}}\nproviders: {{web: {{{provider}}}}}\n{more}"
        );
        self.write("c.yaml", &contract);
    }

    fn with(&self, args: &[&str], variables: &[(&str, &str)]) -> Left {
        let mut command = self.command(args);
        command.envs(variables.iter().copied());
        command.output().unwrap().into()
    }
}

#[test]
fn a_key_goes_to_another_host_only_where_the_author_names_it() {
    for (kind, variable) in [
        ("openai", "OPENAI_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("google", "GEMINI_API_KEY"),
    ] {
        let check = |named: bool| {
            let server = Server::saying(&says("fine"));
            let fixture = Fixture::new();
            let key = if named {
                format!(", api_key_env: {variable}")
            } else {
                String::new()
            };
            let address = server.address();
            fixture.provider(&format!("type: {kind}, base_url: '{address}'{key}"), "");
            let ended = fixture.with(&["run", "c.yaml", "--run-id", "r"], &[(variable, KEY)]);
            let heads = server.heads();
            assert!(
                heads.contains("post /v1"),
                "{kind}: {heads} {}",
                ended.printed()
            );
            assert_eq!(heads.contains(KEY), named, "{kind}, named {named}: {heads}");
            assert_eq!(
                heads.contains("authorization:"),
                named && heads.contains("bearer"),
                "{heads}"
            );
            let contract = fixture.with(&["contract", "show", "c.yaml"], &[(variable, KEY)]);
            let shown = contract.document();
            let stated = &shown["providers"]["web"]["api_key_env"];
            assert_eq!(stated, &if named { json!(variable) } else { Value::Null });
            let note = format!("{variable} goes to http://127.0.0.1:{}", server.port);
            assert_eq!(contract.err.contains(&note), named, "{}", contract.err);
        };
        check(false);
        check(true);
    }
}

#[test]
fn a_named_key_that_is_not_set_is_a_fault_and_the_usual_one_is_none() {
    let server = Server::saying(&says("fine"));
    let fixture = Fixture::new();
    let address = server.address();
    fixture.provider(
        &format!("type: openai, base_url: '{address}', api_key_env: OPENAI_API_KEY"),
        "",
    );
    let said = fixture.ends(&["run", "c.yaml"], 4).printed();
    assert!(said.contains("OPENAI_API_KEY is not set"), "{said}");
    fixture.provider(&format!("type: openai, base_url: '{address}'"), "");
    fixture.ends(&["run", "c.yaml"], 0);
    assert!(
        !server.heads().contains("authorization"),
        "{}",
        server.heads()
    );
}

#[test]
fn an_address_in_a_variable_is_recorded_with_the_run_and_judged_by_itself() {
    let server = Server::saying(&calls("echo", "{\"text\":\"x\"}"));
    let fixture = Fixture::new();
    fixture.provider(
        "type: openai, base_url_env: MODEL_URL",
        "tools: {builtin: [echo]}\nrequire_approval: [echo]\n",
    );
    let run = ["run", "c.yaml", "--run-id", "r"];
    for (given, why) in [
        (None, "MODEL_URL is not set"),
        (Some(""), "MODEL_URL is empty"),
        (
            Some("ftp://127.0.0.1/x"),
            "expected an address that begins with",
        ),
        (
            Some("http://me:hunter2-hunter2@127.0.0.1/"),
            "no user name and no password",
        ),
    ] {
        let given: Vec<_> = given
            .map(|given| ("MODEL_URL", given))
            .into_iter()
            .collect();
        let ended = fixture.with(&run, &given);
        let said = ended.printed();
        assert_eq!(ended.code, 4, "{said}");
        assert!(
            said.contains(why) && !said.contains("hunter2"),
            "{given:?}: {said}"
        );
    }
    let first = format!("{}?tenant=hunter2-hunter2", server.address());
    let mut waiting = fixture
        .command(&run)
        .envs([("MODEL_URL", first.as_str()), ("OPENAI_API_KEY", KEY)])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines();
    let hash = said.find_map(|line| Some(line.unwrap().split_once("blake3")?.1.trim().to_owned()));
    assert!(said.any(|line| line.unwrap().contains("monolith approve r")));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(
        server.heads().contains("tenant=hunter2"),
        "{}",
        server.heads()
    );
    assert!(!server.heads().contains(KEY), "{}", server.heads());

    let moved = Server::saying(&says("done"));
    fixture.ends(&["approve", "r", "--yes", "--arguments", &hash.unwrap()], 0);
    let second = moved.address();
    let ended = fixture.with(
        &["resume", "r"],
        &[("MODEL_URL", &second), ("OPENAI_API_KEY", KEY)],
    );
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (0, "done\n"),
        "{}",
        ended.err
    );
    assert!(!moved.heads().contains(KEY), "{}", moved.heads());

    let transcript = fixture.ok(&["export", "r", "--format", "jsonl"]);
    let lines: Vec<Value> = transcript
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let provider = &lines[0]["contract"]["providers"]["web"];
    assert_eq!(provider["base_url_env"], "MODEL_URL");
    assert_eq!(
        (&provider["base_url"], &provider["api_key_env"]),
        (&Value::Null, &Value::Null)
    );
    let known = |kind: &str| {
        let events = lines.iter().map(|line| &line["event"]["event"]);
        let event = events.into_iter().find(|event| event["kind"] == kind);
        event.unwrap_or_else(|| panic!("{transcript}"))["value"]["addresses"][0]["address"].clone()
    };
    assert_eq!(
        known("run_started"),
        format!("{}?tenant=[SECRET]", server.address())
    );
    assert_eq!(known("resumed"), second);
    let shown = fixture.ok(&["show", "r"]);
    for expect in [
        format!("address   web at {}?tenant=[SECRET]\n", server.address()),
        format!("address   web at {second}, from entry "),
    ] {
        assert!(shown.contains(&expect), "{expect}: {shown}");
    }
    for command in ["verify", "replay"] {
        fixture.ok(&[command, "r"]);
    }
}

#[test]
fn a_check_lists_everything_that_a_contract_reaches() {
    let fixture = Fixture::new();
    fixture.provider(
        "type: openai, headers: {X-Team: 'a ${TEAM}'}",
        "redact: {env: [HIDDEN]}\n\
         tools:\n  builtin: [read_file]\n  workspace: .\n  mcp:\n    \
         fs: {command: npx, args: [-y, some-server], env: {TOKEN: '${FS_TOKEN}'}}\n    \
         web: {url: 'https://tools.example.org:8443/mcp?k=hunter2-hunter2', headers: {Authorization: 'Bearer ${WEB}'}}\n",
    );
    let given = [("OPENAI_API_KEY", KEY), ("HIDDEN", "hunter2-hunter2")];
    let checked = fixture.with(&["contract", "check", "c.yaml"], &given);
    for expect in [
        "command   npx -y some-server   (tools.mcp.fs;",
        "host      https://api.openai.com/v1   (providers.web)",
        "host      https://tools.example.org:8443/mcp?k=[SECRET]   (tools.mcp.web)",
        "variable  OPENAI_API_KEY goes to https://api.openai.com   (providers.web.api_key_env)",
        "variable  TEAM goes to https://api.openai.com   (providers.web.headers.X-Team; it is not set)",
        "variable  FS_TOKEN goes to npx   (tools.mcp.fs.env.TOKEN; it is not set)",
        "variable  WEB goes to https://tools.example.org:8443   (tools.mcp.web.headers.Authorization; it is not set)",
        "variable  HIDDEN is read and goes nowhere   (redact.env.HIDDEN)",
        "   (tools.workspace)",
    ] {
        assert!(checked.out.contains(expect), "{expect}: {}", checked.out);
    }
    let said = checked.printed();
    assert!(!said.contains(KEY) && !said.contains("hunter2"), "{said}");
    let document = fixture
        .with(&["contract", "check", "c.yaml", "--json"], &given)
        .document();
    let reaches = &document["reaches"];
    assert_eq!(
        reaches["commands"][0]["command"],
        json!(["npx", "-y", "some-server"])
    );
    let sizes = ["hosts", "variables", "folders"].map(|key| reaches[key].as_array().map(Vec::len));
    assert_eq!(sizes, [Some(2), Some(5), Some(1)], "{reaches}");
}

#[test]
fn a_file_names_an_address_or_its_variable_and_not_both() {
    let fixture = Fixture::new();
    fixture.provider(
        "type: openai, base_url: 'http://127.0.0.1:1', base_url_env: MODEL_URL",
        "",
    );
    let said = fixture.ends(&["contract", "check", "c.yaml"], 4).printed();
    assert!(
        said.contains("a provider with a `base_url` has no `base_url_env`"),
        "{said}"
    );
}

/// A description in which a model reads more than a person sees.
#[test]
fn a_check_shows_what_a_description_hides() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let server = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/telling_server.py"
    );
    let text = std::fs::read_to_string(server).unwrap();
    let fixture = Fixture::new();
    fixture.write(
        "server.py",
        &text.replace("Tells.", "Tells.\u{e0041}\u{200b}"),
    );
    let more = "tools: {mcp: {t: {command: python3, args: [server.py]}}}\n";
    fixture.script(more, &[&says("x")]);
    let printed = fixture
        .ends(&["contract", "check", "c.yaml", "--start-servers"], 0)
        .err;
    assert!(printed.contains("Tells.\\u{e0041}\\u{200b}"), "{printed}");
}

/// A service that is not public is listed with the networks that it may be in, and they are part of the contract.
/// 001/6.rest.4
#[test]
fn networks_that_are_not_public_are_listed_beside_their_service_and_hashed() {
    let fixture = Fixture::new();
    let contract = |more: &str| {
        fixture.script(
            &format!(
                "tool_policy: optional\ntools:\n  rest:\n    ask: {{description: d, method: GET, url: 'http://office.example/x'{more}}}\n"
            ),
            &[&says("fine")],
        );
        let (_, report) = fixture.json(&["contract", "check", "c.yaml"]);
        let host = report["reaches"]["hosts"][0].clone();
        (host["not_public"].clone(), report["contract_hash"].clone())
    };
    let (listed, public) = contract("");
    assert_eq!(listed, Value::Null);
    let (listed, private) = contract(", loopback: true, networks: [10.1.0.0/16, 'fd00:1::/32']");
    assert_eq!(
        listed,
        json!(["this machine", "10.1.0.0/16", "fd00:1::/32"])
    );
    assert_ne!(public, private);
    let (_, other) = contract(", loopback: true, networks: [10.2.0.0/16, 'fd00:1::/32']");
    assert_ne!(private, other);
    let shown = fixture.ok(&["contract", "check", "c.yaml"]);
    let line = "host      http://office.example/x   (tools.rest.ask; it may be on this machine, 10.2.0.0/16, fd00:1::/32)";
    assert!(shown.contains(line), "{shown}");
    for (networks, rule) in [
        ("0.0.0.0/0", "not a private network"),
        ("169.254.0.0/16", "not a private network"),
        ("10.1.0.1/16", "not the first of that network"),
        ("office", "expected a network such as"),
    ] {
        contract(&format!(", networks: ['{networks}']"));
        let left = fixture.ends(&["contract", "check", "c.yaml"], 4);
        assert!(left.err.contains(rule), "{}", left.err);
    }
}
