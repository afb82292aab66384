//! Files that other programs use, as they are: what their keys come to, what is shown of them, and how a fault of them is named.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use crate::fixture::{Fixture, calls, says};

const TOKEN: &str = "gTX-84c1-q7";

/// A tool server that says whether its argument and its variable are the token, and what it was given.
const SERVER: &str = r#"
import json, os, sys
own = os.environ.get("GITHUB_TOKEN", "")
text = f"{sys.argv[2] == '--token=' + own and len(own)} {sys.argv[1:]} {own} in {os.environ.get('ROOT')}"
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {}
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    if asked["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("who", "write")]}
    if asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

const AGENT: &str = "---\nmodels: [demo/script]\ntools: [gh]\n---\nYou answer.\n";

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    below.collect()
}

/// 001 §4, §6, §7; 000 §7: placeholders in `env` and `args` reach the server, and no record. A provider's filter keeps a tool from
/// its models.
/// 001/6.providers.9
#[test]
fn a_server_gets_the_values_of_its_placeholders_and_nothing_shows_them() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let fixture = Fixture::new();
    let root = fixture.path("").canonicalize().unwrap();
    let layer = json!({
        "providers": {"demo": {"type": "test-llm", "file": "s.jsonl", "contextWindow": 9000, "toolsDenied": ["write"]}},
        "mcpServers": {"gh": {
            "type": "stdio", "command": "python3", "args": ["srv.py", "${PLACE}", "--token=${GITHUB_TOKEN}", "${not a name}"],
            "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "PATH": "${PATH}", "ROOT": "${PLACE}"},
        }},
    });
    fixture.layer(&layer.to_string());
    let variables = format!("GITHUB_TOKEN={TOKEN}\nPLACE={}\n", root.display());
    fixture.write(".ai-agent.env", &variables);
    fixture.write("srv.py", SERVER);
    fixture.write("agent.ai", AGENT);
    let lines = [
        calls("gh__write", "{}"),
        calls("gh__who", "{}"),
        says("<done>"),
        says("<done>"),
    ];
    fixture.write("s.jsonl", &lines.join("\n"));
    let report = "--set=completion=message";
    let transport = "--set=tool_transport=native";
    let ran = fixture.run(&[
        "run", "agent.ai", "hi", report, transport, "--json", "--run-id", "r",
    ]);
    let result = ran.document();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{}",
        ran.err
    );
    let messages = result["conversation"].as_array().unwrap().iter();
    let shown = messages.filter(|message| message["role"] == "tool");
    let shown: Vec<&str> = shown.map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(shown[0], "(tool failed: TOOL_NOT_ALLOWED: gh__write)");
    let length = TOKEN.len().to_string();
    assert!(shown[1].starts_with(&length), "{}", shown[1]);
    assert!(shown[1].contains("'${not a name}'"), "{}", shown[1]);
    // A path of this machine is no secret: a model that is not shown it could not use it.
    let place = format!("in {}", root.display());
    assert!(shown[1].ends_with(&place), "{}", shown[1]);

    let mut printed = ran.printed();
    for command in [
        &["show", "r", "--full"][..],
        &["show", "r", "--why"],
        &["tools", "agent.ai"],
        &["contract", "show", "agent.ai"],
        &["contract", "check", "agent.ai", "--start-servers"],
        &["export", "r", "-o", "r.jsonl"],
        &["export", "r", "--format", "html", "-o", "r.html"],
        &["verify", "r"],
        &["replay", "r"],
    ] {
        printed.push_str(&fixture.ok(command));
    }
    assert!(
        printed.contains("gh__write (not offered to models of demo)"),
        "{printed}"
    );
    assert!(printed.contains("--token=${GITHUB_TOKEN}"), "{printed}");
    assert!(!printed.contains(TOKEN), "{printed}");
    for file in files(&root) {
        let bytes = std::fs::read(&file).unwrap();
        let known = bytes.windows(TOKEN.len()).any(|at| at == TOKEN.as_bytes());
        assert_eq!(known, file.ends_with(".ai-agent.env"), "{file:?}");
    }
}

/// A contract that really shows a secret is refused, and the refusal does not show it.
#[test]
fn a_secret_in_the_path_of_an_address_is_refused() {
    let fixture = Fixture::new();
    let layer = json!({
        "providers": {"demo": {"type": "ollama", "contextWindow": 9000}},
        "mcpServers": {"gh": {"type": "http", "url": "http://127.0.0.1:9/${API_TOKEN}/mcp"}},
    });
    fixture.layer(&layer.to_string());
    fixture.write(".ai-agent.env", &format!("API_TOKEN={TOKEN}\n"));
    fixture.write("agent.ai", AGENT);
    let checked = fixture.run(&["contract", "check", "agent.ai"]);
    assert_eq!(checked.code, 4, "{}", checked.printed());
    let fault =
        "the contract shows a secret: what tools.mcp.gh.url gives is at \"/servers/gh/url\"";
    assert!(checked.err.contains(fault), "{}", checked.err);
    assert!(!checked.printed().contains(TOKEN), "{}", checked.printed());
}

