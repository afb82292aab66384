//! The log of runs: its root, proofs from it, and its verification.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;

use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::error::trust::TrustFault;
use crate::service::Service;
use crate::source::Source;
use monolith_core::message::RunId;
use monolith_core::transcript::{
    ConsistencyProof, InclusionProof, LogDeletions, LogProof, ProofReport, TreeHash, TreeHead,
    consistency_proof, inclusion_proof, tree_root,
};
use monolith_host::store::{LogReport, RunLog};

/// The signed head of the log.
#[derive(Debug, Serialize)]
pub struct SignedHead {
    /// Name of the log.
    pub origin: String,
    /// Count of its runs.
    pub size: u64,
    /// Hash over them, in base64.
    pub root: String,
    /// The signed note.
    pub note: String,
}

/// A proof that a run is in the log.
#[derive(Debug)]
pub struct ProvenRun {
    /// Name of the run, its deleter and the reason, if it was deleted.
    pub deleted: Option<DeletedRun>,
    /// The proof.
    pub proof: InclusionProof,
}

/// A run that was deleted.
#[derive(Clone, Debug)]
pub struct DeletedRun {
    /// Key of its deleter.
    pub by: String,
    /// Reason for the deletion.
    pub reason: String,
    /// Name of the run.
    pub run_id: String,
}

/// Returns the signed head of the log.
///
/// # Errors
///
/// There is no log, or no key to sign with.
pub fn root(service: &Service) -> Result<SignedHead, ServiceError> {
    let (head, note) = signed(service, &whole(service)?)?;
    Ok(SignedHead {
        root: BASE64.encode(head.root),
        origin: head.origin,
        size: head.size,
        note,
    })
}

/// Proves that a run is in the log.
///
/// # Errors
///
/// There is no such run, or it is not in the log.
pub fn prove(service: &Service, asked: &str) -> Result<ProvenRun, ServiceError> {
    let log = whole(service)?;
    let (run_id, found, deleted) = match service.run(asked) {
        Ok(Source::Run(run_id, reader)) => {
            let leaf = reader.log_leaf(&run_id)?;
            (run_id, leaf, None)
        }
        Ok(Source::File(_)) => return Err(TrustFault::NoLog.into()),
        // The leaf of a run that was deleted stays.
        Err(ServiceError::Transcript(TranscriptFault::Deleted { run_id, by, reason })) => {
            let reader = service.reader()?.ok_or(TrustFault::NoLog)?;
            let leaf = reader.deleted_leaf(&run_id)?;
            let name = RunId::try_from(run_id.clone()).map_err(|_| TrustFault::NoLog)?;
            (name, leaf, Some(DeletedRun { by, reason, run_id }))
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
    let (head, note) = signed(service, &log)?;
    let proof = InclusionProof {
        deletions: deletions(service, head.size, Some(index))?,
        index,
        leaf,
        size: head.size,
        root: BASE64.encode(head.root),
        proof: texts(&proof),
        note,
    };
    Ok(ProvenRun { deleted, proof })
}

/// Proves that the log has only grown since it had `old_size` runs.
///
/// # Errors
///
/// The log never had that size.
pub fn consistency(service: &Service, old_size: u64) -> Result<ConsistencyProof, ServiceError> {
    let log = whole(service)?;
    let (head, note) = signed(service, &log)?;
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
    Ok(ConsistencyProof {
        deletions: deletions(service, head.size, None)?,
        old_size,
        old_root: BASE64.encode(tree_root(old)),
        size: head.size,
        root: BASE64.encode(head.root),
        proof: texts(&proof),
        note,
    })
}

/// Compares the log with the runs of the store, and with heads that were noted earlier.
///
/// # Errors
///
/// There is no log, or the named evidence is broken.
pub fn verify_log(
    service: &Service,
    keys: &[String],
    pins: &[PathBuf],
) -> Result<LogReport, ServiceError> {
    let reader = service.reader()?.ok_or(TrustFault::NoLog)?;
    let trust = service.trust(keys, pins, &[])?;
    Ok(reader.verify_log(&trust)?)
}

/// Checks a proof in a file. Opens no store.
///
/// # Errors
///
/// The file holds no proof, or the named evidence is broken.
pub fn check_proof(
    service: &Service,
    proof: &Path,
    keys: &[String],
    pins: &[PathBuf],
) -> Result<ProofReport, ServiceError> {
    let trust = service.trust(keys, pins, &[])?;
    let text = service.read_evidence(proof)?;
    let proof = LogProof::read(&text).map_err(|flaw| TrustFault::BrokenProof {
        path: proof.to_owned(),
        flaw,
    })?;
    Ok(proof.verify(&trust))
}

fn whole(service: &Service) -> Result<RunLog, ServiceError> {
    let reader = service.reader()?.ok_or(TrustFault::NoLog)?;
    Ok(reader.run_log()?)
}

/// The rest of the deleted runs of the log: nothing else in a proof shows that they are gone.
fn deletions(
    service: &Service,
    size: u64,
    first: Option<u64>,
) -> Result<LogDeletions, ServiceError> {
    let reader = service.reader()?.ok_or(TrustFault::NoLog)?;
    Ok(reader.log_deletions(size, first)?)
}

fn signed(service: &Service, log: &RunLog) -> Result<(TreeHead, String), ServiceError> {
    let head = log.head();
    let note = head.sign(&service.signer()?).to_string();
    Ok((head, note))
}

fn texts(hashes: &[TreeHash]) -> Vec<String> {
    hashes.iter().map(|hash| BASE64.encode(hash)).collect()
}
