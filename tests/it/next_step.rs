//! Messages to a new user who does not know what to type next: what is missing, what waits, why a run failed, and how to
//! continue from there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::fixture::{Fixture, Left, calls, says, shell_word};

const ECHO: &str = "tools: {builtin: [echo]}\n";

impl Fixture {
    /// Returns a command's output on a terminal without colours, each line without the space around it.
    #[cfg(unix)]
    fn shown(&self, args: &[&str]) -> (i32, String) {
        let mut command = self.command(args);
        command.env("NO_COLOR", "1");
        let (code, shown) = crate::terminal::Terminal::sized(command, 1_000).end();
        let shown = shown.replace("\r\u{1b}[2K", "\n");
        let lines = shown.lines().map(str::trim).collect::<Vec<_>>();
        (code, lines.join("\n"))
    }
}

#[test]
fn a_command_for_a_contract_takes_that_of_the_folder_or_says_what_to_type() {
    for command in [
        &["contract", "check"][..],
        &["contract", "show"],
        &["contract", "hash"],
        &["tools"],
    ] {
        let fixture = Fixture::new();
        let left = fixture.ends(command, 4);
        assert!(
            left.err.contains("this folder has no agent.yaml"),
            "{}",
            left.err
        );
        let typed = format!("monolith {} FILE", command.join(" "));
        assert!(left.err.contains(&typed), "{}", left.err);
        assert!(left.err.contains("monolith init"), "{}", left.err);
        fixture.script(ECHO, &[&says("hi")]);
        std::fs::rename(fixture.path("c.yaml"), fixture.path("agent.yaml")).unwrap();
        fixture.ends(command, 0);
    }
}

