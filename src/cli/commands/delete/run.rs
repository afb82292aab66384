//! `monolith delete` and `monolith prune`: whole runs, for good. The log of runs keeps their leaves, and a signed note says who
//! deleted them.

use std::fmt::Write as _;

use super::args::{DeleteArgs, PruneArgs};
use crate::cli::commands::workflow::with_step_runs;
use crate::cli::context::app::App;
use crate::cli::context::ask::confirm;
use crate::cli::context::clock::unix_ms;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::context::source::Source;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::message::{RunId, utc};
use crate::store::{Removal, RunFilter, RunRow, remove, remove_kept};

/// `monolith delete`.
pub(in crate::cli) fn delete(app: &App, args: &DeleteArgs) -> Result<Exit, CliError> {
    let Source::Run(run_id, reader) = app.run(&args.run)? else {
        return Ok(Exit::USAGE);
    };
    drop(reader);
    if !args.yes {
        let question = format!("Delete run {run_id} for good?");
        confirm(app, "delete", &question)?;
    }
    deleted(app, vec![run_id], args.reason.clone(), args.force)
}

/// `monolith prune`: runs that have ended, never one that could go on.
pub(in crate::cli) fn prune(app: &App, args: &PruneArgs) -> Result<Exit, CliError> {
    let before = args.older_than.unix_ms(unix_ms());
    let old = |row: &RunRow| {
        let class = row.outcome.as_ref().map(|(class, _)| class.as_str());
        let wanted = args.outcome.as_deref();
        row.created_unix_ms < before
            && class
                .is_some_and(|class| wanted.is_none_or(|wanted| wanted.eq_ignore_ascii_case(class)))
    };
    let mut rows: Vec<RunRow> = Vec::new();
    if let Some(reader) = app.reader()? {
        // What does not read is not judged by its age.
        let sealed = reader.list_rows(usize::MAX, RunFilter::Sealed)?;
        rows.extend(sealed.into_iter().flatten().filter(old));
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

fn deleted(app: &App, runs: Vec<RunId>, reason: String, force: bool) -> Result<Exit, CliError> {
    let runs = with_step_runs(app, runs)?;
    let path = app.store_path()?;
    let key = app.signer()?;
    let done = remove(
        &path,
        &Removal {
            runs,
            reason,
            at_unix_ms: unix_ms(),
            force,
            key: &key,
        },
    )?;
    let runs: Vec<&str> = done.runs.iter().map(RunId::as_str).collect();
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
