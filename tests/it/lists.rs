//! A list of runs as a person uses it: what it says of a run that waits, how it is repeated, begun at a later line, and read on a terminal.

use monolith_core::message::RunId;
use monolith_host::store::StoreReader;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, says};
use crate::terminal::Terminal;

/// A list of one run, `r0`, whose first call needs an approval.
fn waiting() -> Fixture {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", "{\"text\":\"hi\"}"), &says("done")],
    );
    fixture.lines(&[json!({"contract": "c.yaml", "run_id": "r0"})]);
    fixture
}

/// Runs that answer at once.
fn answering() -> Fixture {
    let fixture = Fixture::new();
    fixture.script("", &[&says("It is noon.\nReally.")]);
    fixture
}

impl Fixture {
    fn lines(&self, lines: &[Value]) {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        self.write("list.jsonl", &lines.join("\n"));
    }

    fn entries_of_run(&self, run: &str) -> u64 {
        let run_id = RunId::try_from(run.to_owned()).unwrap();
        let mut reader = StoreReader::open(&self.path("home/runs.db")).unwrap();
        reader.read_run(&run_id).unwrap().row().length
    }

    /// The documents of a list, by the names of their runs.
    fn results(&self, args: &[&str], code: i32) -> Vec<Value> {
        let out = self.ends(args, code).out;
        let mut results: Vec<Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        results.sort_by_key(|result| result["run_id"].to_string());
        results
    }
}

const LIST: [&str; 3] = ["run", "--contracts", "list.jsonl"];

#[test]
fn a_run_that_waits_for_an_approval_names_its_call_and_is_left_as_it_is_until_it_is_answered() {
    let fixture = waiting();
    let check = |args: &[&str]| {
        let left = fixture.ends(args, 8);
        let result = left.document();
        assert_eq!(result["exit_tag"], "EXIT-APPROVAL-REQUIRED", "{result}");
        assert_eq!(result["error"], "suspended");
        assert_eq!(result["waits_for"]["call"], 1);
        assert_eq!(result["waits_for"]["name"], "echo");
        for words in ["call 1, echo", "monolith approve r0"] {
            assert!(left.err.contains(words), "{words}: {}", left.err);
        }
        result["waits_for"]["arguments_hash"].clone()
    };
    let hash = check(&LIST);
    let recorded = fixture.entries_of_run("r0");
    for again in [&["resume", "--all"][..], &LIST] {
        assert_eq!(check(again), hash);
        assert_eq!(fixture.entries_of_run("r0"), recorded, "{again:?}");
    }
    fixture.ends(&["resume", "r0", "--no-wait"], 8);
    assert_eq!(fixture.entries_of_run("r0"), recorded);
    let hash = hash.as_str().unwrap();
    fixture.ok(&["approve", "r0", "--yes", "--arguments", hash]);
    let done = fixture.results(&LIST, 0);
    assert_eq!(done[0]["outcome"]["class"], "COMPLETED_WITH_TOOLS");
    assert_eq!(done[0]["waits_for"], Value::Null);
    fixture.ends(&["replay", "r0"], 0);
}

#[test]
fn a_list_with_names_is_repeated_and_runs_that_have_ended_are_reported_as_they_are() {
    let fixture = answering();
    let line = |run: &str, task: &str| json!({"contract": "c.yaml", "run_id": run, "task": task});
    fixture.lines(&[line("r0", "one")]);
    let first = fixture.results(&LIST, 0);
    fixture.lines(&[line("r0", "one"), line("r1", "two")]);
    let both = fixture.results(&LIST, 0);
    assert_eq!(both.len(), 2);
    for key in ["head", "outcome", "finalReport", "entries"] {
        assert_eq!(both[0][key], first[0][key], "{key}");
    }
    assert_eq!(fixture.results(&LIST, 0), both);
    // Another run is not taken for it.
    for other in [
        line("r0", "another"),
        json!({"contract": "c.yaml", "run_id": "r0", "task": "one", "set": ["max_turns=3"]}),
    ] {
        fixture.lines(&[other]);
        let refused = fixture.results(&LIST, 1);
        let error = refused[0]["error"].as_str().unwrap();
        assert!(
            error.contains("line 1: ") && error.contains("r0"),
            "{error}"
        );
    }
}

