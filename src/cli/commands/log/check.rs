use std::fmt::Write as _;

use super::args::LogCheckArgs;
use crate::cli::commands::verify::checks;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, TrustFault};
use crate::cli::context::exit::Exit;
use crate::cli::ui::screen::Style;
use crate::transcript::LogProof;

/// `monolith log check`: an auditor's side of `log prove` and `log consistency`, without the store.
pub(in crate::cli) fn check(app: &App, args: &LogCheckArgs) -> Result<Exit, CliError> {
    let trust = app.trust(&args.keys, &args.pins, &[])?;
    let text = app.read_evidence(&args.proof)?;
    let proof = LogProof::read(&text).map_err(|flaw| TrustFault::BrokenProof {
        path: args.proof.clone(),
        flaw,
    })?;
    let report = proof.verify(&trust);
    if args.json {
        app.screen.out_json(&report)?;
    } else {
        let mut out = checks(app.screen, &report.checks, &report.not_checked);
        match report.kind {
            None => out.push_str(&app.screen.paint_out(Style::Good, "proven")),
            Some(kind) => {
                out.push_str(&app.screen.paint_out(Style::Bad, "not proven"));
                let _ = write!(out, ": {kind}");
            }
        }
        out.push('\n');
        app.screen.out(&out)?;
    }
    Ok(if report.kind.is_none() {
        Exit::OK
    } else {
        Exit::EVIDENCE
    })
}
