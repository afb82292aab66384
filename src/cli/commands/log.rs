//! `monolith log`: root, proofs and verification of the log of runs. The service judges, and opens no store for `log check`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::verify::{checks, place};
use crate::context::app::App;
use crate::ui::screen::{Screen, Style};
use monolith_core::transcript::ProofReport;
use monolith_host::store::LogReport;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::log;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Print the root over all finished runs
    Root(LogRootArgs),
    /// Print a proof that a run is in the log
    Prove(LogProveArgs),
    /// Print a proof that the log has only grown
    Consistency(LogConsistencyArgs),
    /// Check the log against the runs in the store
    ///
    /// With --pin, also checks it against heads that were noted earlier.
    Verify(LogVerifyArgs),
    /// Check a proof without a store
    ///
    /// Checks the output of `log prove` or `log consistency`.
    Check(LogCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LogRootArgs {
    /// Print one JSON document
    #[arg(long, conflicts_with = "note")]
    pub(crate) json: bool,
    /// Print only the signed note
    ///
    /// Keep it elsewhere, or have a witness sign it.
    #[arg(long)]
    pub(crate) note: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogProveArgs {
    /// Run name or unique prefix, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct LogConsistencyArgs {
    /// Earlier number of runs in the log
    #[arg(value_name = "OLD_SIZE")]
    pub(crate) old_size: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogVerifyArgs {
    /// Require a signature by this key or key file
    ///
    /// A public key that must have signed every deletion, or a file of keys and rotations. Default: the keys of this machine.
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// A file of heads that were noted earlier
    #[arg(long = "pin", value_name = "FILE")]
    pub(crate) pins: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogCheckArgs {
    /// The output of `log prove` or `log consistency`
    #[arg(value_name = "PROOF-FILE")]
    pub(crate) proof: PathBuf,
    /// A file of heads that were noted earlier
    #[arg(long = "pin", value_name = "FILE")]
    pub(crate) pins: Vec<PathBuf>,
    /// Require a signature by this key or key file
    ///
    /// A public key that must have signed the head of the log, or a file of keys and rotations. Default: the keys of this
    /// machine.
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `monolith log root | prove | consistency | verify | check`.
pub(crate) fn log(app: &App, command: &LogCommand) -> Result<Exit, ServiceError> {
    let holds = match command {
        LogCommand::Root(args) => {
            root(app, args)?;
            true
        }
        LogCommand::Prove(args) => {
            let proven = log::prove(app, &args.run)?;
            if let Some(deleted) = &proven.deleted {
                let log::DeletedRun { by, reason, run_id } = deleted;
                app.screen.note(&line(&format!(
                    "run {run_id} was deleted by {by}: {reason}"
                )));
            }
            app.screen.out_json(&proven.proof)?;
            true
        }
        LogCommand::Consistency(args) => {
            app.screen
                .out_json(&log::consistency(app, args.old_size)?)?;
            true
        }
        LogCommand::Verify(args) => {
            let report = log::verify_log(app, &args.keys, &args.pins)?;
            if args.json {
                app.screen.out_json(&report)?;
            } else {
                app.screen.out(&log_text(app.screen, &report))?;
            }
            report.first_bad.is_none()
        }
        LogCommand::Check(args) => {
            let report = log::check_proof(app, &args.proof, &args.keys, &args.pins)?;
            if args.json {
                app.screen.out_json(&report)?;
            } else {
                app.screen.out(&proof_text(app.screen, &report))?;
            }
            report.kind.is_none()
        }
    };
    Ok(if holds { Exit::OK } else { Exit::EVIDENCE })
}

fn root(app: &App, args: &LogRootArgs) -> Result<(), ServiceError> {
    let head = log::root(app)?;
    if args.note {
        app.screen.out_whole(&head.note)?;
    } else if args.json {
        app.screen.out_json(&head)?;
    } else {
        let runs = counted(head.size, "run");
        let text = format!("{}: {runs}, root {}\n", head.origin, head.root);
        app.screen.out_whole(&text)?;
    }
    Ok(())
}

fn log_text(screen: Screen, report: &LogReport) -> String {
    let mut out = checks(screen, &report.checks, &report.not_checked);
    let _ = match &report.first_bad {
        None => {
            let holds = screen.paint_out(Style::Good, "verified");
            let runs = counted(report.size, "run");
            writeln!(out, "{holds}: log {} with {runs}", report.log)
        }
        Some(bad) => {
            let broken = screen.paint_out(Style::Bad, "not verified");
            writeln!(out, "{broken}: {}", place(bad))
        }
    };
    out
}

fn proof_text(screen: Screen, report: &ProofReport) -> String {
    let mut out = checks(screen, &report.checks, &report.not_checked);
    match report.kind {
        None => out.push_str(&screen.paint_out(Style::Good, "proven")),
        Some(kind) => {
            out.push_str(&screen.paint_out(Style::Bad, "not proven"));
            let _ = write!(out, ": {kind}");
        }
    }
    out.push('\n');
    out
}
