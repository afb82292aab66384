//! Tool servers that change, lie, flood and die, and approvals that are to mislead: by the ids of the list of faults (S1 to S5, S14, B5),
//! against the binary.

use std::fs::DirEntry;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, says};
use crate::terminal::Terminal;

mod beside;

/// Characters that no terminal shows, as the scripted server has them.
const HIDDEN: [char; 6] = [
    '\u{200b}',
    '\u{e0053}',
    '\u{e0054}',
    '\u{2066}',
    '\u{202e}',
    '\u{ad}',
];
/// More than anything here takes.
const LONGEST: Duration = Duration::from_secs(60);
/// So long has a call that is not answered, and one that has to start its server again: that asks it for its tools for 2 s first.
const PATIENCE: &str = "tool_timeout_ms: 8000\n";

/// True if Python can run the scripted server; prints a line if there is none.
fn python() -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped 1 case: python3 is not here");
    }
    there
}

/// The scripted server in these modes, in the form of a contract file.
fn server(modes: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    let args: Vec<Value> = std::iter::once(json!(script))
        .chain(modes.iter().map(|mode| json!(mode)))
        .collect();
    format!(
        "{{command: python3, args: {}, health_probe: list_tools}}",
        json!(args)
    )
}

fn tools(servers: &[(&str, &[&str])]) -> String {
    let servers = servers.iter();
    let servers = servers.map(|(name, modes)| format!("{name}: {}", server(modes)));
    let servers: Vec<String> = servers.collect();
    format!("tools: {{workspace: ., mcp: {{{}}}}}\n", servers.join(", "))
}

impl Fixture {
    /// As [`Fixture::called`]; afterwards no process of the run is left.
    #[track_caller]
    fn called_and_left(&self) -> (Vec<String>, Value) {
        let called = self.called();
        self.is_left();
        called
    }

    /// Waits until no process stands in the folder any more.
    #[track_caller]
    fn is_left(&self) {
        let until = Instant::now() + LONGEST;
        let folder = self.path("").canonicalize().unwrap();
        let stands = |process: &DirEntry| {
            let stands = std::fs::read_link(process.path().join("cwd"));
            stands.is_ok_and(|stands| stands == folder)
        };
        // Where the system shows no processes, none is looked for.
        while let Ok(processes) = std::fs::read_dir("/proc") {
            let mut there = processes.filter_map(Result::ok).filter(stands);
            let Some(process) = there.next() else {
                return;
            };
            let process = process.file_name();
            assert!(Instant::now() < until, "{process:?} is still there");
            std::thread::yield_now();
        }
    }

    /// Runs that command; neither stream may have one of the hidden characters.
    #[track_caller]
    fn escapes(&self, args: &[&str]) -> Left {
        let left = self.run(args);
        let said = left.printed();
        assert!(!said.contains(HIDDEN), "{args:?}: {said:?}");
        left
    }
}

/// Two calls of one server, then the end; what each came to, and how the run ended.
#[track_caller]
fn two_calls(tool: &str, arguments: &str) -> (Vec<String>, Value) {
    let fixture = Fixture::new();
    let terms = format!(
        "tool_policy: required\n{PATIENCE}{}",
        tools(&[("odd", &[])])
    );
    let first = calls(&format!("odd__{tool}"), arguments);
    fixture.script(
        &terms,
        &[&first, &calls("odd__hello", "{}"), &says("Done.")],
    );
    fixture.called_and_left()
}

/// A server that is given up after its call, and is there again for the next one.
#[track_caller]
fn is_replaced(tool: &str) {
    if !python() {
        return;
    }
    let (texts, result) = two_calls(tool, "{}");
    assert_eq!(texts, ["(tool failed: timeout)", "hello"], "{result}");
    assert_eq!(result["outcome"]["class"], "COMPLETED_WITH_TOOLS");
}

