//! Snapshots of a session with the sessions of the agents that it called, each as `UUID.json.gz` in the folder that was named.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::drive::own_file::put;
use crate::error::ServiceError;
use crate::service::Service;
use crate::session_runs::SessionRuns;
use monolith_core::message::RunId;
use monolith_host::telemetry::{SessionSnapshot, SnapshotReason, origin_uuid};

/// The destination of snapshots, and their run.
#[derive(Clone, Debug)]
pub struct Snapshots {
    folder: PathBuf,
    /// The first run of the tree; `None` if that is the one that is followed.
    first: Option<RunId>,
    store: PathBuf,
}

impl Snapshots {
    /// Returns the snapshots that the command line asks for, or those in `own`, the folder of the contract's layers.
    pub fn of(service: &Service, own: Option<&Path>) -> Result<Option<Self>, ServiceError> {
        let Some(folder) = service.sessions_dir(own) else {
            return Ok(None);
        };
        Ok(Some(Self {
            folder: folder.to_owned(),
            first: None,
            store: service.store_path()?,
        }))
    }

    /// Creates snapshots in that folder, of runs of that store.
    pub fn within(folder: &Path, store: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            first: None,
            store: store.to_owned(),
        }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the snapshots of a child run of `first`.
    #[must_use]
    pub fn of_tree(&self, first: Option<&RunId>) -> Self {
        Self {
            first: self.first.clone().or_else(|| first.cloned()),
            ..self.clone()
        }
    }

    /// Keeps one of the session so far, of which `run_id` is a run whose agent has ended.
    pub fn keep_of(&self, run_id: &RunId) -> Result<(), ServiceError> {
        let first = self.first.as_ref().unwrap_or(run_id);
        let runs = SessionRuns::read(&self.store, first)?;
        keep(&self.folder, &runs, SnapshotReason::SubagentFinish)
    }
}

/// Keeps a snapshot of a session.
pub fn keep(folder: &Path, runs: &SessionRuns, reason: SnapshotReason) -> Result<(), ServiceError> {
    let Some(snapshot) = SessionSnapshot::of(&runs.session, reason) else {
        return Ok(());
    };
    let json = serde_json::to_vec(&snapshot).map_err(io::Error::from)?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&json)?;
    let name = format!("{}.json.gz", origin_uuid(&runs.name));
    put(folder, &name, &packed.finish()?)
}
