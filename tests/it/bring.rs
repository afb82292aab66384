//! Files of ai-agent that somebody brings along: what is the same for them, what is said of their mistakes, and what is kept out of sight
//! (001 §2, §6, §8, §11).

use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, says};

const RANDOM: &str = "LEAKq8Zx72Lm4Rt91Vb3";

const MESSAGE: [&str; 4] = [
    "--set",
    "completion=message",
    "--set",
    "tool_transport=native",
];

/// Two models, two REST tools, and an agent that ends with its message.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let rest = |path: &str| json!({"method": "GET", "url": format!("https://h.example/{path}")});
    let layer = json!({
        "providers": {
            "one": {"type": "test-llm", "file": "one.jsonl"},
            "other": {"type": "test-llm", "file": "other.jsonl"},
        },
        "restTools": {"list": rest("list"), "get": rest("get")},
    });
    fixture.layer(&layer.to_string());
    fixture.write("one.jsonl", &says("Of one."));
    let of_other = [says("Of other."), says("Still of other.")];
    fixture.write("other.jsonl", &of_other.join("\n"));
    fixture.write(
        "a.ai",
        "---\nmodels: [one/m]\ntools: [rest__list]\n---\nYou are terse.",
    );
    fixture
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        println!("skipped 1 case: python3 is not here");
    }
    found
}

/// The same with a tool server, with those keys beside its command.
fn with_server(more: &Value) -> Fixture {
    let fixture = fixture();
    let server = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/telling_server.py"
    );
    let mut layer: Value = serde_json::from_str(&fixture.read(".ai-agent.json")).unwrap();
    let mut told = json!({"command": "python3", "args": [server]});
    for (key, value) in more.as_object().unwrap() {
        match (key.as_str(), value) {
            ("args", Value::Array(words)) => {
                let args = told["args"].as_array_mut().unwrap();
                args.extend(words.iter().cloned());
            }
            _ => told[key] = value.clone(),
        }
    }
    layer["mcpServers"] = json!({"told": told});
    fixture.layer(&layer.to_string());
    fixture.write("a.ai", "---\nmodels: [one/m]\ntools: [told]\n---\nx");
    fixture
}

/// The contract of a run.
fn contract_of(fixture: &Fixture, run: &str) -> Value {
    let text = fixture.ok(&["export", run]);
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    match header["contract"].as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => header["contract"].clone(),
    }
}

fn at_root(fixture: &Fixture, root: Option<&str>, args: &[&str]) -> Left {
    let mut command = fixture.command(args);
    command.env_remove("MCP_ROOT");
    command.envs(root.map(|root| ("MCP_ROOT", root)));
    command.output().unwrap().into()
}

/// 001 §2, §8: what the command line names comes before the file, and is for every agent below it, too.
/// 001/2.file.9, 001/8.overrides.3
#[test]
fn models_tools_and_overrides_of_the_command_line_are_those_of_every_agent_that_is_run() {
    let fixture = fixture();
    let changed = [
        "--models",
        "other/m",
        "--tools",
        "rest__get",
        "--override",
        "maxToolTurns=2",
    ];
    let run = ["run", "a.ai", "x", "--run-id", "r"];
    let said = fixture.ok(&[&run[..], &changed, &MESSAGE].concat());
    assert!(said.contains("Of other."), "{said}");
    let contract = contract_of(&fixture, "r");
    assert_eq!(contract["targets"][0]["provider"], "other");
    assert_eq!(contract["max_turns"], 2);
    let tools = contract["tools"].as_array().unwrap().iter();
    let tools: Vec<&Value> = tools.map(|tool| &tool["name"]).collect();
    assert_eq!(tools, ["rest__get"]);
    // A REST tool without a description gets a default one.
    assert_eq!(
        contract["tools"][0]["description"],
        "A GET request to a web service."
    );
    // Both files name what is nowhere; nothing of that is left.
    let gone = "---\nmodels: [gone/m]\ntools: [rest__gone]\n";
    fixture.write("top.ai", &format!("{gone}agents: [below.ai]\n---\nx"));
    fixture.write("below.ai", &format!("{gone}---\nx"));
    let dry = ["run", "top.ai", "x", "--dry-run"];
    let said = fixture.run(&dry).printed();
    assert!(said.contains("no provider `gone` is defined"), "{said}");
    let left = fixture.run(&[&dry[..], &changed].concat());
    assert_eq!(left.code, 0, "{}", left.printed());
}

