//! `monolith verify`: judges a transcript by itself, or by keys, pins and witnesses that the caller names.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use super::args::{LevelArg, VerifyArgs};
use super::render::{place, report_text};
use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_core::transcript::{
    LineVerifier, Pin, Trust, VerifyCheck, VerifyOptions, VerifyReport,
};
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::permissions::Looser;
use monolith_service::source::{Source, each_line};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::verify::pin_file;
use monolith_service::verify::tree::tree_of;

/// `monolith verify`.
pub(crate) fn verify(app: &App, args: &VerifyArgs) -> Result<Exit, ServiceError> {
    let trust = app.trust(&args.keys, &args.pins, &args.witnesses)?;
    let source = app.source(&args.run)?;
    if args.tree {
        return verify_tree(app, args, source, &trust);
    }
    if let Some(path) = &args.write_pin
        && app.cwd.join(path).exists()
    {
        // What is no file of pins is refused before anything is verified.
        app.pins(std::slice::from_ref(path))?;
    }
    let is_stored = matches!(source, Source::Run(..));
    let (mut report, run_id) = report_of(source, args.open, &trust)?;
    let found = Looser::of(app)?;
    if is_stored && !found.is_empty() {
        let which = found.named();
        app.screen.write_err(&format!(
            "note: others may read or write what is the owner's alone: {which}; monolith doctor says more\n"
        ));
    }
    let reached = args.require.is_none_or(|least| require(&mut report, least));
    if let Some(path) = &args.write_pin
        && let (true, Some(run_id), Some(head)) = (report.holds(), &run_id, report.head)
    {
        pin_file::add(app, path, &Pin::line_of(run_id, report.entries, head))?;
    }
    if args.json {
        app.screen.out_json(&report)?;
    } else {
        app.screen.out(&report_text(app.screen, &report))?;
    }
    Ok(if reached {
        Exit::of_verify(&report)
    } else {
        Exit::EVIDENCE
    })
}

/// What the notes of a report begin with that are about its place in a tree.
const TREE_NOTES: [&str; 4] = ["begun: ", "decisions: ", "parent: ", "step: "];

/// `monolith verify --tree`.
fn verify_tree(
    app: &App,
    args: &VerifyArgs,
    source: Source,
    trust: &Arc<Trust>,
) -> Result<Exit, ServiceError> {
    let (run_id, mut reader) = match source {
        Source::Run(run_id, reader) => (run_id, reader),
        Source::File(path) => return Err(TranscriptFault::FileInsteadOfRun { path }.into()),
    };
    let reports = tree_of(&mut reader, &run_id, args.open, trust)?;
    let bad = reports.iter().find(|one| !one.report.holds());
    if args.json {
        app.screen
            .out_json(&json!({"holds": bad.is_none(), "runs": reports}))?;
    } else {
        let mut text = String::new();
        for one in &reports {
            let indent = "  ".repeat(one.depth);
            let said = match &one.report.first_bad {
                None => {
                    let head = one.report.head.map(|head| head.short(16));
                    let (level, entries) = (one.report.level, counted(one.report.entries, "entry"));
                    format!(
                        "verified at level {level}: {entries}, head {}",
                        head.unwrap_or_default()
                    )
                }
                Some(bad) => format!("not verified: {}", place(bad)),
            };
            let step = one.step.as_ref().map(|place| format!("  {}", line(place)));
            let step = step.unwrap_or_default();
            let _ = writeln!(text, "{indent}{}{step}  {said}", one.run_id);
            // What no single run has; the rest is shown of each by itself.
            let of_tree = |note: &&String| TREE_NOTES.iter().any(|about| note.starts_with(about));
            for note in one.report.not_checked.iter().filter(of_tree) {
                let _ = writeln!(text, "{indent}  not checked: {}", line(note));
            }
        }
        let verdict = match bad {
            None => format!("verified: {}\n", counted(reports.len(), "run")),
            Some(one) => format!("not verified: run {}\n", one.run_id),
        };
        app.screen.out(&(text + &verdict))?;
    }
    Ok(bad.map_or(Exit::OK, |one| Exit::of_verify(&one.report)))
}

/// Adds the check that a level was reached; false where it was not.
fn require(report: &mut VerifyReport, least: LevelArg) -> bool {
    let (level, missing) = least.level();
    let ok = report.holds() && report.level >= level;
    let mut detail = format!("{level} is required, {} was reached", report.level);
    if !ok {
        let notes = report.not_checked.iter();
        for note in notes.filter(|note| note.starts_with(missing)) {
            let _ = write!(detail, "; {note}");
        }
    }
    report.checks.push(VerifyCheck {
        name: "required",
        ok,
        detail,
    });
    ok
}

/// Verifies a whole transcript; `open` accepts a run in progress. Returns the name of the run too, where its header holds.
pub(crate) fn report_of(
    source: Source,
    open: bool,
    trust: &Arc<Trust>,
) -> Result<(VerifyReport, Option<RunId>), ServiceError> {
    Ok(match source {
        Source::Run(run_id, mut reader) => {
            let report = reader.verify_run_trusting(&run_id, open, trust)?;
            (report, Some(run_id))
        }
        Source::File(path) => {
            let mut verifier = LineVerifier::new(VerifyOptions {
                open,
                ..VerifyOptions::default()
            })
            .trusting(Arc::clone(trust));
            each_line(&path, |line| Ok(verifier.line(line)))?;
            let run_id = verifier.run_id().cloned();
            (verifier.finish(), run_id)
        }
    })
}
