//! Agents' files (`.ai`) and system prompts of the command line, as runs: 001 §2, §3, §11.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, says};

/// An agent that ends with its message, so that a script needs no nonce.
const AGENT: &str = "#!/usr/bin/env monolith
---
description: A terse one
models: [demo/script]
maxToolTurns: 3
---

You are terse. ${include:sub/kind.md}
";

fn fixture(lines: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    let layer = json!({"providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}});
    fixture.layer(&layer.to_string());
    fixture.write("s.jsonl", &lines.join("\n"));
    fixture.write("a.ai", AGENT);
    fixture.write(
        "sub/kind.md",
        "Be kind in ${TIMEZONE}, in ${FORMAT}, for ${MAX_TURNS} turns.",
    );
    fixture
}

/// The system prompt that a run's contract holds.
fn system_of(fixture: &Fixture, run: &str) -> String {
    let text = fixture.ok(&["export", run]);
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let contract = &header["contract"];
    let contract = match contract.as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => contract.clone(),
    };
    contract["system"].as_str().unwrap().to_owned()
}

const MESSAGE: [&str; 4] = [
    "--set",
    "completion=message",
    "--set",
    "tool_transport=native",
];

/// 001/2.file.3
/// 001/2.file.7
#[test]
fn an_agents_file_is_run_verified_and_replayed_like_a_contract_file() {
    let fixture = fixture(&[&says("Hello."), &says("Again.")]);
    let run = ["run", "a.ai", "Say hello", "--run-id", "r1"];
    let answer = fixture.ok(&[&run[..], &MESSAGE].concat());
    assert_eq!(answer, "Hello.\n");
    fixture.ok(&["verify", "r1"]);
    fixture.ok(&["replay", "r1"]);
    let system = system_of(&fixture, "r1");
    assert!(system.starts_with("You are terse. Be kind in "), "{system}");
    assert!(
        system.ends_with(", in GitHub-flavoured Markdown, for 3 turns."),
        "{system}"
    );
}

/// A prompt that names the time or the place would be another contract in every process.
#[test]
fn what_a_prompt_took_from_outside_is_the_same_in_a_continuation() {
    let fixture = fixture(&[&says("Hello."), &says("Again.")]);
    let run = ["run", "a.ai", "Say hello", "--run-id", "r1"];
    let in_zone = |args: &[&str], zone: &str| {
        let mut command = fixture.command(args);
        let output = command.env("TZ", zone).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    in_zone(&[&run[..], &MESSAGE].concat(), "Asia/Tokyo");
    assert!(system_of(&fixture, "r1").contains("Be kind in Asia/Tokyo"));
    in_zone(
        &["continue", "r1", "Again", "--run-id", "r2"],
        "Europe/Paris",
    );
    assert_eq!(system_of(&fixture, "r2"), system_of(&fixture, "r1"));
    in_zone(
        &[&["run", "a.ai", "x", "--run-id", "r3"], &MESSAGE[..]].concat(),
        "Europe/Paris",
    );
    assert!(system_of(&fixture, "r3").contains("Be kind in Europe/Paris"));
}

/// 001 §3: what may hold secrets is not included, also through a link.
/// 001/3.prompt.3
#[test]
fn a_hidden_file_is_not_included_also_where_a_link_leads_to_it() {
    let fixture = fixture(&[]);
    fixture.write("sub/.env", "KEY=1");
    fixture.write(
        "a.ai",
        "---\nmodels: [demo/script]\n---\nx\n${include:sub/.env}",
    );
    let left = fixture.ends(&["run", "a.ai", "x"], 4);
    for said in ["`sub/.env` is hidden", "[a.ai:5:1]"] {
        assert!(left.err.contains(said), "{}", left.err);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(".env", fixture.path("sub/plain.md")).unwrap();
        fixture.write(
            "a.ai",
            "---\nmodels: [demo/script]\n---\n${include:sub/plain.md}",
        );
        let left = fixture.ends(&["run", "a.ai", "x"], 4);
        assert!(
            left.err.contains("`sub/plain.md` leads to "),
            "{}",
            left.err
        );
        assert!(left.err.contains(", which is hidden: "), "{}", left.err);
        // A repository may bring a link into a folder of the home.
        fixture.write(".ssh/id_ed25519", "canary-key");
        std::os::unix::fs::symlink(".ssh/id_ed25519", fixture.path("readme.txt")).unwrap();
        std::os::unix::fs::symlink(".ssh", fixture.path("cfg")).unwrap();
        std::os::unix::fs::symlink("sub/kind.md", fixture.path("kind.md")).unwrap();
        for (name, code) in [
            ("readme.txt", 4),
            ("cfg/id_ed25519", 4),
            ("sub/../readme.txt", 4),
            ("kind.md", 0),
        ] {
            let agent = format!("---\nmodels: [demo/script]\n---\n${{include:{name}}}");
            fixture.write("a.ai", &agent);
            let left = fixture.ends(&["contract", "show", "a.ai"], code);
            assert!(!left.printed().contains("canary-key"), "{}", left.printed());
            assert_eq!(
                left.err.contains("which is hidden"),
                code == 4,
                "{name}: {}",
                left.err
            );
        }
        // An agent in a hidden folder includes files below it, and neighbouring ones by name.
        fixture.write(".agents/a/part.md", "A part. ${include:../shared/more.md}");
        fixture.write(".agents/shared/more.md", "More.");
        let agent = "---\nmodels: [demo/script]\n---\n${include:part.md}";
        fixture.write(".agents/a/a.ai", agent);
        let shown = fixture.ok(&["contract", "show", ".agents/a/a.ai"]);
        assert!(shown.contains("A part. More."), "{shown}");
    }
    // The variables of layers stand in files that are not hidden, too.
    fixture.write("ai-agent.env", "KEY=1");
    fixture.write(
        "a.ai",
        "---\nmodels: [demo/script]\n---\n${include:ai-agent.env}",
    );
    let left = fixture.ends(&["contract", "show", "a.ai"], 4);
    assert!(
        left.err.contains("`ai-agent.env` is a file of variables"),
        "{}",
        left.err
    );
}

/// 001 §2: an agent with a schema is asked nothing that does not fit it.
/// 001/2.file.5
/// 001/2.file.10
#[test]
fn a_task_that_is_not_the_agents_input_is_refused_before_anything_is_asked() {
    let fixture = fixture(&[&says("Hello.")]);
    fixture.write("in.yaml", "type: object\nrequired: [topic]\n");
    fixture.write(
        "a.ai",
        "---\nmodels: [demo/script]\ninput: {format: json, schemaRef: in.yaml}\n---\nx",
    );
    let refused = |task: &str, why: &str| {
        let left = fixture.ends(&["run", "a.ai", task], 4);
        assert!(left.err.contains("invalid_parameters: "), "{}", left.err);
        assert!(left.err.contains(why), "{}", left.err);
    };
    refused("Tell me", "the task is to be JSON");
    refused("{}", "the task: required");
    assert!(!fixture.ok(&["list"]).contains("completed"));
    let run = ["run", "a.ai", r#"{"topic":"x"}"#];
    assert_eq!(fixture.ok(&[&run[..], &MESSAGE].concat()), "Hello.\n");
}

/// 001 §11: two texts are a system prompt and a task; a resume and a continuation know the prompt.
/// 001/11.direct.1
#[test]
fn a_system_prompt_and_a_task_are_an_agent_of_their_own() {
    let fixture = fixture(&[&says("Hello."), &says("Again.")]);
    let models = ["--models", "demo/script", "--override", "maxToolTurns=4"];
    let run = [
        "run",
        "You sit in ${CD} for ${MAX_TURNS} turns.",
        "Say hello",
        "--run-id",
        "r1",
    ];
    assert_eq!(
        fixture.ok(&[&run[..], &models, &MESSAGE].concat()),
        "Hello.\n"
    );
    let folder = std::fs::canonicalize(fixture.path("")).unwrap();
    let system = system_of(&fixture, "r1");
    assert_eq!(
        system,
        format!("You sit in {} for 4 turns.", folder.display())
    );
    fixture.ok(&["replay", "r1"]);
    assert_eq!(
        fixture.ok(&["continue", "r1", "Again", "--run-id", "r2"]),
        "Again.\n"
    );
    assert_eq!(system_of(&fixture, "r2"), system);
    let left = fixture.ends(&["run", "You are terse.", "Say hello"], 4);
    assert!(left.err.contains("no model is named"), "{}", left.err);
    assert!(left.err.contains("--models"), "{}", left.err);
}

/// 001 §11: texts may come from files, and one of them from standard input.
/// 001/11.direct.2
/// 001/11.direct.8
#[test]
fn prompts_come_from_files_and_one_of_them_from_standard_input() {
    let fixture = fixture(&[&says("Hello.")]);
    fixture.write("task.txt", "Say hello\n");
    let models = ["--models", "demo/script"];
    let args = [
        &["run", "-", "@task.txt", "--run-id", "r1"],
        &models[..],
        &MESSAGE,
    ]
    .concat();
    let mut child = fixture.command(&args);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"You are piped.\n").unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(system_of(&fixture, "r1"), "You are piped.");
    assert!(fixture.ok(&["show", "r1"]).contains("Say hello"));
    let left = fixture.ends(&[&["run", "-", "-"], &models[..]].concat(), 4);
    assert!(left.err.contains("only one of them can be"), "{}", left.err);
    // Behind `@` a name says nothing of what the file is.
    for name in ["sys.json", "sys.yaml", "sys.yml", "sys.ai", "sys.md"] {
        fixture.write(name, "You are in a file.");
        fixture.write("s.jsonl", &says("Hello."));
        let (file, run) = (format!("@{name}"), format!("r-{}", name.replace('.', "-")));
        let args = ["run", &file, "@task.txt", "--run-id", &run];
        fixture.ok(&[&args[..], &models, &MESSAGE].concat());
        assert_eq!(system_of(&fixture, &run), "You are in a file.");
    }
    let left = fixture.ends(&[&["run", "@nosuch.txt", "Hi"], &models[..]].concat(), 4);
    let expect = "read the system prompt from nosuch.txt";
    assert!(left.err.contains(expect), "{}", left.err);
}

/// 001 §2, §3, §11: only an agent's file has front matter. Piped text includes nothing; a file, those in its folder and below.
#[test]
fn a_system_prompt_of_the_command_line_is_text() {
    let fixture = fixture(&[&says("Hello."), &says("More.")]);
    let front = "---\nmodels: [demo/evil]\nagents: [a.ai]\ntools: [none]\n---";
    fixture.write("usr.txt", "mine");
    fixture.write("sub/in.txt", "there");
    fixture.write("sub/s.txt", &format!("{front}\nsub ${{include:in.txt}}"));
    fixture.write("sub/up.txt", "${include:../usr.txt}");
    let piped = format!("{front}\nMail: {{{{include:usr.txt}}}} and ${{include:/etc/hostname}}");
    let check = |system: &str, run: &str, expect: &str| {
        let args = [
            "run",
            system,
            "Sum up",
            "--run-id",
            run,
            "--models",
            "demo/script",
        ];
        let mut command = fixture.command(&[&args[..], &MESSAGE].concat());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Where the prompt is no pipe, it may be closed before that.
        drop(std::io::Write::write_all(&mut stdin, piped.as_bytes()));
        drop(stdin);
        assert!(child.wait().unwrap().success(), "{system}");
        assert_eq!(system_of(&fixture, run), expect);
        assert!(!fixture.ok(&["export", run]).contains("agent__a"));
    };
    check("-", "r1", &piped);
    check("@/dev/stdin", "r2", &piped);
    check("@sub/s.txt", "r3", &format!("{front}\nsub there"));
    check("I am ${include:usr.txt}", "r4", "I am mine");
    // What was included is a part of the prompt from then on.
    fixture.write("usr.txt", "another");
    fixture.ok(&["continue", "r4", "More", "--run-id", "r5"]);
    assert_eq!(system_of(&fixture, "r5"), "I am mine");
    for system in ["@sub/up.txt", "${include:/etc/hostname}"] {
        let left = fixture.ends(&["run", system, "Hi", "--models", "demo/script"], 4);
        let expect = "is not in the folder of the prompt";
        assert!(left.err.contains(expect), "{}", left.err);
    }
}

/// 001/8.overrides.1
#[test]
fn options_of_agents_are_refused_for_a_contract_file_and_change_an_agents_file() {
    let fixture = fixture(&[&says("Hello.")]);
    fixture.script("", &[&says("Hello.")]);
    let left = fixture.ends(&["run", "c.yaml", "--override", "temperature=0.2"], 4);
    assert!(
        left.err.contains("change c.yaml with --override"),
        "{}",
        left.err
    );
    let changed = ["--override", "temperature=warm"];
    let left = fixture.ends(&[&["run", "a.ai", "x"], &changed[..]].concat(), 4);
    assert!(
        left.err.contains("expected a finite number"),
        "{}",
        left.err
    );
    let left = fixture.ends(&["run", "a.ai", "x", "--format", "jsn"], 4);
    assert!(left.err.contains("did you mean `json`?"), "{}", left.err);
}

/// 001 §11: everything is judged and no model is asked.
/// 001/11.direct.4
#[test]
fn a_dry_run_judges_everything_and_asks_no_model() {
    let fixture = fixture(&[]);
    let said = fixture.ok(&["run", "a.ai", "x", "--dry-run"]);
    assert!(said.contains("every tool is there"), "{said}");
    assert!(!fixture.path("home/runs.db").exists() || !fixture.ok(&["list"]).contains("a.ai"));
    fixture.write(
        "a.ai",
        "---\nmodels: [demo/script]\ntools: [nothing]\n---\nx",
    );
    let left = fixture.ends(&["run", "a.ai", "x", "--dry-run"], 4);
    assert!(
        left.err.contains("no tool server `nothing` is configured"),
        "{}",
        left.err
    );
}

/// 001 §11: one dry run names what would keep the run from its end, also what is wrong with agents that may be called.
/// 001/11.direct.4
#[test]
fn a_dry_run_names_everything_at_once_also_of_agents_below() {
    let fixture = fixture(&[]);
    let command = |name: &str| json!({"command": name});
    let layer = json!({
        "providers": {"here": {
            "type": "openai", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "${HERE_KEY}",
            "contextWindow": 32768,
        }},
        "mcpServers": {
            "a": {"command": "nosuch-a", "env": {"X": "${MISS1}", "Y": "${MISS2}"}},
            "b": command("nosuch-b"), "c": command("nosuch-c"),
            "d": {"command": "nosuch-d", "env": {"X": "${MISS4}"}},
        },
        "restTools": {"w": {
            "description": "d", "method": "GET", "url": "https://h.example/",
            "headers": {"X-Key": "${MISS3}"},
        }},
        "openapiSpecs": {"o": {"spec": "./nosuch.yaml"}},
    });
    fixture.layer(&layer.to_string());
    let agent = "---
models: [here/m]
tools: [a, b, rest__w, rest__o_list]
input: {format: json, schema: {type: object, required: [topic]}}
agents: [sub/child.ai, sub/other.ai]
---
x";
    fixture.write("a.ai", agent);
    fixture.write(
        "sub/child.ai",
        "---\ntools: [c]\nagents: [third.ai]\n---\nx",
    );
    fixture.write("sub/third.ai", "---\ntools: [c, d]\n---\nx");
    fixture.write("sub/other.ai", "---\nagents: [gone.ai]\n---\nx");
    let kept = ["--save", "nodir/said.json", "--sessions-dir", "a.ai/ses"];
    let run = [&["run", "a.ai", "x", "--dry-run"], &kept[..]].concat();
    let left = fixture.ends(&run, 4);
    for part in [
        "HERE_KEY",
        "MISS1",
        "MISS2",
        "MISS3",
        "MISS4",
        "nosuch.yaml",
        "nosuch-b",
        "nosuch-c",
        "invalid_parameters: the task",
        "gone.ai",
        "sub/child.ai: ",
        "sub/third.ai: ",
        "nodir/said.json",
        "a.ai/ses",
    ] {
        assert!(left.printed().contains(part), "{part}: {}", left.printed());
    }
    // What came up of the servers and what did not, each with its place, the service behind an id of an operation, too.
    let said = left.printed();
    assert!(
        said.contains("FAILED  the tool server `b`: failed to find"),
        "{said}"
    );
    assert!(said.contains("        at a.ai:3:24\n"), "{said}");
    assert!(!said.contains("--start-servers"), "{said}");
    let check = fixture.ends(&["contract", "check", "a.ai", "--start-servers"], 4);
    for part in ["MISS1", "nosuch-c", "sub/third.ai: ", "gone.ai"] {
        assert!(
            check.printed().contains(part),
            "{part}: {}",
            check.printed()
        );
    }
    assert!(!check.err.contains("HERE_KEY"), "{}", check.err);
    for once in ["HERE_KEY` ", "MISS1"] {
        let times = left.err.matches(&format!("error: {once}")).count();
        assert!(times <= 1, "{once}: {}", left.err);
    }
    let document = fixture.run(&[&run[..], &["--json"]].concat()).document();
    assert_eq!(
        (&document["ok"], &document["exit_code"]),
        (&json!(false), &json!(4))
    );
    let below = document["checks_below"].as_array().unwrap();
    assert!(
        below.iter().any(|check| check["file"] == "sub/child.ai"),
        "{document}"
    );
    // A sound tree is judged sound.
    for name in ["child", "other", "third"] {
        fixture.write(&format!("sub/{name}.ai"), "---\ndescription: d\n---\nx");
    }
    fixture.write(
        "a.ai",
        "---\nmodels: [here/m]\nagents: [sub/child.ai]\n---\nx",
    );
    let mut command = fixture.command(&["run", "a.ai", "x", "--dry-run"]);
    let output = command.env("HERE_KEY", "k-0123456789").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// 001 §6: a filesystem server gets a root in every folder, and paths below it are no secret.
/// 001/6.servers.3
#[test]
fn a_root_for_tool_servers_that_is_not_set_is_the_folder_where_the_command_was_typed() {
    let fixture = fixture(&[]);
    fixture.write("a.ai", "---\nmodels: [demo/script]\n---\nx");
    let layer = json!({"providers": {"demo": {"type": "scripted", "file": "${MCP_ROOT}/s.jsonl"}}});
    fixture.layer(&layer.to_string());
    let folder = std::fs::canonicalize(fixture.path("")).unwrap();
    let expect = format!("{}/s.jsonl", folder.display());
    for value in [None, Some(" ")] {
        let mut command = fixture.command(&["contract", "show", "a.ai"]);
        command.env_remove("MCP_ROOT");
        command.envs(value.map(|value| ("MCP_ROOT", value)));
        let shown = command.output().unwrap();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["providers"]["demo"]["file"], expect, "{value:?}");
    }
}

/// 000 §7: the higher file counts, and what is shown holds no secret.
#[test]
fn what_the_layers_say_is_shown_with_its_files_and_without_secrets() {
    let fixture = fixture(&[]);
    fixture.finds_layers();
    let here = json!({
        "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
        "mcpServers": {"fs": {
            "command": "fs", "env": {"TOKEN": "s3cret-value"},
            "args": ["http://u:s3cret-value@h/?key=abc", "x sk-ant-api03-s3cret-valueabcdefghijklmnop"],
        }},
    });
    fixture.write(".ai-agent.json", &here.to_string());
    let beside = json!({"providers": {"demo": {"file": "lower"}, "cloud": {"type": "openai"}}});
    fixture.write("sub/.ai-agent.json", &beside.to_string());
    let shown: Value = serde_json::from_str(&fixture.ok(&["config", "show", "sub/a.ai"])).unwrap();
    assert_eq!(shown["providers"]["demo"]["file"], "s.jsonl");
    assert_eq!(shown["providers"]["cloud"]["type"], "openai");
    assert_eq!(shown["mcpServers"]["fs"]["env"]["TOKEN"], "***");
    let listed = fixture.ok(&["config", "show", "sub/a.ai", "--origin"]);
    let (of_here, of_sub) = listed.split_once("sub/.ai-agent.json").unwrap();
    assert!(
        of_here.contains("providers.demo.file = \"s.jsonl\""),
        "{listed}"
    );
    assert!(
        of_sub.contains("providers.cloud.type = \"openai\""),
        "{listed}"
    );
    assert!(
        !listed.contains("s3cret-value") && !listed.contains("lower"),
        "{listed}"
    );
}

/// A conversation states the time at which it was begun: every message continues under the same contract.
#[test]
fn a_chat_with_an_agent_that_says_the_time_goes_on_in_the_next_second() {
    let fixture = fixture(&[&says("One."), &says("Two.")]);
    fixture.write("sub/kind.md", "It is ${DATETIME}.");
    let mut command = fixture.command(&[&["chat", "a.ai"], &MESSAGE[..]].concat());
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut chat = piped.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = chat.stdin.take().unwrap();
    stdin.write_all(b"hello\n").unwrap();
    let ended = || fixture.json(&["list", "--outcome", "completed"]).1["runs"] != json!([]);
    let began = Instant::now();
    while !ended() || began.elapsed() < Duration::from_millis(1100) {
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    stdin.write_all(b"again\n").unwrap();
    drop(stdin);
    let left = Left::from(chat.wait_with_output().unwrap());
    assert_eq!(
        (left.code, left.out.as_str()),
        (0, "One.\nTwo.\n"),
        "{}",
        left.err
    );
}
