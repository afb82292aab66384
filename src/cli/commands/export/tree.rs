//! `monolith export --tree`: a run and every run below it, each a file in one folder. Of a workflow that was forked the steps that it has
//! of others, too, and the workflows that began them: without these no other store could verify it.

use std::fs;

use super::args::{ExportArgs, ExportFormat};
use super::html::AboutRun;
use super::one::export_one;
use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_host::store::{Lineage, StoreReader};
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::family::Family;
use monolith_service::forks::ForkedWorkflow;
use monolith_service::source::Source;
use monolith_service::workflow_entries::view_of;

/// Exports the run and those below it; ends with the first code that is not 0.
pub(super) fn export_tree(
    app: &App,
    args: &ExportArgs,
    form: ExportFormat,
) -> Result<Exit, ServiceError> {
    let (run_id, mut reader) = match app.source(&args.run)? {
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
    if let Some(fork) = inherited.as_ref().filter(|_| form == ExportFormat::Jsonl) {
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
    for base in &bases {
        app.screen.note(&format!(
            "note: {base}, from which {run_id} was forked, is exported with it: its entries began steps that both have"
        ));
    }
    let mut tree = Vec::new();
    for (depth, name) in all {
        let link = family.link(&mut reader, &name).filter(|_| depth > 0);
        let Some(row) = family.row(&name) else {
            continue;
        };
        let is_made = !row.workflow || form.is_of_workflows();
        let outcome = row.outcome.as_ref();
        tree.push(AboutRun {
            depth,
            entries: row.length,
            file: is_made.then(|| file_name(&row.run_id, form)),
            head: row.head,
            link,
            outcome: outcome.map(|(class, code)| format!("{class} ({code})")),
            run_id: row.run_id.clone(),
            workflow: row.workflow,
        });
    }
    // Its rows may have the end of a run that was begun after the names were read.
    names.truncate(names.len().saturating_sub(bases.len()));
    if whole_tree(&mut reader, &run_id, inherited.as_ref())? != names {
        let asked = args.run.clone();
        return Err(TranscriptFault::ChangedMeanwhile { asked }.into());
    }
    let Some(output) = &args.output else {
        return Err(SystemFault::TreeWithoutFolder.into());
    };
    let folder = app.cwd.join(output);
    fs::create_dir_all(&folder).map_err(|fault| SystemFault::CannotWrite {
        path: folder.clone(),
        reason: fault.to_string(),
    })?;
    let mut exit = Exit::OK;
    for one in &tree {
        let Some(file) = &one.file else {
            let (run, format) = (&one.run_id, form.name());
            app.screen
                .note(&format!("no {format} is made of workflow {run}"));
            continue;
        };
        let args = ExportArgs {
            run: one.run_id.as_str().to_owned(),
            output: Some(output.join(file)),
            format: Some(form),
            tree: false,
            ..args.clone()
        };
        let ended = export_one(app, &args, form, tree.clone())?;
        if exit == Exit::OK {
            exit = ended;
        }
    }
    Ok(exit)
}

/// A run, those below it, and the steps that it has of others with those below them.
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

fn file_name(run_id: &RunId, form: ExportFormat) -> String {
    format!("{run_id}.{}", form.ending())
}
