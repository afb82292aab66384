//! The binary against tool servers that misbehave: each ends in its typed outcome, with a transcript that verifies and replays.

use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, Left, calls, says};

/// Runs the fixture server's tool `name`, then lets the model say that it is done.
fn run(fixture: &Fixture, name: &str, sets: &[&str]) -> Left {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    let arguments = if name == "huge" {
        r#"{"size":1048576}"#
    } else {
        "{}"
    };
    let terms = format!(
        "tool_policy: required\n\
         tools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}]}}}}}}\n",
        server.display()
    );
    let call = calls(&format!("odd__{name}"), arguments);
    fixture.script(&terms, &[&call, &says("Done.")]);
    let mut arguments = vec!["run", "--json", "--verbose", "--run-id", "r"];
    arguments.extend(["--contract", "c.yaml"]);
    for set in sets {
        arguments.extend(["--set", set]);
    }
    fixture.run(&arguments)
}

fn check(
    name: &str,
    sets: &[&str],
    outcome: (&str, &str),
    code: i32,
    observed: &str,
) -> Option<String> {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return None;
    }
    let fixture = Fixture::new();
    let ended = run(&fixture, name, sets);
    let result = ended.document();
    let got = &result["outcome"];
    assert_eq!(
        (got["class"].as_str(), got["code"].as_str(), ended.code),
        (Some(outcome.0), Some(outcome.1), code),
        "{name}: {}",
        ended.err
    );
    let conversation = result["conversation"].as_array().unwrap();
    let printed = conversation
        .iter()
        .find(|message| message["role"] == "tool");
    let printed = printed.and_then(|message| message["content"].as_str());
    assert!(
        printed.unwrap_or_default().starts_with(observed),
        "{name}: {printed:?}"
    );
    if outcome.1 == "no_call_response" {
        let error = result["error"].as_str().unwrap_or_default();
        let said = format!("1 was started and did not come back. (odd__{name}: ");
        assert!(error.contains(&said), "{error}");
    }
    if outcome.1 == "tool_envelope" {
        // What came is not what the model was sent.
        let shown = fixture.run(&["show", "r", "--full"]).out;
        assert!(!shown.contains("effect unknown"), "{shown}");
        assert!(shown.contains("  malformed: "), "{shown}");
        let came = "{\"content\": \"just text\"}".replace(' ', "");
        let came = shown.replace(' ', "").contains(&came);
        assert_eq!(came, name == "wrong_type", "{shown}");
    }
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
    Some(ended.err)
}

#[test]
fn a_server_that_dies_during_a_call_proves_nothing() {
    let outcome = ("FAILED_PROTOCOL_NO_TOOLS", "no_call_response");
    check("die", &[], outcome, 1, "(tool failed: connection lost)");
    check(
        "die_midway",
        &[],
        outcome,
        1,
        "(tool failed: connection lost)",
    );
}

#[test]
fn an_answer_that_is_no_tool_result_ends_the_run() {
    let outcome = ("FAILED_VALIDATION", "tool_envelope");
    check(
        "wrong_type",
        &[],
        outcome,
        5,
        "(tool failed: interrupted, effect unknown)",
    );
    check(
        "broken_json",
        &[],
        outcome,
        5,
        "(tool failed: interrupted, effect unknown)",
    );
}

/// 000/1.tool-timeout.1
/// 001/2.knobs.7
/// 001/1.tools.3
#[test]
fn a_server_that_never_answers_meets_the_tool_timeout() {
    let outcome = ("FAILED_PROTOCOL_NO_TOOLS", "no_call_response");
    check(
        "wrong_id",
        &["tool_timeout_ms=300"],
        outcome,
        1,
        "(tool failed: timeout)",
    );
}