#[test]
fn s1_a_tool_that_changes_between_list_and_call_is_not_called_and_what_changed_is_shown() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let (rename, hello) = (calls("odd__rename", "{}"), calls("odd__hello", "{}"));
    fixture.script(&tools(&[("odd", &[])]), &[&rename, &hello, &says("Done.")]);
    let (texts, _) = fixture.called_and_left();
    let changed = "(tool failed: tool changed since the contract was made)";
    assert_eq!(texts, ["renamed", changed]);
    let difference = "description: \"Says hello.\" → \"Says something else now.\"";
    let shown = fixture.ok(&["show", "r"]);
    assert!(shown.contains(difference), "{shown}");
    let raw = fixture.ok(&["show", "r", "--raw"]);
    assert!(raw.contains("tool_changed"), "{raw}");
}

#[test]
fn s1_a_server_that_offers_other_tools_than_pinned_is_refused_and_what_changed_is_shown() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let author = format!(
        "# the author's own\ntask: hi\ntargets: [{{provider: demo, model: script}}]\n\
         providers: {{demo: {{type: scripted, file: s.jsonl}}}}\n\
         tools:\n  workspace: .\n  mcp:\n    odd: # what it is\n      health_probe: list_tools # slow\n      command: python3\n      args: {}\n",
        server(&["anew"])
            .split_once("args: ")
            .and_then(|(_, rest)| rest.split_once(", health"))
            .unwrap()
            .0
    );
    fixture.write("c.yaml", &author);
    fixture.write("s.jsonl", &says("Done."));
    // The first start of the server; from the second one on it describes a tool in another way.
    let pinned = fixture.ok(&["contract", "pin", "c.yaml"]);
    let pin = pinned.split_whitespace().nth(2).unwrap().to_owned();
    assert_eq!(pinned, format!("odd  pin {pin}  new\n"));
    let with_pin = author.replace(
        "odd: # what it is\n",
        &format!("odd: # what it is\n      pin: \"{pin}\"\n"),
    );
    assert_eq!(fixture.read("c.yaml"), with_pin);
    assert!(fixture.read("c.pins.json").contains("\"Says hello.\""));

    let difference =
        "`hello` has changed: description: \"Says hello.\" → \"Says hello in another way.\"";
    let ended = fixture.run(&["run", "--json", "--run-id", "r", "--contract", "c.yaml"]);
    let result = ended.document();
    assert_eq!(
        (ended.code, &result["outcome"]["code"]),
        (3, &json!("tool_changed"))
    );
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains(&pin) && error.contains(difference),
        "{error}"
    );
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
    for show in [&["show", "r"][..], &["show", "r", "--why"]] {
        let shown = fixture.ok(show).replace('\n', " ");
        let words: Vec<&str> = shown.split_whitespace().collect();
        assert!(words.join(" ").contains(difference), "{shown}");
    }
    let checked = fixture.ends(&["contract", "check", "c.yaml", "--start-servers"], 3);
    assert!(checked.err.contains(difference), "{}", checked.err);
    let (code, checked) = fixture.json(&["contract", "check", "c.yaml", "--start-servers"]);
    assert_eq!(code, 3);
    let faults = checked["server_faults"].to_string();
    assert!(faults.contains("`hello` has changed"), "{faults}");

    // A changed file next to it explains nothing away.
    let kept = fixture.read("c.pins.json");
    fixture.write(
        "c.pins.json",
        &kept.replace("Says hello.", "Says hello in another way."),
    );
    let (_, checked) = fixture.json(&["contract", "check", "c.yaml", "--start-servers"]);
    let faults = checked["server_faults"].to_string();
    assert!(
        faults.contains("the file of pins holds another offer"),
        "{faults}"
    );
    fixture.write("c.pins.json", &kept);

    // Once it was read, the change can be meant.
    let again = fixture.ends(&["contract", "pin", "c.yaml"], 0);
    assert!(again.out.ends_with("  changed\n"), "{}", again.out);
    assert!(again.err.contains(difference), "{}", again.err);
    let third = fixture.ends(&["contract", "pin", "c.yaml"], 0);
    assert!(third.out.ends_with("  unchanged\n"), "{}", third.out);
    fixture.ok(&["run", "--contract", "c.yaml"]);
}

