use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;

use super::verify::{checks, place};
use crate::cli::args::{LogCommand, LogRootArgs, LogVerifyArgs};
use crate::cli::error::{CliError, TranscriptFault, TrustFault};
use crate::cli::escape::line;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::numbers::counted;
use crate::cli::recorded::Source;
use crate::cli::screen::Style;
use crate::message::RunId;
use crate::store::RunLog;
use crate::transcript::{
    ConsistencyProof, InclusionProof, LogDeletions, TreeHash, TreeHead, consistency_proof,
    inclusion_proof, tree_root,
};

#[derive(Serialize)]
struct SignedHead {
    origin: String,
    size: u64,
    root: String,
    note: String,
}

/// `monolith log root | prove | consistency | verify`.
pub(in crate::cli) fn log(home: &Home, command: &LogCommand) -> Result<Exit, CliError> {
    match command {
        LogCommand::Root(args) => root(home, args),
        LogCommand::Prove(args) => prove(home, &args.run),
        LogCommand::Consistency(args) => consistency(home, args.old_size),
        LogCommand::Verify(args) => verify(home, args),
        LogCommand::Check(args) => super::log_check::check(home, args),
    }
}

fn root(home: &Home, args: &LogRootArgs) -> Result<Exit, CliError> {
    let head = whole(home)?.head();
    let note = head.sign(&home.signer()?).to_string();
    if args.note {
        home.screen.out(&note)?;
    } else if args.json {
        home.screen.out_json(&SignedHead {
            root: BASE64.encode(head.root),
            origin: head.origin,
            size: head.size,
            note,
        })?;
    } else {
        let root = BASE64.encode(head.root);
        let runs = counted(head.size, "run");
        let text = format!("{}: {runs}, root {root}\n", head.origin);
        home.screen.out(&text)?;
    }
    Ok(Exit::OK)
}

fn prove(home: &Home, asked: &str) -> Result<Exit, CliError> {
    let log = whole(home)?;
    let (run_id, found) = match home.run(asked) {
        Ok(Source::Run(run_id, reader)) => {
            let leaf = reader.log_leaf(&run_id)?;
            (run_id, leaf)
        }
        Ok(Source::File(_)) => return Err(TrustFault::NoLog.into()),
        // The leaf of a run that was deleted stays.
        Err(CliError::Transcript(TranscriptFault::Deleted { run_id, by, reason })) => {
            let reader = home.reader()?.ok_or(TrustFault::NoLog)?;
            home.screen.note(&line(&format!(
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
    let (head, note) = signed(home, &log)?;
    let deletions = deletions(home, head.size, Some(index))?;
    home.screen.out_json(&InclusionProof {
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

fn consistency(home: &Home, old_size: u64) -> Result<Exit, CliError> {
    let log = whole(home)?;
    let (head, note) = signed(home, &log)?;
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
    home.screen.out_json(&ConsistencyProof {
        deletions: deletions(home, head.size, None)?,
        old_size,
        old_root: BASE64.encode(tree_root(old)),
        size: head.size,
        root: BASE64.encode(head.root),
        proof: texts(&proof),
        note,
    })?;
    Ok(Exit::OK)
}

fn verify(home: &Home, args: &LogVerifyArgs) -> Result<Exit, CliError> {
    let reader = home.reader()?.ok_or(TrustFault::NoLog)?;
    let trust = home.trust(&args.keys, &args.pins, &[])?;
    let report = reader.verify_log(&trust)?;
    if args.json {
        home.screen.out_json(&report)?;
    } else {
        let mut out = checks(home.screen, &report.checks, &report.not_checked);
        let verdict = match &report.first_bad {
            None => {
                let holds = home.screen.paint_out(Style::Good, "verified");
                let runs = counted(report.size, "run");
                format!("{holds}: log {} with {runs}\n", report.log)
            }
            Some(bad) => {
                let broken = home.screen.paint_out(Style::Bad, "not verified");
                format!("{broken}: {}\n", place(bad))
            }
        };
        let _ = write!(out, "{verdict}");
        home.screen.out(&out)?;
    }
    Ok(if report.first_bad.is_none() {
        Exit::OK
    } else {
        Exit::EVIDENCE
    })
}

fn whole(home: &Home) -> Result<RunLog, CliError> {
    let reader = home.reader()?.ok_or(TrustFault::NoLog)?;
    Ok(reader.run_log()?)
}

/// What stays of the deleted runs of the log: nothing else in a proof shows that they are gone.
fn deletions(home: &Home, size: u64, first: Option<u64>) -> Result<LogDeletions, CliError> {
    let reader = home.reader()?.ok_or(TrustFault::NoLog)?;
    Ok(reader.log_deletions(size, first)?)
}

fn signed(home: &Home, log: &RunLog) -> Result<(TreeHead, String), CliError> {
    let head = log.head();
    let note = head.sign(&home.signer()?).to_string();
    Ok((head, note))
}

fn texts(hashes: &[TreeHash]) -> Vec<String> {
    hashes.iter().map(|hash| BASE64.encode(hash)).collect()
}
