//! Questions of a tool server to a person during a call (`elicitation: ask`): recorded, answered from another process, at the
//! terminal, by a later process, or refused.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::fixture::{Fixture, Left, calls, says};
use crate::terminal::Terminal;

const MODERN: (&str, &str) = ("modern", "needs_input");
/// Its server asks within the call.
const OLDER: (&str, &str) = ("", "ask_back");

fn python() -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped 1 case: python3 is not here");
    }
    there
}

/// A fixture whose scripted model calls the server's tool with those arguments.
fn fixture((mode, tool): (&str, &str), arguments: &str, terms_beside: &str) -> Fixture {
    let fixture = Fixture::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    let terms = format!(
        "tool_policy: required\n\
         tools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}, '{mode}'], elicitation: ask}}}}}}\n{terms_beside}",
        server.display()
    );
    let call = calls(&format!("odd__{tool}"), arguments);
    fixture.script(&terms, &[&call, &says("Done.")]);
    fixture
}

/// A run whose process waits with a question, and the hash of that.
fn waiting(fixture: &Fixture) -> (Child, String) {
    let mut run = fixture
        .command(&["run", "c.yaml", "--json", "--run-id", "r1"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut hash = None;
    for line in BufReader::new(run.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some((_, shown)) = line.split_once("blake3") {
            hash = Some(shown.trim().to_owned());
        }
        if line.contains("monolith approve r1") {
            break;
        }
    }
    (run, hash.expect("a question is shown"))
}

fn ended(run: Child) -> Left {
    run.wait_with_output().unwrap().into()
}

/// Returns the model's view of the call, of a run that ended well; it verifies and replays.
fn observed(fixture: &Fixture, left: &Left) -> String {
    let result = left.document();
    assert_eq!(left.code, 0, "{}", left.printed());
    assert_eq!(result["counters"]["tool_calls"], 1);
    let conversation = result["conversation"].as_array().unwrap();
    let tool = conversation
        .iter()
        .find(|message| message["role"] == "tool");
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r1"]);
    }
    tool.unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_question_survives_the_process_and_is_answered_by_the_next() {
    if !python() {
        return;
    }
    let fixture = fixture(MODERN, "{}", "");
    let left = fixture.ends(&["run", "c.yaml", "--run-id", "r1", "--no-wait"], 8);
    assert!(
        left.printed().contains("has a question of its server"),
        "{}",
        left.printed()
    );
    let shown = fixture.ok(&["show", "r1"]);
    for expect in [
        "waits for an answer to its server's question",
        "Who?",
        "monolith approve r1",
    ] {
        assert!(shown.contains(expect), "{expect}: {shown}");
    }
    let asked = fixture.ends(&["approve", "r1"], 4).printed();
    assert!(asked.contains(r#""message":"Who?""#), "{asked}");
    let (_, hash) = asked.split_once("--arguments ").unwrap();
    let hash = hash.split(['`', '\n']).next().unwrap();
    let answer = ["approve", "r1", "--yes", "--arguments", hash];
    let refused = fixture.ends(&[&answer[..], &["--field", "age=7"]].concat(), 4);
    assert!(
        refused.printed().contains("it asks for no field `age`"),
        "{}",
        refused.printed()
    );
    fixture.ok(&[&answer[..], &["--field", "name=K"]].concat());
    let left = fixture.run(&["resume", "r1", "--json"]);
    let said = observed(&fixture, &left);
    let expect =
        r#"[{"who": {"action": "accept", "content": {"name": "K"}}}, "as it came: \u00e9\n"]"#;
    assert!(said.contains(expect), "{said}");
    let shown = fixture.ok(&["show", "r1"]);
    assert!(
        shown.contains(r#"its server asked "Who?" and got {"name":"K"}"#),
        "{shown}"
    );
}

/// A server may ask the same again: an answer to the first question that is confirmed then is none to the second.
#[test]
fn an_answer_to_a_question_that_was_answered_is_none_to_the_next() {
    if !python() {
        return;
    }
    let fixture = fixture(("modern", "insists"), "{}", "");
    fixture.ends(&["run", "c.yaml", "--run-id", "r1", "--no-wait"], 8);
    let late = ["approve", "r1", "--field", "name=B"];
    let mut late = Terminal::start(fixture.command(&late));
    late.until("[y/N] ");
    fixture.answers_with("approve", "r1", &["--field", "name=A"]);
    fixture.ends(&["resume", "r1", "--no-wait"], 8);
    late.types("y\n");
    let (code, said) = late.end();
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("answered in the meantime"), "{said}");
    let waits = fixture.json(&["approvals"]).1;
    assert_eq!(waits["approvals"][0]["answer"], serde_json::Value::Null);
}

/// kill -9 between question and answer.
#[test]
fn a_process_that_dies_with_the_question_takes_nothing_with_it() {
    if !python() {
        return;
    }
    let fixture = fixture(MODERN, "{}", "");
    let (mut run, hash) = waiting(&fixture);
    run.kill().unwrap();
    run.wait().unwrap();
    // Without fields their defaults are taken.
    fixture.ok(&["approve", "r1", "--yes", "--arguments", &hash]);
    let left = fixture.run(&["resume", "r1", "--json"]);
    let said = observed(&fixture, &left);
    assert!(said.contains(r#"{"name": "J"}"#), "{said}");
}

#[test]
fn a_refused_question_is_declined_and_the_call_goes_on() {
    if !python() {
        return;
    }
    for server in [MODERN, OLDER] {
        let fixture = fixture(server, "{}", "");
        let (run, hash) = waiting(&fixture);
        fixture.ok(&["approve", "r1", "--deny", "--yes", "--arguments", &hash]);
        let said = observed(&fixture, &ended(run));
        assert!(said.contains("\"decline\""), "{said}");
        let shown = fixture.ok(&["show", "r1", "--why"]);
        assert!(shown.contains("its server asked \""), "{shown}");
        assert!(shown.contains("declined"), "{shown}");
    }
}

#[test]
fn a_server_that_waits_in_the_call_gets_its_answer() {
    if !python() {
        return;
    }
    let fixture = fixture(OLDER, "{}", "");
    let (run, hash) = waiting(&fixture);
    fixture.ok(&["approve", "r1", "--yes", "--arguments", &hash]);
    let said = observed(&fixture, &ended(run));
    assert_eq!(said, r#"[-32601, -32601, "accept", -32601]"#);
}

/// A question that ends with the process is not left unanswered: no one waits, or the time of the call is over.
#[test]
fn a_server_that_waits_in_the_call_is_refused_where_nobody_answers_in_time() {
    if !python() {
        return;
    }
    for (more, option) in [("", Some("--no-wait")), ("tool_timeout_ms: 2000\n", None)] {
        let fixture = fixture(OLDER, "{}", more);
        let run = ["run", "c.yaml", "--run-id", "r1", "--json"];
        let run: Vec<&str> = run.into_iter().chain(option).collect();
        let left = fixture.run(&run);
        let said = observed(&fixture, &left);
        assert_eq!(said, r#"[-32601, -32601, "decline", -32601]"#, "{option:?}");
    }
}

#[test]
fn a_call_whose_server_waited_is_lost_with_the_process() {
    if !python() {
        return;
    }
    for resume in [
        &["resume", "r1"][..],
        &["resume", "r1", "--no-wait"],
        &["resume", "--all"],
    ] {
        let fixture = fixture(OLDER, "{}", "");
        let (mut run, _) = waiting(&fixture);
        run.kill().unwrap();
        run.wait().unwrap();
        // The question went with the process, and so did the call.
        let left = fixture.ok(&["show", "r1"]);
        assert!(left.contains("     result lost"), "{left}");
        assert!(
            left.contains("resume does not make the call again"),
            "{left}"
        );
        assert!(!left.contains("monolith approve"), "{left}");
        fixture.run(resume);
        let said = fixture.ok(&["show", "r1"]);
        assert!(
            said.contains("(tool failed: interrupted, effect unknown)"),
            "{resume:?}: {said}"
        );
        for proof in ["verify", "replay"] {
            fixture.ok(&[proof, "r1"]);
        }
    }
}

#[test]
fn a_call_that_may_be_made_again_waits_for_no_answer_to_a_question_that_went_with_the_process() {
    if !python() {
        return;
    }
    let fixture = fixture(OLDER, "{}", "idempotent: [odd__ask_back]\n");
    let (mut run, _) = waiting(&fixture);
    run.kill().unwrap();
    run.wait().unwrap();
    let left = fixture.ok(&["show", "r1"]);
    assert!(left.contains("     no result yet"), "{left}");
    assert!(!left.contains("waits for an answer"), "{left}");
    assert!(left.contains("Resume it: monolith resume r1"), "{left}");
    let why = "the process that asked the question has ended";
    fixture.takes_no_answer("r1", "r1", why, "continues without one");
}

/// No one is sent to an address, and the address hides nothing.
#[test]
fn what_is_to_be_entered_at_an_address_is_declined_and_shown_escaped() {
    if !python() {
        return;
    }
    let fixture = fixture(MODERN, r#"{"url":"https://h/\u202epay\u001b[2K"}"#, "");
    let left = fixture.run(&["run", "c.yaml", "--run-id", "r1", "--json"]);
    let said = observed(&fixture, &left);
    assert!(said.contains("\"decline\""), "{said}");
    let shown = fixture.ok(&["show", "r1"]);
    assert!(
        shown.contains(" at https://h/\\u{202e}pay\\u{1b}[2K, declined"),
        "{shown}"
    );
    assert!(!shown.contains(['\u{202e}', '\u{1b}']), "{shown:?}");
}

#[test]
fn a_form_is_filled_in_at_the_terminal() {
    if !python() {
        return;
    }
    for (typed, expect) in [
        ("K\n", r#" and got {"name":"K"}"#),
        ("\n", r#" and got {"name":"J"}"#),
        ("!\n", ", declined"),
    ] {
        let fixture = fixture(MODERN, "{}", "");
        let mut terminal = Terminal::start(fixture.command(&["run", "c.yaml", "--run-id", "r1"]));
        terminal.until("name (text, else \"J\"), `!` refuses it all: ");
        terminal.types(typed);
        let (code, shown) = terminal.end();
        assert_eq!(code, 0, "{shown}");
        let printed = fixture.ok(&["show", "r1"]);
        let expect = format!("its server asked \"Who?\"{expect}");
        assert!(printed.contains(&expect), "{typed:?}: {printed}");
    }
}
