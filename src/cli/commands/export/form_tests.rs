//! What other programs get to see of recorded runs, whole.

use super::forms;
use crate::cli::context::testing::{golden, masked};

#[test]
fn a_cast_has_the_lines_of_the_run_and_its_end() {
    let mut out = Vec::new();
    forms::cast(golden("rate_limit.two_targets"), &mut out).unwrap();
    insta::assert_snapshot!("cast", masked(&String::from_utf8(out).unwrap()));
}

#[test]
fn a_trajectory_holds_summaries_and_lost_calls_where_they_belong() {
    for name in ["summary.told", "resume.lost_call"] {
        let mut out = Vec::new();
        forms::atif(golden(name), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        insta::assert_snapshot!(format!("atif_{name}"), masked(&text));
    }
}