/// 000/1.tool-response.1, 000/9.violations.7
/// 001/1.tools.4, 001/1.tools.5, 001/2.knobs.9
#[test]
fn an_oversized_result_is_cut_and_counts() {
    let outcome = ("COMPLETED_WITH_TOOLS", "final_message");
    let said = check("huge", &[], outcome, 0, "[TRUNCATED] Original size ");
    if let Some(said) = said {
        let begin = "[WRN] ← [1.1] tool mcp:odd:huge: Tool response exceeded max size (actual ";
        let line = said.lines().find_map(|line| line.strip_prefix(begin));
        let expect = " B > limit 12288 B): the model reads its beginning, ";
        assert!(line.is_some_and(|line| line.contains(expect)), "{said}");
    }
}

#[test]
fn stray_lines_change_nothing() {
    check(
        "stray",
        &[],
        ("COMPLETED_WITH_TOOLS", "final_message"),
        0,
        "",
    );
}

/// "1" is not 1.
#[test]
fn an_answer_whose_id_is_a_text_is_no_answer() {
    check(
        "string_id",
        &["tool_timeout_ms=300"],
        ("FAILED_PROTOCOL_NO_TOOLS", "no_call_response"),
        1,
        "(tool failed: timeout)",
    );
}

#[test]
fn no_server_is_waited_for_longer_than_the_contract_allows() {
    let fixture = Fixture::new();
    fixture.script(
        "total_timeout_ms: 900\ntools: {workspace: ., mcp: {mute: {command: sh, args: [-c, 'exec sleep 600']}}}\n",
        &[&says("never")],
    );
    let ended = fixture.run(&["run", "--json", "--contract", "c.yaml"]);
    let result = ended.document();
    assert_eq!(
        (ended.code, &result["outcome"]["code"]),
        (3, &"tool_unavailable".into())
    );
    let shown = fixture.ok(&["show", "last", "--raw"]);
    assert!(shown.contains("no answer within 600 ms"), "{shown}");
}

#[cfg(target_os = "linux")]
mod descendants {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;

    /// More than anything here takes.
    const LONGEST: Duration = Duration::from_secs(60);

    /// A server with a child in a separate session, confined as servers are and not at all.
    const CONFINED: [&str; 2] = ["", ", sandbox: off"];

    fn fixture(confined: &str, line: &str) -> Fixture {
        let fixture = Fixture::new();
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
        let terms = format!(
            "tools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}, escape]{confined}}}}}}}\n",
            server.display()
        );
        fixture.script(&terms, &[line]);
        fixture
    }

    #[test]
    fn what_left_the_session_of_its_server_ends_with_it() {
        for confined in CONFINED {
            let fixture = fixture(confined, &says("Done."));
            fixture.ok(&["run", "--contract", "c.yaml"]);
            assert!(fixture.path("escaped").exists(), "nothing escaped");
            fixture.has_no_processes();
        }
    }