/// 001 §8, §11: one grammar with `run`.
/// 001/8.overrides.5
#[test]
fn a_continuation_takes_what_run_takes_of_an_agent() {
    let fixture = fixture();
    fixture.ok(&[&["run", "a.ai", "x", "--run-id", "r"][..], &MESSAGE].concat());
    let changed = ["--models", "other/m", "--override", "maxToolTurns=2"];
    let go_on = ["continue", "r", "Sure?"];
    let dry = fixture.ok(&[&go_on[..], &changed, &["--dry-run"]].concat());
    assert!(dry.contains("1 target"), "{dry}");
    let named = ["--run-id", "r2"];
    let said = fixture.ok(&[&go_on[..], &changed, &named].concat());
    assert!(said.contains("Of other."), "{said}");
    assert_eq!(contract_of(&fixture, "r2")["max_turns"], 2);
    let left = fixture.ends(
        &[&go_on[..], &["--override", "maxToolTurns=many"]].concat(),
        4,
    );
    assert!(left.err.contains("expected a whole number"), "{}", left.err);
    let left = fixture.ends(&[&go_on[..], &["--load", "said.json"]].concat(), 4);
    let why = "a continued run starts with its own conversation";
    assert!(left.err.contains(why), "{}", left.err);
    fixture.script("", &[&says("Hello.")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "c"]);
    let left = fixture.ends(&["continue", "c", "x", "--override", "temperature=0"], 4);
    let why = "with --override: it has no front matter";
    assert!(left.err.contains(why), "{}", left.err);
}

/// 001 §3: what cannot be included is named at once, with the other mistakes of the file.
/// 001/2.file.17
#[test]
fn includes_that_are_broken_are_named_at_once_with_everything_else() {
    let fixture = fixture();
    let text =
        "---\nmodels: [gone/m]\nmaxToolTurnz: 3\n---\n${include:none1.md}\nx {{include:.env}}\n";
    fixture.write("a.ai", text);
    let left = fixture.ends(&["run", "a.ai", "x", "--dry-run"], 4);
    for expect in [
        "`none1.md` cannot be included",
        "a.ai:5:1",
        "`.env` is hidden",
        "a.ai:6:3",
        "unknown key `maxToolTurnz`",
        "no provider `gone` is defined",
    ] {
        assert!(left.err.contains(expect), "{expect}: {}", left.err);
    }
    // Front matter with a hole says nothing else.
    fixture.write("a.ai", "---\n${include:none1.md}\n---\n${include:none2.md}");
    let left = fixture.ends(&["run", "a.ai", "x", "--dry-run"], 4);
    assert_eq!(left.err.matches("error: ").count(), 2, "{}", left.err);
    // So it is with the keys of one definition.
    let mut layer: Value = serde_json::from_str(&fixture.read(".ai-agent.json")).unwrap();
    let sound = layer.clone();
    layer["providers"]["one"]["aaa"] = json!(1);
    layer["providers"]["one"]["bbb"] = json!(1);
    let defaults =
        json!({"defaults": {"nope": 1, "temprature": 2}, "providers": sound["providers"]});
    fixture.write("a.ai", "---\nmodels: [one/m]\n---\nx");
    for (layer, keys) in [
        (layer, ["one.aaa", "one.bbb"]),
        (defaults, ["defaults.nope", "defaults.temprature"]),
    ] {
        fixture.layer(&layer.to_string());
        let left = fixture.ends(&["run", "a.ai", "x", "--dry-run"], 4);
        for key in keys {
            assert!(left.err.contains(key), "{key}: {}", left.err);
        }
    }
}