/// A contract is recorded as it is: what can only be a credential is refused wherever it stands, and commands are shown masked.
#[test]
fn a_credential_that_is_written_out_is_refused_with_its_place() {
    let fixture = Fixture::new();
    let key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let check = |args: Value, more: (&str, &str), place: &str, secret: &str| {
        let layer = json!({
            "providers": {"demo": {
                "type": "ollama", "contextWindow": 9000,
                "custom": {"providerOptions": {"ollama": {"user": more.0}}},
            }},
            "mcpServers": {"gh": {"type": "stdio", "command": "true", "args": args}},
            "restTools": {"r": {
                "description": "d", "method": "POST", "url": "https://example.org/echo",
                "parametersSchema": {"type": "object", "properties": {}},
                "bodyTemplate": {"password": more.1},
            }},
        });
        fixture.layer(&layer.to_string());
        for command in [
            &["run", "b.ai", "hi", "--dry-run"][..],
            &["run", "b.ai", "hi"],
            &["contract", "check", "b.ai"],
            &["contract", "show", "b.ai"],
            &["tools", "b.ai"],
        ] {
            let left = fixture.run(command);
            assert_eq!(left.code, 4, "{command:?}: {}", left.printed());
            let fault = format!("what {place} gives");
            assert!(left.err.contains(&fault), "{command:?}: {}", left.err);
            assert!(!left.printed().contains(secret), "{}", left.printed());
        }
    };
    fixture.write("b.ai", &AGENT.replace("[gh]", "[gh, rest__r]"));
    let first = "tools.mcp.gh.args.0";
    check(json!([key]), ("me", ""), first, key);
    let script = format!("TOKEN={key} exec x");
    check(
        json!(["-c", script]),
        ("me", ""),
        "tools.mcp.gh.args.1",
        key,
    );
    check(
        json!(["postgres://u:mongopw77@h/db"]),
        ("me", ""),
        first,
        "mongopw77",
    );
    check(
        json!(["--token=argtokenlit"]),
        ("me", ""),
        first,
        "argtokenlit",
    );
    let pair = json!(["--password", "hunter3literal"]);
    check(pair, ("me", ""), "tools.mcp.gh.args", "hunter3literal");
    check(json!([]), (key, ""), "providers.demo.provider_options", key);
    let body = "tools.rest.r.body_template.password";
    check(json!([]), ("me", "bodypw123"), body, "bodypw123");
    fixture.write("b.ai", &format!("{AGENT}Use {key} now."));
    check(json!([]), ("me", ""), "system", key);

    let layer = json!({
        "providers": {"demo": {"type": "ollama", "contextWindow": 9000}},
        "mcpServers": {"gh": {"type": "stdio", "command": "true", "args": ["--auth=plainword", "--token=${T}"]}},
    });
    fixture.layer(&layer.to_string());
    fixture.write(".ai-agent.env", "T=x7f3k9q2m5w8\n");
    fixture.write("b.ai", AGENT);
    let left = fixture.run(&["contract", "check", "b.ai"]);
    assert!(left.printed().contains("--auth=***"), "{}", left.printed());
    assert!(!left.printed().contains("plainword"), "{}", left.printed());
}

/// 001 §6: `${NAME}` of a word that no name calls a secret is no secret: the agent may speak of it.
#[test]
fn an_ordinary_word_of_a_variable_may_stand_in_a_prompt() {
    let fixture = Fixture::new();
    let layer = json!({
        "providers": {"demo": {"type": "ollama", "contextWindow": 9000}},
        "mcpServers": {"gh": {"type": "stdio", "command": "true", "env": {"MODE": "${PLAINWORD}"}}},
    });
    fixture.layer(&layer.to_string());
    fixture.write("agent.ai", &format!("{AGENT}We go to production."));
    fixture.write(".ai-agent.env", "PLAINWORD=production\n");
    let checked = fixture.run(&["contract", "check", "agent.ai"]);
    assert_eq!(checked.code, 0, "{}", checked.printed());
    fixture.write(".ai-agent.env", "PLAINWORD=pr0duction7\n");
    fixture.write("agent.ai", &format!("{AGENT}We go to pr0duction7."));
    let checked = fixture.run(&["contract", "check", "agent.ai"]);
    assert_eq!(checked.code, 4, "{}", checked.printed());
}

