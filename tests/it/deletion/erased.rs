//! Bytes that are erased from a run.

use crate::fixture::Fixture;

#[test]
fn what_is_erased_is_named_wherever_else_it_stands() {
    let fixture = Fixture::new();
    fixture.ended("r");
    fixture.ended("other");
    let raw = fixture.ok(&["show", "r", "--raw"]);
    let hash = raw.split("\"raw_hash\":\"").nth(1).unwrap();
    let hash = &hash[..64];
    let left = fixture.ends(&["erase", "r", "--blob", hash], 4);
    let text = left.printed();
    assert!(
        text.contains("Parts of its text also occur elsewhere"),
        "{text}"
    );
    for run in ["r", "other"] {
        assert!(text.contains(&format!("run {run}, entries ")), "{text}");
    }
    // No person was there to agree.
    let report = fixture.ok(&["verify", "r"]);
    assert!(!report.contains("erased"), "{report}");
    let said = fixture.ok(&["erase", "r", "--blob", hash, "--all-runs", "--yes"]);
    assert!(said.contains("erased: "), "{said}");
}