#[test]
fn s2_hidden_characters_in_definitions_are_named_by_place_and_never_printed() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let hello = calls("odd__hello", r#"{"path":"a"}"#);
    fixture.script(&tools(&[("odd", &["hidden"])]), &[&hello, &says("Done.")]);
    let says = "characters that a terminal does not show: ";
    for command in [
        &["tools", "c.yaml"][..],
        &["contract", "check", "c.yaml", "--start-servers"],
        &["contract", "pin", "c.yaml"],
    ] {
        let left = fixture.escapes(command);
        assert_eq!(left.code, 0, "{command:?}: {}", left.printed());
        for expect in [
            format!("warning: the description of odd__hello holds {says}U+200B, U+2066, U+E0053, U+E0054, in \"Says hello.\\u{{200b}}\\u{{e0053}}"),
            format!("\"/properties/path/description\" of odd__hello holds {says}U+202E, in \"A path.\\u{{202e}}evil\"\n"),
            format!("\"/properties/k\\u{{ad}}\" of odd__hello holds {says}U+00AD, in \"k\\u{{ad}}\"\n"),
            "note: odd: tool \"he\\u{200b}llo\" left out: its exposed name: it is not 1 to 256 bytes of visible characters without `*`, which rules read as a pattern; it holds U+200B\n"
                .to_owned(),
        ] {
            assert!(left.err.contains(&expect), "{command:?}: {expect}: {}", left.err);
        }
    }
    let (_, listed) = fixture.json(&["tools", "c.yaml"]);
    assert_eq!(listed["warnings"].as_array().unwrap().len(), 3, "{listed}");
    for command in [
        &["tools", "c.yaml", "--schemas"][..],
        &["contract", "show", "c.yaml", "--start-servers"],
        &["run", "c.yaml", "--run-id", "r"],
        &["show", "r"],
        &["show", "r", "--why"],
        &["show", "r", "--raw"],
    ] {
        let (code, shown) = Terminal::start(fixture.command(command)).end();
        assert_eq!(code, 0, "{command:?}: {shown}");
        assert!(!shown.contains(HIDDEN), "{command:?}: {shown:?}");
    }
    for format in ["html", "cast"] {
        fixture.escapes(&["export", "r", "--format", format]);
    }
}

#[test]
fn s3_a_tool_that_would_take_the_name_of_another_servers_is_refused_before_the_run() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let meeting = tools(&[("a", &["named:b__c"]), ("a__b", &["named:c"])]);
    fixture.script(&meeting, &[&says("never")]);
    let (code, result) = fixture.json(&["run", "c.yaml"]);
    let error = result["error"].as_str().unwrap_or_default();
    assert_eq!((code, &result["run_id"]), (4, &Value::Null), "{result}");
    let expect = "two tools would be called `a__b__c`: one of mcp:a, one of mcp:a__b";
    assert!(error.contains(expect), "{error}");
    fixture.is_left();
    // The same names at two servers are two tools.
    let apart = tools(&[("a", &["named:hello"]), ("b", &["named:hello"])]);
    fixture.script(&apart, &[&calls("b__hello", "{}"), &says("Done.")]);
    let (texts, _) = fixture.called_and_left();
    assert_eq!(texts, ["hello"]);
    // What a contract does not take stands in no other tool's way.
    let denied = meeting.replacen("health_probe", "tools_denied: [B__C], health_probe", 1);
    fixture.script(&denied, &[&says("Done.")]);
    fixture.ok(&["run", "c.yaml"]);
}

