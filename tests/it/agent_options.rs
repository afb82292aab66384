//! Options of ai-agent's command line besides the agent itself: saved conversations, knobs as options, payloads on request,
//! placeholders of the place (001 §3, §8, §11).

use serde_json::{Value, json};

use crate::fixture::{Fixture, calls, says};

const SECRET: &str = "canary-token-0123456789";

/// A folder with an agent whose runs end with a message.
fn fixture(lines: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    let layer = json!({
        "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
        "defaults": {"verbose": true},
        "telemetry": {"enabled": true}, "slack": {"enabled": false}, "api": {"port": 8080},
    });
    fixture.layer(&layer.to_string());
    fixture.write("s.jsonl", &lines.join("\n"));
    fixture.write("a.ai", "---\nmodels: [demo/script]\n---\nYou are terse.");
    fixture
}

const MESSAGE: [&str; 4] = [
    "--set",
    "completion=message",
    "--set",
    "tool_transport=native",
];

/// The contract of a run.
fn contract_of(fixture: &Fixture, run: &str) -> Value {
    let text = fixture.ok(&["export", run]);
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    match header["contract"].as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => header["contract"].clone(),
    }
}

fn texts_of(result: &Value) -> Vec<String> {
    let messages = result["conversation"].as_array().unwrap().iter();
    let text = |message: &Value| {
        let role = message["role"].as_str().unwrap();
        format!("{role}: {}", message["content"].as_str().unwrap())
    };
    messages.map(text).collect()
}

/// 001 §11: a saved conversation comes before the task, under the system prompt of the agent that is run now.
/// 001/11.direct.7
#[test]
fn a_saved_conversation_comes_before_the_task() {
    let fixture = fixture(&[&says("It is MIT."), &says("I said MIT.")]);
    let save = ["run", "a.ai", "Which licence?", "--save", "said.json"];
    fixture.ok(&[&save[..], &MESSAGE].concat());
    fixture.write("b.ai", "---\nmodels: [demo/script]\n---\nYou are kind.");
    let load = ["run", "b.ai", "What did you say?", "--load", "said.json"];
    let (code, result) = fixture.json(&[&load[..], &["--run-id", "r2"], &MESSAGE].concat());
    assert_eq!(code, 0, "{result}");
    assert_eq!(
        texts_of(&result),
        [
            "system: You are kind.",
            "user: Which licence?",
            "assistant: It is MIT.",
            "user: What did you say?",
            "assistant: It is MIT.",
        ]
    );
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r2"]);
    }
    // The intent rules judge what was said before, too, and a resume comes to the same contract.
    let continued = fixture.run(&["continue", "r2", "Sure?", "--json"]);
    assert_eq!(continued.code, 0, "{}", continued.err);
}

/// A dry run judges the first request with the conversation that it begins with, and a failure of it stays one.
/// 001/11.direct.4, 001/11.direct.7
#[test]
fn what_is_loaded_counts_for_a_dry_run_and_a_failed_call_stays_one() {
    let fixture = fixture(&[&says("Done."), &says("Done.")]);
    let words = json!([{"role": "user", "content": "word ".repeat(60_000)}]);
    fixture.write("big.json", &words.to_string());
    let window = "targets.0.context_window=30000";
    let run = ["run", "a.ai", "x", "--load", "big.json", "--set", window];
    let largest = "the largest part is a message of the conversation so far";
    let left = fixture.ends(&[&run[..], &["--dry-run"]].concat(), 4);
    assert!(left.out.contains(largest), "{}", left.out);
    let left = fixture.ends(&run, 4);
    assert!(left.err.contains(largest), "{}", left.err);
    // What the user says in it decides the policy of both.
    let edit = "Edit the file src/main.rs and run the tests in the workspace.";
    let words =
        json!([{"role": "user", "content": edit}, {"role": "assistant", "content": "Shall I?"}]);
    fixture.write("edit.json", &words.to_string());
    fixture.script("page: code\n", &[&says("Done.")]);
    let run = ["run", "c.yaml", "Yes please.", "--load", "edit.json"];
    for more in [&["--dry-run"][..], &[]] {
        let left = fixture.ends(&[&run[..], more].concat(), 4).printed();
        let reason = "tool_policy required needs a tool";
        assert!(left.contains(reason), "{more:?}: {left}");
    }
    let saved = json!([
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "rd", "input": {}}, {"type": "tool_use", "id": "b", "name": "rd", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": "no such file"},
            {"type": "tool_result", "tool_use_id": "b", "is_error": false, "content": "fine"},
        ]},
    ]);
    fixture.write("said.json", &saved.to_string());
    // By each transport the model is shown it as one, and what is saved of that is loaded as one.
    for (load, run, transport) in [
        ("said.json", "r1", "tool_transport=native"),
        ("again.json", "r2", "tool_transport=xml"),
    ] {
        let run = [
            "run", "a.ai", "x", "--load", load, "--run-id", run, "--set", transport,
        ];
        let more = [
            "--save",
            "again.json",
            "--set",
            "completion=message",
            "--trace-llm",
        ];
        let left = fixture.ends(&[&run[..], &more].concat(), 0);
        assert!(
            left.err.contains("(tool failed: no such file)"),
            "{}",
            left.err
        );
        assert!(!left.err.contains("(tool failed: fine)"), "{}", left.err);
    }
    let record = fixture.ok(&["export", "r2"]);
    for status in ["failed", "ok"] {
        let observed = format!(r#""observed":{{"duration_ms":0,"status":"{status}"}}"#);
        assert_eq!(record.matches(&observed).count(), 1, "{status}: {record}");
    }
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r2"]);
    }
}

