//! The complete output on recorded runs, for people and for other programs.

use std::collections::BTreeMap;

use super::{reasons, render};
use crate::ui::screen::Screen;
use monolith_host::driver::Environment;
use monolith_service::source::Source;
use monolith_service::view::shown_run::ShownRun;
use monolith_testkit::golden::{golden_path, masked};

fn shown(name: &str, why: bool) -> String {
    let environment = Environment::new(|name| (name == "NO_COLOR").then(|| "1".to_owned()));
    let screen = Screen::of_process(&environment);
    let run = ShownRun::read(Source::File(golden_path(name))).unwrap();
    masked(&if why {
        reasons::why(screen, &run)
    } else {
        render::overview(
            screen,
            &run,
            "verified at level L0",
            Some("--full"),
            BTreeMap::new(),
        )
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