#[cfg(unix)]
#[test]
fn without_waiting_an_approval_is_no_question() {
    let fixture = Fixture::new();
    fixture.script(
        "tools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", "{\"text\":\"hi\"}"), &says("said")],
    );
    let (code, shown) = fixture.shown(&["run", "c.yaml", "--run-id", "nightly-build", "--no-wait"]);
    assert_eq!(code, 8, "{shown}");
    assert!(!shown.contains("[y/N]"), "{shown}");
    assert!(
        shown.contains("call 1 of echo asks for your approval"),
        "{shown}"
    );
    let next = "monolith approve nightly-build answers call 1 of echo, then monolith resume nightly-build continues it";
    assert!(shown.contains(next), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_run_that_failed_says_how_to_find_out_why_and_how_to_go_on() {
    let fixture = Fixture::new();
    fixture.script(
        "max_turns: 2\ntools: {builtin: [echo]}\n",
        &[&calls("echo", "{}"), &calls("echo", "{}")],
    );
    let (code, shown) = fixture.shown(&["run", "c.yaml", "--run-id", "nightly-build"]);
    assert_eq!(code, 1, "{shown}");
    let last = "monolith show nightly-build --why   ·   monolith continue nightly-build \"…\"";
    assert_eq!(shown.trim().lines().last(), Some(last), "{shown}");
    // In a pipe it ends the one line of help.
    let left = fixture.ends(&["run", "c.yaml", "--run-id", "r2"], 1);
    assert!(
        left.err.ends_with("; more: monolith show r2 --why\n"),
        "{}",
        left.err
    );
    // Of a run in which nothing was said there is nothing to continue.
    fixture.write(
        "c.yaml",
        &fixture
            .read("c.yaml")
            .replace("max_turns: 2", "allowed_tools: [nope]"),
    );
    let (code, shown) = fixture.shown(&["run", "c.yaml", "--run-id", "r3"]);
    assert_eq!(code, 3, "{shown}");
    assert_eq!(
        shown.trim().lines().last(),
        Some("monolith show r3 --why"),
        "{shown}"
    );
}

/// The hint is true: what it names can be typed.
#[cfg(unix)]
#[test]
fn text_that_was_held_back_is_found_where_the_end_of_the_run_says() {
    let fixture = Fixture::new();
    fixture.script(
        &format!("tool_policy: required\n{ECHO}"),
        &[&says("No tool for me.")],
    );
    let (code, shown) = fixture.shown(&["run", "c.yaml", "--run-id", "r1"]);
    assert_eq!(code, 1, "{shown}");
    let hint = "15 bytes were withheld because no tool call had been validated yet; monolith show r1 --withheld prints them";
    assert!(shown.contains(hint), "{shown}");
    assert!(fixture.ok(&["show", "r1"]).contains(hint));
    let read = fixture.ok(&["show", "r1", "--withheld"]);
    assert!(
        read.contains("No tool for me.") && !read.contains(hint),
        "{read}"
    );
    fixture.script(ECHO, &[&says("Yes.")]);
    let (_, shown) = fixture.shown(&["run", "c.yaml", "--run-id", "r2"]);
    assert!(!shown.contains("held back"), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_continuation_without_a_call_reads_the_rule_before_and_after_and_the_way_out_works() {
    let fixture = Fixture::new();
    let call = calls("echo", "{\"text\":\"x\"}");
    fixture.script(
        &format!("tool_policy: required\ntool_proof: succeeded\n{ECHO}"),
        &[
            &call,
            &says("One."),
            &says("Two."),
            &says("Three."),
            &says("Four."),
        ],
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
    let (code, shown) = fixture.shown(&["continue", "r1", "Thanks!", "--run-id", "r2"]);
    assert_eq!(code, 1, "{shown}");
    let rule =
        "tool_policy: required, tool_proof: succeeded: each run needs its own successful tool call";
    let before = shown.find(&format!("note: {rule}")).expect(&shown);
    assert!(before < shown.find("INFER").unwrap(), "{shown}");
    let way = "monolith continue r2 \"…\" --contract c.yaml --set tool_policy=optional";
    let after = shown.rfind(rule).unwrap();
    assert!(
        after > shown.find("FAILED_PROTOCOL_NO_TOOLS").unwrap(),
        "{shown}"
    );
    assert!(shown.contains(way), "{shown}");
    fixture.ends(
        &[
            "continue",
            "r2",
            "Thanks!",
            "--contract",
            "c.yaml",
            "--set",
            "tool_policy=optional",
        ],
        0,
    );
    // A run that called a tool needs no such advice.
    let (_, shown) = fixture.shown(&["show", "r1"]);
    assert!(!shown.contains("tool_policy: required"), "{shown}");
}

/// A paste from a terminal is the command, whatever the paths are called and however narrow it is.
#[cfg(unix)]
#[test]
fn a_command_to_type_next_is_one_line_that_a_shell_reads_back() {
    let fixture = Fixture::new();
    fixture.script(
        &format!("tool_policy: required\n{ECHO}"),
        &[&says("No tool for me."), &says("Nor here.")],
    );
    std::fs::rename(fixture.path("c.yaml"), fixture.path("my c.yaml")).unwrap();
    fixture.write("it's here/file", "");
    let store = fixture.path("it's here/r.db");
    let args = ["run", "my c.yaml", "--run-id", "nightly-build", "--store"];
    let mut command = fixture.command(&[&args[..], &[store.to_str().unwrap()]].concat());
    command.env("NO_COLOR", "1");
    let (code, shown) = crate::terminal::Terminal::sized(command, 40).end();
    assert_eq!(code, 1, "{shown}");
    let commands = shown
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("monolith "));
    let commands: Vec<&str> = commands.collect();
    assert_eq!(commands.len(), 4, "{shown}");
    for command in commands {
        // The words of the way out say what it does; a shell takes the command itself.
        let (typed, _) = command.split_once(" prints").unwrap_or((command, ""));
        let words = Command::new("sh")
            .args(["-c", &format!("printf '%s\\n' {typed}")])
            .output()
            .unwrap();
        let words = String::from_utf8(words.stdout).unwrap();
        let words: Vec<&str> = words.lines().collect();
        assert_eq!(words.last(), Some(&store.to_str().unwrap()), "{command}");
        if words.contains(&"--contract") {
            assert!(words.contains(&"my c.yaml"), "{command}");
        }
        assert_eq!(words[2], "nightly-build", "{command}");
    }
}

#[test]
fn what_keeps_a_run_from_beginning_or_going_on_has_the_line_of_the_file() {
    let fixture = Fixture::new();
    let waits = "max_turns: 4\nrequire_approval: [echo]\n";
    let contract = |more: &str| {
        fixture.script(
            &format!("{ECHO}{more}"),
            &[&calls("echo", "{\"text\":\"hi\"}"), &says("said")],
        );
    };
    contract("max_turns: 4\nrequire_approval: [nope]\n");
    let left = fixture.ends(&["contract", "check", "c.yaml"], 4);
    assert!(
        left.out.contains("\n        at c.yaml:6:19\n"),
        "{}",
        left.out
    );
    let left = fixture.ends(&["run", "c.yaml", "--run-id", "r0"], 4);
    assert!(
        left.err.contains("  = help: correct c.yaml:6:19; "),
        "{}",
        left.err
    );
    contract(waits);
    fixture.ends(&["run", "c.yaml", "--run-id", "r1", "--no-wait"], 8);
    // Without an answer a resume leaves the run again and asks no file.
    fixture.answers("approve", "r1");
    contract("max_turns: 4\n");
    fixture.ok(&["run", "c.yaml", "--run-id", "r2"]);
    contract(&waits.replace('4', "5"));
    for (args, why) in [
        (
            &["resume", "r1"][..],
            "resume run r1: the file gives another contract: /max_turns is 5",
        ),
        (
            &["continue", "r2", "Go on."],
            "continue run r2: the file has changed: /max_turns is 5",
        ),
    ] {
        let (code, result) = fixture.json(args);
        assert_eq!(code, 4, "{result}");
        let left = fixture.ends(args, 4);
        assert!(left.err.contains(why), "{}", left.err);
        assert!(left.err.contains("c.yaml:5:12"), "{}", left.err);
    }
    // Here the file is as it was.
    contract(waits);
    let left = fixture.ends(&["resume", "r1", "--set", "max_turns=3"], 4);
    for part in [
        "the file gives another contract: /max_turns is 3, but the run started with",
        "leave out --set max_turns=3: a run keeps the contract that it started with",
        "monolith continue r1 \"…\" --set max_turns=3 starts another one",
    ] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
    assert!(!left.err.contains("restore the file"), "{}", left.err);
    // A value that the file does not have has no line.
    contract(&waits.replace("max_turns: 4", "system: Be brief.\nmax_turns: 4"));
    fixture.write(
        "c.yaml",
        &fixture
            .read("c.yaml")
            .replace("require_approval: [echo]\n", ""),
    );
    let left = fixture.ends(&["resume", "r1"], 4);
    assert!(left.err.contains("/require_approval"), "{}", left.err);
    // What is set is not what differs.
    let left = fixture.ends(&["resume", "r1", "--set", "max_turns=4"], 4);
    assert!(left.err.contains("/require_approval"), "{}", left.err);
    assert!(!left.err.contains("leave out --set"), "{}", left.err);
    assert!(!left.err.contains("c.yaml:"), "{}", left.err);
}

#[test]
fn a_name_that_a_person_gave_is_never_cut_and_a_random_one_is() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("hi")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "nightly-build"]);
    let shown = fixture.ok(&["show", "nightly-build"]);
    assert!(
        shown.contains("monolith continue nightly-build "),
        "{shown}"
    );
    fixture.ok(&["run", "c.yaml"]);
    let shown = fixture.ok(&["show", "last"]);
    let name = shown
        .split("\nrun       ")
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap();
    assert_eq!(name.len(), 16, "{shown}");
    assert!(
        shown.contains(&format!("monolith continue {} ", &name[..4])),
        "{shown}"
    );
}