#[test]
fn a_list_begins_at_the_line_or_the_file_that_is_named() {
    let fixture = answering();
    let line = |run: &str| json!({"contract": "c.yaml", "run_id": run});
    fixture.lines(&[line("r1"), line("r2"), line("r3")]);
    let from = |args: &[&str], at: &str| {
        let results = fixture.results(&[args, &["--from", at]].concat(), 0);
        let names = results.iter().map(|result| result["run_id"].to_string());
        names.collect::<Vec<_>>()
    };
    assert_eq!(from(&LIST, "2"), ["\"r2\"", "\"r3\""]);
    for name in ["all/a.yaml", "all/b.yaml"] {
        fixture.write(name, &fixture.read("c.yaml"));
    }
    fixture.write("all/s.jsonl", &fixture.read("s.jsonl"));
    let folder = ["run", "--contracts", "all"];
    assert_eq!(from(&folder, "b.yaml").len(), 1);
    for (args, at) in [(&folder, "c.yaml"), (&LIST, "b.yaml"), (&LIST, "0")] {
        let left = fixture.ends(&[args, &["--from", at][..]].concat(), 4);
        assert!(left.err.contains("number of a line"), "{}", left.err);
    }
    fixture.ends(&["run", "c.yaml", "--from", "2"], 4);
}

#[test]
fn a_beginning_behind_the_last_line_is_refused_with_the_number_of_lines() {
    let fixture = answering();
    let line = json!({"contract": "c.yaml", "run_id": "r1"}).to_string();
    fixture.write("list.jsonl", &format!("{line}\n\n{line}\n\n\n"));
    fixture.write("empty.jsonl", "\n");
    let check = |list: &str, from: &str, lines: &str| {
        let mut command = fixture.command(&["run", "--contracts", list, "--from", from]);
        command.stdin(std::fs::File::open(fixture.path("list.jsonl")).unwrap());
        let left = Left::from(command.output().unwrap());
        let said = left.err.split_whitespace().collect::<Vec<_>>().join(" ");
        let expect = format!("start {list} at line {from}: it has only {lines}");
        assert_eq!((left.code, left.out.as_str()), (4, ""), "{said}");
        assert!(said.contains(&expect), "{said}");
    };
    check("list.jsonl", "4", "3 lines");
    check("list.jsonl", "99", "3 lines");
    check("-", "4", "3 lines");
    check("empty.jsonl", "1", "0 lines");
    assert!(!fixture.path("home/runs.db").exists(), "nothing was begun");
    // A line that is blank is none, and the next one is begun.
    let from_blank = [&LIST[..], &["--from", "2"]].concat();
    assert_eq!(fixture.results(&from_blank, 0).len(), 1);
}

#[test]
fn a_contract_in_the_place_of_a_list_is_one_error_that_names_the_command() {
    let fixture = answering();
    let contract = json!({"task": "hi", "targets": [{"provider": "demo", "model": "script"}]});
    fixture.write("one.json", &contract.to_string());
    fixture.write("pretty.json", &format!("{contract:#}"));
    fixture.write(
        "my c.yml",
        &format!("# the \"contract\"\n{}", fixture.read("c.yaml")),
    );
    for (name, typed) in [
        ("c.yaml", "c.yaml"),
        ("one.json", "one.json"),
        ("pretty.json", "pretty.json"),
        ("my c.yml", "'my c.yml'"),
    ] {
        let left = fixture.ends(&["run", "--contracts", name], 4);
        assert_eq!(left.out, "", "{name}");
        let said = left.err.split_whitespace().collect::<Vec<_>>().join(" ");
        let expect = format!("run the list {name}: it is a contract, not a list");
        assert!(said.contains(&expect), "{said}");
        assert!(said.contains(&format!("monolith run {typed}")), "{said}");
    }
    // A list may have any name.
    fixture.write("list.json", "\n{\"contract\": \"c.yaml\"}\n{\n");
    let results = fixture.results(&["run", "--contracts", "list.json"], 1);
    assert_eq!(results.len(), 2);
}

#[test]
fn the_reason_of_a_run_that_did_not_succeed_is_whole_and_its_command_is_named_once() {
    let fixture = Fixture::new();
    let proof = "tool_policy: required\ntools: {builtin: [echo]}\n";
    fixture.script(proof, &[&says("No tool is needed.")]);
    let missing = format!("{}/agnt.yaml", "a-folder-of-a-long-name/".repeat(4));
    fixture.lines(&[
        json!({"contract": missing}),
        json!({"contract": "c.yaml", "run_id": "r1"}),
        json!({"contract": "c.yaml", "run_id": "r2"}),
    ]);
    let args = [&LIST[..], &["--max-runs", "1"]].concat();
    let (code, shown) = Terminal::sized(fixture.command(&args), 80).end();
    assert_eq!(code, 1, "{shown}");
    let plain = strip(&shown);
    assert!(plain.contains("No such file or directory"), "{plain}");
    let mut lines = plain.lines().skip_while(|line| !line.contains("line 1: "));
    assert!(lines.next().is_some(), "{plain}");
    assert!(lines.next().unwrap().starts_with("    "), "{plain}");
    assert!(
        plain.lines().all(|line| line.chars().count() <= 80),
        "{plain}"
    );
    let joined = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let error = fixture.json(&["show", "r1"]).1["error"].clone();
    let (_, why) = error.as_str().unwrap().split_once(": ").unwrap();
    assert!(joined.contains(why), "{why}: {plain}");
    assert_eq!(plain.matches("--why").count(), 1, "{plain}");
    assert!(plain.contains("monolith show r1 --why"), "{plain}");
}

