//! `show` from outside: two runs side by side, a run while it happens, its exit code, and what a player makes of it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::desk::{Desk, Left, calls, says};

impl Desk {
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
fn two_runs_part_where_their_decisions_do() {
    let desk = Desk::new();
    let compare = |left: &str, right: &str| {
        let Left {
            code, out: text, ..
        } = desk.run(&["show", &golden(left), &golden(right), "--diff", "--json"]);
        (code, serde_json::from_str::<Value>(&text).unwrap())
    };
    let (code, report) = compare("core.valid_call", "core.valid_call");
    assert_eq!(
        (code, &report["same"], &report["common"]),
        (0, &json!(true), &json!(11))
    );
    assert_eq!(report["first_other_content"], Value::Null);
    // The same decisions, but a contract and a result that differ.
    let (code, report) = compare("core.valid_call", "core.oversized_result");
    assert_eq!((code, &report["same"]), (0, &json!(true)));
    assert_eq!(
        report["contract"][0]["pointer"],
        "/tool_output_budget/max_bytes_per_call"
    );
    assert_eq!(report["first_other_content"]["left"]["seq"], 4);
    let (code, report) = compare("core.tool_timeout_then_call", "core.valid_call");
    assert_eq!((code, &report["common"]), (6, &json!(4)));
    assert_eq!(report["divergence"]["left"]["event"], "tool_timed_out");
    assert_eq!(report["divergence"]["right"]["event"], "tool_returned");
    assert_eq!(
        report["divergence"]["fields"][0]["pointer"],
        "/event/event/value/outcome/kind"
    );
    let last = report["segments"].as_array().unwrap().last().unwrap();
    assert_eq!(
        last,
        &json!({"side": "both", "left": [9, 15], "right": [4, 10]})
    );
    let Left {
        code, out: text, ..
    } = desk.run(&[
        "show",
        &golden("core.tool_timeout_then_call"),
        &golden("core.valid_call"),
        "--diff",
    ]);
    assert_eq!(code, 6);
    for part in [
        "In common from the beginning: 4 decisions",
        "read_file timed out",
        "A9–A15  are  B4–B10",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_comparison_needs_two_runs_that_verify() {
    let desk = Desk::new();
    let whole = golden("core.valid_call");
    assert_eq!(desk.run(&["show", &whole, "--diff"]).code, 4);
    assert_eq!(desk.run(&["show", &whole, &whole]).code, 4);
    let text = std::fs::read_to_string(&whole).unwrap();
    let changed = text.replacen("\"at_ms\":0", "\"at_ms\":1", 1);
    std::fs::write(desk.path("bad.jsonl"), changed).unwrap();
    assert_eq!(desk.run(&["show", &whole, "bad.jsonl", "--diff"]).code, 7);
}

#[test]
fn the_exit_code_of_a_run_is_given_where_it_is_asked_for() {
    let desk = Desk::new();
    let check = |name: &str, expect: i32| {
        assert_eq!(desk.run(&["show", &golden(name)]).code, 0, "{name}");
        assert_eq!(
            desk.run(&["show", &golden(name), "--exit-code"]).code,
            expect,
            "{name}"
        );
        assert_eq!(
            desk.run(&["show", &golden(name), "--json", "--exit-code"])
                .code,
            expect,
            "{name}"
        );
        assert_eq!(
            desk.run(&["show", &golden(name), "--follow"]).code,
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
    let desk = Desk::new();
    desk.script_in_time("required", &[("call", 0), ("done", 4000)]);
    let quiet = |command: &mut Command| {
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut run = Driven(quiet(
        &mut desk.command(&["run", "c.json", "--run-id", "r"]),
    ));
    // Asking is all the waiting: the run is there after a few answers.
    let there = (0..2000).any(|_| desk.run(&["show", "r", "--raw"]).code == 0);
    assert!(there, "the run never began");
    let mut following = Driven(
        desk.command(&["show", "r", "--follow"])
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
    let raw = desk.run(&["show", "r", "--raw"]).out;
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

#[test]
fn a_recorded_terminal_has_a_header_and_times_that_never_fall() {
    let desk = Desk::new();
    let Left {
        code, out: text, ..
    } = desk.run(&[
        "export",
        &golden("core.tool_timeout_then_call"),
        "--format",
        "cast",
    ]);
    assert_eq!(code, 0);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["version"], 2);
    assert!(lines[0]["width"].is_u64() && lines[0]["height"].is_u64());
    let times: Vec<f64> = lines[1..]
        .iter()
        .map(|line| line[0].as_f64().unwrap())
        .collect();
    assert!(
        times.len() > 5 && times.windows(2).all(|pair| pair[0] <= pair[1]),
        "{times:?}"
    );
    assert_eq!(times.last(), Some(&300.001));
    for line in &lines[1..] {
        assert_eq!(line[1], "o");
        assert!(line[2].as_str().unwrap().ends_with("\r\n"));
    }
}

/// What the token gate holds back stays out of every form unless it is asked for; a file that holds it gives it only then.
#[test]
fn withheld_text_leaves_in_no_form_unasked() {
    let desk = Desk::new();
    desk.script_in_time("required", &[("just talk", 0)]);
    assert_eq!(desk.run(&["run", "c.json", "--run-id", "r"]).code, 1);
    let whole = ["export", "r", "--withheld", "-o", "whole.jsonl"];
    assert_eq!(desk.run(&whole).code, 0);
    let file = desk.path("whole.jsonl").display().to_string();
    let blobs = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("{\"blob\""))
            .count()
    };
    let held = blobs(&std::fs::read_to_string(&file).unwrap());
    let carried = |asked: &str, more: &[&str]| {
        let Left {
            code, out: page, ..
        } = desk.run(&[&["export", asked, "--format", "html"], more].concat());
        assert_eq!(code, 0);
        let (_, rest) = page.split_once("stream;base64\">").unwrap();
        let data = rest.split('<').next().unwrap();
        let bytes =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).unwrap();
        blobs(&String::from_utf8(bytes).unwrap())
    };
    for asked in ["r", &file] {
        assert_eq!(carried(asked, &["--withheld"]), held);
        assert!(carried(asked, &[]) < held, "{held}");
        for format in ["atif", "cast"] {
            let text = desk.ok(&["export", asked, "--format", format]);
            assert!(!text.contains("just talk"), "{text}");
        }
    }
}

#[test]
fn a_run_is_shown_as_a_conversation_first_and_the_machine_below() {
    let desk = Desk::new();
    let long: Vec<String> = (1..=40).map(|line| format!("line {line}\n")).collect();
    desk.write("notes.txt", &long.concat());
    let call = calls("read_file", "{\"path\": \"notes.txt\"}");
    desk.script(
        "system: Be brief.\ntool_policy: required\ntools: {builtin: [read_file]}\n",
        &[&call, &says("Forty \u{1b}[2Jlines.")],
    );
    desk.ok(&["run", "c.yaml", "--run-id", "r"]);
    let shown = desk.ok(&["show", "r"]);
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

    let conversation = desk.ok(&["show", "r", "--conversation"]);
    assert!(shown.starts_with(&conversation), "{conversation}");
    assert!(!conversation.contains("PRECHECK"), "{conversation}");
    let full = desk.ok(&["show", "r", "--conversation", "--full"]);
    assert!(full.starts_with("system\n  Be brief.\n"), "{full}");
    assert!(
        full.contains("  line 40\n") && !full.contains("--full"),
        "{full}"
    );
    desk.ends(&["show", "r", "--full", "--raw"], 4);
}

#[test]
fn why_names_the_limit_its_figures_and_the_entries() {
    let desk = Desk::new();
    let call = calls("read_file", "{\"path\": \"absent.txt\"}");
    desk.script(
        "tool_policy: required\ntool_proof: succeeded\ntools: {builtin: [read_file]}\nmax_turns: 2\n",
        &[&call, &says("It is empty.")],
    );
    desk.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    let why = desk.ok(&["show", "r", "--why"]);
    assert!(
        why.contains(
            "  the model asked for 1 call; 1 executed, 0 of them without an error; 1 is required\n"
        ),
        "{why}"
    );
    let (_, failed) = why.split_once("What failed:\n").expect(&why);
    assert!(failed.trim_start().starts_with("4 "), "{why}");
    assert!(failed.contains("read_file error NOT_FOUND"), "{why}");
    let shown = desk.ok(&["show", "r"]);
    assert!(
        shown.ends_with("Why it ended so: monolith show r --why\n"),
        "{shown}"
    );

    desk.script(
        "max_turns: 1\nmax_attempts_per_turn: 1\n",
        &["{\"fault\": \"refused\"}"],
    );
    desk.ends(&["run", "c.yaml", "--run-id", "s"], 1);
    let why = desk.ok(&["show", "s", "--why"]);
    assert!(
        why.contains("  max_attempts_per_turn: 1 of 1 used\n"),
        "{why}"
    );
}

/// Issue 14: relative paths of a contract begin in its folder, wherever the caller stands.
#[test]
fn the_workspace_is_found_from_the_folder_of_the_contract_and_named() {
    let desk = Desk::new();
    desk.write("work/notes.txt", "here");
    let call = calls("read_file", "{\"path\": \"notes.txt\"}");
    desk.script(
        "tool_policy: required\ntool_proof: succeeded\ntools: {builtin: [read_file], workspace: work}\n",
        &[&call, &says("Read.")],
    );
    std::fs::create_dir(desk.path("elsewhere")).unwrap();
    let mut command = desk.command(&["run", "../c.yaml", "--run-id", "r"]);
    let left = command
        .current_dir(desk.path("elsewhere"))
        .output()
        .unwrap();
    assert!(left.status.success(), "{}", crate::desk::text(&left.stderr));
    let workspace = desk.path("work").canonicalize().unwrap();
    let line = format!("\nworkspace {}\n", workspace.display());
    let shown = desk.ok(&["show", "r"]);
    assert!(shown.contains(&line), "{shown}");
    // A file that leads elsewhere now names another folder: none is better than that one.
    std::fs::rename(desk.path("work"), desk.path("moved")).unwrap();
    let shown = desk.ok(&["show", "r"]);
    assert!(!shown.contains("\nworkspace "), "{shown}");
}

/// The text of a model that was held back is read where it is asked for, and is called no answer there.
#[test]
fn what_a_model_said_instead_of_calling_is_shown_when_it_is_asked_for() {
    let desk = Desk::new();
    desk.script_in_time("required", &[("just talk", 0)]);
    desk.ends(
        &["run", "c.json", "--run-id", "r", "--set", "token_gate=true"],
        1,
    );
    let hint = "9 bytes were held back by the token gate: monolith show r --withheld prints them";
    for form in [
        &["show", "r"][..],
        &["show", "r", "--why"],
        &["show", "r", "--conversation"],
    ] {
        let shown = desk.ok(form);
        assert!(
            shown.contains(hint) && !shown.contains("just talk"),
            "{shown}"
        );
        let shown = desk.ok(&[form, &["--withheld"]].concat());
        let text = "held back, entry 2, 9 bytes: written before a call was validated, so it is no answer\n  just talk\n";
        assert!(shown.contains(text) && !shown.contains(hint), "{shown}");
        assert_eq!(shown.matches("just talk").count(), 1, "{shown}");
    }
    desk.ends(&["show", "r", "--json", "--withheld"], 4);
    // A file that was exported without it has it no more.
    desk.ok(&["export", "r", "-o", "r.jsonl"]);
    let shown = desk.ok(&["show", "r.jsonl", "--withheld"]);
    assert!(
        shown.contains("not in this file") && !shown.contains("just talk"),
        "{shown}"
    );
    // A run of which nothing was held back says that.
    let shown = desk.ok(&["show", &golden("core.valid_call"), "--withheld"]);
    assert!(
        shown.contains("The token gate held no text back."),
        "{shown}"
    );
}

/// The timeouts stand still while a call waits for an approval, and so does the bar.
#[test]
fn the_bar_of_time_counts_what_the_timeout_counts() {
    let run = golden("approval.stands_outside_the_timeouts");
    let desk = Desk::new();
    for form in [&["show", &run][..], &["show", &run, "--why"]] {
        let shown = desk.ok(form);
        let bar = shown.lines().find(|line| line.starts_with("ms ")).unwrap();
        assert!(bar.ends_with(" 2,000 of 2,000"), "{bar}");
        assert!(
            shown.contains("waited    1,000,000 ms for approvals"),
            "{shown}"
        );
    }
}

/// The ending of a file names its form.
#[test]
fn an_export_has_the_form_that_its_file_is_named_after() {
    let desk = Desk::new();
    desk.script_in_time("optional", &[("hi", 0)]);
    desk.ok(&["run", "c.json", "--run-id", "r"]);
    for (file, begins) in [
        ("x.html", "<!doctype html>"),
        ("x.json", "{\n"),
        ("x.cast", "{\"version\""),
        ("x.jsonl", "{\"contract\""),
        ("x.txt", "{\"contract\""),
    ] {
        desk.ok(&["export", "r", "-o", file]);
        let text = desk.read(file);
        assert!(
            text.to_lowercase().starts_with(begins),
            "{file}: {}",
            &text[..40]
        );
    }
    let said = desk
        .ends(&["export", "r", "-o", "y.html", "--format", "jsonl"], 4)
        .said();
    assert!(
        said.contains("its ending stands for --format html"),
        "{said}"
    );
    assert!(!desk.path("y.html").exists());
    for format in ["atif", "cast"] {
        let said = desk
            .ends(&["export", "r", "--format", format, "--withheld"], 4)
            .said();
        assert!(
            said.contains("never holds text that the token gate held back"),
            "{said}"
        );
    }
}

/// A model that is a path on the server is named by the end of the path.
#[test]
fn a_model_that_is_a_path_is_named_by_its_end() {
    let desk = Desk::new();
    let contract = "task: hi\ntool_policy: required\ntools: {builtin: [echo]}\n\
        targets: [{provider: demo, model: /far/away/hermes.gguf}]\n\
        providers: {demo: {type: scripted, file: s.jsonl}}\n";
    desk.write("c.yaml", contract);
    desk.write(
        "s.jsonl",
        &[calls("echo", "{\"text\":\"x\"}"), says("done")].join("\n"),
    );
    desk.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let shown = desk.ok(&["show", "r"]);
    assert!(shown.contains("asks demo/…/hermes.gguf"), "{shown}");
    let recorded = desk.ok(&["export", "r"]);
    assert!(
        recorded.contains("\"model\":\"/far/away/hermes.gguf\""),
        "{recorded}"
    );
    // What a provider of the contract is read from is a file.
    let reaches = desk.ok(&["contract", "check", "c.yaml"]);
    let file = reaches
        .lines()
        .find(|line| line.contains("providers.demo.file"))
        .unwrap();
    assert!(file.trim_start().starts_with("file "), "{file}");
}