#[test]
fn one_of_a_thing_is_singular() {
    let fixture = Fixture::new();
    fixture.write("ws/a", "x");
    fixture.script(
        "tools: {builtin: [read_file], workspace: ws}\n",
        &[&calls("read_file", "{\"path\":\"a\"}"), &says("x")],
    );
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    let shown = fixture.ok(&["show", "r1"]);
    assert!(shown.contains("read_file ok, 1 byte in"), "{shown}");
    fixture.write("bytes", "");
    let faulty = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let plurals = [
            "bytes", "calls", "entries", "turns", "tokens", "runs", "requests",
        ];
        let pairs = words.windows(2).filter(|pair| pair[0] == "1");
        pairs
            .filter(|pair| plurals.contains(&pair[1].trim_matches([',', '.'])))
            .map(|pair| pair.join(" "))
            .collect::<Vec<_>>()
    };
    for args in [
        &["show", "r1"][..],
        &["show", "r1", "--why"],
        &["verify", "r1"],
        &["log", "verify"],
        &["replay", "r1", "--set", "max_turns=1"],
    ] {
        let left = fixture.run(args);
        assert_eq!(
            faulty(&left.printed()),
            Vec::<String>::new(),
            "{}",
            left.printed()
        );
    }
}

#[test]
fn a_rule_that_all_arguments_break_names_them() {
    let fixture = Fixture::new();
    fixture.script(
        ECHO,
        &[&calls("echo", "{\"text\":\"x\",\"loud\":true}"), &says("x")],
    );
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    let shown = fixture.ok(&["show", "r1"]);
    assert!(!shown.contains(": :"), "{shown}");
    assert!(
        shown.contains("TOOL_VALIDATION_ERROR: the arguments: additionalProperties"),
        "{shown}"
    );
}

