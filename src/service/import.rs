//! The import of transcript files into the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::unix_ms;
use crate::error::ServiceError;
use crate::service::Service;
use crate::source::each_line;
use monolith_core::transcript::Trust;
use monolith_host::store::{
    ImportError, ImportTerms, Imported, import as import_file, is_handed_in,
};

/// The terms under which files are imported.
#[derive(Clone, Debug, Default)]
pub struct ImportRequest {
    /// True to accept runs that were deleted here.
    pub deleted: bool,
    /// Public keys that must have signed the runs, or files of keys; empty for this machine's own keys.
    pub keys: Vec<String>,
    /// True to accept runs that have not ended.
    pub open: bool,
}

/// An import of files, one after the other.
pub struct Importer {
    deleted: bool,
    open: bool,
    store: PathBuf,
    trust: Arc<Trust>,
}

impl Importer {
    /// Prepares the store and reads the keys.
    ///
    /// # Errors
    ///
    /// The store cannot be made, or a key cannot be read.
    pub fn new(service: &Service, request: &ImportRequest) -> Result<Self, ServiceError> {
        Ok(Self {
            deleted: request.deleted,
            open: request.open,
            store: service.ready_store()?,
            trust: service.trust(&request.keys, &[], &[])?,
        })
    }

    /// Imports one file, or standard input for `-`.
    ///
    /// # Errors
    ///
    /// The file is no transcript, or does not verify. The store cannot be written; see [`is_of_the_file`].
    pub fn import(&self, service: &Service, given: &Path) -> Result<Imported, ServiceError> {
        let named = if given == Path::new("-") {
            Path::new("/dev/stdin")
        } else {
            given
        };
        let path = service.cwd.join(named);
        // A file that never was a transcript is refused as such, before it is judged as one. A pipe that a shell hands in can be read only once.
        if !is_handed_in(&path) {
            each_line(&path, |_| Ok(false))?;
        }
        let terms = ImportTerms {
            deleted: self.deleted,
            now_unix_ms: unix_ms(),
            open: self.open,
        };
        Ok(import_file(&self.store, &path, terms, &self.trust)?)
    }
}

/// True if an error is about the file: another file may be imported. A store that fails takes no other file either.
#[must_use]
pub const fn is_of_the_file(fault: &ServiceError) -> bool {
    match fault {
        ServiceError::Import(ImportError::Store(_)) => false,
        ServiceError::Transcript(_) | ServiceError::Import(_) => true,
        _ => false,
    }
}
