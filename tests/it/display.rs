//! The agreement between the displays of one run: `show`, `run`, and the exported page.

use std::sync::atomic::{AtomicU32, Ordering};

use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Chain, Link};
use serde_json::{Value, json};

use crate::browser::{body, opened, page_of, printed};
use crate::fixture::{Fixture, says};
use crate::golden::{Golden, file_of};
use crate::statements::serving;

const WARNING: &str = "warning: tag 0099 ignored: unknown slot, tag 0001 ignored: no tool, tag 0002 ignored: slot used, \
                       tag 0003 ignored: unclosed";

#[test]
fn a_tag_that_was_ignored_is_a_warning_in_show_and_on_the_page() {
    let fixture = Fixture::new();
    let file = file_of("session.xml_mismatched_tags");
    let name = file.display().to_string();
    let shown = fixture.ok(&["show", &name]);
    assert!(shown.contains(WARNING), "{shown}");
    let why = fixture.ok(&["show", &name, "--why"]);
    let (_, warnings) = why.split_once("\nWarnings:\n").unwrap();
    let (warnings, _) = warnings.split_once("\n\n").unwrap();
    assert_eq!(warnings.lines().count(), 1, "{why}");
    assert!(warnings.contains(WARNING), "{why}");
    let Some(document) = opened(&page_of(&file), "#entry-2") else {
        return;
    };
    assert!(body(&document).contains(WARNING), "{document}");
    assert!(body(&document).contains("chip warn\">warning</b>"));
}

#[test]
fn a_tag_that_was_ignored_is_a_warning_while_the_run_is_narrated() {
    let asked = AtomicU32::new(0);
    let port = serving(move |line, body| {
        if !line.starts_with("POST ") {
            return json!({"data": []});
        }
        // The session's nonce stands in what the turn offers.
        let (_, nonce) = body.split_once("<ai-agent-").unwrap();
        let nonce = &nonce[..8];
        let content = if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            format!(
                "<ai-agent-{nonce}-0099 tool=\"echo\">{{}}</ai-agent-{nonce}-0099></ai-agent-{nonce}-FINAL>\
                 <ai-agent-{nonce}-evil\u{1b}[31m tool=\"echo\">{{}}</ai-agent-{nonce}-evil\u{1b}[31m>"
            )
        } else {
            format!("<ai-agent-{nonce}-FINAL tool=\"agent__final_report\">MIT")
        };
        let message = json!({"role": "assistant", "content": content});
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    });
    let fixture = Fixture::new();
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntool_policy: optional\ncompletion: final_report\ntool_transport: xml\n\
             tools: {{builtin: [echo]}}\ntargets: [{{provider: web, model: m}}]\n\
             context_budget: {{context_window: 9000}}\n\
             providers: {{web: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1'}}}}\n"
        ),
    );
    let left = fixture.ends(&["run", "c.yaml", "--run-id", "tags", "--verbose"], 0);
    for line in [
        "[WRN] ← [1.0] llm web:m: tag 0099 ignored: unknown slot\n",
        "[WRN] ← [1.0] llm web:m: tag FINAL ignored: unopened\n",
        "[WRN] ← [1.0] llm web:m: tag ignored: unknown slot\n",
        "[WRN] ← [1.0] llm web:m: tag FINAL accepted: unclosed report\n",
    ] {
        assert_eq!(left.err.matches(line).count(), 1, "{line}: {}", left.err);
    }
    assert!(!left.err.contains("NOT THE STATE"), "{}", left.err);
    // The report counts, and every display of its run says how it came.
    let warning = "tag FINAL accepted: unclosed report";
    let end = format!("run tags   {warning}\n");
    assert!(left.err.contains(&end), "{}", left.err);
    let shown = fixture.ok(&["show", "tags"]);
    assert!(shown.contains(&format!("warning: {warning}")), "{shown}");
    let args = ["run", "c.yaml", "--run-id", "other", "--json"];
    let result = fixture.ends(&args, 0).document();
    assert_eq!(result["finalReport"]["warnings"], json!([warning]));
}