/// 17 §6: the contract and the transcript keep the name, the model is told and calls the wire name.
#[test]
fn a_tool_whose_name_no_provider_takes_is_called_by_its_wire_name() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let named = tools(&[("odd", &["named:calendar.list", "named:files/read"])]);
    let named = format!("allowed_tools: [odd__calendar.list, odd__files/read]\n{named}");
    let (list, read) = (
        calls("odd__calendar_list", "{}"),
        calls("odd__files/read", "{}"),
    );
    let unknown = calls("odd__calendar_lost", "{}");
    fixture.script(&named, &[&list, &read, &unknown, &says("Done.")]);
    let (texts, result) = fixture.called_and_left();
    let unknown = "(tool failed: TOOL_NOT_FOUND: odd__calendar_lost (nearest: odd__calendar_list, odd__files_read))";
    assert_eq!(texts, ["calendar.list", "files/read", unknown]);
    let calls = result["accounting"].as_array().unwrap().iter();
    let calls: Vec<&Value> = calls
        .filter(|line| line["type"] == "tool")
        .map(|line| &line["command"])
        .collect();
    assert_eq!(
        calls.first().copied(),
        Some(&json!("odd__calendar.list")),
        "{result}"
    );
}

#[test]
fn s4_a_server_that_asks_for_what_it_was_not_granted_gets_errors() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let asks = calls("odd__ask_back", "{}");
    fixture.script(&tools(&[("odd", &[])]), &[&asks, &says("Done.")]);
    let (texts, _) = fixture.called_and_left();
    // Roots, sampling, elicitation, and a method that there is not.
    assert_eq!(texts, ["[-32601, -32601, -32601, -32601]"]);
}

#[test]
fn s5_a_result_of_five_hundred_megabytes_ends_its_run_and_touches_no_other() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let size = json!({"size": 500 << 20}).to_string();
    let script = |name: &str, lines: &[&str]| {
        let terms = "tool_policy: required\n".to_owned() + &tools(&[(name, &[])]);
        fixture.script(&terms, lines);
        let contract = fixture
            .read("c.yaml")
            .replace("s.jsonl", &format!("{name}.jsonl"));
        fixture.write(&format!("{name}.yaml"), &contract);
        fixture.write(&format!("{name}.jsonl"), &lines.join("\n"));
        json!({"contract": format!("{name}.yaml"), "run_id": name}).to_string() + "\n"
    };
    let done = says("Done.");
    let odd = script("odd", &[&calls("odd__huge", &size), &done]);
    let good = script("good", &[&calls("good__hello", "{}"), &done]);
    fixture.write("list.jsonl", &(odd + &good));
    let ended = fixture.ends(&["run", "--contracts", "list.jsonl"], 1);
    let ends: std::collections::BTreeMap<String, String> = ended
        .out
        .lines()
        .map(|line| {
            let end: Value = serde_json::from_str(line).unwrap();
            let outcome = &end["outcome"];
            let words = [&end["run_id"], &outcome["class"], &outcome["code"]];
            let [run, class, code] = words.map(|word| word.as_str().unwrap().to_owned());
            (run, format!("{class} {code}"))
        })
        .collect();
    assert_eq!(ends["odd"], "FAILED_VALIDATION tool_envelope");
    assert_eq!(ends["good"], "COMPLETED_WITH_TOOLS final_message");
    let shown = fixture.ok(&["show", "odd"]);
    assert!(shown.contains("more than"), "{shown}");
    fixture.is_left();
}

/// Non-JSON on standard output, another id, no answer, an end in the middle of a call: `servers.rs` has the typed end of each
/// alone. Here the run continues.
#[test]
fn s5_a_server_that_answers_late_twice_or_after_noise_mixes_up_no_call() {
    if !python() {
        return;
    }
    for (tool, expect) in [
        ("twice", "first"),
        ("stray", "after strays"),
        ("late", "(tool failed: timeout)"),
        ("wrong_id", "(tool failed: timeout)"),
        ("die", "(tool failed: connection lost)"),
        ("die_midway", "(tool failed: connection lost)"),
    ] {
        let (texts, result) = two_calls(tool, "{}");
        assert_eq!(texts, [expect, "hello"], "{tool}: {result}");
        assert_eq!(result["outcome"]["class"], "COMPLETED_WITH_TOOLS", "{tool}");
    }
}