/// 001 §6: a root that is all files is no reason not to start, and that nothing is written there is said; a blank one is said with --verbose.
/// 001/6.servers.16
#[test]
fn a_root_that_is_all_files_or_blank_is_said_and_the_server_starts() {
    if !has_python() {
        return;
    }
    let fixture = with_server(&json!({"env": {"PATH": "${PATH}", "ROOT": "${MCP_ROOT}"}}));
    let dry = ["run", "a.ai", "x", "--dry-run"];
    let left = at_root(&fixture, Some("/"), &dry);
    assert_eq!(left.code, 0, "{}", left.printed());
    let said = left
        .err
        .contains("MCP_ROOT is `/`, where no confined server may write");
    assert_eq!(said, cfg!(target_os = "linux"), "{}", left.err);
    let loud = at_root(&fixture, Some(" "), &[&dry[..], &["--verbose"]].concat());
    let note = "note: MCP_ROOT is not set or blank: the working folder /";
    assert!(loud.err.contains(note), "{}", loud.err);
    for (root, more) in [(None, &[][..]), (Some("/tmp"), &["--verbose"])] {
        let left = at_root(&fixture, root, &[&dry[..], more].concat());
        assert!(!left.err.contains("MCP_ROOT"), "{}", left.err);
    }
    let fixture = with_server(&json!({"roots": ["/"]}));
    let left = at_root(&fixture, None, &dry);
    assert_eq!(left.code, 0, "{}", left.printed());
    let said = left.err.contains("`roots` is `/`");
    assert_eq!(said, cfg!(target_os = "linux"), "{}", left.err);
}

/// docs/redaction.md: what is written out and looks random is no text of the contract, nor of anything else.
#[test]
fn an_argument_that_looks_random_is_nowhere() {
    if !has_python() {
        return;
    }
    let fixture = with_server(&json!({"args": [RANDOM, format!("--of={RANDOM}")]}));
    let told = json!([{"type": "text", "text": format!("it is {RANDOM}")}]);
    fixture.write("told.json", &told.to_string());
    let lines = [calls("told__tell", "{}"), says("Done."), says("Sure.")];
    fixture.write("one.jsonl", &lines.join("\n"));
    let run = ["run", "a.ai", "x", "--run-id", "r", "--json"];
    let left = fixture.run(&[&run[..], &MESSAGE, &["--trace-mcp", "--verbose"]].concat());
    assert_eq!(left.code, 0, "{}", left.printed());
    assert!(left.out.contains("it is [REDACTED:"), "{}", left.out);
    let args = contract_of(&fixture, "r")["servers"]["told"]["args"].clone();
    assert_eq!(args[1], "[SECRET]");
    assert_eq!(args[2], "--of=[SECRET]");
    let shown = [
        left.printed(),
        fixture.ok(&["export", "r"]),
        fixture.ok(&["config", "show"]),
        fixture.run(&["contract", "check", "a.ai"]).printed(),
        fixture.run(&["run", "a.ai", "x", "--dry-run"]).printed(),
        fixture.run(&["tools", "a.ai"]).printed(),
    ];
    for (at, shown) in shown.iter().enumerate() {
        assert!(!shown.contains(RANDOM), "{at}: {shown}");
    }
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
    // The server has it, and a continuation is under the same contract.
    fixture.ok(&["continue", "r", "Sure?"]);
}