/// A value that is a secret here may not have been one where the conversation was saved.
#[test]
fn a_saved_conversation_is_scrubbed_like_anything_else() {
    let fixture = Fixture::new();
    fixture.script("redact: {env: [TOKEN]}\n", &[&says("Done.")]);
    let saved = json!([
        {"role": "system", "content": "Another prompt."},
        {"role": "user", "content": format!("The token is {SECRET}.")},
        {"role": "assistant", "content": null, "toolCalls": [{"id": "a", "name": "put", "parameters": {"t": SECRET}}]},
        {"role": "tool", "content": SECRET, "toolCallId": "a"},
    ]);
    fixture.write("said.json", &saved.to_string());
    let run = [
        "run",
        "c.yaml",
        "--load",
        "said.json",
        "--run-id",
        "r",
        "--trace-llm",
    ];
    let output = fixture.command(&run).env("TOKEN", SECRET).output().unwrap();
    let left = crate::fixture::Left::from(output);
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(left.err.contains("The token is [REDACTED"), "{}", left.err);
    assert!(!left.printed().contains(SECRET), "{}", left.printed());
    assert!(!fixture.ok(&["export", "r"]).contains(SECRET));
    fixture.ok(&["replay", "r"]);
}

#[test]
fn what_is_no_conversation_is_refused_before_anything_is_asked() {
    let fixture = fixture(&[&says("Hello.")]);
    for (text, expect) in [
        ("{}", "it is no JSON array of messages"),
        (
            r#"[{"role":"tool","content":"x"}]"#,
            "message 1: it names no call",
        ),
    ] {
        fixture.write("said.json", text);
        for more in [&[][..], &["--dry-run"]] {
            let run = ["run", "a.ai", "x", "--load", "said.json"];
            let left = fixture.ends(&[&run[..], more].concat(), 4);
            assert!(left.err.contains(expect), "{}", left.err);
        }
    }
    let left = fixture.ends(&["run", "a.ai", "x", "--load", "gone.json"], 4);
    assert!(left.err.contains("gone.json: "), "{}", left.err);
    assert!(!fixture.ok(&["list"]).contains("completed"));
}