/// Returns a golden transcript whose entries were changed by one who knows the format: they are renumbered and rechained, so it
/// verifies.
fn forged(name: &str, change: impl FnOnce(&mut Vec<(Value, Value)>)) -> String {
    let text = std::fs::read_to_string(file_of(name)).unwrap();
    let header = text.lines().next().unwrap();
    let stated: Value = serde_json::from_str(header).unwrap();
    let mut entries: Vec<(Value, Value)> = Golden::of(name)
        .entries
        .iter()
        .map(|entry| {
            let action = serde_json::from_str(&entry.action).unwrap();
            (action, serde_json::from_str(&entry.event).unwrap())
        })
        .collect();
    change(&mut entries);
    let length = entries.len();
    let hash: Digest = stated["contract"]["contract_hash"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let run_id = RunId::try_from(stated["run_id"].as_str().unwrap().to_owned()).unwrap();
    let mut chain = Chain::genesis(hash, &run_id);
    let mut lines = vec![header.to_owned()];
    let mut before = json!("PRECHECK");
    for (seq, (action, event)) in entries.iter_mut().enumerate() {
        action["seq"] = json!(seq);
        action["from"] = std::mem::replace(&mut before, action["to"].clone());
        if action["kind"] == "seal" {
            action["length"] = json!(length);
        }
        let (action_text, event_text) = (action.to_string(), event.to_string());
        let text = |key: &str| action[key].as_str().unwrap();
        let hash = chain.extend(&Link {
            action: &action_text,
            adapter_version: text("adapter_version"),
            event: &event_text,
            model_fingerprint: text("model_fingerprint"),
            model_profile_id: text("model_profile_id"),
            state: text("to"),
        });
        lines.push(format!(
            "{{\"action\":{action_text},\"event\":{event_text},\"hash\":\"{hash}\",\"seq\":{seq}}}"
        ));
    }
    let named = lines.concat();
    let blobs = text.lines().filter(|line| line.starts_with("{\"blob\":"));
    lines.extend(
        blobs
            .filter(|line| named.contains(&line[9..73]))
            .map(str::to_owned),
    );
    lines.join("\n") + "\n"
}

/// Every display of a file that verifies and departs from the machine at that entry.
fn check_departs(case: &str, text: &str, entry: u64) {
    let fixture = Fixture::new();
    fixture.write("t.jsonl", text);
    fixture.ok(&["verify", "t.jsonl"]);
    let line = "NOT THE STATE OF THE RUN: ";
    let named = format!("entry {entry}");
    for form in [
        &["show", "t.jsonl"][..],
        &["show", "t.jsonl", "--why"],
        &["show", "t.jsonl", "--follow"],
        &["show", "t.jsonl", "--conversation"],
    ] {
        let shown = fixture.ends(form, 6).out;
        let said = shown.lines().find(|shown| shown.starts_with(line));
        let said = said.unwrap_or_else(|| panic!("{case}: {form:?}: {shown}"));
        assert!(said.contains(&named), "{case}: {said}");
    }
    let refused = fixture.ends(&["show", "t.jsonl", "--json"], 6);
    assert!(
        refused.out.is_empty() && refused.err.contains(&named),
        "{case}: {}",
        refused.err
    );
    for format in ["html", "atif", "cast"] {
        let refused = fixture.ends(&["export", "--format", format, "t.jsonl"], 6);
        assert!(refused.out.is_empty(), "{case}: {format}");
        let err = refused.err;
        assert!(
            err.contains(&named) && err.contains("--force-unverified"),
            "{case}: {err}"
        );
    }
    // Where stdout is for programs the line is on stderr, and a result is made nowhere.
    for form in [
        &["show", "t.jsonl", "--raw"][..],
        &["show", "t.jsonl", "--step", "0"],
    ] {
        let shown = fixture.ends(form, 6);
        assert!(shown.err.contains(line), "{case}: {form:?}: {}", shown.err);
        assert!(!shown.out.contains(line), "{case}: {form:?}: {}", shown.out);
    }
    let same = ["show", "t.jsonl", "t.jsonl", "--diff"];
    assert!(fixture.ends(&same, 6).out.contains(line), "{case}");
    assert_eq!(fixture.ends(&[&same[..], &["--json"]].concat(), 6).out, "");
    fixture.ok(&["import", "t.jsonl"]);
    let (_, list) = fixture.json(&["list"]);
    let run = list["runs"][0]["run_id"].as_str().unwrap();
    let exported = fixture.ends(&["export", run], 6);
    assert!(exported.err.contains(line), "{case}: {}", exported.err);
    assert_eq!(exported.out.lines().next(), text.lines().next(), "{case}");
    fixture.script("", &[]);
    let continued = ["continue", run, "Go on.", "--contract", "c.yaml"];
    for form in [&["resume", run][..], &continued] {
        let left = fixture.run(form);
        assert!(left.out.is_empty(), "{case}: {form:?}: {}", left.out);
        assert_eq!(left.code, 6, "{case}: {form:?}: {}", left.err);
    }
    let (code, result) = fixture.json(&["resume", run]);
    assert_eq!((code, &result["success"]), (6, &json!(false)), "{result}");
    let Some(document) = opened(&page_of(&fixture.path("t.jsonl")), "") else {
        return;
    };
    assert_eq!(printed(&document, "verdict"), "verified", "{case}");
    assert_eq!(printed(&document, "agrees"), "departs", "{case}");
    assert_eq!(printed(&document, "departure"), entry.to_string(), "{case}");
    let body = body(&document);
    let said = format!("NOT THE STATE OF THE RUN at entry {entry}");
    assert!(body.contains(&said), "{case}");
    assert!(
        body.contains("does not show what the machine decided"),
        "{case}"
    );
}

/// Shows 002/3.display.1.
#[test]
fn entries_out_of_order_missing_or_twice_are_no_other_story_on_any_display() {
    // Two results of calls that ran at once: as entries they differ in their events alone.
    let name = "batch.parallel";
    let is_result = |entry: &(Value, Value)| entry.1["event"]["kind"] == "tool_returned";
    let first = |entries: &[(Value, Value)]| entries.iter().position(is_result).unwrap();
    let entries = Golden::of(name).entries;
    let at = entries
        .iter()
        .position(|entry| entry.event.contains("\"tool_returned\""))
        .unwrap();
    let entry = u64::try_from(at).unwrap();
    check_departs(
        "missing",
        &forged(name, |entries| drop(entries.remove(first(entries)))),
        entry,
    );
    let twice = forged(name, |entries| {
        let at = first(entries);
        entries.insert(at, entries[at].clone());
    });
    check_departs("twice", &twice, entry + 1);
    let swapped = forged(name, |entries| {
        let at = first(entries);
        assert!(is_result(&entries[at + 1]), "another result follows");
        let (one, other) = (
            entries[at].1["event"].clone(),
            entries[at + 1].1["event"].clone(),
        );
        entries[at].1["event"] = other;
        entries[at + 1].1["event"] = one;
    });
    check_departs("swapped", &swapped, entry);
    let counted = forged("core.valid_call", |entries| {
        entries[4].0["state_digest"] = json!("00".repeat(32));
    });
    check_departs("another digest", &counted, 4);
}

/// A missing end of a file is detected at its end.
#[test]
fn the_end_of_a_file_that_is_followed_is_held_against_the_machine() {
    let name = "core.valid_call";
    let mut departed = 0;
    for length in 1..Golden::of(name).entries.len() {
        let fixture = Fixture::new();
        fixture.write("t.jsonl", &forged(name, |entries| entries.truncate(length)));
        let shown = fixture.run(&["show", "t.jsonl"]);
        let followed = fixture.run(&["show", "t.jsonl", "--follow"]);
        let line = "NOT THE STATE OF THE RUN: ";
        let count = |text: &str| text.matches(line).count();
        assert_eq!(count(&followed.out), count(&shown.out), "{length}");
        if count(&shown.out) > 0 {
            assert_eq!(followed.code, shown.code, "{length}: {}", followed.out);
            departed += 1;
        }
    }
    assert!(departed > 0, "some cut leaves out what the machine wrote");
}

#[test]
fn a_page_opens_the_digests_of_its_own_run_and_says_what_it_could_not() {
    let Some(document) = opened(&page_of(&file_of("core.valid_call")), "#view=verification") else {
        return;
    };
    assert_eq!(printed(&document, "agrees"), "agrees");
    assert!(body(&document).contains("states of the machine, opened"));
    // States that somebody changed beside the transcript are believed nowhere.
    let page = page_of(&file_of("core.valid_call"));
    let changed = page.replacen("\\\"at_ms\\\":0,", "\\\"at_ms\\\":1,", 1);
    assert_ne!(page, changed);
    let document = opened(&changed, "").unwrap();
    assert_eq!(printed(&document, "agrees"), "departs");
    assert_eq!(printed(&document, "departure"), "0");
}

/// No form that a pipe carries to a terminal has a character that reverses a line.
#[test]
fn a_trajectory_carries_no_character_that_steers_a_terminal() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("a\u{202e}b\u{9b}c")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    let printed = fixture.ok(&["export", "r1", "--format", "atif"]);
    assert!(!printed.contains(['\u{202e}', '\u{9b}']), "{printed}");
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert!(
        document.to_string().contains("a\u{202e}b\u{9b}c"),
        "{document}"
    );
}
