//! The export of a run with its children. For a workflow that was forked also the steps that it shares, and the workflows that began them:
//! another store needs these to verify it.

use std::fs;
use std::path::{Path, PathBuf};

use super::form::ExportForm;
use super::html::AboutRun;
use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::error::transcript::TranscriptFault;
use crate::family::Family;
use crate::forks::ForkedWorkflow;
use crate::service::Service;
use crate::source::Source;
use crate::workflow_entries::view_of;
use monolith_core::message::RunId;
use monolith_host::store::{Lineage, StoreReader};

/// The runs of an export.
pub struct ExportTree {
    /// Workflows that the exported one was forked from: they began steps that both have.
    pub bases: Vec<RunId>,
    /// The run that was asked for.
    pub run_id: RunId,
    /// All runs, each after its parent.
    pub runs: Vec<AboutRun>,
}

/// Returns the runs that are exported with a stored run. Writes nothing.
///
/// # Errors
///
/// A child run is missing, the tree changed meanwhile, or the store cannot be read.
pub fn tree(service: &Service, asked: &str, form: ExportForm) -> Result<ExportTree, ServiceError> {
    let (run_id, mut reader) = match service.source(asked)? {
        Source::Run(run_id, reader) => (run_id, reader),
        Source::File(path) => return Err(TranscriptFault::FileInsteadOfRun { path }.into()),
    };
    let inherited = ForkedWorkflow::read(&mut reader, &run_id)?;
    let mut names = whole_tree(&mut reader, &run_id, inherited.as_ref())?;
    if let Some((above, run)) = missing(&mut reader, &names)? {
        return Err(TranscriptFault::BelowMissing {
            above,
            root: run_id,
            run,
        }
        .into());
    }
    let mut bases = Vec::new();
    if let Some(fork) = inherited.as_ref().filter(|_| form == ExportForm::Jsonl) {
        for base in fork.line(&mut reader)? {
            if reader.is_workflow(&base)? {
                bases.push(base);
            }
        }
    }
    names.extend_from_slice(&bases);
    let mut family = Family::of_tree(&mut reader, &names)?;
    let placed = |root: &RunId, below: usize| {
        let placed = family.placed(root.as_str(), &mut |_| true).into_iter();
        let placed = placed.map(move |at| (below.saturating_add(at.branch.depth), at.name));
        placed.collect::<Vec<_>>()
    };
    let mut all = placed(&run_id, 0);
    // What a fork has of others stands first: those steps had ended before.
    let shared = inherited.iter().flat_map(|fork| &fork.shared);
    let shared: Vec<_> = shared.flat_map(|step| placed(step, 1)).collect();
    let first = all.len().min(1);
    all.splice(first..first, shared);
    all.extend(bases.iter().map(|base| (0, base.to_string())));
    let mut runs = Vec::new();
    for (depth, name) in all {
        let link = family.link(&mut reader, &name).filter(|_| depth > 0);
        let Some(row) = family.row(&name) else {
            continue;
        };
        let is_made = form.is_of(row.kind);
        let outcome = row.outcome.as_ref();
        runs.push(AboutRun {
            depth,
            entries: row.length,
            file: is_made.then(|| file_name(&row.run_id, form)),
            head: row.head,
            link,
            outcome: outcome.map(|(class, code)| format!("{class} ({code})")),
            run_id: row.run_id.clone(),
            workflow: row.is_workflow(),
        });
    }
    // Its rows may have the end of a run that was begun after the names were read.
    names.truncate(names.len().saturating_sub(bases.len()));
    if whole_tree(&mut reader, &run_id, inherited.as_ref())? != names {
        let asked = asked.to_owned();
        return Err(TranscriptFault::ChangedMeanwhile { asked }.into());
    }
    Ok(ExportTree {
        bases,
        run_id,
        runs,
    })
}

/// Creates the folder for the files of a tree.
///
/// # Errors
///
/// The folder cannot be created.
pub fn create_folder(service: &Service, output: &Path) -> Result<(), ServiceError> {
    let folder: PathBuf = service.cwd.join(output);
    Ok(
        fs::create_dir_all(&folder).map_err(|fault| SystemFault::CannotWrite {
            path: folder.clone(),
            reason: fault.to_string(),
        })?,
    )
}

/// Returns a run, its children, and the steps that it shares with their children.
fn whole_tree(
    reader: &mut StoreReader,
    run_id: &RunId,
    inherited: Option<&ForkedWorkflow>,
) -> Result<Vec<RunId>, ServiceError> {
    let mut names = vec![run_id.clone()];
    names.extend(reader.runs_below(run_id)?);
    for step in inherited.into_iter().flat_map(|fork| &fork.shared) {
        names.push(step.clone());
        if reader.lineage(step)?.is_some() {
            names.extend(reader.runs_below(step)?);
        }
    }
    Ok(names)
}

/// The first run that one of these owes (it recorded its end, or has ended without it), and that the store does not have, or not as a run
/// below that; the one above it first.
fn missing(
    reader: &mut StoreReader,
    names: &[RunId],
) -> Result<Option<(RunId, RunId)>, ServiceError> {
    for above in names {
        if reader.is_workflow(above)? {
            for step in view_of(reader, above)?.steps {
                let (Some(run), Some(head)) = (step.run_id, step.head) else {
                    continue;
                };
                // Of a fork it may be a step of the workflow that was forked, which the store may lack: the head is that of no other run.
                let is_own = run.is_step_of(above, step.number);
                let is_its = |found: Lineage| !is_own || found.is_of(above, None);
                let is_here = reader.lineage(&run)?.is_some_and(is_its)
                    && reader.read_run(&run)?.row().head == head;
                if !is_here {
                    return Ok(Some((above.clone(), run)));
                }
            }
        }
        let has_ended = !reader.is_open(above)?;
        for one in reader.delegated(above)? {
            if one.is_owed(has_ended) && !reader.is_child_of(&one, above)? {
                return Ok(Some((above.clone(), one.run_id)));
            }
        }
    }
    Ok(None)
}

fn file_name(run_id: &RunId, form: ExportForm) -> String {
    format!("{run_id}.{}", form.ending())
}