#[test]
fn s5_a_server_that_is_frozen_is_replaced() {
    is_replaced("freeze");
}

#[test]
fn b5_a_server_that_floods_its_output_is_ended_and_replaced() {
    is_replaced("flood");
}

#[test]
fn b5_a_line_that_never_ends_is_given_up_with_its_server() {
    is_replaced("endless");
}

#[test]
fn b5_an_answer_that_drips_is_given_up_at_the_time_out() {
    is_replaced("drip");
}

#[test]
fn b5_a_long_result_is_cut_with_a_marker() {
    if !python() {
        return;
    }
    let (texts, result) = two_calls("huge", r#"{"size":8388608}"#);
    let [cut, after] = texts.try_into().unwrap();
    assert!(
        cut.starts_with("[TRUNCATED] Original size 8388608 bytes; "),
        "{result}"
    );
    assert!(cut.len() <= 12_288);
    assert_eq!(after, "hello");
}

/// Ten thousand lines, in the middle of which stands what matters, and characters that turn lines round.
#[test]
fn s14_an_approval_hides_nothing_of_long_arguments_and_is_bound_to_their_hash() {
    let fixture = Fixture::new();
    let mut lines = vec!["harmless".to_owned(); 10_000];
    lines[5_000] = "\u{202e}rm -rf /\u{2066}\u{200b}\u{1b}[2K".to_owned();
    let arguments = json!({"text": lines.join("\n")}).to_string();
    let hash = blake3::hash(arguments.as_bytes()).to_string();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", &arguments), &says("Done.")],
    );
    let mut terminal = Terminal::start(fixture.command(&["run", "c.yaml", "--run-id", "r1"]));
    terminal.until("call 1 of echo asks for your approval");
    terminal.until("\\u{202e}rm -rf /");
    assert_eq!(arguments.len(), 100_027);
    terminal
        .until("100,027 bytes")
        .until(&hash)
        .until("allow it? [y/N]");
    // The hash of other arguments allows nothing.
    let other = blake3::hash(b"{}").to_string();
    fixture.ends(&["approve", "r1", "--yes", "--arguments", &other], 4);
    // What has scrolled away can be read again, a page at a time.
    let asked = fixture.escapes(&["approve", "r1"]);
    assert_eq!(asked.code, 4);
    let whole: String = asked.printed().split_whitespace().collect();
    let expect = arguments
        .replace('\u{202e}', "\\u{202e}")
        .replace('\u{2066}', "\\u{2066}")
        .replace('\u{200b}', "\\u{200b}");
    let expect: String = expect.split_whitespace().collect();
    assert!(whole.contains(&expect));
    terminal.types("y\n");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains(HIDDEN));
    let ran = fixture.ok(&["show", "r1"]);
    assert!(ran.contains("1 call, 0 failed"), "{ran}");
}

/// Progress is shown while a call runs, escaped, and recorded nowhere.
#[test]
fn progress_of_a_call_is_shown_on_a_terminal_while_it_runs() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let call = calls("odd__progress", r#"{"until":"seen"}"#);
    fixture.script(&tools(&[("odd", &[])]), &[&call, &says("Done.")]);
    let mut terminal = Terminal::start(fixture.command(&["run", "c.yaml", "--run-id", "r"]));
    terminal.until("running odd__progress: 3 of 10: reading\\u{202e}");
    fixture.write("seen", "");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains(HIDDEN), "{shown:?}");
    let recorded = fixture.ok(&["export", "r"]);
    assert!(!recorded.contains("of 10"), "{recorded}");
}
