//! Final reports in tags.

use super::{Golden, goldens};
use crate::view::ReportFault;

#[test]
fn a_report_in_a_tag_counts_where_the_run_ends_with_it() {
    let view = Golden::of("session.xml_final").whole();
    let [report] = view.reports() else {
        panic!("one report, got {:?}", view.reports());
    };
    assert_eq!((report.counted, &report.fault), (Some(true), &None));
    assert!(report.bytes > 0);
}

#[test]
fn a_report_that_the_gate_holds_back_has_a_size_and_a_fault() {
    let goldens = goldens();
    let held = goldens
        .iter()
        .find(|golden| golden.name.ends_with("report-behind-the-gate.jsonl"));
    let view = held.unwrap().whole();
    let report = view.reports().first().unwrap();
    assert_eq!(report.fault, Some(ReportFault::HeldBack));
    assert_eq!(report.counted, Some(false));
    assert!(report.bytes > 0);
}

#[test]
fn calls_in_the_providers_own_form_give_no_report_in_a_tag() {
    for name in ["session.report_markdown", "session.json_schema"] {
        assert_eq!(Golden::of(name).whole().reports(), [], "{name}");
    }
}