/// 001 §7: no value stands in an error, neither a variable's nor one of a wrong type.
/// 001/7.env.2
#[test]
fn no_error_of_a_layer_shows_a_value() {
    let check = |section: &str, definition: &Value, agent: &str, said: &str| {
        let fixture = fixture();
        let mut layer: Value = serde_json::from_str(&fixture.read(".ai-agent.json")).unwrap();
        layer[section]["s"] = definition.clone();
        fixture.layer(&layer.to_string());
        fixture.write("a.ai", &format!("---\n{agent}\n---\nx"));
        let mut command = fixture.command(&["run", "a.ai", "x", "--json"]);
        let left: Left = command.env("KK", RANDOM).output().unwrap().into();
        assert_eq!(left.code, 4, "{}", left.printed());
        assert!(left.err.contains(said), "{said}: {}", left.err);
        assert!(!left.printed().contains(RANDOM), "{}", left.printed());
    };
    let server = "models: [one/m]\ntools: [s]";
    let args = json!({"command": "x", "args": format!("--token {RANDOM}")});
    check("mcpServers", &args, server, "expected a list, got a text");
    for kind in ["${KK}", "x-${KK}"] {
        let kind = json!({"type": kind, "command": "x"});
        check(
            "mcpServers",
            &kind,
            server,
            "the value of a variable is none",
        );
    }
    let allowed = json!({"command": "x", "toolsAllowed": {"a": RANDOM}});
    check("mcpServers", &allowed, server, "expected a list");
    let window = json!({"type": "openai", "contextWindow": RANDOM});
    let provider = "models: [s/m]";
    check(
        "providers",
        &window,
        provider,
        "expected a whole number, got a text",
    );
    let options = json!({"type": "openai", "custom": {"providerOptions": RANDOM}});
    check("providers", &options, provider, "got a text");
}

/// 001 §11: a dry run finds a file that cannot be written, and a request that no request can be.
/// 001/11.direct.4
#[test]
#[cfg(target_os = "linux")]
fn a_dry_run_finds_what_cannot_be_written_or_sent() {
    let fixture = fixture();
    let check = |more: &[&str], expect: &str| {
        let left = fixture.run(&[&["run", "a.ai", "x", "--dry-run"][..], more].concat());
        assert_ne!(left.code, 0, "{more:?}: {}", left.printed());
        assert!(left.err.contains(expect), "{more:?}: {}", left.err);
    };
    check(&["--save", "/dev/null"], "it is a device");
    check(&["--save", "/proc/x.json"], "failed to write /proc/x.json");
    check(&["--save-all", "/proc/x"], "failed to write /proc/x");
    check(&["--sessions-dir", "/sys/x"], "failed to write /sys/x");
    check(&["--billing-file", "/proc/x"], "/proc/x");
    fixture.ok(&[
        "run",
        "a.ai",
        "x",
        "--dry-run",
        "--save",
        "s.json",
        "--save-all",
        "a/b",
    ]);
    for (headers, expect) in [
        (
            json!({"X-A": "a\r\nX-B: c"}),
            "no header holds a line break",
        ),
        (
            json!({"Content-Length": "3"}),
            "monolith sets this header itself",
        ),
    ] {
        let mut layer: Value = serde_json::from_str(&fixture.read(".ai-agent.json")).unwrap();
        layer["restTools"]["list"]["headers"] = headers;
        fixture.layer(&layer.to_string());
        check(&[], expect);
    }
}

/// 000 §7: a number in text is one, whether a tool of the run is in its queue or not.
#[test]
fn a_queue_whose_number_is_a_text_is_one_wherever_it_is_named() {
    let fixture = fixture();
    let mut layer: Value = serde_json::from_str(&fixture.read(".ai-agent.json")).unwrap();
    layer["queues"] = json!({"q": {"concurrent": "${N}"}, "other": {"concurrent": "2"}});
    layer["restTools"]["get"]["queue"] = json!("q");
    fixture.layer(&layer.to_string());
    for (tool, number, code) in [
        ("get", "3", 0),
        ("list", "3", 0),
        ("get", "many", 4),
        ("list", "many", 4),
    ] {
        let agent = format!("---\nmodels: [one/m]\ntools: [rest__{tool}]\n---\nx");
        fixture.write("a.ai", &agent);
        let mut command = fixture.command(&["contract", "check", "a.ai"]);
        let left: Left = command.env("N", number).output().unwrap().into();
        assert_eq!(left.code, code, "{tool} {number}: {}", left.printed());
    }
}

