//! Snapshots of a session with the sessions of the agents that it called, each as `ORIGIN.json.gz` in the folder that was named.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::own_file::put;
use crate::context::app::App;
use crate::context::error::CliError;
use crate::context::session_runs::SessionRuns;
use monolith_core::message::RunId;
use monolith_host::telemetry::{SessionSnapshot, SnapshotReason};

/// Where snapshots go, and of which run.
#[derive(Clone, Debug)]
pub(super) struct Snapshots {
    folder: PathBuf,
    /// The first run of the tree; `None` if that is the one that is followed.
    first: Option<RunId>,
    store: PathBuf,
}

impl Snapshots {
    /// Those that the command line asks for, or `own`, the folder of the layers of the contract.
    pub(super) fn of(app: &App, own: Option<&Path>) -> Result<Option<Self>, CliError> {
        let Some(folder) = app.sessions_dir(own) else {
            return Ok(None);
        };
        Ok(Some(Self {
            folder: folder.to_owned(),
            first: None,
            store: app.store_path()?,
        }))
    }

    /// Those that go into that folder, of runs of that store.
    pub(super) fn within(folder: &Path, store: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            first: None,
            store: store.to_owned(),
        }
    }

    /// Where they go.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Those of a run below `first`.
    pub(super) fn of_tree(&self, first: Option<&RunId>) -> Self {
        Self {
            first: self.first.clone().or_else(|| first.cloned()),
            ..self.clone()
        }
    }

    /// Keeps one of the session so far, of which `run_id` is a run whose agent has ended.
    pub(super) fn keep_of(&self, run_id: &RunId) -> Result<(), CliError> {
        let first = self.first.as_ref().unwrap_or(run_id);
        let runs = SessionRuns::read(&self.store, first)?;
        keep(&self.folder, &runs, SnapshotReason::SubagentFinish)
    }
}

/// Keeps a snapshot of a session.
pub(super) fn keep(
    folder: &Path,
    runs: &SessionRuns,
    reason: SnapshotReason,
) -> Result<(), CliError> {
    let Some(snapshot) = SessionSnapshot::of(&runs.session, reason) else {
        return Ok(());
    };
    let json = serde_json::to_vec(&snapshot).map_err(io::Error::from)?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&json)?;
    put(folder, &format!("{}.json.gz", runs.name), &packed.finish()?)
}
