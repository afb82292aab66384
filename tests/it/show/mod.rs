//! `show` from outside: a run that is recorded, and one while it happens; its exit code; other forms; two runs side by side.

mod compared;
mod exported;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::fixture::{Fixture, calls, says};

impl Fixture {
    /// A contract whose scripted model says this, each after so many milliseconds.
    fn script_in_time(&self, policy: &str, answers: &[(&str, u64)]) {
        let contract = json!({"task": "hi", "tool_policy": policy, "targets": [{"provider": "demo", "model": "script"}],
            "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}, "tools": {"builtin": ["echo"]}});
        std::fs::write(self.path("c.json"), contract.to_string()).unwrap();
        let lines: Vec<String> = answers.iter().map(|(text, delay_ms)| {
            let call = json!([{"id": "a", "type": "function", "function": {"name": "echo", "arguments": "{\"text\":\"x\"}"}}]);
            let message = if *text == "call" { json!({"role": "assistant", "tool_calls": call}) } else { json!({"role": "assistant", "content": text}) };
            let stop = if *text == "call" { "tool_calls" } else { "stop" };
            json!({"response": {"choices": [{"index": 0, "message": message, "finish_reason": stop}]}, "delay_ms": delay_ms}).to_string()
        }).collect();
        std::fs::write(self.path("s.jsonl"), lines.join("\n")).unwrap();
    }
}

fn golden(name: &str) -> String {
    crate::golden::file_of(name).display().to_string()
}

#[test]
fn the_exit_code_of_a_run_is_given_where_it_is_asked_for() {
    let fixture = Fixture::new();
    let check = |name: &str, expect: i32| {
        assert_eq!(fixture.run(&["show", &golden(name)]).code, 0, "{name}");
        assert_eq!(
            fixture.run(&["show", &golden(name), "--exit-code"]).code,
            expect,
            "{name}"
        );
        assert_eq!(
            fixture
                .run(&["show", &golden(name), "--json", "--exit-code"])
                .code,
            expect,
            "{name}"
        );
        assert_eq!(
            fixture.run(&["show", &golden(name), "--follow"]).code,
            expect,
            "{name}"
        );
    };
    check("core.valid_call", 0);
    check("core.narration", 1);
    check("preflight.tool_unavailable", 3);
    check("core.malformed_envelope", 5);
}

/// Ends the run with the test, however that ends.
struct Driven(Child);

impl Drop for Driven {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Shows 002/8.keep.3.
#[test]
fn a_run_is_followed_from_its_first_entry_to_its_seal() {
    let fixture = Fixture::new();
    fixture.script_in_time("required", &[("call", 0), ("done", 4000)]);
    let quiet = |command: &mut Command| {
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut run = Driven(quiet(
        &mut fixture.command(&["run", "c.json", "--run-id", "r"]),
    ));
    // Asking is all the waiting: the run is there after a few answers.
    let there = (0..2000).any(|_| fixture.run(&["show", "r", "--raw"]).code == 0);
    assert!(there, "the run never began");
    let mut following = Driven(
        fixture
            .command(&["show", "r", "--follow"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut lines = BufReader::new(following.0.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.trim_start().starts_with('0'), "{first}");
    assert!(
        run.0.try_wait().unwrap().is_none(),
        "the model takes four seconds: the run is in progress"
    );
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let rows = rest.iter().take_while(|line| !line.is_empty()).count() + 1;
    let raw = fixture.run(&["show", "r", "--raw"]).out;
    assert_eq!(rows, raw.lines().count(), "{rest:?}");
    assert!(
        rest.iter()
            .any(|line| line.contains("COMPLETED_WITH_TOOLS")),
        "{rest:?}"
    );
    assert!(
        rest.last().unwrap().starts_with("verified at level"),
        "{rest:?}"
    );
    assert_eq!(following.0.wait().unwrap().code(), Some(0));
    assert_eq!(run.0.wait().unwrap().code(), Some(0));
}

/// Each entry and its event is one line of JSON, printed before the run has ended.
#[test]
fn a_run_is_followed_by_a_program_as_lines_of_json() {
    let fixture = Fixture::new();
    fixture.script_in_time("required", &[("call", 0), ("done", 4000)]);
    let mut run = fixture.command(&["run", "c.json", "--run-id", "r"]);
    let run = run.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = Driven(run.spawn().unwrap());
    let there = (0..2000).any(|_| fixture.run(&["show", "r", "--raw"]).code == 0);
    assert!(there, "the run never began");
    let mut following = fixture.command(&["show", "r", "--follow", "--json"]);
    let mut following = Driven(following.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(following.0.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let entry: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!(entry["event"]["event"]["kind"], "run_started", "{first}");
    assert!(
        run.0.try_wait().unwrap().is_none(),
        "the model takes four seconds: the run is in progress"
    );
    let rest = lines.map(Result::unwrap);
    let followed: Vec<String> = std::iter::once(first).chain(rest).collect();
    let raw = fixture.ok(&["show", "r", "--raw"]);
    assert_eq!(followed, raw.lines().collect::<Vec<_>>());
    assert_eq!(following.0.wait().unwrap().code(), Some(0));
    assert_eq!(run.0.wait().unwrap().code(), Some(0));
    let failed = golden("core.malformed_envelope");
    let left = fixture.ends(&["show", &failed, "--follow", "--json"], 5);
    let raw = fixture.ok(&["show", &failed, "--raw"]);
    assert_eq!((left.out, left.err.as_str()), (raw, ""));
}

/// A program does not wait for a person who resumes the run.
#[test]
fn a_run_that_nobody_drives_is_followed_by_a_program_to_its_last_entry() {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", "{\"text\": \"x\"}")],
    );
    fixture.ends(&["run", "c.yaml", "--no-wait", "--run-id", "r"], 8);
    let left = fixture.ends(&["show", "r", "--follow", "--json"], 8);
    assert_eq!(left.out, fixture.ok(&["show", "r", "--raw"]));
    assert_eq!(
        left.err,
        "run r has not ended, and no process drives it; `monolith resume r` continues it\n"
    );
}

/// The model takes its time, and no line is written meanwhile.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_the_following_while_nothing_happens() {
    let fixture = Fixture::new();
    fixture.script_in_time("required", &[("call", 0), ("done", 8000)]);
    for (name, form) in [("a", &["--json"][..]), ("b", &[])] {
        let mut run = fixture.command(&["run", "c.json", "--run-id", name]);
        let run = run.stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = Driven(run.spawn().unwrap());
        let waits = (0..2000).any(|_| {
            let raw = fixture.run(&["show", name, "--raw"]).out;
            raw.contains("tool_returned")
        });
        assert!(waits, "the model was never asked again");
        let args = [&["show", name, "--follow"], form].concat();
        let mut following = fixture.command(&args);
        let mut following = Driven(following.stdout(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(following.0.stdout.take().unwrap()).lines();
        let entries = fixture.ok(&["show", name, "--raw"]).lines().count();
        assert_eq!(lines.by_ref().take(entries).count(), entries);
        drop(lines);
        assert_eq!(following.0.wait().unwrap().code(), Some(0), "{form:?}");
        assert!(run.0.try_wait().unwrap().is_none(), "{form:?}");
    }
}

#[test]
fn a_run_is_shown_as_a_conversation_first_and_the_machine_below() {
    let fixture = Fixture::new();
    let long: Vec<String> = (1..=40).map(|line| format!("line {line}\n")).collect();
    fixture.write("notes.txt", &long.concat());
    let call = calls("read_file", "{\"path\": \"notes.txt\"}");
    fixture.script(
        "system: Be brief.\ntool_policy: required\ntools: {builtin: [read_file]}\n",
        &[&call, &says("Forty \u{1b}[2Jlines.")],
    );
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let shown = fixture.ok(&["show", "r"]);
    let mut rest = shown.as_str();
    for expected in [
        "task\n  hi\n",
        "model\n  → read_file {\"path\": \"notes.txt\"}\n",
        "result of read_file\n  line 1\n",
        "  line 8\n  … ",
        " more; --full shows all\n",
        "answer\n  Forty \\u{1b}[2Jlines.\n",
        "2 turns, 2 requests, 1 call, ",
        "COMPLETED_WITH_TOOLS (final_message)",
        "\nrun       r, begun ",
        "\nworkspace ",
        "VALIDATE_CALLS → EXECUTE",
        "Continue it: monolith continue r \"…\"\n",
    ] {
        let (_, after) = rest
            .split_once(expected)
            .unwrap_or_else(|| panic!("{expected}: {shown}"));
        rest = after;
    }
    assert!(
        !shown.contains("line 9\n") && !shown.contains("Be brief."),
        "{shown}"
    );

    let conversation = fixture.ok(&["show", "r", "--conversation"]);
    assert!(shown.starts_with(&conversation), "{conversation}");
    assert!(!conversation.contains("PRECHECK"), "{conversation}");
    let full = fixture.ok(&["show", "r", "--conversation", "--full"]);
    assert!(full.starts_with("system\n  Be brief.\n"), "{full}");
    assert!(
        full.contains("  line 40\n") && !full.contains("--full"),
        "{full}"
    );
    fixture.ends(&["show", "r", "--full", "--raw"], 4);
}

#[test]
fn why_names_the_limit_its_figures_and_the_entries() {
    let fixture = Fixture::new();
    let call = calls("read_file", "{\"path\": \"absent.txt\"}");
    fixture.script(
        "tool_policy: required\ntool_proof: succeeded\ntools: {builtin: [read_file]}\nmax_turns: 2\n",
        &[&call, &says("It is empty.")],
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    let why = fixture.ok(&["show", "r", "--why"]);
    assert!(
        why.contains(
            "  the model asked for 1 call; 1 executed, 0 of them without an error; 1 is required\n"
        ),
        "{why}"
    );
    let (_, failed) = why.split_once("What failed:\n").expect(&why);
    assert!(failed.trim_start().starts_with("4 "), "{why}");
    assert!(failed.contains("read_file error NOT_FOUND"), "{why}");
    let shown = fixture.ok(&["show", "r"]);
    assert!(
        shown.ends_with("Why it ended so: monolith show r --why\n"),
        "{shown}"
    );

    fixture.script(
        "max_turns: 1\nmax_attempts_per_turn: 1\n",
        &["{\"fault\": \"refused\"}"],
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "s"], 1);
    let why = fixture.ok(&["show", "s", "--why"]);
    assert!(
        why.contains("  max_attempts_per_turn: 1 of 1 used\n"),
        "{why}"
    );
}

/// Issue 14: relative paths of a contract begin in its folder, wherever the caller stands.
#[test]
fn the_workspace_is_found_from_the_folder_of_the_contract_and_named() {
    let fixture = Fixture::new();
    fixture.write("work/notes.txt", "here");
    let call = calls("read_file", "{\"path\": \"notes.txt\"}");
    fixture.script(
        "tool_policy: required\ntool_proof: succeeded\ntools: {builtin: [read_file], workspace: work}\n",
        &[&call, &says("Read.")],
    );
    std::fs::create_dir(fixture.path("elsewhere")).unwrap();
    let mut command = fixture.command(&["run", "../c.yaml", "--run-id", "r"]);
    let left = command
        .current_dir(fixture.path("elsewhere"))
        .output()
        .unwrap();
    assert!(
        left.status.success(),
        "{}",
        crate::fixture::text(&left.stderr)
    );
    let workspace = fixture.path("work").canonicalize().unwrap();
    let line = format!("\nworkspace {}\n", workspace.display());
    let shown = fixture.ok(&["show", "r"]);
    assert!(shown.contains(&line), "{shown}");
    // A file that leads elsewhere now names another folder: none is better than that one.
    std::fs::rename(fixture.path("work"), fixture.path("moved")).unwrap();
    let shown = fixture.ok(&["show", "r"]);
    assert!(!shown.contains("\nworkspace "), "{shown}");
}

/// The text of a model that was held back is read where it is asked for, and is called no answer there.
#[test]
fn what_a_model_said_instead_of_calling_is_shown_when_it_is_asked_for() {
    let fixture = Fixture::new();
    fixture.script_in_time("required", &[("just talk", 0)]);
    fixture.ends(
        &["run", "c.json", "--run-id", "r", "--set", "token_gate=true"],
        1,
    );
    let hint = "9 bytes were withheld because no tool call had been validated yet; monolith show r --withheld prints them";
    for form in [
        &["show", "r"][..],
        &["show", "r", "--why"],
        &["show", "r", "--conversation"],
    ] {
        let shown = fixture.ok(form);
        assert!(
            shown.contains(hint) && !shown.contains("just talk"),
            "{shown}"
        );
        // A message without text is not a heading above nothing.
        let is_why = form.contains(&"--why");
        let no_text = "model\n  (9 bytes held back: --withheld)\n";
        assert_eq!(!shown.contains(no_text), is_why, "{shown}");
        let shown = fixture.ok(&[form, &["--withheld"]].concat());
        let text = "held back, entry 2, 9 bytes: written before a call was validated, so it is no answer\n  just talk\n";
        assert!(shown.contains(text) && !shown.contains(hint), "{shown}");
        assert_eq!(shown.matches("just talk").count(), 1, "{shown}");
        // It stands where the message has no other text.
        let there = format!("model\n{text}");
        assert_eq!(!shown.contains(&there), is_why, "{shown}");
    }
    fixture.ends(&["show", "r", "--json", "--withheld"], 4);
    // A file that was exported without it has it no more.
    fixture.ok(&["export", "r", "-o", "r.jsonl"]);
    let shown = fixture.ok(&["show", "r.jsonl", "--withheld"]);
    assert!(
        shown.contains("not in this file") && !shown.contains("just talk"),
        "{shown}"
    );
    // A run of which nothing was held back says that.
    let shown = fixture.ok(&["show", &golden("core.valid_call"), "--withheld"]);
    assert!(shown.contains("No text was held back."), "{shown}");
}

/// The timeouts stand still while a call waits for an approval, and so does the bar.
#[test]
fn the_bar_of_time_counts_what_the_timeout_counts() {
    let run = golden("approval.stands_outside_the_timeouts");
    let fixture = Fixture::new();
    for form in [&["show", &run][..], &["show", &run, "--why"]] {
        let shown = fixture.ok(form);
        let bar = shown.lines().find(|line| line.starts_with("ms ")).unwrap();
        assert!(bar.ends_with(" 2,000 of 2,000"), "{bar}");
        assert!(
            shown.contains("waited    1,000,000 ms for approvals"),
            "{shown}"
        );
    }
}

/// A model that is a path on the server is named by the end of the path.
#[test]
fn a_model_that_is_a_path_is_named_by_its_end() {
    let fixture = Fixture::new();
    let contract = "task: hi\ntool_policy: required\ntools: {builtin: [echo]}\n\
        targets: [{provider: demo, model: /far/away/hermes.gguf}]\n\
        providers: {demo: {type: scripted, file: s.jsonl}}\n";
    fixture.write("c.yaml", contract);
    fixture.write(
        "s.jsonl",
        &[calls("echo", "{\"text\":\"x\"}"), says("done")].join("\n"),
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let shown = fixture.ok(&["show", "r"]);
    assert!(shown.contains("asks demo/…/hermes.gguf"), "{shown}");
    let recorded = fixture.ok(&["export", "r"]);
    assert!(
        recorded.contains("\"model\":\"/far/away/hermes.gguf\""),
        "{recorded}"
    );
    // What a provider of the contract is read from is a file.
    let reaches = fixture.ok(&["contract", "check", "c.yaml"]);
    let file = reaches
        .lines()
        .find(|line| line.contains("providers.demo.file"))
        .unwrap();
    assert!(file.trim_start().starts_with("file "), "{file}");
}