/// Checks of the finished contract name what the author wrote, and where.
#[test]
fn a_failed_check_names_the_knob_that_was_written_and_its_place() {
    let fixture = Fixture::new();
    let provider = json!({"demo": {"type": "ollama", "contextWindow": 9000}});
    let layer = |defaults: Value| {
        let layer = json!({"providers": provider, "defaults": defaults});
        fixture.layer(&layer.to_string());
    };
    let check = |front: &str, options: &[&str], expect: &[&str]| {
        let text = format!("---\nmodels: [demo/m]\n{front}\n---\nHi.\n");
        fixture.write("a.ai", &text);
        let mut words = vec!["run", "a.ai", "hi"];
        words.extend(options);
        let ran = fixture.run(&words);
        assert_eq!(ran.code, 4, "{}", ran.printed());
        let help = ran.err.lines().find(|line| line.contains("help: correct"));
        let help = help.unwrap_or_else(|| panic!("{}", ran.err));
        for text in expect {
            let root = fixture
                .path("")
                .canonicalize()
                .unwrap()
                .display()
                .to_string();
            let help = help.replace(root.trim_end_matches('/'), "");
            assert!(help.contains(text), "{help} has no {text}");
        }
        help.to_owned()
    };
    layer(json!({}));
    let required = ["--set", "tool_policy=required"];
    check(
        "maxTurns: 1",
        &required,
        &["a.ai:3:11 (maxTurns)", "--set tool_policy=required"],
    );
    check("maxToolTurns: 1", &required, &["a.ai:3:15 (maxToolTurns)"]);
    check("maxRetries: 0", &[], &["correct a.ai:3:13 (maxRetries);"]);
    let help = check(
        "maxTurns: 5",
        &["--max-turns", "0"],
        &["correct --max-turns 0;"],
    );
    // What is to be corrected is named as it was typed; the command behind it has the words of the contract.
    let (corrected, command) = help.split_once(';').unwrap();
    assert!(!corrected.contains("--set"), "{help}");
    assert!(command.contains("--set max_turns=0"), "{help}");
    check(
        "",
        &["--override", "maxTurns=0"],
        &["correct --override maxTurns=0;"],
    );
    check(
        "",
        &["--llm-timeout-ms", "0"],
        &["correct --llm-timeout 0;"],
    );
    layer(json!({"toolTimeout": 0}));
    check(
        "",
        &[],
        &["correct /.ai-agent.json (defaults.toolTimeout);"],
    );
    // The same of a value that cannot be read.
    let unread = fixture.run(&["run", "a.ai", "hi", "--max-tool-turns", "x"]);
    assert!(
        unread.err.contains("error: --max-tool-turns x: "),
        "{}",
        unread.err
    );
    fixture.write("a.ai", "---\nmodels: [demo/m]\nmaxTurns: x\n---\nHi.\n");
    let unread = fixture.run(&["run", "a.ai", "hi"]);
    assert!(
        unread.err.contains("error: maxTurns: expected"),
        "{}",
        unread.err
    );
}

/// A model that has its calls in its text has its report there, too.
#[test]
fn an_agent_whose_model_calls_in_text_needs_no_key_for_it() {
    let fixture = Fixture::new();
    let layer =
        json!({"providers": {"near": {"type": "openai", "baseUrl": "http://127.0.0.1:9/v1"}}});
    fixture.layer(&layer.to_string());
    for (models, transport) in [
        ("near/smollm2-135m", "native"),
        ("near/gpt-4o, near/smollm2-135m", "native"),
        ("near/gpt-4o", "xml-final"),
    ] {
        let text = format!("---\nmodels: [{models}]\n---\nHi.\n");
        fixture.write("a.ai", &text);
        let checked = fixture.run(&["contract", "check", "a.ai"]);
        assert_eq!(checked.code, 0, "{models}: {}", checked.printed());
        let shown = fixture.run(&["contract", "show", "a.ai"]).document();
        assert_eq!(shown["tool_transport"], transport, "{models}");
    }
}

/// Faults P16: an address that leads nowhere is asked once.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_found_is_asked_once_and_named() {
    let server = MockServer::start().await;
    Mock::given(matchers::any())
        .respond_with(ResponseTemplate::new(404).set_body_string("404 page not found"))
        .mount(&server)
        .await;
    let fixture = Fixture::new();
    let provider =
        json!({"far": {"type": "openai", "baseUrl": server.uri(), "contextWindow": 9000}});
    fixture.layer(&json!({"providers": provider}).to_string());
    fixture.write("a.ai", "---\nmodels: [far/m]\n---\nHi.\n");
    let ran = fixture.run(&["run", "a.ai", "hi"]);
    assert_eq!(ran.code, 4, "{}", ran.printed());
    let asked = server.received_requests().await.unwrap();
    let asked = asked
        .iter()
        .filter(|request| request.method.as_str() == "POST");
    assert_eq!(asked.count(), 1);
    assert!(ran.err.contains("which does not end in /v1"), "{}", ran.err);
    assert!(
        ran.err.contains("correct `base_url` of providers.far"),
        "{}",
        ran.err
    );
}

