//! A stored run with the runs of the agents that it called, each folded: what is kept of a session beside its record.

use std::path::Path;

use crate::error::ServiceError;
use crate::origin::{first_of, step_path_of};
use crate::source::Source;
use monolith_core::message::RunId;
use monolith_host::store::StoreReader;
use monolith_host::telemetry::{AgentResult, Session};

/// A session with all that it called, and what each run of it came to.
pub struct SessionRuns {
    /// The name of its files: the first run of its line, which accounting uses, too (001 §12). The steps of a workflow are
    /// separate sessions.
    pub(crate) name: RunId,
    /// The first run of its line, that of a workflow included.
    pub origin: RunId,
    /// Each run and its result, the first one first.
    pub results: Vec<(RunId, AgentResult)>,
    /// Runs of the session.
    pub session: Session,
}

impl SessionRuns {
    /// Reads a run of the store and those below it.
    pub fn read(store: &Path, run_id: &RunId) -> Result<Self, ServiceError> {
        let mut reader = StoreReader::open(store)?;
        let step_path = step_path_of(&mut reader, run_id)?;
        Self::below(store, &reader, run_id, step_path)
    }

    /// The same of the run of a step, whose place is known: a workflow with many steps is not read again for each.
    pub fn of_step(store: &Path, run_id: &RunId, step_path: String) -> Result<Self, ServiceError> {
        let reader = StoreReader::open(store)?;
        Self::below(store, &reader, run_id, Some(step_path))
    }

    fn below(
        store: &Path,
        reader: &StoreReader,
        run_id: &RunId,
        step_path: Option<String>,
    ) -> Result<Self, ServiceError> {
        let first = first_of(reader, run_id)?;
        let origin = first.clone().unwrap_or_else(|| run_id.clone());
        let name = match &step_path {
            Some(_) => run_id.clone(),
            None => origin.clone(),
        };
        let mut results = Vec::new();
        let session = session_of(store, run_id, (first, step_path), &mut results)?;
        Ok(Self {
            name,
            origin,
            results,
            session,
        })
    }
}

fn session_of(
    store: &Path,
    run_id: &RunId,
    (first, step_path): (Option<RunId>, Option<String>),
    results: &mut Vec<(RunId, AgentResult)>,
) -> Result<Session, ServiceError> {
    let mut reader = StoreReader::open(store)?;
    let again = StoreReader::open(store)?;
    let (run, mut view) = Source::Run(run_id.clone(), again).fold(first.clone())?;
    if let Some(path) = step_path.clone() {
        view.below_step(path);
    }
    results.push((run_id.clone(), AgentResult::of_run(&run, &view)));
    let mut below = Vec::new();
    for one in reader.delegated(run_id)? {
        if reader.is_child_of(&one, run_id)? {
            let from = (first.clone(), step_path.clone());
            below.push(session_of(store, &one.run_id, from, results)?);
        }
    }
    Ok(Session { below, view })
}
