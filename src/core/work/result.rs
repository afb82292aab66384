//! The result of an item, in the form of 004 "Output: RunResult". A function of the receipt and of where things are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Metrics, PathChange, Receipt, WorkPath, WorkStatus};
use crate::message::Digest;

/// The result of an item. Paths are absolute; a path that is not UTF-8 has its bytes as `%XX`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// The end of the item.
    pub status: WorkStatus,
    /// The receipt's id, a UUID.
    pub receipt_id: String,
    /// The path of RECEIPT.json.
    pub receipt_path: String,
    /// Modified files; empty unless the item succeeded, as are the two other lists.
    pub modified_files: Vec<String>,
    /// Created files.
    pub created_files: Vec<String>,
    /// Deleted files.
    pub deleted_files: Vec<String>,
    /// The tree hash afterwards.
    pub output_hash: Digest,
    /// BLAKE3 of each created or modified file, by path.
    pub artifact_hashes: BTreeMap<String, Digest>,
    /// Figures of the attempt.
    pub metrics: Metrics,
    /// The end of the output of the test command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_output: Option<String>,
    /// The path of the replay script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof_script: Option<String>,
    /// The error of a failure or timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The reason of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial_reason: Option<String>,
}

/// The places that a result names.
#[derive(Clone, Debug)]
pub struct ResultPlaces {
    /// The path of the replay script; none without one.
    pub proof_script: Option<String>,
    /// The path of RECEIPT.json.
    pub receipt_path: String,
    /// The absolute path of the work tree, with `/` between its names.
    pub work_tree: String,
}

impl RunResult {
    /// The result that a receipt states.
    #[must_use]
    pub fn of_receipt(receipt: &Receipt, places: ResultPlaces) -> Self {
        let absolute = |path: &WorkPath| absolute(&places.work_tree, path);
        let is_published = receipt.published.is_some();
        let capsule = receipt.capsule.as_ref().filter(|_| is_published);
        let changes = capsule.map_or(&[][..], |capsule| capsule.changes.as_slice());
        let files = |is_listed: fn(&PathChange) -> bool| {
            let listed = changes.iter().filter(|change| is_listed(change));
            listed.map(|change| absolute(&change.path)).collect()
        };
        let hashes = receipt.artifacts.iter();
        let hashes = hashes.map(|(path, artifact)| (absolute(path), artifact.blake3));
        Self {
            status: receipt.end.status,
            receipt_id: receipt.id(),
            modified_files: files(|change| was_file(change) && is_file(change)),
            created_files: files(|change| !was_file(change) && is_file(change)),
            deleted_files: files(|change| was_file(change) && !is_file(change)),
            output_hash: receipt.after,
            artifact_hashes: hashes.collect(),
            metrics: receipt.metrics,
            test_output: receipt.tests.as_ref().map(|tests| tests.output.clone()),
            error: receipt.end.error.clone(),
            denial_reason: receipt.end.denial.as_ref().map(ToString::to_string),
            receipt_path: places.receipt_path,
            proof_script: places.proof_script,
        }
    }
}

/// True if a file or a link was at the path before.
fn was_file(change: &PathChange) -> bool {
    change.before.as_ref().is_some_and(|node| !node.is_folder())
}

/// True if a file or a link is at the path afterwards.
fn is_file(change: &PathChange) -> bool {
    change.after.as_ref().is_some_and(|node| !node.is_folder())
}

fn absolute(work_tree: &str, path: &WorkPath) -> String {
    let root = work_tree.trim_end_matches('/');
    let name = String::from_utf8(path.as_bytes().to_vec());
    let name = name.unwrap_or_else(|_| path.to_string());
    format!("{root}/{name}")
}