    #[test]
    fn no_server_outlives_a_monolith_that_was_killed() {
        for confined in CONFINED {
            let fixture = fixture(confined, "{\"fault\":\"hang\"}");
            let mut child = fixture
                .command(&["run", "--contract", "c.yaml"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let until = Instant::now() + LONGEST;
            while !fixture.path("escaped").exists() {
                assert!(Instant::now() < until, "nothing escaped");
                std::thread::yield_now();
            }
            assert!(fixture.processes().len() >= 2, "the server and its child");
            child.kill().unwrap();
            child.wait().unwrap();
            fixture.has_no_processes();
        }
    }
}

/// 001 §6: the next call of the run starts the server again.
/// 001/6.servers.4
#[test]
fn a_server_that_died_is_there_again_for_the_next_call() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    for (mode, outcome, observed) in [
        ("plain", "COMPLETED_WITH_TOOLS", "hello"),
        (
            "once",
            "FAILED_PROTOCOL_NO_TOOLS",
            "(tool failed: mcp_restart_failed)",
        ),
    ] {
        let fixture = Fixture::new();
        let terms = format!(
            "tool_policy: required\n\
             tools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}, {mode}]}}}}}}\n",
            server.display()
        );
        let (die, hello) = (calls("odd__die", "{}"), calls("odd__hello", "{}"));
        fixture.script(&terms, &[&die, &hello, &says("Done.")]);
        let ended = fixture.run(&["run", "--json", "--run-id", "r", "--contract", "c.yaml"]);
        let result = ended.document();
        assert_eq!(result["outcome"]["class"], outcome, "{mode}: {}", ended.err);
        let conversation = result["conversation"].as_array().unwrap();
        let tools = conversation
            .iter()
            .filter(|message| message["role"] == "tool");
        let texts: Vec<&str> = tools
            .map(|tool| tool["content"].as_str().unwrap())
            .collect();
        assert_eq!(
            texts,
            ["(tool failed: connection lost)", observed],
            "{mode}"
        );
        for proof in ["verify", "replay"] {
            fixture.ok(&[proof, "r"]);
        }
    }
}

/// A server that writes a log and ends, as npx does where there is no such package.
#[test]
fn of_the_log_of_a_server_that_did_not_come_up_a_reason_has_the_lines_that_name_the_fault() {
    let fixture = Fixture::new();
    let log = "npm warn config production\nnpm error code E404\nnpm error 404 Not Found - GET x\nnpm error 404\n\
               npm error 404 Note that you can also install from a\nnpm error 404 tarball, or git folder.\nnpm error A complete log is in: y\n";
    fixture.write("npm.log", log);
    let server =
        "tools: {workspace: ., mcp: {fs: {command: sh, args: [-c, 'cat npm.log >&2; exit 1']}}}\n";
    fixture.script(server, &[&says("never")]);
    let ended = fixture.ends(&["run", "c.yaml"], 3);
    let why = fixture.ok(&["show", "last", "--why"]);
    let shown = fixture.ok(&["show", "last"]);
    let doctor = fixture.run(&["doctor", "--contract", "c.yaml"]).out;
    for said in [&ended.err, &why, &shown, &doctor] {
        assert!(
            said.contains("ended with: 404 Not Found - GET x (6 more lines"),
            "{said}"
        );
        assert!(!said.contains("npm warn"), "{said}");
    }
    let (_, rest) = ended.err.split_once("more lines; monolith ").unwrap();
    let (command, _) = rest.split_once(" has them").unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    let full = fixture.ok(&words);
    assert!(
        full.contains("npm warn config production | npm error code E404"),
        "{full}"
    );
    assert!(full.contains("npm error A complete log is in: y"), "{full}");
}

/// The questions of a server during a call, in both protocols, are in the transcript with their answers.
#[test]
fn what_a_server_asked_for_and_got_is_recorded_and_shown() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 2 cases: python3 is not here");
        return;
    }
    for (mode, tool, message) in [("modern", "needs_input", "Who?"), ("", "ask_back", "?")] {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.path("a folder")).unwrap();
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
        let terms = format!(
            "tool_policy: required\n\
             tools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}, '{mode}'], \
             elicitation: defaults, roots: [a folder, gone]}}}}}}\n",
            server.display()
        );
        let call = calls(&format!("odd__{tool}"), r#"{"roots":true}"#);
        fixture.script(&terms, &[&call, &says("Done.")]);
        let ended = fixture.run(&["run", "--json", "--run-id", "r", "--contract", "c.yaml"]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        let observed = ended.out.as_str();
        assert!(observed.contains("/a%20folder"), "{observed}");
        assert!(!observed.contains("/gone"), "{observed}");
        let asked = format!("its server asked {message:?} and got {{");
        for arguments in [&["show", "r"][..], &["show", "r", "--why"]] {
            let shown = fixture.ok(arguments);
            assert!(shown.contains(&asked), "{arguments:?}: {shown}");
        }
        for proof in ["verify", "replay"] {
            fixture.ok(&[proof, "r"]);
        }
    }
}

/// S4: a folder that the contract does not grant is not named.
#[test]
fn roots_are_named_where_the_contract_grants_them_and_else_refused() {
    check(
        "ask_back",
        &[],
        ("COMPLETED_WITH_TOOLS", "final_message"),
        0,
        "[-32601, -32601, -32601, -32601]",
    );
}
