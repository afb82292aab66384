//! The reports of a list and an export about a store that somebody changed, and the output that reaches a pipe.

use serde_json::Value;

use crate::fixture::{Fixture, says};

/// A fixture with a run `r` that answered.
fn answered(content: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says(content)]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    fixture
}

fn change(fixture: &Fixture, sql: &str) {
    let store = fixture.plain_store();
    store.pragma_update(None, "foreign_keys", false).unwrap();
    store.execute_batch(sql).unwrap();
    assert!(store.total_changes() > 0, "{sql} changes nothing");
}

#[test]
fn a_list_marks_what_does_not_hold_of_the_entries_that_it_reads() {
    for (sql, why) in [
        (
            "UPDATE entries SET event = replace(event, 'One.', 'Two.') WHERE seq > 0",
            "its hash is not that of its bytes",
        ),
        (
            "UPDATE entries SET event = replace(event, '\"hi\"', '\"ho\"') WHERE seq = 0",
            "entry 0: its hash is not that of its bytes",
        ),
        (
            "DELETE FROM entries WHERE seq = (SELECT max(seq) FROM entries)",
            "is not there",
        ),
        (
            "UPDATE runs SET head_hash = zeroblob(32)",
            "its row names another last entry",
        ),
        (
            "UPDATE runs SET class = 'COMPLETED_WITH_TOOLS'",
            "its row names another outcome",
        ),
    ] {
        let fixture = answered("One.");
        let (code, list) = fixture.json(&["list"]);
        assert_eq!(
            (code, &list["runs"][0]["flaw"]),
            (0, &Value::Null),
            "{list}"
        );
        change(&fixture, sql);
        let left = fixture.ends(&["list"], 7);
        let row = left.out.lines().nth(1).unwrap_or_default();
        assert!(row.contains("  NOT VERIFIED: "), "{sql}: {}", left.out);
        assert!(row.contains(why), "{sql}: {row}");
        let (code, list) = fixture.json(&["list"]);
        let flaw = list["runs"][0]["flaw"].as_str().unwrap_or_default();
        assert!(code == 7 && flaw.contains(why), "{sql}: {list}");
    }
}

#[test]
fn an_export_of_what_does_not_verify_is_written_and_says_so() {
    let fixture = answered("One.");
    assert_eq!(fixture.ends(&["export", "r"], 0).err, "");
    change(
        &fixture,
        "UPDATE entries SET event = replace(event, 'One.', 'Two.') WHERE seq > 0",
    );
    for args in [&["export", "r"][..], &["export", "r", "-o", "r.jsonl"]] {
        let left = fixture.ends(args, 7);
        assert!(left.err.contains("NOT VERIFIED: "), "{}", left.err);
    }
    assert!(fixture.read("r.jsonl").contains("Two."));
    fixture.ends(&["verify", "r.jsonl"], 7);
    // It is judged before anything is written.
    let left = fixture.run(&["export", "r", "-o", "no-such-folder/r.jsonl"]);
    assert!(left.err.starts_with("NOT VERIFIED: "), "{}", left.err);
}

#[test]
fn no_result_is_made_of_an_ended_run_that_does_not_verify() {
    for sql in [
        "UPDATE entries SET event = replace(event, 'One.', 'Two.') WHERE seq > 0",
        "UPDATE blobs SET bytes = x'00'",
        "UPDATE runs SET class = 'COMPLETED_WITH_TOOLS'",
        "UPDATE runs SET head_hash = zeroblob(32)",
    ] {
        let fixture = answered("One.");
        assert!(fixture.ok(&["resume", "r"]).contains("One."));
        change(&fixture, sql);
        for args in [&["resume", "r"][..], &["resume", "r", "--json"]] {
            let left = fixture.ends(args, 7);
            assert!(
                !left.out.contains("One.") && !left.out.contains("true"),
                "{sql}: {}",
                left.out
            );
        }
    }
}

#[test]
fn a_name_with_a_line_feed_begins_no_line_of_an_error() {
    let fixture = Fixture::new();
    let name = "a\nverified at level L3\n.jsonl";
    fixture.write(name, "{}");
    for args in [
        &["verify", name][..],
        &["show", name],
        &["import", name],
        &["contract", "check", name],
    ] {
        let left = fixture.run(args);
        assert_ne!(left.code, 0, "{args:?}");
        let said = left.printed();
        assert!(said.contains("verified at level L3"), "{args:?}: {said}");
        assert!(
            !said.lines().any(|line| line.starts_with("verified")),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn a_pipe_gets_no_control_characters_in_json_and_the_same_value() {
    let answer = "a\u{9b}31m\u{7f}b\u{202e}c\u{2066}d\u{200f}e\u{61c}";
    let fixture = answered(answer);
    let check = |out: &str| {
        for c in answer.chars().filter(|c| !c.is_ascii_alphanumeric()) {
            assert!(!out.contains(c), "{c:?} in {out}");
        }
    };
    let shown = fixture.ok(&["show", "r", "--json"]);
    check(&shown);
    let value: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value["finalReport"]["content"], answer, "{value}");
    check(&fixture.ok(&["run", "c.yaml", "--json", "--run-id", "s"]));
    check(&fixture.ok(&["show", "r", "--raw"]));
    for step in ["0", "1", "2", "3"] {
        check(&fixture.ok(&["show", "r", "--step", step]));
    }
    // The answer itself is what the model wrote: a program may need its bytes.
    let plain = fixture.ok(&["run", "c.yaml", "--run-id", "t"]);
    assert_eq!(plain, format!("{answer}\n"));
}
