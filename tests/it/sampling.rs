//! Prompts of a tool server for a model during a call (MCP sampling), in both protocols: asked and recorded as the contract
//! grants it. They are refused where it does not, where a budget does not allow it, and where nothing comes of it.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::fixture::{Fixture, Left, calls, says};

const ERAS: [&str; 2] = ["modern", ""];

fn python() -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped 1 case: python3 is not here");
    }
    there
}

/// A fixture whose scripted model calls a tool whose server wants a model to be asked. `granted` are terms of the server, `beside` of the
/// contract.
fn fixture(era: &str, granted: &str, beside: &str, arguments: &str, lines: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    let terms = format!(
        "tool_policy: required\n\
         tools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}, 'named:samples', '{era}']{granted}}}}}}}\n{beside}",
        server.display()
    );
    let call = calls("odd__samples", arguments);
    let lines: Vec<&str> = [call.as_str()]
        .into_iter()
        .chain(lines.iter().copied())
        .collect();
    fixture.script(&terms, &lines);
    fixture
}

/// Returns the number of inferences of a run that ended well, and its model's view of the call; it verifies and replays.
fn observed(fixture: &Fixture) -> (u64, String) {
    let left = fixture.run(&["run", "c.yaml", "--run-id", "r1", "--json"]);
    let result = left.document();
    assert_eq!(left.code, 0, "{}", left.printed());
    assert_eq!(result["counters"]["tool_calls"], 1);
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r1"]);
    }
    let conversation = result["conversation"].as_array().unwrap();
    let tool = conversation
        .iter()
        .find(|message| message["role"] == "tool");
    let tool = tool.unwrap()["content"].as_str().unwrap().to_owned();
    (result["counters"]["inferences"].as_u64().unwrap(), tool)
}

const GRANTED: &str = ", sampling: demo/small";

#[test]
fn a_model_answers_a_server_and_that_is_counted_recorded_and_shown() {
    if !python() {
        return;
    }
    for era in ERAS {
        let fixture = fixture(era, GRANTED, "", "{}", &[&says("At noon."), &says("Done.")]);
        let (inferences, said) = observed(&fixture);
        assert_eq!(inferences, 3, "{era}");
        let result: serde_json::Value = serde_json::from_str(&said).unwrap();
        let expect = serde_json::json!({
            "role": "assistant", "content": {"type": "text", "text": "At noon."}, "model": "small", "stopReason": "endTurn",
        });
        assert_eq!(result, expect, "{era}");
        let shown = fixture.ok(&["show", "r1"]);
        assert!(
            shown.contains(r#"its server asked "How late is it?" and got {"#),
            "{era}: {shown}"
        );
        let exported = fixture.ok(&["export", "r1"]);
        assert!(exported.contains(r#""kind":"sampling_required""#), "{era}");
        assert!(exported.contains(r#""kind":"sample""#), "{era}");
    }
}

#[test]
fn a_server_without_the_grant_is_refused_and_no_model_is_asked() {
    if !python() {
        return;
    }
    for (era, expect) in [
        ("modern", "which the contract does not grant"),
        ("", "-32601"),
    ] {
        let fixture = fixture(era, "", "", "{}", &[&says("Done.")]);
        let (inferences, said) = observed(&fixture);
        assert_eq!(inferences, 2, "{era}");
        assert!(said.contains(expect), "{era}: {said}");
    }
}

/// The run keeps the request that it needs: a server never spends it.
#[test]
fn a_server_never_spends_the_last_inference() {
    if !python() {
        return;
    }
    for (era, expect) in [("modern", "none was, or nothing came of it"), ("", "-1")] {
        let fixture = fixture(era, GRANTED, "max_inferences: 2\n", "{}", &[&says("Done.")]);
        let (inferences, said) = observed(&fixture);
        assert_eq!(inferences, 2, "{era}");
        assert!(said.contains(expect), "{era}: {said}");
    }
}

/// A model has no tools, no images and no other roles on behalf of a server.
#[test]
fn what_no_model_is_asked_for_a_server_is_refused() {
    if !python() {
        return;
    }
    let tools = r#"{"tools":[{"name":"rm","inputSchema":{"type":"object"}}]}"#;
    let image = r#"{"messages":[{"role":"user","content":{"type":"image","data":"AA==","mimeType":"image/png"}}]}"#;
    // What no request for an inference holds: a number of tokens is at least 0.
    let tokens = r#"{"maxTokens":-4}"#;
    for arguments in [tools, image, tokens] {
        for (era, expect) in [("modern", "asked what it is not"), ("", "-32602")] {
            let fixture = fixture(era, GRANTED, "", arguments, &[&says("Done.")]);
            let (inferences, said) = observed(&fixture);
            assert_eq!(inferences, 2, "{era}");
            assert!(said.contains(expect), "{era}: {said}");
        }
    }
}

/// The text of a blob, where a line of an export is one.
fn blob(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line.get("blob")?;
    let bytes = STANDARD.decode(line["bytes"].as_str()?).unwrap();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The prompt of a server is a text like every other one: a secret in it is neither recorded nor sent on.
#[test]
fn a_secret_in_the_prompt_of_a_server_is_recorded_nowhere() {
    if !python() {
        return;
    }
    let secret = "a-token-that-only-the-server-has";
    for era in ERAS {
        let granted = format!("{GRANTED}, env: {{TOKEN: '${{TOKEN}}'}}");
        let lines = [says("At noon."), says("Done.")];
        let fixture = fixture(
            era,
            &granted,
            "",
            "{}",
            &lines.each_ref().map(String::as_str),
        );
        let run = ["run", "c.yaml", "--run-id", "r1", "--json"];
        let left = Left::from(fixture.command(&run).env("TOKEN", secret).output().unwrap());
        assert_eq!(left.code, 0, "{}", left.printed());
        assert_eq!(left.document()["counters"]["inferences"], 3, "{era}");
        let exported = fixture.ok(&["export", "r1"]);
        assert!(exported.contains("\"kind\":\"sample\""), "{era}");
        for (what, kept) in [("export", &exported), ("result", &left.printed())] {
            assert!(!kept.contains(secret), "{era}: {what}");
        }
        let blobs: Vec<String> = exported.lines().filter_map(blob).collect();
        assert!(blobs.iter().all(|blob| !blob.contains(secret)), "{era}");
        // Where it is a value of the server's own, it is taken out before the run sees it.
        let marks = ["How late is it?[REDACTED:", "How late is it?[SECRET]"];
        let scrubbed = |blob: &String| marks.iter().any(|mark| blob.contains(mark));
        assert!(blobs.iter().any(scrubbed), "{era}: {blobs:?}");
    }
}
