//! Rules about calls, the inbox, reasons, proposals and signed answers, on the command line.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::{Fixture, calls, says};

const RULES: &str = "tool_policy: optional\ntools: {builtin: [echo, write_file, edit_file, apply_patch]}\nstrict_mode: true\n";

/// A fixture whose scripted model makes these calls, one after the other, and answers.
fn fixture(rules: &str, asked: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::new();
    let mut script: Vec<String> = asked
        .iter()
        .map(|(tool, arguments)| calls(tool, arguments))
        .collect();
    script.push(says("said"));
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    fixture.script(&format!("{RULES}{rules}"), &script);
    fixture
}

impl Fixture {
    /// Runs until a call waits, and leaves the run there; the hash of what waits.
    fn left_waiting(&self, run: &str) -> String {
        let left = self.ends(&["run", "c.yaml", "--no-wait", "--run-id", run], 8);
        let (_, rest) = left
            .printed()
            .split_once("blake3     ")
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }

    /// The texts of the run's observations.
    fn observations(&self, run: &str) -> Vec<String> {
        let (_, result) = self.json(&["resume", run]);
        let conversation = result["conversation"].as_array().unwrap();
        let tool = conversation.iter().filter(|m| m["role"] == "tool");
        tool.map(|m| m["content"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn the_first_rule_that_a_call_falls_under_decides_and_is_named() {
    let rules = "approval:\n\
         - {tool: echo, arguments: {properties: {text: {const: a}}}, action: allow}\n\
         - {tool: echo, arguments: {properties: {text: {const: b}}}, action: deny}\n\
         - {tool: 'ec*', action: ask}\n";
    let asked = [
        ("echo", r#"{"text":"a"}"#),
        ("echo", r#"{"text":"b"}"#),
        ("echo", r#"{"text":"c"}"#),
    ];
    let fixture = fixture(rules, &asked);
    let hash = fixture.left_waiting("r1");
    let shown = fixture.ok(&["show", "r1"]);
    assert!(
        shown.contains("waits for an approval, by approval.2"),
        "{shown}"
    );
    assert!(
        shown.contains("refused echo: denied: approval: approval.1 of the contract"),
        "{shown}"
    );
    let asked = fixture.ends(&["approve", "r1"], 4).printed();
    assert!(
        asked.contains("asked by   approval.2 of the contract"),
        "{asked}"
    );
    fixture.ok(&["approve", "r1", "--yes", "--arguments", &hash]);
    let expect = [
        "a",
        "(tool failed: denied: approval: approval.1 of the contract)",
        "c",
    ];
    assert_eq!(fixture.observations("r1"), expect);
    fixture.ok(&["replay", "r1"]);
    fixture.ok(&["verify", "r1"]);
    let tools = fixture.ok(&["tools", "c.yaml"]);
    let in_words = "calls: allow by approval.0 for some arguments, then deny by approval.1 for some arguments, then ask by approval.2";
    assert!(tools.contains(in_words), "{tools}");
}

#[test]
fn mistakes_in_rules_are_named_before_a_run() {
    let check = |rules: &str, expect: &str| {
        let fixture = fixture(rules, &[]);
        let printed = fixture.ends(&["contract", "check", "c.yaml"], 4).printed();
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(expect), "{printed}");
    };
    check(
        "approval: [{tool: ecko, action: ask}]\n",
        "approval.0.tool names `ecko`, which no server offers; did you mean `echo`?",
    );
    check(
        "approval: [{tool: '*', action: ask}, {tool: echo, action: deny}]\n",
        "approval.1 decides nothing: approval.0 decides all its calls",
    );
    check(
        "approval: [{tool: 'e*', action: allow}]\nrequire_approval: [echo]\n",
        "require_approval names `echo`, but approval.0 decides all its calls",
    );
    check(
        "approval: [{tool: echo, arguments: {type: strin}, action: ask}]\n",
        "approval.0.arguments at",
    );
    check("approvers: [anna]\n", "approvers.0 is no public key");
    // Its record would hold another number.
    for number in ["18446744073709551615", "9007199254740993"] {
        check(
            &format!(
                "approval: [{{tool: echo, arguments: {{properties: {{n: {{maximum: {number}}}}}}}, action: allow}}]\n"
            ),
            "an integer of 2^53 or more has no exact canonical form",
        );
    }
    check(
        "approval: [{tool: echo, arguments: {properties: {n: {minimum: 0.30000000000000000001}}}, action: allow}]\n",
        "has more digits than a contract records",
    );
}

/// The example of docs/approvals.md, against a model that appends another command.
#[test]
fn a_rule_allows_the_shell_one_program_and_what_is_more_waits_for_a_person() {
    let page = include_str!("../../docs/approvals.md");
    let example = "- {tool: shell, arguments: {properties: {command: {pattern: '^cargo (check|test)( |$)'}}}, action: allow}\n";
    assert!(page.contains(example));
    let rules = format!(
        "approval:\n{}- {{tool: '*', action: ask}}\n",
        example.replace("cargo", "echo")
    );
    let check = |command: &str, expect: i32| {
        let fixture = Fixture::new();
        let terms =
            format!("tool_policy: optional\ntools: {{builtin: [shell], sandbox: off}}\n{rules}");
        let call = calls("shell", &json!({ "command": command }).to_string());
        fixture.script(&terms, &[&call, &says("done")]);
        let left = fixture.run(&["run", "c.yaml", "--no-wait", "--run-id", "r"]);
        assert_eq!(left.code, expect, "{command}: {}", left.printed());
        assert!(!fixture.path("made").exists(), "{command}");
        fixture.ok(&["replay", "r", "--open"]);
    };
    for command in ["echo test --all", "  'echo' \"check\" 'a ; b'"] {
        check(command, 0);
    }
    for command in [
        "echo test ; touch made",
        "echo test && touch made",
        "echo test\ntouch made",
        "echo test $(touch made)",
        "echo test `touch made`",
        "echo test > made",
        "echo test | tee made",
        "echo testing",
    ] {
        check(command, 8);
    }
}

/// B10, B11: a rule allows no number that no double equals, and no value of a type that its `format` is not about.
#[test]
fn a_rule_allows_no_number_and_no_type_that_it_cannot_judge() {
    let check = |schema: &str, value: &str, expect: i32| {
        let fixture = Fixture::new();
        let terms = format!(
            "tool_policy: optional\nstrict_mode: false\ntools: {{builtin: [shell], sandbox: off}}\napproval:\n\
             - {{tool: shell, arguments: {{properties: {{timeout_ms: {schema}}}}}, action: allow}}\n\
             - {{tool: '*', action: ask}}\n"
        );
        let call = calls(
            "shell",
            &format!("{{\"command\":\"true\",\"timeout_ms\":{value}}}"),
        );
        fixture.script(&terms, &[&call, &says("done")]);
        let left = fixture.run(&["run", "c.yaml", "--no-wait", "--run-id", "r"]);
        assert_eq!(left.code, expect, "{schema} {value}: {}", left.printed());
    };
    check("{type: integer, format: int64, maximum: 90000}", "80000", 0);
    check("{minimum: 1}", "18446744073709551616", 8);
    check("{type: integer}", "18446744073709551617", 8);
    check("{multipleOf: 2}", "18446744073709551617", 8);
    check("{maximum: 1.7976931348623157e308}", "1e400", 8);
    for keyword in [
        "format: email",
        "contentEncoding: base64",
        "contentMediaType: text/plain",
    ] {
        check(&format!("{{{keyword}}}"), "5", 8);
    }
}

/// A person at another terminal sees the lines around a change, and no secret in them.
#[test]
fn the_question_masks_secrets_in_the_files_that_it_shows() {
    const SECRET: &str = "s3cret-9f2c-value";
    let edit = r#"{"path":"notes.txt","edits":[{"old":"two","new":"2"}]}"#;
    let missing = json!({"path": "notes.txt", "edits": [{"old": format!("{SECRET}x"), "new": ""}]});
    let asked = [("edit_file", edit), ("edit_file", &missing.to_string())];
    let fixture = fixture(
        "require_approval: [edit_file]\nredact: {env: [DEPLOY_KEY]}\n",
        &asked,
    );
    let text = format!("key: {SECRET}\ntwo\nAKIAIOSFODNN7EXAMPLE\n{SECRET}x\n");
    fixture.write("notes.txt", &text);
    let with_key = |args: &[&str]| {
        let left = fixture.command(args).env("DEPLOY_KEY", SECRET).output();
        let said = crate::fixture::Left::from(left.unwrap()).printed();
        assert!(
            !said.contains(SECRET) && !said.contains("AKIAIOSFODNN7EXAMPLE"),
            "{args:?}: {said}"
        );
        said
    };
    let left = with_key(&["run", "c.yaml", "--no-wait", "--run-id", "r1"]);
    let asked = with_key(&["approve", "r1"]);
    for said in [&left, &asked] {
        assert!(said.contains("   key: [REDACTED:"), "{said}");
        assert!(said.contains("  -two\n  +2\n"), "{said}");
    }
    // The same marker as in the record of the run.
    let marker = |said: &str| {
        let (_, rest) = said.split_once("key: [REDACTED:").unwrap();
        rest.chars().take(32).collect::<String>()
    };
    assert_eq!(marker(&left), marker(&asked));
    let hash = Fixture::hash_of(&left);
    with_key(&["approve", "r1", "--yes", "--arguments", &hash]);
    let left = with_key(&["resume", "r1", "--no-wait"]);
    assert!(left.contains("asks for your approval"), "{left}");
    with_key(&["approve", "r1"]);
}

#[test]
fn the_reason_of_a_refusal_reaches_the_model_and_the_reader() {
    let fixture = fixture("require_approval: [echo]\n", &[("echo", r#"{"text":"a"}"#)]);
    let hash = fixture.left_waiting("r1");
    let long = "x".repeat(1001);
    let args = ["deny", "r1", "--yes", "--arguments", &hash, "--reason"];
    let printed = fixture.ends(&[&args[..], &[&long]].concat(), 4).printed();
    assert!(
        printed.contains("--reason takes at most 1000 bytes"),
        "{printed}"
    );
    let reason = "not on a Friday \u{1b}[2K";
    fixture.ok(&[&args[..], &[reason]].concat());
    assert_eq!(
        fixture.observations("r1"),
        [format!("(tool failed: denied: approval: {reason})")]
    );
    let shown = fixture.ok(&["show", "r1"]);
    let expect = "denied: approval, a person refused it: not on a Friday \\u{1b}[2K";
    assert!(shown.contains(expect), "{shown}");
    fixture.ok(&["replay", "r1"]);
}

#[test]
fn edited_arguments_are_a_refusal_that_shows_them_to_the_model() {
    let asked = [("echo", r#"{"text":"a"}"#), ("echo", r#"{"text":"b"}"#)];
    let fixture = fixture("require_approval: [echo]\n", &asked);
    let hash = fixture.left_waiting("r1");
    let args = ["approve", "r1", "--yes", "--arguments", &hash, "--edit"];
    let refused = |edit: &str, expect: &str| {
        let printed = fixture.ends(&[&args[..], &[edit]].concat(), 4).printed();
        assert!(printed.contains(expect), "{printed}");
    };
    refused(
        r#"{"text":1}"#,
        "echo would not take these arguments: /text",
    );
    refused(r#"{"text":"a"}"#, "the arguments that the call has already");
    refused("nowhere.json", "--edit");
    // What a pipe is asked to type is what was given, or is left out.
    let edit = "{\n  \"text\": \"a\u{200b}\"\n}";
    let unasked = ["approve", "r1", "--edit", edit, "--reason", "two\nlines"];
    let printed = fixture.ends(&unasked, 4).printed();
    let (_, again) = printed.split_once("approve r1 --edit '").expect(&printed);
    let (again, rest) = again.split_once('\'').unwrap();
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(again), value(edit), "{printed}");
    assert!(
        rest.starts_with(" --reason … --yes --arguments "),
        "{printed}"
    );
    fixture.write("edit.json", "{\"text\":\"b\"}\n");
    fixture.ok(&[&args[..], &["edit.json"]].concat());
    // The model calls again, and is asked about again.
    let left = fixture.ends(&["resume", "r1", "--no-wait"], 8).printed();
    assert!(
        left.contains("call 2 of echo asks for your approval"),
        "{left}"
    );
    fixture.ok(&[
        "deny",
        "r1",
        "--yes",
        "--arguments",
        &Fixture::hash_of(&left),
    ]);
    let expect = [
        r#"(tool failed: denied: approval; proposed arguments: {"text":"b"})"#,
        "(tool failed: denied: approval)",
    ];
    assert_eq!(fixture.observations("r1"), expect);
}

impl Fixture {
    fn hash_of(printed: &str) -> String {
        let (_, rest) = printed.split_once("blake3     ").unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }
}

#[test]
fn the_inbox_lists_what_waits_in_all_runs_with_nothing_in_it_that_moves_or_hides() {
    let lines = "line\\n".repeat(10_000);
    let hostile = format!("{{\"text\":\"\\u001b[2K\u{202e}{lines}\"}}");
    let fixture = fixture("require_approval: [echo]\n", &[("echo", &hostile)]);
    let empty = fixture.run(&["approvals"]);
    assert_eq!((empty.code, empty.out.as_str()), (0, ""));
    let hash = fixture.left_waiting("r1");
    fixture.left_waiting("r2");
    let listed = fixture.ok(&["approvals"]);
    assert!(listed.len() < 4_000, "{} bytes", listed.len());
    assert!(!listed.contains(['\u{1b}', '\u{202e}']), "{listed:?}");
    for expect in [
        "r1  call 1 of echo asks for your approval",
        "r2  call 1 of echo asks for your approval",
        &hash,
        "60,023 bytes, with characters that a terminal does not show",
        "require_approval",
        "monolith approve r1",
        "monolith deny r2",
    ] {
        assert!(listed.contains(expect), "{expect}: {listed}");
    }
    let (_, inbox) = fixture.json(&["approvals"]);
    let calls = inbox["approvals"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["arguments"], json!(hostile));
    assert_eq!(calls[0]["arguments_hash"], json!(hash));
    assert_eq!(calls[0]["answer"], Value::Null);
    fixture.ok(&["approve", "r1", "--yes", "--arguments", &hash]);
    let listed = fixture.ok(&["approvals"]);
    assert!(listed.contains("allowed: monolith resume r1"), "{listed}");
    assert!(
        listed.contains("r1  call 1 of echo has its answer"),
        "{listed}"
    );
    fixture.ends(&["resume", "r1"], 0);
    let (_, inbox) = fixture.json(&["approvals"]);
    assert_eq!(inbox["approvals"].as_array().unwrap().len(), 1);
}

#[test]
fn only_an_answer_that_an_approver_has_signed_counts() {
    let place = fixture("require_approval: [echo]\n", &[("echo", r#"{"text":"a"}"#)]);
    let anna = place.ok(&["key", "generate", "anna"]);
    let anna = anna.lines().find(|line| line.starts_with("anna+")).unwrap();
    place.ok(&["key", "generate", "eve"]);
    place.script(
        &format!("{RULES}require_approval: [echo]\napprovers: ['{anna}']\n"),
        &[&calls("echo", r#"{"text":"a"}"#), &says("said")],
    );
    let hash = place.left_waiting("r1");
    let args = ["approve", "r1", "--yes", "--arguments", &hash];
    let unsigned = place.ends(&args, 4).printed();
    assert!(unsigned.contains("has signed (anna): --key"), "{unsigned}");
    let other = place
        .ends(&[&args[..], &["--key", "eve"]].concat(), 4)
        .printed();
    assert!(other.contains("takes no answer signed by eve+"), "{other}");
    place.ok(&[&args[..], &["--key", "anna"]].concat());
    // A writer of the file can change its content, and signs nothing with that.
    let file = place.path("home/runs.db.answers/r1");
    let signed = std::fs::read_to_string(&file).unwrap();
    for (from, to) in [
        ("\"call\":1", "\"call\":1,\"reason\":\"because\""),
        ("\"approved\":true", "\"approved\":false"),
    ] {
        assert!(signed.contains(from), "{signed}");
        std::fs::write(&file, signed.replace(from, to)).unwrap();
        let left = place.ends(&["resume", "r1", "--no-wait"], 8).printed();
        assert!(!left.contains("EXECUTE → OBSERVE"), "{left}");
        let waits = place.json(&["approvals"]).1;
        assert_eq!(waits["approvals"][0]["answer"], Value::Null, "{waits}");
    }
    std::fs::write(&file, &signed).unwrap();
    let left = place.run(&["resume", "r1"]);
    assert_eq!((left.code, left.out.as_str()), (0, "said\n"));
    let verified = place.ok(&["verify", "r1"]);
    assert!(
        verified.contains(&format!("1 signed by {anna}")),
        "{verified}"
    );
    place.ok(&["replay", "r1"]);
}

#[test]
fn an_answer_to_other_arguments_or_to_another_run_is_void() {
    let fixture = fixture("require_approval: [echo]\n", &[("echo", r#"{"text":"a"}"#)]);
    let hash = fixture.left_waiting("r1");
    fixture.ok(&["approve", "r1", "--yes", "--arguments", &hash]);
    let file = fixture.path("home/runs.db.answers/r1");
    let given = std::fs::read_to_string(&file).unwrap();
    let other = blake3::hash(b"other arguments").to_string();
    let mut answer: Value = serde_json::from_str(&given).unwrap();
    for void in [
        given.replace(&hash, &other),
        given.replace(answer["first_entry"].take().as_str().unwrap(), &other),
    ] {
        assert_ne!(void, given);
        std::fs::write(&file, void).unwrap();
        let left = fixture.ends(&["resume", "r1", "--no-wait"], 8).printed();
        assert!(!left.contains("EXECUTE → OBSERVE"), "{left}");
    }
}

#[test]
fn the_question_shows_what_a_call_would_change_of_a_file() {
    let asked = [
        (
            "edit_file",
            r#"{"path":"notes.txt","edits":[{"old":"two","new":"2 \u001b[2K"}]}"#,
        ),
        ("write_file", r#"{"path":"new.txt","content":"a\nb\n"}"#),
        ("write_file", r#"{"path":"../out.txt","content":"a\n"}"#),
    ];
    let fixture = fixture("require_approval: [edit_file, write_file]\n", &asked);
    fixture.write("notes.txt", "one\ntwo\nthree\n");
    let left = fixture
        .ends(&["run", "c.yaml", "--no-wait", "--run-id", "r1"], 8)
        .printed();
    let change = "  change     notes.txt, 1 line added, 1 removed\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +2 \\u{1b}[2K\n   three\n";
    assert!(left.contains(change), "{left}");
    let asked = fixture.ends(&["approve", "r1"], 4).printed();
    assert!(asked.contains(change), "{asked}");
    let mut hash = Fixture::hash_of(&left);
    for expect in [
        "  change     new.txt is made, 2 lines\n  @@ -0,0 +1,2 @@\n  +a\n  +b\n",
        "  change     cannot be shown: \"../out.txt\" leads outside the workspace",
    ] {
        fixture.ok(&["approve", "r1", "--yes", "--arguments", &hash]);
        let left = fixture.ends(&["resume", "r1", "--no-wait"], 8).printed();
        assert!(left.contains(expect), "{left}");
        hash = Fixture::hash_of(&left);
    }
    assert_eq!(
        std::fs::read_to_string(fixture.path("new.txt")).unwrap(),
        "a\nb\n"
    );
}

#[test]
fn the_question_shows_what_a_patch_would_change_of_each_file() {
    let patch = |lines: &str| {
        let patch = format!("*** Begin Patch\n{lines}\n*** End Patch");
        json!({ "patch": patch }).to_string()
    };
    let several = patch(
        "*** Update File: notes.txt\n one\n-two\n+2\n three\n*** Add File: new.txt\n+a\n*** Delete File: old.txt\n\
         *** Update File: moved.txt\n*** Move to: there.txt\n-x\n+y",
    );
    let (exists, unfit) = (
        patch("*** Add File: notes.txt\n+a"),
        patch("*** Update File: notes.txt\n-four\n+4"),
    );
    let asked = [
        ("apply_patch", exists.as_str()),
        ("apply_patch", unfit.as_str()),
        ("apply_patch", several.as_str()),
    ];
    let fixture = fixture("require_approval: [apply_patch]\n", &asked);
    for (name, text) in [
        ("notes.txt", "one\ntwo\nthree\n"),
        ("old.txt", "gone\n"),
        ("moved.txt", "x\n"),
    ] {
        fixture.write(name, text);
    }
    let mut left = fixture
        .ends(&["run", "c.yaml", "--no-wait", "--run-id", "r1"], 8)
        .printed();
    for expect in [
        "  change     cannot be shown: \"notes.txt\" is there already",
        "  change     cannot be shown: hunk 1 of \"notes.txt\": its unchanged and removed lines are not in",
    ] {
        assert!(left.contains(expect), "{left}");
        let hash = Fixture::hash_of(&left);
        fixture.ok(&["deny", "r1", "--yes", "--arguments", &hash]);
        left = fixture.ends(&["resume", "r1", "--no-wait"], 8).printed();
    }
    let expect = [
        "  change     notes.txt, 1 line added, 1 removed\n  @@ -1,3 +1,3 @@\n   one\n  -two\n  +2\n   three\n",
        "  change     new.txt is made, 1 line\n  @@ -0,0 +1 @@\n  +a\n",
        "  change     old.txt is removed, 1 line\n  @@ -1 +0,0 @@\n  -gone\n",
        "  change     there.txt is made, 1 line\n  @@ -0,0 +1 @@\n  +y\n",
        "  change     moved.txt is removed, 1 line\n  @@ -1 +0,0 @@\n  -x\n",
    ];
    assert!(left.contains(&expect.concat()), "{left}");
    // Nothing of it was done for the question.
    assert!(fixture.path("old.txt").exists() && !fixture.path("new.txt").exists());
}

/// A person allows one call with one text of arguments: the same tool with other arguments is asked about again, even if an old
/// answer is put back, and an entry whose arguments were changed is none.
#[test]
fn an_answer_holds_across_a_kill_and_for_the_arguments_that_were_shown_alone() {
    let asked = [("echo", r#"{"text":"a"}"#), ("echo", r#"{"text":"b"}"#)];
    let place = fixture("require_approval: [echo]\n", &asked);
    let hash = place.left_waiting("r1");
    place.ok(&["key", "generate", "anna"]);
    place.ok(&[
        "approve",
        "r1",
        "--yes",
        "--arguments",
        &hash,
        "--key",
        "anna",
    ]);
    let file = place.path("home/runs.db.answers/r1");
    let given = std::fs::read_to_string(&file).unwrap();
    // The process that resumes it waits for the second call when it is killed.
    let mut process = place
        .command(&["resume", "r1"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line.contains("call 2 of echo asks for your approval")));
    process.kill().unwrap();
    process.wait().unwrap();
    // The first answer was taken, and is none to the second call: as it was, and with that call's number.
    for again in [given.clone(), given.replace("\"call\":1", "\"call\":2")] {
        std::fs::write(&file, again).unwrap();
        let left = place.ends(&["resume", "r1", "--no-wait"], 8).printed();
        assert!(!left.contains("EXECUTE → OBSERVE"), "{left}");
        let (_, inbox) = place.json(&["approvals"]);
        assert_eq!(inbox["approvals"][0]["call"], json!(2), "{inbox}");
        assert_eq!(inbox["approvals"][0]["answer"], Value::Null, "{inbox}");
    }
    let (_, inbox) = place.json(&["approvals"]);
    let second = inbox["approvals"][0]["arguments_hash"].as_str().unwrap();
    assert_ne!(second, hash);
    place.ok(&["approve", "r1", "--yes", "--arguments", second]);
    assert_eq!(place.observations("r1"), ["a", "b"]);
    let verified = place.ok(&["verify", "r1"]);
    assert!(verified.contains("1 signed by anna+"), "{verified}");
    place.ok(&["replay", "r1"]);
}

#[test]
fn who_answers_for_the_wrong_run_is_sent_to_the_one_that_waits() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("hi")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "idle"]);
    let help = |expect: &str| {
        let left = fixture.ends(&["approve", "idle"], 4);
        assert!(left.err.contains(expect), "{}", left.err);
    };
    help("monolith approvals\n");
    let rules = "tools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    fixture.script(rules, &[&calls("echo", "{\"text\":\"hi\"}"), &says("said")]);
    let hash = fixture.left_waiting("first");
    help("first waits: monolith approve first\n");
    let left = fixture.ends(&["deny", "idle"], 4);
    let expect = "first waits: monolith deny first\n";
    assert!(left.err.contains(expect), "{}", left.err);
    fixture.left_waiting("second");
    help("monolith approvals\n");
    // One that is answered waits for no person.
    fixture.ok(&["approve", "first", "--yes", "--arguments", &hash]);
    help("second waits: monolith approve second\n");
}
