//! `monolith verify`: judges a transcript by itself, or by keys, pins and witnesses that the caller names.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::context::app::App;
use crate::ui::screen::{Screen, Style};
use monolith_core::transcript::{FlawKind, VerifyCheck, VerifyReport};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::verify::report::{self, Level, VerifiedTree, VerifyRequest};

pub(crate) use monolith_service::verify::report::{place, report_of};

#[derive(Debug, Args)]
#[command(
    after_help = "The head is the hash of the last entry and covers all earlier ones. A witness is another \
party that signed the log of runs. L1: a key that you trust signed the end. L2: a head \
noted earlier covers it. L3: a witness vouches for it."
)]
pub(crate) struct VerifyArgs {
    /// Run name or unique prefix, `last`, or a file
    ///
    /// A file is an exported transcript.
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Accept an unfinished run
    #[arg(long)]
    pub(crate) open: bool,
    /// Also verify the runs of its agents
    ///
    /// Compares each with the record of its parent run: head, end and usage.
    #[arg(long, conflicts_with_all = ["write_pin", "require"])]
    pub(crate) tree: bool,
    /// Require a signature by this key or key file
    ///
    /// A public key that must have signed the end of the run, or a file of keys and rotations. Default: the keys of this
    /// machine.
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// A file of heads that were noted earlier
    ///
    /// The head is the hash of a run's last entry. A truncated or rewritten transcript has another head.
    #[arg(long = "pin", value_name = "FILE")]
    pub(crate) pins: Vec<PathBuf>,
    /// The key of a witness, or a file of keys
    ///
    /// A witness is another party that signed the log of runs.
    #[arg(long = "witness", value_name = "FILE|KEY")]
    pub(crate) witnesses: Vec<String>,
    /// The minimum level: L1, L2 or L3
    ///
    /// L1: a key that you trust signed the end. L2: a head that was noted earlier covers it. L3: a witness vouches for it.
    /// Below that level, verify ends with exit code 7.
    #[arg(long, hide_possible_values = true, value_name = "LEVEL")]
    pub(crate) require: Option<LevelArg>,
    /// Append the head to this file
    ///
    /// Only if every check passes. --pin reads such a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_pin: Option<PathBuf>,
}

/// The least that a verification must reach.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LevelArg {
    /// A key that you trust signed the head at the seal
    #[value(name = "L1")]
    Signed,
    /// A head that was noted earlier covers the run
    #[value(name = "L2")]
    Pinned,
    /// A witness vouches for the run
    #[value(name = "L3")]
    Witnessed,
}

impl From<LevelArg> for Level {
    fn from(arg: LevelArg) -> Self {
        match arg {
            LevelArg::Signed => Self::Signed,
            LevelArg::Pinned => Self::Pinned,
            LevelArg::Witnessed => Self::Witnessed,
        }
    }
}

/// `monolith verify`.
pub(crate) fn verify(app: &App, args: VerifyArgs) -> Result<Exit, ServiceError> {
    let (json, tree) = (args.json, args.tree);
    let request = VerifyRequest {
        keys: args.keys,
        open: args.open,
        pins: args.pins,
        require: args.require.map(Level::from),
        run: args.run,
        witnesses: args.witnesses,
        write_pin: args.write_pin,
    };
    if tree {
        let verified = report::verify_tree(app, &request)?;
        if json {
            app.screen.out_json(&verified)?;
        } else {
            app.screen.out(&tree_text(&verified))?;
        }
        let bad = verified.first_bad();
        return Ok(bad.map_or(Exit::OK, |one| Exit::of_verify(&one.report)));
    }
    let verified = report::verify(app, &request)?;
    if let Some(which) = &verified.exposed {
        app.screen.write_err(&format!(
            "note: others may read or write what is the owner's alone: {which}; monolith doctor says more\n"
        ));
    }
    if json {
        app.screen.out_json(&verified.report)?;
    } else {
        app.screen.out(&report_text(app.screen, &verified.report))?;
    }
    Ok(verified.exit())
}

/// Beginnings of the notes about the place of a run in its tree.
const TREE_NOTES: [&str; 4] = ["begun: ", "decisions: ", "parent: ", "step: "];

fn tree_text(tree: &VerifiedTree) -> String {
    let mut text = String::new();
    for one in &tree.runs {
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
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{indent}{}{step}  {said}", one.run_id);
        // The other notes are shown for each run alone.
        let of_tree = |note: &&String| TREE_NOTES.iter().any(|about| note.starts_with(about));
        for note in one.report.not_checked.iter().filter(of_tree) {
            let _ = writeln!(text, "{indent}  not checked: {}", line(note));
        }
    }
    match tree.first_bad() {
        None => text + &format!("verified: {}\n", counted(tree.runs.len(), "run")),
        Some(one) => text + &format!("not verified: run {}\n", one.run_id),
    }
}

/// The advice about a run in progress if the caller did not accept one.
pub(crate) const HOW_TO_ACCEPT: &str =
    "  --open accepts a run in progress; else what is missing may have been cut off\n";

/// Checks and what was not checked, for people.
pub(crate) fn checks(screen: Screen, checks: &[VerifyCheck], not_checked: &[String]) -> String {
    let mut out = String::new();
    for check in checks {
        let verdict = if check.ok {
            screen.paint_out(Style::Good, "ok    ")
        } else {
            screen.paint_out(Style::Bad, "FAILED")
        };
        let _ = writeln!(out, "{verdict}  {:<11} {}", check.name, line(&check.detail));
    }
    for note in not_checked {
        let _ = writeln!(out, "        not checked: {}", line(note));
    }
    out
}

/// The report for people.
pub(crate) fn report_text(screen: Screen, report: &VerifyReport) -> String {
    let mut out = checks(screen, &report.checks, &report.not_checked);
    let verdict = match &report.first_bad {
        None => {
            let met = report.checks.iter().all(|check| check.ok);
            let holds = if met {
                screen.paint_out(Style::Good, "verified")
            } else {
                let failed = screen.paint_out(Style::Bad, "FAILED");
                format!("{failed}: not the required level; verified")
            };
            let head = report.head.map(|head| format!(", head {head}"));
            format!(
                "{holds} at level {}: {}{}\n",
                report.level,
                counted(report.entries, "entry"),
                head.unwrap_or_default()
            )
        }
        Some(bad) => {
            let broken = screen.paint_out(Style::Bad, "not verified");
            let help = if bad.kind == FlawKind::Incomplete {
                HOW_TO_ACCEPT
            } else {
                ""
            };
            format!("{broken}: {}\n{help}", place(bad))
        }
    };
    out.push_str(&verdict);
    out
}
