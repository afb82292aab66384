//! `monolith log check`: a proof from a file, judged by the caller's keys. Opens no store.

use super::args::LogCheckArgs;
use super::render::proof_text;
use crate::context::app::App;
use monolith_core::transcript::LogProof;
use monolith_service::error::ServiceError;
use monolith_service::error::trust::TrustFault;
use monolith_service::exit::Exit;

/// `monolith log check`: an auditor's side of `log prove` and `log consistency`, without the store.
pub(crate) fn check(app: &App, args: &LogCheckArgs) -> Result<Exit, ServiceError> {
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
        app.screen.out(&proof_text(app.screen, &report))?;
    }
    Ok(if report.kind.is_none() {
        Exit::OK
    } else {
        Exit::EVIDENCE
    })
}
