//! `monolith log`: root, proofs and verification of the log of runs in the store.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;

use super::args::{LogCommand, LogRootArgs, LogVerifyArgs};
use super::render::log_text;
use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_core::transcript::{
    ConsistencyProof, InclusionProof, LogDeletions, TreeHash, TreeHead, consistency_proof,
    inclusion_proof, tree_root,
};
use monolith_host::store::RunLog;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::error::trust::TrustFault;
use monolith_service::exit::Exit;
use monolith_service::source::Source;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

#[derive(Serialize)]
struct SignedHead {
    origin: String,
    size: u64,
    root: String,
    note: String,
}

/// `monolith log root | prove | consistency | verify`.
pub(crate) fn log(app: &App, command: &LogCommand) -> Result<Exit, ServiceError> {
    match command {
        LogCommand::Root(args) => root(app, args),
        LogCommand::Prove(args) => prove(app, &args.run),
        LogCommand::Consistency(args) => consistency(app, args.old_size),
        LogCommand::Verify(args) => verify(app, args),
        LogCommand::Check(args) => super::check::check(app, args),
    }
}

fn root(app: &App, args: &LogRootArgs) -> Result<Exit, ServiceError> {
    let head = whole(app)?.head();
    let note = head.sign(&app.signer()?).to_string();
    if args.note {
        app.screen.out_whole(&note)?;
    } else if args.json {
        app.screen.out_json(&SignedHead {
            root: BASE64.encode(head.root),
            origin: head.origin,
            size: head.size,
            note,
        })?;
    } else {
        let root = BASE64.encode(head.root);
        let runs = counted(head.size, "run");
        let text = format!("{}: {runs}, root {root}\n", head.origin);
        app.screen.out_whole(&text)?;
    }
    Ok(Exit::OK)
}

fn prove(app: &App, asked: &str) -> Result<Exit, ServiceError> {
    let log = whole(app)?;
    let (run_id, found) = match app.run(asked) {
        Ok(Source::Run(run_id, reader)) => {
            let leaf = reader.log_leaf(&run_id)?;
            (run_id, leaf)
        }
        Ok(Source::File(_)) => return Err(TrustFault::NoLog.into()),
        // The leaf of a run that was deleted stays.
        Err(ServiceError::Transcript(TranscriptFault::Deleted { run_id, by, reason })) => {
            let reader = app.reader()?.ok_or(TrustFault::NoLog)?;
            app.screen.note(&line(&format!(
                "run {run_id} was deleted by {by}: {reason}"
            )));
            let leaf = reader.deleted_leaf(&run_id)?;
            let name = RunId::try_from(run_id).map_err(|_| TrustFault::NoLog)?;
            (name, leaf)
        }
        Err(fault) => return Err(fault),
    };
    let proven = found.and_then(|(index, leaf)| {
        let proof = inclusion_proof(index, &log.leaves)?;
        Some((index, leaf, proof))
    });
    let Some((index, leaf, proof)) = proven else {
        return Err(TrustFault::NotInLog { run_id }.into());
    };
    let (head, note) = signed(app, &log)?;
    let deletions = deletions(app, head.size, Some(index))?;
    app.screen.out_json(&InclusionProof {
        deletions,
        index,
        leaf,
        size: head.size,
        root: BASE64.encode(head.root),
        proof: texts(&proof),
        note,
    })?;
    Ok(Exit::OK)
}

fn consistency(app: &App, old_size: u64) -> Result<Exit, ServiceError> {
    let log = whole(app)?;
    let (head, note) = signed(app, &log)?;
    let old = usize::try_from(old_size).ok();
    let old = old.and_then(|old| log.leaves.get(..old));
    let proof = consistency_proof(old_size, &log.leaves);
    let (Some(old), Some(proof)) = (old, proof) else {
        return Err(TrustFault::NoSuchLogSize {
            asked: old_size,
            size: head.size,
        }
        .into());
    };
    app.screen.out_json(&ConsistencyProof {
        deletions: deletions(app, head.size, None)?,
        old_size,
        old_root: BASE64.encode(tree_root(old)),
        size: head.size,
        root: BASE64.encode(head.root),
        proof: texts(&proof),
        note,
    })?;
    Ok(Exit::OK)
}

fn verify(app: &App, args: &LogVerifyArgs) -> Result<Exit, ServiceError> {
    let reader = app.reader()?.ok_or(TrustFault::NoLog)?;
    let trust = app.trust(&args.keys, &args.pins, &[])?;
    let report = reader.verify_log(&trust)?;
    if args.json {
        app.screen.out_json(&report)?;
    } else {
        app.screen.out(&log_text(app.screen, &report))?;
    }
    Ok(if report.first_bad.is_none() {
        Exit::OK
    } else {
        Exit::EVIDENCE
    })
}

fn whole(app: &App) -> Result<RunLog, ServiceError> {
    let reader = app.reader()?.ok_or(TrustFault::NoLog)?;
    Ok(reader.run_log()?)
}

/// What stays of the deleted runs of the log: nothing else in a proof shows that they are gone.
fn deletions(app: &App, size: u64, first: Option<u64>) -> Result<LogDeletions, ServiceError> {
    let reader = app.reader()?.ok_or(TrustFault::NoLog)?;
    Ok(reader.log_deletions(size, first)?)
}

fn signed(app: &App, log: &RunLog) -> Result<(TreeHead, String), ServiceError> {
    let head = log.head();
    let note = head.sign(&app.signer()?).to_string();
    Ok((head, note))
}

fn texts(hashes: &[TreeHash]) -> Vec<String> {
    hashes.iter().map(|hash| BASE64.encode(hash)).collect()
}