/// 001 §8, §11: each knob is an option, for an agent, for a contract file and in a continuation.
/// 001/8.overrides.5
#[test]
fn knobs_are_options_of_every_command_that_begins_a_run() {
    let fixture = fixture(&[&says("Hello."), &says("Again."), &says("More.")]);
    let knobs = [
        "--max-tool-turns",
        "4",
        "--temperature",
        "0.5",
        "--no-stream",
    ];
    let run = ["run", "a.ai", "Hi", "--run-id", "r1"];
    fixture.ok(&[&run[..], &knobs, &MESSAGE].concat());
    let contract = contract_of(&fixture, "r1");
    assert_eq!(contract["max_turns"], 4);
    assert_eq!(contract["targets"][0]["sampling"]["temperature"], 0.5);
    let more = [
        "continue",
        "r1",
        "More",
        "--run-id",
        "r2",
        "--tool-timeout-ms",
        "99",
    ];
    // What the command line changes is what is wanted; the rest is as it was.
    fixture.ok(&more);
    let contract = contract_of(&fixture, "r2");
    assert_eq!(contract["tool_timeout_ms"], 99);
    assert_eq!(contract["max_turns"], 4);
    // A run of two texts has no file that could be named.
    let texts = ["run", "You are brief.", "Hi", "--run-id", "t1"];
    let models = ["--models", " demo/script"];
    fixture.write("s.jsonl", &[says("Hello."), says("Again.")].join("\n"));
    fixture.ok(&[&texts[..], &models, &MESSAGE].concat());
    fixture.ok(&[
        "continue",
        "t1",
        "More",
        "--run-id",
        "t2",
        "--temperature",
        "0.9",
    ]);
    let contract = contract_of(&fixture, "t2");
    assert_eq!(contract["targets"][0]["sampling"]["temperature"], 0.9);
    // A file that has changed besides is refused, and how to go on is said.
    let agent = fixture.read("a.ai");
    fixture.write("a.ai", &format!("{agent} And kind."));
    let left = fixture.ends(&["continue", "r1", "More", "--tool-timeout-ms", "98"], 4);
    assert!(left.err.contains("/system"), "{}", left.err);
    fixture.write("a.ai", &agent);
    fixture.script("", &[&says("Done.")]);
    fixture.ok(&[
        "run",
        "c.yaml",
        "--run-id",
        "r3",
        "--tool-timeout",
        "99",
        "--stream",
    ]);
    let contract = contract_of(&fixture, "r3");
    assert_eq!(contract["tool_timeout_ms"], 99);
    assert_eq!(contract["targets"][0]["sampling"]["stream"], true);
    let left = fixture.ends(&["run", "c.yaml", "--max-retries", "many"], 4);
    let named = "error: --max-retries many: expected a whole number, got `many`\n";
    assert!(left.err.contains(named), "{}", left.err);
}

