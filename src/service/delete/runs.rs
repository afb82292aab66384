//! The deletion of whole runs. The log of runs keeps their leaves, and a signed note says who deleted them.

use super::needed::{NeededRun, NeededRuns};
use crate::clock::unix_ms;
use crate::error::ServiceError;
use crate::list::outcome_names::is_of_outcome;
use crate::service::Service;
use crate::source::Source;
use crate::text::escape::line;
#[cfg(unix)]
use crate::work::{DeletedItems, judge_open_items};
use monolith_core::message::RunId;
use monolith_core::transcript::ParentFound;
use monolith_host::store::{
    Durability, Removal, RunFilter, RunRow, Store, StoreError, StoreReader, remove_kept,
};

/// Runs that can be deleted.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// True if runs go that others need.
    pub force: bool,
    /// Runs to delete, children before their parents.
    pub runs: Vec<RunId>,
}

/// Runs that were deleted.
#[derive(Debug)]
pub struct Deleted {
    /// True if the file of the store was compacted.
    pub is_compacted: bool,
    /// Names of the runs, in order.
    pub runs: Vec<RunId>,
    /// The error that kept the other runs, if one did.
    pub stopped: Option<ServiceError>,
}

/// The runs that `prune` deletes.
#[derive(Clone, Debug, Default)]
pub struct PruneRequest {
    /// Latest begin of a run, in milliseconds since 1970-01-01 UTC.
    pub before_unix_ms: u64,
    /// A name of [`outcome_names`](crate::list::outcome_names).
    pub outcome: Option<String>,
}

/// Runs that can be pruned.
#[derive(Debug)]
pub struct Prunable {
    /// Reasons why other runs are kept.
    pub notes: Vec<String>,
    /// Rows of the runs, children before their parents.
    pub rows: Vec<RunRow>,
}

impl Prunable {
    /// Returns the deletion of the runs.
    #[must_use]
    pub fn deletion(&self) -> Deletion {
        Deletion {
            force: false,
            runs: self.rows.iter().map(|row| row.run_id.clone()).collect(),
        }
    }
}

/// Finds a run and its children, the run last. Deletes nothing.
///
/// # Errors
///
/// There is no such run, or another run needs one of them and `force` is not set.
pub fn deletable(service: &Service, asked: &str, force: bool) -> Result<Deletion, ServiceError> {
    let Source::Run(run_id, mut reader) = service.run(asked)? else {
        let asked = asked.to_owned();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    // The lowest goes first: if the process dies, each run that is left has its parent, and goes with it.
    let mut runs = reader.runs_below(&run_id)?;
    runs.reverse();
    runs.push(run_id);
    #[cfg(unix)]
    judge_open_items(
        &service.store_path()?,
        &mut reader,
        (runs.as_slice(), force),
    )?;
    if !force && let Some(needed) = NeededRuns::read(&mut reader)?.needed(&reader, &runs)? {
        return Err(needed.why);
    }
    Ok(Deletion { force, runs })
}

/// Finds old runs that have ended, never one that can be resumed. Deletes nothing.
///
/// # Errors
///
/// The store cannot be read.
pub fn prunable(service: &Service, request: &PruneRequest) -> Result<Prunable, ServiceError> {
    let old = |row: &RunRow| {
        let wanted = request.outcome.as_deref();
        row.created_unix_ms < request.before_unix_ms
            && row.outcome.as_ref().is_some_and(|(class, code)| {
                wanted.is_none_or(|wanted| is_of_outcome((class, code), wanted))
            })
    };
    let (mut notes, mut rows) = (Vec::new(), Vec::new());
    if let Some(mut reader) = service.reader()? {
        // A row that cannot be read has no age.
        let sealed = reader.list_rows(usize::MAX, RunFilter::Sealed)?;
        rows.extend(sealed.into_iter().flatten().filter(old));
        rows = unneeded(&mut notes, &mut reader, rows)?;
    }
    Ok(Prunable { notes, rows })
}

/// Deletes runs for good, and leaves a signed note.
///
/// # Errors
///
/// No run could be deleted, or the kept contents of files could not.
pub fn delete(
    service: &Service,
    deletion: Deletion,
    reason: String,
) -> Result<Deleted, ServiceError> {
    let path = service.store_path()?;
    let key = service.signer()?;
    #[cfg(unix)]
    let items = match service.reader()? {
        Some(mut reader) => DeletedItems::find(&path, &mut reader, &deletion.runs)?,
        None => DeletedItems::default(),
    };
    let done = Store::open(&path, Durability::Full)?.remove(&Removal {
        runs: deletion.runs,
        reason,
        at_unix_ms: unix_ms(),
        force: deletion.force,
        key: &key,
    })?;
    let mut stopped = done.stopped.map(ServiceError::from);
    for run_id in &done.runs {
        if let Err(fault) = remove_kept(&path, run_id) {
            stopped = Some(fault.into());
            break;
        }
    }
    #[cfg(unix)]
    if let Err(fault) = items.remove(service, &done.runs) {
        stopped.get_or_insert(fault);
    }
    let mut runs = done.runs;
    runs.sort_unstable();
    Ok(Deleted {
        is_compacted: done.cleared,
        runs,
        stopped,
    })
}

/// Returns the runs that can go, with their children. A child goes and stays with its parent, whatever its own age and end. A run that
/// another run needs is kept, and a note names it.
fn unneeded(
    notes: &mut Vec<String>,
    reader: &mut StoreReader,
    rows: Vec<RunRow>,
) -> Result<Vec<RunRow>, ServiceError> {
    let mut trees = Vec::new();
    for row in rows {
        let lineage = reader.lineage(&row.run_id)?;
        let is_below =
            lineage.is_some_and(|found| found.is_below() && found.found != ParentFound::NotHere);
        if is_below {
            continue;
        }
        let mut tree = Vec::new();
        for run_id in reader.runs_below(&row.run_id)? {
            tree.push(reader.read_run(&run_id)?.row().clone());
        }
        tree.reverse();
        if let Some(open) = tree.iter().find(|below| below.outcome.is_none()) {
            let (root, open) = (&row.run_id, &open.run_id);
            notes.push(format!(
                "kept {root}: its child run {open} has not ended; `monolith resume {open}` continues it"
            ));
            continue;
        }
        tree.push(row);
        trees.push(tree);
    }
    let needed = NeededRuns::read(reader)?;
    loop {
        let names =
            |rows: &[RunRow]| -> Vec<RunId> { rows.iter().map(|row| row.run_id.clone()).collect() };
        let all: Vec<RunId> = trees.iter().flat_map(|tree| names(tree)).collect();
        let Some(NeededRun { run_id, why }) = needed.needed(reader, &all)? else {
            return Ok(trees.into_iter().flatten().collect());
        };
        let kept = trees.iter().position(|tree| names(tree).contains(&run_id));
        let Some(kept) = kept else {
            return Err(why);
        };
        let root = trees.remove(kept).pop().map(|row| row.run_id.to_string());
        let (root, why) = (root.unwrap_or_default(), line(&why.to_string()));
        notes.push(format!("kept {root}: cannot {why}"));
    }
}
