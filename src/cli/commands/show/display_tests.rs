//! What people and other programs get to see of recorded runs, whole.

use std::path::PathBuf;

use super::shown_run::ShownRun;
use super::{reasons, render};
use crate::cli::context::source::Source;
use crate::cli::ui::screen::Screen;
use crate::driver::Environment;

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

fn shown(name: &str, why: bool) -> String {
    let environment = Environment::new(|name| (name == "NO_COLOR").then(|| "1".to_owned()));
    let screen = Screen::of_process(&environment);
    let run = ShownRun::read(golden(name)).unwrap();
    masked(&if why {
        reasons::why(screen, &run)
    } else {
        render::overview(screen, &run, "verified at level L0", false)
    })
}

#[test]
fn a_run_is_shown_with_its_entries_its_calls_and_its_end() {
    for name in [
        "abort.in_flight",
        "approval.given",
        "batch.parallel",
        "core.tool_timeout_then_prose",
        "preflight.backend_unavailable",
        "resume.lost_call",
        "session.batch",
        "session.failed_report_collapses_turns",
        "summary.told",
    ] {
        insta::assert_snapshot!(name, shown(name, false));
    }
}

#[test]
fn why_a_run_ended_is_shown_with_what_decided_it() {
    for name in ["preflight.pin_changed", "core.narration"] {
        insta::assert_snapshot!(format!("why_{name}"), shown(name, true));
    }
}
