use std::fmt::Write as _;

use super::verify::checks;
use crate::cli::args::LogCheckArgs;
use crate::cli::error::{CliError, TrustFault};
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::screen::Style;
use crate::transcript::LogProof;

/// `monolith log check`: an auditor's side of `log prove` and `log consistency`, without the store.
pub(super) fn check(home: &Home, args: &LogCheckArgs) -> Result<Exit, CliError> {
    let trust = home.trust(&args.keys, &args.pins, &[])?;
    let text = home.read_trusted(&args.proof)?;
    let proof = LogProof::read(&text).map_err(|flaw| TrustFault::BrokenProof {
        path: args.proof.clone(),
        flaw,
    })?;
    let report = proof.verify(&trust);
    if args.json {
        home.screen.out_json(&report)?;
    } else {
        let mut out = checks(home.screen, &report.checks, &report.not_checked);
        match report.kind {
            None => out.push_str(&home.screen.paint_out(Style::Good, "proven")),
            Some(kind) => {
                out.push_str(&home.screen.paint_out(Style::Bad, "not proven"));
                let _ = write!(out, ": {kind}");
            }
        }
        out.push('\n');
        home.screen.out(&out)?;
    }
    Ok(if report.kind.is_none() {
        Exit::OK
    } else {
        Exit::EVIDENCE
    })
}
