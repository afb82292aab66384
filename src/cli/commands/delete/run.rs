//! `monolith delete` and `monolith prune`: whole runs, for good. The log of runs keeps their leaves, and a signed note says who
//! deleted them.

use std::fmt::Write as _;

use super::args::{DeleteArgs, PruneArgs};
use crate::commands::values::is_of_outcome;
use crate::context::app::App;
use crate::context::ask::confirm;
use monolith_core::message::{RunId, utc};
use monolith_core::transcript::ParentFound;
use monolith_host::store::{
    Durability, Removal, RemoveError, RunFilter, RunRow, Store, StoreReader, remove_kept,
};
use monolith_service::clock::unix_ms;
use monolith_service::delete::needed::NeededRuns;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::source::Source;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// `monolith delete`.
pub(crate) fn delete(app: &App, args: &DeleteArgs) -> Result<Exit, ServiceError> {
    let Source::Run(run_id, mut reader) = app.run(&args.run)? else {
        return Ok(Exit::USAGE);
    };
    // Those below first, the lowest before all: where the process dies, what is left has its run above it, and goes with that.
    let mut runs = reader.runs_below(&run_id)?;
    runs.reverse();
    let all: Vec<RunId> = runs.iter().chain([&run_id]).cloned().collect();
    if !args.force
        && let Some(fault) = NeededRuns::read(&mut reader)?.needed(&reader, &all)?
    {
        return Err(fault.into());
    }
    drop(reader);
    if !args.yes {
        let below = match runs.len() {
            0 => String::new(),
            below => format!(", and {} below it", counted(below, "run")),
        };
        let question = format!("Delete run {run_id}{below} for good?");
        confirm(app, "delete", &question)?;
    }
    runs.push(run_id);
    deleted(app, runs, args.reason.clone(), args.force)
}

/// `monolith prune`: runs that have ended, never one that could go on.
pub(crate) fn prune(app: &App, args: &PruneArgs) -> Result<Exit, ServiceError> {
    let before = args.older_than.unix_ms(unix_ms());
    let old = |row: &RunRow| {
        let wanted = args.outcome.as_deref();
        row.created_unix_ms < before
            && row.outcome.as_ref().is_some_and(|(class, code)| {
                wanted.is_none_or(|wanted| is_of_outcome((class, code), wanted))
            })
    };
    let mut rows: Vec<RunRow> = Vec::new();
    if let Some(mut reader) = app.reader()? {
        // What does not read is not judged by its age.
        let sealed = reader.list_rows(usize::MAX, RunFilter::Sealed)?;
        rows.extend(sealed.into_iter().flatten().filter(old));
        rows = unneeded(app, &mut reader, rows)?;
    }
    let mut text = String::new();
    for row in &rows {
        let (class, code) = row.outcome.clone().unwrap_or_default();
        let begun = utc(row.created_unix_ms);
        let _ = writeln!(
            text,
            "{}  {begun}  {} ({})",
            row.run_id,
            line(&class),
            line(&code)
        );
    }
    app.screen.out(&text)?;
    if args.dry_run || rows.is_empty() {
        app.screen.out(&format!(
            "{} would be deleted\n",
            counted(rows.len(), "run")
        ))?;
        return Ok(Exit::OK);
    }
    if !args.yes {
        let question = format!("Delete {} for good?", counted(rows.len(), "run"));
        confirm(app, "prune", &question)?;
    }
    let runs = rows.into_iter().map(|row| row.run_id).collect();
    deleted(app, runs, args.reason.clone(), false)
}

/// The runs that can go, with those below them. A run below another one goes and stays with that, whatever is asked of its own age and
/// end; one that something needs which stays is kept, and named.
fn unneeded(
    app: &App,
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
            app.screen.write_err(&format!(
                "note: kept {root}: {open} below it has not ended; `monolith resume {open}` goes on with it\n"
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
        let Some(fault) = needed.needed(reader, &all)? else {
            return Ok(trees.into_iter().flatten().collect());
        };
        let (RemoveError::Below { run_id, .. }
        | RemoveError::Forked { run_id, .. }
        | RemoveError::ForkedFrom { run_id, .. }) = &fault
        else {
            return Err(fault.into());
        };
        let kept = trees.iter().position(|tree| names(tree).contains(run_id));
        let Some(kept) = kept else {
            return Err(fault.into());
        };
        let root = trees.remove(kept).pop().map(|row| row.run_id.to_string());
        let (root, why) = (root.unwrap_or_default(), line(&fault.to_string()));
        app.screen
            .write_err(&format!("note: kept {root}: cannot {why}\n"));
    }
}

fn deleted(app: &App, runs: Vec<RunId>, reason: String, force: bool) -> Result<Exit, ServiceError> {
    let path = app.store_path()?;
    let key = app.signer()?;
    let done = Store::open(&path, Durability::Full)?.remove(&Removal {
        runs,
        reason,
        at_unix_ms: unix_ms(),
        force,
        key: &key,
    })?;
    let mut runs: Vec<&str> = done.runs.iter().map(RunId::as_str).collect();
    runs.sort_unstable();
    app.screen.out(&format!("deleted: {}\n", runs.join(", ")))?;
    for run_id in &done.runs {
        remove_kept(&path, run_id)?;
    }
    if let Some(fault) = done.stopped {
        return Err(fault.into());
    }
    if !done.cleared {
        app.screen.note("The file of the store keeps its size: it is in use, and is written anew by the next delete, prune or erase.");
    }
    app.screen
        .note("Copies elsewhere stay: exports, backups, copies made by migrate.");
    Ok(Exit::OK)
}
