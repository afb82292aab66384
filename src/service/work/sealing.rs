//! The facts of an item's receipt that its machine does not know: the tree as it is, and the SHA-256 of kept contents. Seals nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use sha2::{Digest as _, Sha256};

use super::common::{go_on, terms_of};
use crate::clock::unix_ms;
use monolith_core::message::Digest;
use monolith_core::work::{ReceiptFacts, TreeNode, Work, WorkPath};
use monolith_host::work_tree::{WorkTree, WorkTreeError};

/// The program that receipts name.
const TOOLCHAIN: &str = concat!("monolith ", env!("CARGO_PKG_VERSION"));

/// The facts of the receipt of an ended item. The tree of one that was stopped before its snapshot is not scanned: it has no hash.
pub(super) fn facts_of(
    tree: &WorkTree,
    work: &Work,
    is_stopped: bool,
) -> Result<ReceiptFacts, WorkTreeError> {
    // A tree that cannot be scanned has no hash.
    let scanned = || tree.scan(terms_of(&work.started().item), &go_on).ok();
    let scanned = || scanned().map(|scan| scan.manifest.hash());
    let present = match work.before() {
        None if !is_stopped => scanned(),
        before => before,
    };
    let published = work.capsule().filter(|_| work.published().is_some());
    let changes = published.map_or(&[][..], |capsule| capsule.changes.as_slice());
    let mut sha256 = BTreeMap::new();
    for change in changes {
        if let Some(content) = change.after.as_ref().and_then(TreeNode::content) {
            let hash = sha256_of(tree, *content, &change.path)?;
            sha256.insert(change.path.clone(), hash);
        }
    }
    Ok(ReceiptFacts {
        finished_unix_ms: unix_ms(),
        present: present.unwrap_or(Digest::ZERO),
        sha256,
        toolchain: TOOLCHAIN.to_owned(),
    })
}

/// SHA-256 of a kept content. Lower-case hex.
fn sha256_of(tree: &WorkTree, content: Digest, path: &WorkPath) -> Result<String, WorkTreeError> {
    let refuse = |fault| WorkTreeError::Io {
        path: path.to_string(),
        fault,
    };
    let none = || WorkTreeError::NoContent { path: path.clone() };
    let mut file = tree.content(content).map_err(refuse)?.ok_or_else(none)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut buffer).map_err(refuse)?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
            break;
        };
        hash.update(part);
    }
    let mut text = String::with_capacity(64);
    for byte in <[u8; 32]>::from(hash.finalize()) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