#[test]
fn where_only_an_approval_is_open_the_summary_names_it_and_not_the_command_just_typed() {
    let fixture = waiting();
    let check = |args: &[&str]| {
        let (code, shown) = Terminal::sized(fixture.command(args), 80).end();
        let plain = strip(&shown);
        assert_eq!(code, 8, "{plain}");
        // What follows the results.
        let at = plain.find("\n1 waits for approval").expect(&plain);
        let summary = plain[at..].split_whitespace().collect::<Vec<_>>().join(" ");
        let expect =
            "a run is waiting for approval of call 1, echo: monolith approve r0 answers it";
        assert!(summary.contains(expect), "{summary}");
        assert!(!plain.contains("done"), "{plain}");
        assert!(!summary.contains("resume --all"), "{summary}");
    };
    check(&LIST);
    check(&["resume", "--all"]);
}

#[test]
fn results_on_a_terminal_are_short_lines_and_documents_where_they_are_asked_for() {
    let fixture = answering();
    fixture.lines(&[
        json!({"contract": "c.yaml", "run_id": "r0"}),
        json!({"contract": "c.yaml", "tusk": 1}),
    ]);
    let (code, shown) = Terminal::sized(fixture.command(&LIST), 80).end();
    assert_eq!(code, 1, "{shown}");
    let plain = strip(&shown);
    assert!(!plain.contains("\"format\""), "{plain}");
    let line = plain.lines().find(|line| line.contains("r0")).unwrap();
    assert!(line.starts_with("COMPLETED_CHAT_ONLY  r0  "), "{line}");
    assert!(line.ends_with("  It is noon.…"), "{line}");
    let line = plain.lines().find(|line| line.contains("line 2")).unwrap();
    assert!(line.starts_with("FAILED_PREFLIGHT  line 2: "), "{line}");
    assert!(line.chars().count() <= 80, "{line}");
    let json = [&LIST[..], &["--json"]].concat();
    let (_, shown) = Terminal::sized(fixture.command(&json), 80).end();
    assert!(shown.contains("{\"format\":"), "{shown}");
    let fixture = waiting();
    let (code, shown) = Terminal::sized(fixture.command(&LIST), 80).end();
    assert_eq!(code, 8, "{shown}");
    assert!(shown.contains("call 1, echo"), "{shown}");
    let listed = fixture.ok(&["list"]);
    assert!(
        listed.contains("suspended (monolith approve r0)"),
        "{listed}"
    );
    assert!(
        strip(&shown).contains("\n        answer it with monolith approve r0, "),
        "{shown}"
    );
}

/// Returns the text that a person reads: without escapes and wiped text.
fn strip(shown: &str) -> String {
    let lines = shown.lines().map(|line| {
        let line = line.trim_end_matches('\r');
        let line = line.rsplit('\r').next().unwrap_or_default();
        let mut plain = String::new();
        let mut rest = line;
        while let Some((text, behind)) = rest.split_once("\u{1b}[") {
            plain.push_str(text);
            let end = behind.find(|c: char| c.is_ascii_alphabetic());
            rest = end.map_or("", |end| &behind[end + 1..]);
        }
        plain + rest
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_list_that_is_repeated_says_on_a_terminal_what_is_recorded_and_how_it_is_run_again() {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: required\ntools: {builtin: [echo]}\n",
        &[&says("No call.")],
    );
    fixture.lines(&[
        json!({"contract": "c.yaml", "run_id": "r0"}),
        json!({"contract": "nosuch.yaml", "run_id": "r1"}),
    ]);
    let shown = || {
        let (code, shown) = Terminal::sized(fixture.command(&LIST), 200).end();
        assert_eq!(code, 1, "{shown}");
        strip(&shown)
    };
    let first = shown();
    assert!(!first.contains("recorded"), "{first}");
    // A file is named as it is seen from here.
    assert!(first.contains("the contract nosuch.yaml: "), "{first}");
    let again = shown();
    for expect in [
        "FAILED_PROTOCOL_NO_TOOLS  r0  as recorded  ",
        "2 done, 1 as recorded: ",
        "runs that had failed earlier were not run again; to repeat one, change its `run_id` in the list",
        "after monolith delete r0",
    ] {
        assert!(again.contains(expect), "{expect}: {again}");
    }
    assert!(!fixture.ends(&LIST, 1).out.contains("as recorded"));
}