/// 001 §3: what may not be included may not be included through a link either.
/// 001/3.prompt.3
#[test]
fn an_include_through_a_link_reads_no_hidden_file_and_no_variables() {
    let fixture = Fixture::new();
    let layer = json!({"providers": {"near": {"type": "ollama", "contextWindow": 9000}}});
    fixture.layer(&layer.to_string());
    fixture.write("open/.keys/id", TOKEN);
    fixture.write("open/text/ai-agent.env", &format!("A={TOKEN}\n"));
    fixture.write("open/text/plain.md", "Be brief.");
    std::os::unix::fs::symlink("../.keys", fixture.path("open/text/linked")).unwrap();
    std::os::unix::fs::symlink("../.keys/id", fixture.path("open/text/readme.txt")).unwrap();
    std::os::unix::fs::symlink("ai-agent.env", fixture.path("open/text/notes.md")).unwrap();
    for (name, rule) in [
        ("text/readme.txt", "is hidden"),
        ("text/linked/id", "is hidden"),
        ("text/ai-agent.env", "is a file of variables"),
        ("text/notes.md", "is a file of variables"),
    ] {
        let text = format!("---\nmodels: [near/m]\n---\n${{include:{name}}}\n");
        fixture.write("open/a.ai", &text);
        let checked = fixture.run(&["contract", "show", "open/a.ai"]);
        assert_eq!(checked.code, 4, "{name}: {}", checked.printed());
        assert!(checked.err.contains(rule), "{name}: {}", checked.err);
        assert!(!checked.printed().contains(TOKEN), "{name}");
    }
    fixture.write(
        "open/a.ai",
        "---\nmodels: [near/m]\n---\n${include:text/plain.md}\n",
    );
    let shown = fixture.run(&["contract", "show", "open/a.ai"]).document();
    assert_eq!(shown["system"], "Be brief.");
}

/// 001 §11: `@FILE` is read wherever a text is given, a shebang runs its file, and one file that cannot be written costs no other.
/// 001/11.direct.2
#[test]
fn texts_come_from_files_everywhere_and_kept_files_are_written_each_for_itself() {
    let fixture = Fixture::new();
    let layer = json!({"providers": {"demo": {"type": "test-llm", "file": "s.jsonl", "contextWindow": 9000}}});
    fixture.layer(&layer.to_string());
    fixture.write("s.jsonl", &[says("one"), says("two")].join("\n"));
    let message = "--set=completion=message --set=tool_transport=native";
    let more: Vec<&str> = message.split(' ').collect();
    fixture.write("a.ai", "---\nmodels: [demo/script]\n---\nHi.\n");
    fixture.write("task.txt", "from the file\n");
    let task = |words: &[&str]| {
        let words = [words, &more, &["--json"]].concat();
        let ran = fixture.run(&words);
        let result = ran.document();
        let messages = result["conversation"].as_array().unwrap().clone();
        let mut users = messages.iter().filter(|one| one["role"] == "user");
        let last = users.next_back().unwrap()["content"].as_str().unwrap();
        (last.to_owned(), ran)
    };
    let kept = ["--save", "kept.json"];
    let (text, ran) = task(&[&["run", "a.ai", "@task.txt", "--run-id", "r"][..], &kept].concat());
    assert_eq!(text, "from the file");
    assert_eq!(ran.code, 0, "{}", ran.printed());
    assert!(fixture.read("kept.json").contains("from the file"));
    assert_eq!(task(&["a.ai", "@task.txt"]).0, "from the file");
    assert_eq!(task(&["run", "a.ai", "@you there"]).0, "@you there");
    let again = task(&["continue", "r", "@task.txt", "--contract", "a.ai"]);
    assert_eq!(again.0, "from the file", "{}", again.1.err);
    // A system prompt may be in a file of any name.
    fixture.write("system.json", "You are brief.\n");
    let direct = [
        "run",
        "@system.json",
        "@task.txt",
        "--models",
        "demo/script",
    ];
    assert_eq!(task(&direct).0, "from the file");
}

/// A description is read from a regular file, as everything else is.
#[test]
fn a_pipe_is_no_description_of_a_service() {
    let fixture = Fixture::new();
    let pipe = fixture.path("spec.json");
    if !Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .is_ok_and(|made| made.success())
    {
        println!("skipped 1 case: mkfifo is not here");
        return;
    }
    fixture.write(
        "c.yaml",
        "task: t\ntargets: [{provider: d, model: m, context_window: 9000}]\nproviders: {d: {type: ollama}}\n\
         tools: {openapi: {s: {spec: spec.json}}}\n",
    );
    let listed = fixture.run(&["tools", "c.yaml"]);
    assert!(
        listed.printed().contains("it is a pipe, not a file"),
        "{}",
        listed.printed()
    );
}