#[cfg(unix)]
#[test]
fn numbers_of_predicates_are_for_those_who_ask_why() {
    let fixture = Fixture::new();
    fixture.script(ECHO, &[&calls("echo", "{\"text\":\"x\"}"), &says("x")]);
    let (_, shown) = fixture.shown(&["run", "c.yaml", "--run-id", "r1"]);
    assert!(
        shown.contains("COMMIT → INFER   next turn; asks demo/script"),
        "{shown}"
    );
    assert!(!shown.contains("predicate"), "{shown}");
    let shown = fixture.ok(&["show", "r1"]);
    assert!(
        shown.contains("COMPLETED_WITH_TOOLS (final_message)\n"),
        "{shown}"
    );
    assert!(!shown.contains("predicate"), "{shown}");
    let replayed = fixture.run(&["replay", "r1", "--set", "max_turns=1"]).out;
    assert!(replayed.contains("last turn"), "{replayed}");
    assert!(!replayed.contains("predicate "), "{replayed}");
    let why = fixture.ok(&["show", "r1", "--why"]);
    assert!(
        why.contains("predicate 6: terminal response, policy satisfied"),
        "{why}"
    );
    assert!(why.contains("predicate 7: next turn"), "{why}");
    fixture.script("", &[&says("x")]);
    let (_, shown) = fixture.shown(&["run", "c.yaml", "--verbose"]);
    assert!(shown.contains("predicate 6: terminal response"), "{shown}");
}

#[test]
fn a_change_that_no_contract_may_have_is_named_with_the_recorded_value() {
    let fixture = Fixture::new();
    fixture.script(ECHO, &[&says("x")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    let left = fixture.run(&["replay", "r1", "--set", "max_turns=0"]);
    let refused = "The other contract is refused before the first request: max_turns is 0.\n  max_turns: recorded 10\n";
    assert!(left.out.contains(refused), "{}", left.printed());
    let (_, report) = fixture.json(&["replay", "r1", "--set", "max_turns=0"]);
    assert_eq!(report["refused"], "max_turns is 0");
    let left = fixture.ends(&["replay", "r1", "--set", "step_timeout_ms=-1"], 4);
    assert!(
        left.err.contains("note: step_timeout_ms: recorded "),
        "{}",
        left.err
    );
    assert!(left.err.contains("out of range"), "{}", left.err);
    // One that every contract may have needs no such line.
    let (_, report) = fixture.json(&["replay", "r1", "--set", "max_turns=4"]);
    assert_eq!(report["refused"], serde_json::Value::Null);
}

#[test]
fn a_demo_run_of_another_build_is_no_bug() {
    let fixture = Fixture::new();
    fixture.ok(&["demo"]);
    fixture.ok(&["demo", "tamper"]);
    let store = fixture.plain_store();
    // As a build would have written it that decided otherwise.
    let changed = store.execute(
        "UPDATE entries SET action = replace(action, '\"turns\":1', '\"turns\":9')",
        [],
    );
    assert!(changed.unwrap() > 0);
    drop(store);
    let left = fixture.ends(&["demo", "tamper"], 7);
    assert!(!left.err.contains("bug in monolith"), "{}", left.err);
    assert!(
        left.err
            .contains("the run itself is not verified by this build"),
        "{}",
        left.err
    );
    assert!(
        left.err.contains("monolith demo makes a new run"),
        "{}",
        left.err
    );
    // Nor is a run in which no tool said anything.
    let fixture = Fixture::new();
    fixture.script("", &[&says("x")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "demo-mine"]);
    let left = fixture.ends(&["demo", "tamper"], 4);
    assert!(!left.err.contains("bug in monolith"), "{}", left.err);
    assert!(
        left.err.contains("monolith demo makes a new run"),
        "{}",
        left.err
    );
}

#[test]
fn a_file_in_a_folder_that_is_not_there_comes_with_the_command_that_makes_the_folder() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("hi")]);
    fixture.ok(&["run", "c.yaml"]);
    let check = |file: &str, expect: &str| {
        let left = fixture.ends(&["export", "last", "-o", file], 1);
        assert!(left.err.contains(expect), "{}", left.err);
    };
    check(
        "out/x.jsonl",
        "the folder out does not exist: mkdir -p out\n",
    );
    check("my runs/a/x.html", "mkdir -p 'my runs/a'\n");
    let left = fixture.ends(&["export", "last", "-o", "s.jsonl/x.jsonl"], 1);
    assert!(!left.err.contains("mkdir"), "{}", left.err);
    std::fs::create_dir(fixture.path("out")).unwrap();
    fixture.ok(&["export", "last", "-o", "out/x.jsonl"]);
}

