//! Tests of the exports for other programs, whole.

use super::forms;
use crate::source::Source;
use monolith_core::message::Digest;
use monolith_testkit::golden::{golden_path, masked};

fn golden(name: &str) -> Source {
    Source::File(golden_path(name))
}

#[test]
fn a_cast_has_the_lines_of_the_run_and_its_end() {
    let mut out = Vec::new();
    forms::cast(golden("rate_limit.two_targets"), &mut out, None, None).unwrap();
    insta::assert_snapshot!("cast", masked(&String::from_utf8(out).unwrap()));
}

#[test]
fn a_trajectory_holds_summaries_and_lost_calls_where_they_belong() {
    for name in ["summary.told", "resume.lost_call"] {
        let mut out = Vec::new();
        forms::atif(golden(name), &mut out, None, None).unwrap();
        let text = String::from_utf8(out).unwrap();
        insta::assert_snapshot!(format!("atif_{name}"), masked(&text));
    }
}

#[test]
fn what_ends_otherwise_than_what_was_judged_is_not_written() {
    let judged = Some(Digest::of(b"another head"));
    let golden = || golden("core.valid_call");
    let mut out = Vec::new();
    let written = [
        forms::atif(golden(), &mut out, None, judged),
        forms::cast(golden(), &mut out, None, judged),
    ];
    for written in written {
        let fault = written.unwrap_err().to_string();
        assert!(fault.contains("changed while it was exported"), "{fault}");
    }
    assert!(out.is_empty());
}
