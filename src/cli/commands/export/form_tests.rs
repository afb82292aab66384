//! What other programs get to see of recorded runs, whole.

use std::path::PathBuf;

use super::forms;
use crate::cli::context::source::Source;

fn golden(name: &str) -> Source {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("replay/v1");
    Source::File(folder.join(format!("{name}.jsonl")))
}

/// Without the digits of hashes: they are other ones whenever a format is.
fn masked(text: &str) -> String {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let mask = |word: &str| {
        let hex = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let hash = hex.len() >= 8 && hex.chars().all(is_hex);
        let rest = &word[hex.len()..];
        if hash {
            format!("{}{rest}", "#".repeat(hex.len()))
        } else {
            word.to_owned()
        }
    };
    words.map(mask).collect()
}

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