/// 001 §11, semantics §7: what the token gate holds back is in no trace.
/// 001/11.direct.12
#[test]
fn a_trace_shows_what_is_sent_and_nothing_that_is_held_back() {
    let fixture = Fixture::new();
    let prose = says("canary prose that nobody may read");
    let call = calls("echo", r#"{"text":"x"}"#);
    let terms =
        "tool_policy: required\ntools: {builtin: [echo]}\nstrict_mode: true\ntoken_gate: true\n";
    fixture.script(
        &format!("{terms}completion: final_report\n"),
        &[&prose, &call, &prose],
    );
    let left = fixture.run(&["run", "c.yaml", "--trace-llm"]);
    assert!(
        left.err
            .contains("[TRC] → [1.0] llm demo:script, request 1"),
        "{}",
        left.err
    );
    let held = "← request 1: held back by the token gate";
    assert!(left.err.contains(held), "{}", left.err);
    // The call that opens it is whole.
    let call = "\"arguments\":\"{\\\"text\\\":\\\"x\\\"}\"";
    let answered = left.err.split("← request 2: ").nth(1).unwrap();
    assert!(answered.contains(call), "{}", left.err);
    let before = left.err.split("request 3").next().unwrap();
    assert!(!before.contains("canary prose"), "{}", left.err);
    let quiet = fixture.run(&["run", "c.yaml", "--trace-llm", "--quiet"]);
    assert_eq!(quiet.code, 4, "{}", quiet.err);
}

/// 001 §6: what only other programs read is read over, and shown.
/// 001/6.defaults.2
#[test]
fn sections_of_other_programs_are_read_over() {
    let fixture = fixture(&[&says("Hello.")]);
    fixture.ok(&[&["run", "a.ai", "Hi"], &MESSAGE[..]].concat());
    let shown: Value = serde_json::from_str(&fixture.ok(&["config", "show"])).unwrap();
    assert_eq!(shown["api"]["port"], 8080);
    assert_eq!(shown["telemetry"]["enabled"], true);
    // A section that is read has no key that means nothing.
    let layer = json!({"providers": {"demo": {"type": "scripted", "file": "s.jsonl", "api": 1}}});
    fixture.layer(&layer.to_string());
    let left = fixture.ends(&["run", "a.ai", "Hi"], 4);
    assert!(left.err.contains("providers.demo.api in "), "{}", left.err);
}

/// 001 §11: each form of a report.
/// 001/11.direct.9
#[test]
fn the_form_of_the_report_is_one_of_a_closed_list() {
    let fixture = fixture(&[]);
    let forms = "markdown,markdown+mermaid,slack-block-kit,tty,pipe,json,sub-agent,text";
    for form in forms.split(',') {
        fixture.ok(&["run", "a.ai", "x", "--format", form, "--dry-run"]);
    }
    let left = fixture.ends(&["run", "a.ai", "x", "--format", "pdf", "--dry-run"], 4);
    let named = "error: --format pdf: expected one of json, ";
    assert!(left.err.contains(named), "{}", left.err);
    // Each fault names the option as it was typed.
    for (typed, expect) in [
        (
            &["--override", "temperature"][..],
            "[--override temperature]\n",
        ),
        (
            &["--set", "prompt.FORMAT=zzz"],
            "[--set prompt.FORMAT=zzz]\n",
        ),
        (&["--models", ""], "a name is missing"),
        (
            &["--models", "nope/m"],
            "error: --models nope/m: no provider `nope` is defined",
        ),
        (&["--models", "nope/m"], "\n  = help: "),
        (
            &["--llm-timeout", "10s"],
            "error: --llm-timeout 10s: expected a whole number",
        ),
        (
            &["--set", "llm_timeout_ms=10s"],
            "error: llm_timeout_ms: expected a whole number",
        ),
        (&["--save", "-"], "it is no file"),
        (
            &["--save", "./a.ai"],
            "failed to save the conversation as ./a.ai: the file there holds something that is no",
        ),
        (
            &["--save", "f", "--billing-file", "./f"],
            "as f: requests and calls are accounted for there",
        ),
        (
            &["--billing-file", "nodir/f"],
            "failed to use the accounting file ",
        ),
    ] {
        let left = fixture.ends(&[&["run", "a.ai", "x", "--dry-run"], typed].concat(), 4);
        assert!(left.err.contains(expect), "{typed:?}: {}", left.err);
        assert!(!left.err.contains("--set key"), "{}", left.err);
    }
    // What the run itself refuses so is left as it is.
    let agent = fixture.read("a.ai");
    fixture.ends(&["run", "a.ai", "x", "--save", "a.ai"], 4);
    fixture.run(&["run", "a.ai", "x", "--run-id", "r"]);
    for saves in [
        &["--save", "a.ai"][..],
        &["--save", "f", "--billing-file", "f"],
    ] {
        let left = fixture.ends(&[&["continue", "r", "y"], saves].concat(), 4);
        assert!(
            left.err.contains("failed to save the conversation"),
            "{}",
            left.err
        );
    }
    assert_eq!(fixture.read("a.ai"), agent);
    // Without a task the file alone is judged.
    let left = fixture.ends(&["run", "a.ai", "--dry-run"], 0);
    assert!(
        left.err
            .contains("note: no task given, so none was checked; a run needs one\n"),
        "{}",
        left.err
    );
    let left = fixture.ends(&["run", "a.ai", "", "--dry-run"], 4);
    let given = "error: no task given\n  = help: monolith run FILE \"…\", or --task TEXT; a contract in YAML";
    assert!(left.err.contains(given), "{}", left.err);
    let left = fixture.ends(
        &["run", "You are brief.", " ", "--models", "demo/script"],
        4,
    );
    assert!(
        left.err.contains("the task after it is empty"),
        "{}",
        left.err
    );
    assert!(!left.err.contains("FILE"), "{}", left.err);
}

/// 001 §2: a schema is looked for beside the agent first, then where the command was typed, in JSON or else in YAML.
/// 001/2.file.15
#[test]
fn a_schema_is_looked_for_beside_the_agent_and_then_where_one_stands() {
    let fixture = fixture(&[]);
    let agent = "---\nmodels: [demo/script]\ninput: {format: json, schemaRef: in.txt}\n---\nx";
    fixture.write("sub/a.ai", agent);
    let wants = |name: &str| {
        let left = fixture.ends(&["run", "sub/a.ai", "{}", "--dry-run"], 4);
        assert!(left.err.contains(name), "{}", left.err);
    };
    wants("invalid_parameters: `in.txt`: ");
    fixture.write("in.txt", "required: [here]\n");
    wants("here");
    fixture.write("sub/in.txt", r#"{"required": ["beside"]}"#);
    wants("beside");
    fixture.write("sub/in.txt", "a: [");
    wants("it is neither JSON nor YAML");
    // What may hold secrets is no schema, also where a link leads to it.
    fixture.write(".ssh/id", "required: [canary-key]");
    let ask = |name: &str, expect: &str| {
        fixture.write("sub/a.ai", &agent.replace("in.txt", name));
        let left = fixture.ends(&["run", "sub/a.ai", "{}", "--dry-run"], 4);
        assert!(left.err.contains(expect), "{}", left.err);
        assert!(!left.printed().contains("canary-key"), "{}", left.printed());
    };
    ask("../.ssh/id", "is hidden: such files may hold secrets");
    // The folder that the agent itself stands in may be hidden, by a path from the root, too.
    fixture.write(".own/in.json", r#"{"required": ["inside"]}"#);
    let inside = fixture.path(".own/in.json").display().to_string();
    fixture.write(".own/a.ai", &agent.replace("in.txt", &inside));
    let left = fixture.ends(&["run", ".own/a.ai", "{}", "--dry-run"], 4);
    assert!(
        left.err.contains("\"inside\" is a required"),
        "{}",
        left.err
    );
    ask(&inside, "is hidden: such files may hold secrets");
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    fixture.write("sub/deep.json", &deep);
    ask("deep.json", "it is too deep or too long: at most 32 levels");
    fixture.write("sub/large.json", r#"{"maximum": 1e999}"#);
    ask(
        "large.json",
        "it holds what is not read: number out of range",
    );
    ask("x.env", "is a file of variables");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../.ssh/id", fixture.path("sub/plain.yaml")).unwrap();
        ask("plain.yaml", "which is hidden: such files may hold secrets");
    }
}

/// 001 §3: what each placeholder is; those of the place are for prompts of the command line alone.
/// 001/3.prompt.6, 001/3.prompt.7
#[test]
fn placeholders_of_time_are_in_files_and_those_of_the_place_in_prompts_alone() {
    let fixture = fixture(&[&says("Hello."), &says("Hello.")]);
    let all = "${DATETIME}|${DAY}|${TIMEZONE}|${OS}|${ARCH}|${KERNEL}|${CD}|${HOSTNAME}|${USER}|{{MAX_TURNS}}";
    fixture.write("a.ai", &format!("---\nmodels: [demo/script]\n---\n{all}"));
    let system = |run: &str, args: &[&str]| {
        let mut command = fixture.command(&[args, &["--run-id", run], &MESSAGE].concat());
        let output = command.env("TZ", "Asia/Tokyo").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let system = contract_of(&fixture, run)["system"]
            .as_str()
            .unwrap()
            .to_owned();
        let keeps = String::from_utf8_lossy(&output.stderr).contains("note: the prompt keeps ");
        assert_eq!(keeps, args[1] == "a.ai", "{output:?}");
        system.split('|').map(str::to_owned).collect::<Vec<_>>()
    };
    let file = system("r1", &["run", "a.ai", "Hi"]);
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let time = &file[0];
    assert!(
        time.len() == 25
            && time.ends_with("+09:00")
            && &time[10..11] == "T"
            && is_digits(&time[..4]),
        "RFC 3339 in local time: {time}"
    );
    assert!(file[1].ends_with("day"), "{file:?}");
    assert_eq!(file[2], "Asia/Tokyo");
    let place = [
        "${OS}",
        "${ARCH}",
        "${KERNEL}",
        "${CD}",
        "${HOSTNAME}",
        "${USER}",
    ];
    assert_eq!(file[3..9], place);
    assert_eq!(file[9], "10");
    let prompt = system("r2", &["run", all, "Hi", "--models", "demo/script"]);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(prompt[4], "x64");
    }
    for (text, name) in prompt[3..9].iter().zip(place) {
        assert!(!text.is_empty() && text != name, "{name}: {text}");
    }
    let folder = std::fs::canonicalize(fixture.path("")).unwrap();
    assert_eq!(prompt[6], folder.display().to_string());
}

/// 001/2.knobs.8
#[test]
fn calls_beyond_the_limit_of_a_turn_are_not_run() {
    let fixture = Fixture::new();
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "echo", "arguments": format!("{{\"text\":\"{id}\"}}")}});
    let message =
        json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]});
    let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    let both = json!({"response": {"choices": [choice]}}).to_string();
    fixture.script("tools: {builtin: [echo]}\n", &[&both, &says("Done.")]);
    let (code, result) = fixture.json(&["run", "c.yaml", "--max-tool-calls-per-turn", "1"]);
    assert_eq!(code, 0, "{result}");
    assert_eq!(result["counters"]["tools_executed"], 1);
    let excess = "tool: (tool failed: too many tool calls in this turn (limit 1))";
    assert!(texts_of(&result).contains(&excess.to_owned()), "{result}");
}
