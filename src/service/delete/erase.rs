//! The erasure of a blob of a run. A signed tombstone stands in its place.

use crate::clock::unix_ms;
use crate::error::ServiceError;
use crate::service::Service;
use crate::source::Source;
use monolith_core::message::{Digest, RunId};
use monolith_host::store::{
    Durability, Elsewhere, Erasure, Store, StoreError, erase_kept, kept_content,
};

/// A text that can be erased.
#[derive(Debug)]
pub struct Erasable {
    /// Hash of the text.
    pub hash: Digest,
    /// Run that the text belongs to.
    pub run_id: RunId,
    /// Places of the text.
    pub text: ErasableText,
}

/// The kinds of texts that can be erased.
#[derive(Debug)]
pub enum ErasableText {
    /// A blob of the run, with the places of its text that stay.
    Blob(Vec<Elsewhere>),
    /// The content of a file before the run changed it: `undo` needs it.
    FileBefore,
}

/// A blob that was erased.
#[derive(Debug)]
pub struct Erased {
    /// Length of the blob; `None` if it was erased before.
    pub bytes: Option<u64>,
    /// Runs with the tombstone.
    pub runs: Vec<RunId>,
}

/// Finds a blob of a run, or the earlier content of a file, by the beginning of its hash. Erases nothing.
///
/// # Errors
///
/// There is no such run, or no such text.
pub fn erasable(service: &Service, run: &str, blob: &str) -> Result<Erasable, ServiceError> {
    let Source::Run(run_id, mut reader) = service.run(run)? else {
        let asked = run.to_owned();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let path = service.store_path()?;
    let asked = blob.to_ascii_lowercase();
    let (hash, text) = match reader.named_blob(&run_id, &asked) {
        Ok(hash) => (hash, ErasableText::Blob(reader.elsewhere(hash)?)),
        // The earlier content of a file is no blob of the run.
        Err(fault) => {
            let kept = kept_content(&path, &run_id, &asked)?.ok_or(fault)?;
            (kept, ErasableText::FileBefore)
        }
    };
    Ok(Erasable { hash, run_id, text })
}

impl Erasable {
    /// Erases the text for good. `all_runs` erases a blob in every run that has it. `None` for the content of a file.
    ///
    /// # Errors
    ///
    /// The store cannot be written, or other runs have the blob.
    pub fn erase(
        self,
        service: &Service,
        reason: String,
        all_runs: bool,
    ) -> Result<Option<Erased>, ServiceError> {
        let path = service.store_path()?;
        let erased = match self.text {
            ErasableText::FileBefore => None,
            ErasableText::Blob(_) => {
                let key = service.signer()?;
                let erased = Store::open(&path, Durability::Full)?.erase(&Erasure {
                    run_id: self.run_id.clone(),
                    blob: self.hash.to_string(),
                    reason,
                    at_unix_ms: unix_ms(),
                    all_runs,
                    key: &key,
                })?;
                Some(Erased {
                    bytes: erased.bytes,
                    runs: erased.runs,
                })
            }
        };
        erase_kept(&path, &self.run_id, self.hash)?;
        Ok(erased)
    }
}