/// The contract of a called agent comes of the call; its file alone gives another one.
#[test]
fn the_run_of_a_called_agent_is_not_asked_again_and_the_way_out_is_named() {
    let fixture = fixture();
    let lines = [calls("agent__b", r#"{"prompt":"x"}"#), says("Led.")];
    fixture.write("one.jsonl", &lines.join("\n"));
    fixture.write("a.ai", "---\nmodels: [one/m]\nagents: [b.ai]\n---\nLead.");
    fixture.write("b.ai", "---\ndescription: d\nmodels: [other/m]\n---\nx");
    fixture.ok(&[&["run", "a.ai", "x", "--run-id", "r"][..], &MESSAGE].concat());
    let left = fixture.ends(&["replay", "r.1", "--live", "all"], 4);
    for expect in ["r called it as an agent", "monolith replay r.1"] {
        assert!(left.err.contains(expect), "{}", left.err);
    }
}

/// 001 §11: what a REST tool asks is in the trace, of the author's headers the names.
/// 001/11.direct.12
#[test]
fn a_trace_shows_the_request_of_a_rest_tool_and_no_secret() {
    let fixture = fixture();
    let mut layer: Value = serde_json::from_str(&fixture.read(".ai-agent.json")).unwrap();
    layer["restTools"]["send"] = json!({
        "method": "POST", "url": "http://127.0.0.1:9/to/${parameters.id}", "loopback": true,
        "headers": {"Authorization": "Bearer ${KK}", "Content-Type": "text/plain"},
        "bodyTemplate": "for ${parameters.id}",
        "parametersSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
    });
    fixture.layer(&layer.to_string());
    let lines = [calls("rest__send", r#"{"id":"a b"}"#), says("Done.")];
    fixture.write("one.jsonl", &lines.join("\n"));
    fixture.write("a.ai", "---\nmodels: [one/m]\ntools: [rest__send]\n---\nx");
    let run = [&["run", "a.ai", "x", "--trace-mcp"][..], &MESSAGE].concat();
    let left: Left = fixture
        .command(&run)
        .env("KK", RANDOM)
        .output()
        .unwrap()
        .into();
    for shown in [
        "→ send: POST http://127.0.0.1:9/to/a%20b; content-type: text/plain",
        "; with Authorization, Content-Type",
        "for a b",
    ] {
        assert!(left.err.contains(shown), "{shown}: {}", left.err);
    }
    assert!(!left.printed().contains(RANDOM), "{}", left.printed());
}

/// 001 §4: every key of a layer is shown with its file, and what is missing is named as the file has it.
#[test]
fn every_key_of_a_layer_is_shown_and_a_missing_one_is_named_as_there() {
    let fixture = fixture();
    let mut layer: Value = serde_json::from_str(&fixture.read(".ai-agent.json")).unwrap();
    layer["version"] = json!(3);
    layer["list"] = json!([1]);
    layer["empty"] = json!({});
    layer["providers"]["one"]["headers"] = json!({});
    fixture.layer(&layer.to_string());
    let shown: Value = serde_json::from_str(&fixture.ok(&["config", "show"])).unwrap();
    assert_eq!(shown, layer);
    let listed = fixture.ok(&["config", "show", "--origin"]);
    for line in [
        "version = 3",
        "list = [1]",
        "empty = {}",
        "providers.one.headers = {}",
    ] {
        assert!(listed.contains(line), "{line}: {listed}");
    }
    layer["pricing"] = json!({"one": {"m": {"unit": "per_1m", "prompt": 1}}});
    fixture.layer(&layer.to_string());
    let left = fixture.ends(&["run", "a.ai", "x", "--dry-run"], 4);
    let expect = "the key `completion` is missing";
    assert!(left.err.contains(expect), "{}", left.err);
}
