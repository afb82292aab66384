//! The results of a demo, as text: the proof in the transcript, the next commands, and the effect of a changed byte.

use monolith_service::drive::ended::Ended;
use std::fmt::Write as _;
use std::path::Path;

use crate::commands::{replay, verify};
use crate::context::app::App;
use crate::ui::screen::Screen;
use monolith_core::message::RunId;
use monolith_core::replay::ReplayReport;
use monolith_core::transcript::VerifyReport;
use monolith_service::exit::Exit;
use monolith_service::text::command::{command, shell_word};
use monolith_service::text::numbers::{counted, grouped};

/// States in three lines what the transcript proves.
pub(super) fn proof(
    app: &App,
    ended: &Ended,
    verified: &VerifyReport,
    replayed: &ReplayReport,
) -> String {
    let outcome = ended.result.outcome.map(|outcome| outcome.to_string());
    let counters = &ended.result.counters;
    let mut out = format!(
        "\n{}: {} executed in {}\n",
        outcome.unwrap_or_default(),
        counted(counters.tools_executed, "call"),
        counted(counters.turns, "turn")
    );
    if verified.first_bad.is_none() {
        let head = verified.head.map(|head| head.short(16)).unwrap_or_default();
        let entries = counted(verified.entries, "entry");
        let _ = writeln!(
            out,
            "verified: {entries} chained, head {head}…, level {}",
            verified.level
        );
    } else {
        out.push_str(&verify::report_text(app.screen, verified));
    }
    let _ = write!(out, "replayed: {}", replay::report_text(app, replayed));
    out
}

/// Lists commands to type next.
pub(super) fn what_next(app: &App, run_id: &RunId) -> String {
    let name = app.brief_name(run_id.as_str());
    let next = [
        (format!("show {name}"), "what happened, entry by entry"),
        (
            format!("replay {name}"),
            "decide it all again, and compare byte for byte",
        ),
        (
            format!("verify {name}"),
            "check every hash of the transcript",
        ),
        (
            "demo tamper".to_owned(),
            "change one byte of a copy, and let verify find it",
        ),
        ("machine".to_owned(), "the state machine as a diagram"),
    ];
    let width = next
        .iter()
        .map(|(command, _)| app.hint(command).len())
        .max();
    let mut out = String::from("\nNext:\n");
    for (command, what) in &next {
        let width = width.unwrap_or_default();
        let _ = writeln!(out, "  {:<width$}   {what}", app.hint(command));
    }
    out
}

/// The change to a copy, and the verdict of verification on it.
pub(super) struct Changed<'c> {
    /// Offset in the file.
    pub(super) at: usize,
    pub(super) exit: Exit,
    pub(super) from: char,
    /// The line, from 1.
    pub(super) line: usize,
    pub(super) path: &'c Path,
    pub(super) to: char,
}

/// The verdict on the copy as it was, the change, and the verdict on it then.
pub(super) fn tamper_text(
    screen: Screen,
    run_id: &RunId,
    (whole, report): (&VerifyReport, &VerifyReport),
    changed: &Changed<'_>,
) -> String {
    let mut out = format!("A copy of {run_id}, as it was exported:\n\n");
    out.push_str(&verify::report_text(screen, whole));
    let _ = writeln!(
        out,
        "\nOne byte of it changed: byte {} of the file, in line {}, from {:?} to {:?}. A tool now seems to have said \
         something else.\n",
        grouped(changed.at as u64),
        changed.line,
        changed.from,
        changed.to
    );
    out.push_str(&verify::report_text(screen, report));
    let _ = writeln!(
        out,
        "\nThe changed copy: {} (exit code {})",
        command(&format!(
            "monolith verify {}",
            shell_word(&changed.path.display().to_string())
        )),
        changed.exit.0
    );
    out
}
