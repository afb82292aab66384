//! Bytes that are erased from a run.

use crate::desk::Desk;

#[test]
fn what_is_erased_is_named_wherever_else_it_stands() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ended("other");
    let raw = desk.ok(&["show", "r", "--raw"]);
    let hash = raw.split("\"raw_hash\":\"").nth(1).unwrap();
    let hash = &hash[..64];
    let left = desk.ends(&["erase", "r", "--blob", hash], 4);
    let text = left.said();
    assert!(text.contains("Parts of its text stand elsewhere"), "{text}");
    for run in ["r", "other"] {
        assert!(text.contains(&format!("run {run}, entries ")), "{text}");
    }
    // No person was there to agree.
    let report = desk.ok(&["verify", "r"]);
    assert!(!report.contains("erased"), "{report}");
    let said = desk.ok(&["erase", "r", "--blob", hash, "--all-runs", "--yes"]);
    assert!(said.contains("erased: "), "{said}");
}