/// A defect of the header is in no entry.
#[test]
fn a_change_of_an_exports_header_is_not_said_to_be_in_an_entry() {
    let fixture = Fixture::new();
    fixture.script("system: You are in Tokyo.\n", &[&says("hi")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let whole = fixture.ok(&["export", "r"]);
    let (header, rest) = whole.split_once('\n').unwrap();
    let changed = format!("{}\n{rest}", header.replace("Tokyo", "Kyoto"));
    fixture.write("t.jsonl", &changed);
    let left = fixture.ends(&["replay", "t.jsonl"], 7);
    let first = left.out.lines().nth(1).unwrap();
    let expect = "  /contract/contract_id differs (tampered): ";
    assert!(
        first.starts_with(expect) && first.ends_with(" (line 1)"),
        "{}",
        left.out
    );
    let expect = "not the same: 2 differences outside the entries, ";
    assert!(left.out.starts_with(expect), "{}", left.out);
    assert!(!left.out.contains("entry 6"), "{}", left.out);
    let (_, report) = fixture.json(&["replay", "t.jsonl"]);
    let first = &report["first_difference"];
    assert_eq!(first["seq"], report["entries"]);
    assert!(first.get("is_outside").is_none(), "{first}");
}

/// Everything that a contract names by a relative path lies beside the contract, wherever the caller stands and whatever the
/// workspace is.
#[cfg(unix)]
#[test]
fn relative_paths_begin_in_the_folder_of_the_contract() {
    use std::os::unix::fs::PermissionsExt as _;

    let fixture = Fixture::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    fixture.write(
        "agent/bin/server",
        &format!("#!/bin/sh\nexec python3 {}\n", shell_word(server)),
    );
    let server = fixture.path("agent/bin/server");
    std::fs::set_permissions(server, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.write("agent/data/a", "x");
    fixture.write("agent/s.jsonl", &says("done"));
    fixture.write(
        "agent/c.yaml",
        "task: hi\ntargets: [{provider: demo, model: script}]\n\
         providers: {demo: {type: scripted, file: ./s.jsonl}}\n\
         tools: {builtin: [list_directory], workspace: data, mcp: {near: {command: ./bin/server}}}\n",
    );
    std::fs::create_dir(fixture.path("elsewhere")).unwrap();
    let output = fixture
        .command(&["run", "../agent/c.yaml", "--run-id", "r1"])
        .current_dir(fixture.path("elsewhere"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let left = Left::from(output);
    assert_eq!(
        (left.code, left.out.as_str()),
        (0, "done\n"),
        "{}",
        left.printed()
    );
    let shown = fixture.ok(&["show", "r1"]);
    let workspace = fixture.path("agent/data").canonicalize().unwrap();
    assert!(
        shown.contains(&format!("workspace {}", workspace.display())),
        "{shown}"
    );
    let help = fixture.ok(&["--help"]);
    assert!(
        help.contains("Relative paths in a contract start in the folder of the contract file"),
        "{help}"
    );
    assert!(help.contains("./server"), "{help}");
}
