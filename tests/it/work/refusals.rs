//! What people are told about a file that cannot be run, and about an item that need not be.

use serde_json::json;

use super::{RUN, fixture, writes};

#[test]
fn a_file_that_cannot_be_run_is_refused_with_its_key_and_the_fix() {
    let fixture = fixture();
    let check = |text: &str, parts: &[&str]| {
        fixture.write("work.yaml", text);
        let said = fixture.ends(&RUN, 4).err;
        for part in parts {
            assert!(said.contains(part), "{text}: {part}\n{said}");
        }
        let wrong = ["monolith init", "contract file", "current folder"];
        assert!(!wrong.iter().any(|part| said.contains(part)), "{said}");
    };
    let item = "items: [{id: w, agent_id: agent-1, description: d}]\n";
    check("", &["the file is empty", "`agent_id`"]);
    check("# nothing\n", &["the file is empty"]);
    check("items: &x [1]\n", &["anchors are not allowed"]);
    let file = format!("work_tree: missing\nagents: {{agent-1: agent-1.yaml}}\n{item}");
    check(
        &file,
        &[
            "work.yaml: work_tree: ",
            "missing",
            "name an existing folder",
        ],
    );
    let file = format!("work_tree: work.yaml\nagents: {{agent-1: agent-1.yaml}}\n{item}");
    check(&file, &["work_tree: ", "not a folder"]);
    let file = format!("work_tree: tree\nagents: {{agent-1: missing.yaml}}\n{item}");
    check(
        &file,
        &[
            "missing.yaml",
            "of agent `agent-1`",
            "folder of the file of items",
        ],
    );
}

#[test]
fn a_duplicate_names_the_receipt_of_the_work_and_how_to_run_it_again() {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("new.txt", "new\n")]);
    fixture.items(&[("w", "agent-1", json!({}))]);
    let (_, result) = fixture.result();
    let receipt = result["receipt_id"].as_str().unwrap();
    fixture.ok(&["work", "thaw", receipt]);
    let said = fixture.ends(&RUN[..3], 1).out;
    let part = format!("w: Duplicate run: receipt {receipt}; --again runs it; this denial is ");
    assert!(said.contains(&part), "{said}");
    let listed = fixture.ok(&["list"]);
    assert!(listed.contains("  denied"), "{listed}");
    assert!(!listed.contains("denied ("), "{listed}");
}
