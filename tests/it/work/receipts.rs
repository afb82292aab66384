//! Receipts: verified, listed, shown, thawed; equal items; and a receipt that somebody changed.

use std::fs;

use serde_json::json;

use super::{fixture, writes};
use crate::fixture::Fixture;

#[test]
fn a_denied_item_shows_its_reason_and_what_was_not_published() {
    let fixture = fixture();
    let call = crate::fixture::calls(
        "shell",
        &json!({"command": "printf 'a\\0' > raw; chmod 755 README.md"}).to_string(),
    );
    fixture.item_agent("agent-1", &[call]);
    let more = json!({"allow_external": ["shell"], "constraints": {"max_files": 1}});
    fixture.items(&[("w", "agent-1", more)]);
    assert_eq!(fixture.result().0, 1);
    let said = fixture.ok(&["work", "show", "w"]);
    for part in [
        "state       denied\n",
        "reason      Exceeded max files: 2 > 1\n",
        "admission   denied: files 2/1, calls 1/50, changes ",
        "modified    README.md  mode ",
        " -> 755\n",
        "created     raw  not a text, bytes none -> 2\n",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let attempt = fixture.json(&["work", "show", "w"]).1;
    let attempt = attempt["work_id"].as_str().unwrap();
    fixture.ends(&["show", attempt, "--exit-code"], 1);
}

/// A fixture in which the item `w` has succeeded; its receipt.
fn done() -> (Fixture, String) {
    let fixture = fixture();
    fixture.item_agent(
        "agent-1",
        &[writes("README.md", "changed\n"), writes("new.txt", "new\n")],
    );
    fixture.items(&[("w", "agent-1", json!({"test_command": "true"}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    let receipt = result["receipt_id"].as_str().unwrap().to_owned();
    (fixture, receipt)
}

#[test]
fn a_receipt_verifies_until_somebody_changes_it() {
    let (fixture, receipt) = done();
    let said = fixture.ok(&["work", "verify", &receipt]);
    for name in [
        "file",
        "signature",
        "provenance",
        "test-result",
        "script",
        "item",
        "log",
        "run",
        "calls",
    ] {
        assert!(
            said.contains(&format!("ok      {name}\n")),
            "{name}\n{said}"
        );
    }
    fixture.write("tree/new.txt", "edited\n");
    let said = fixture.ok(&["work", "verify", &receipt]);
    assert!(
        said.contains("new.txt has changed since the item"),
        "{said}"
    );
    let path = fixture.path(&format!("home/work/{receipt}/RECEIPT.json"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"max_files\":10", "\"max_files\":11")).unwrap();
    let said = fixture.ends(&["work", "verify", &receipt], 7).out;
    assert!(said.contains("FAILED  file: "), "{said}");
    assert!(said.contains("ok      signature\n"), "{said}");
}

#[test]
fn a_receipt_is_found_by_its_beginning_its_file_and_its_item() {
    let (fixture, receipt) = done();
    let whole = fixture.ok(&["work", "receipt", &receipt]);
    let path = format!("home/work/{receipt}/RECEIPT.json");
    assert_eq!(whole.trim_end(), fixture.read(&path));
    for asked in [&receipt[..8], path.as_str(), "w"] {
        assert_eq!(fixture.ok(&["work", "receipt", asked]), whole, "{asked}");
    }
    assert_eq!(fixture.ok(&["work", "receipt", "last"]), whole);
    for nothing in ["", " "] {
        for verb in ["verify", "thaw", "replay", "receipt"] {
            fixture.ends(&["work", verb, nothing], 4);
        }
    }
    let none = fixture.ends(&["work", "receipt", "nope"], 4).err;
    assert!(none.contains("monolith work list"), "{none}");
    // A path is the file there, and no name.
    for command in ["verify", "thaw"] {
        for missing in ["./w", "no/w/RECEIPT.json", "no/last/RECEIPT.json"] {
            fixture.ends(&["work", command, missing], 4);
        }
    }
    assert_eq!(fixture.read("tree/new.txt"), "new\n");
    let long = "n".repeat(90);
    let none = fixture.ends(&["work", "receipt", &long], 4).err;
    assert!(none.contains("n…`"), "{none}");
}

#[test]
fn show_names_state_admission_tests_and_changed_files_with_their_diffs() {
    let (fixture, receipt) = done();
    let said = fixture.ok(&["work", "show", &receipt]);
    for part in [
        "item        w\n",
        "state       success\n",
        "admission   admitted: files 2/10, calls 2/50, changes 2/100\n",
        "tests       exit code 0\n",
        "modified    README.md  +1 -3\n  @@ -1,3 +1 @@\n  -one\n  -two\n  -three\n  +changed\n",
        "created     new.txt  +1 -0\n  @@ -0,0 +1 @@\n  +new\n",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let document = fixture.json(&["work", "show", &receipt]).1;
    assert_eq!(document["receipt_id"], json!(receipt));
    assert_eq!(document["admission"]["is_admitted"], json!(true));
    let diff = &document["changes"][1]["diff"];
    assert_eq!(diff["hunks"][0]["lines"], json!(["+new\n"]), "{document}");
    let attempt = document["work_id"].as_str().unwrap();
    assert_eq!(fixture.ok(&["show", attempt]), said);
    // The contents are kept after something else has changed the files.
    fixture.write("tree/new.txt", "edited\n");
    assert_eq!(fixture.ok(&["work", "show", "w"]), said);
    let listed = fixture.ok(&["work", "list"]);
    assert_eq!(listed, format!("{receipt}  success      w\n"));
}

#[test]
fn thaw_restores_what_nothing_else_has_changed() {
    let (fixture, receipt) = done();
    fixture.write("tree/new.txt", "edited\n");
    let (code, report) = fixture.json(&["work", "thaw", &receipt]);
    assert_eq!(code, 1, "{report}");
    assert_eq!(report["restored"], json!(["README.md"]));
    assert_eq!(report["left"], json!(["new.txt"]));
    assert_eq!(fixture.read("tree/README.md"), "one\ntwo\nthree\n");
    assert_eq!(fixture.read("tree/new.txt"), "edited\n");
    fixture.write("tree/new.txt", "new\n");
    let said = fixture.ok(&["work", "thaw", &receipt]);
    assert_eq!(said, "restored  new.txt\n");
    assert!(!fixture.path("tree/new.txt").exists());
}

#[test]
fn a_file_is_verified_whatever_it_is_called_and_wherever_it_lies() {
    let (fixture, receipt) = done();
    let text = fixture.read(&format!("home/work/{receipt}/RECEIPT.json"));
    fixture.write("any/name.json", &text);
    fixture.ok(&["work", "verify", "any/name.json"]);
    let changed = text.replace("\"max_files\":10", "\"max_files\":11");
    fixture.write("any/name.json", &changed);
    let said = fixture.ends(&["work", "verify", "any/name.json"], 7).out;
    assert!(said.contains("FAILED  file: "), "{said}");
    fixture.ok(&["work", "verify", &receipt]);
    let envelope = fixture.read(&format!("home/work/{receipt}/RECEIPT.dsse.json"));
    fixture.write("any/name.dsse.json", &envelope);
    fixture.ok(&["work", "verify", "any/name.dsse.json"]);
    fixture.ends(&["work", "thaw", "any/name.json"], 4);
}

#[test]
fn each_changed_or_missing_file_of_a_receipt_is_found_and_a_missing_one_is_written_again() {
    let (fixture, receipt) = done();
    let folder = format!("home/work/{receipt}");
    for (file, check) in [
        ("RECEIPT.dsse.json", "signature"),
        ("PROVENANCE.dsse.json", "provenance"),
        ("TEST-RESULT.dsse.json", "test-result"),
        ("replay-w.sh", "script"),
    ] {
        let name = format!("{folder}/{file}");
        let text = fixture.read(&name);
        let fails = |what: &str| {
            let said = fixture.ends(&["work", "verify", &receipt], 7).out;
            let part = format!("FAILED  {check}: ");
            assert!(said.contains(&part), "{file} {what}\n{said}");
        };
        let changes = [
            ("\"payload\":\"", "\"payload\":\"A"),
            ("\"keyid\":\"", "\"keyid\":\"x"),
            ("EXPECTED_HASH=\"", "EXPECTED_HASH=\"0"),
        ];
        for (part, changed) in changes.into_iter().filter(|(part, _)| text.contains(part)) {
            fixture.write(&name, &text.replacen(part, changed, 1));
            fails(changed);
        }
        fs::remove_file(fixture.path(&name)).unwrap();
        fails("removed");
        fixture.result();
        assert!(fixture.path(&name).exists(), "{file} is not written again");
        fixture.ok(&["work", "verify", &receipt]);
    }
}

#[test]
fn the_newest_receipt_is_the_one_that_was_counted_last_whatever_a_row_says() {
    let (fixture, first) = done();
    fixture.item_agent("agent-1", &[writes("new.txt", "newer\n")]);
    let (code, results) = fixture.item_results(&["--again"]);
    assert_eq!(code, 0, "{results:?}");
    let second = results[0]["receipt_id"].as_str().unwrap();
    let whole = |asked: &str| fixture.ok(&["work", "receipt", asked]);
    let first: serde_json::Value = serde_json::from_str(&whole(&first)).unwrap();
    let store = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    let late = "UPDATE runs SET created_unix_ms = 9999999999999 WHERE run_id = ?1";
    let changed = store.execute(late, [first["work_id"].as_str().unwrap()]);
    assert_eq!(changed, Ok(1));
    drop(store);
    for asked in ["w", "last"] {
        assert_eq!(whole(asked), whole(second), "{asked}");
    }
    let thawed = fixture.json(&["work", "thaw", "w"]).1;
    assert_eq!(thawed["receipt_id"], json!(second));
}

#[test]
fn an_imported_receipt_is_not_thawed_because_its_work_tree_is_not_known() {
    let (fixture, receipt) = done();
    let whole: serde_json::Value =
        serde_json::from_str(&fixture.ok(&["work", "receipt", &receipt])).unwrap();
    let name = whole["work_id"].as_str().unwrap();
    fixture.ok(&["export", name, "-o", "item.jsonl"]);
    fixture.ok(&["import", "item.jsonl", "--store", "other.db"]);
    let left = fixture
        .ends(&["work", "thaw", &receipt, "--store", "other.db"], 4)
        .err;
    assert!(left.contains("its work tree is not known here"), "{left}");
}

#[test]
fn an_item_stands_for_its_newest_receipt_that_published_something() {
    let (fixture, receipt) = done();
    let (_, again) = fixture.result();
    assert_eq!(again["created_files"], json!([]), "{again}");
    fixture.ok(&["work", "replay", "w"]);
    let thawed = fixture.json(&["work", "thaw", "w"]).1;
    assert_eq!(thawed["receipt_id"], json!(receipt));
    assert!(!fixture.path("tree/new.txt").exists());
}

/// 004/5.admission.10
#[test]
fn an_equal_item_is_done_already_or_denied_and_runs_if_asked_again() {
    let (fixture, receipt) = done();
    // Its changes are in the tree.
    let (code, result) = fixture.result();
    assert_eq!(
        (code, &result["status"]),
        (0, &json!("success")),
        "{result}"
    );
    assert_eq!(result["metrics"]["tool_ops_count"], 0);
    // The tree is as it was before the item.
    fixture.ok(&["work", "thaw", &receipt]);
    let (code, result) = fixture.result();
    assert_eq!((code, &result["status"]), (1, &json!("denied")), "{result}");
    assert_eq!(
        result["denial_reason"],
        format!("Duplicate run: receipt {receipt}")
    );
    let (code, results) = fixture.item_results(&["--again"]);
    assert_eq!(
        (code, &results[0]["status"]),
        (0, &json!("success")),
        "{results:?}"
    );
}

/// 004/6.replay.5
#[test]
fn a_replay_names_the_first_path_that_differs() {
    let (fixture, receipt) = done();
    let said = fixture.ok(&["work", "replay", &receipt]);
    let whole = fixture.ok(&["work", "receipt", &receipt]);
    let whole: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(Some(said.trim_end()), whole["after"].as_str());
    // It leaves nothing in the work tree.
    assert_eq!(fixture.read("tree/new.txt"), "new\n");
}
