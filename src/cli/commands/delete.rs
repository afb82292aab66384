//! `monolith delete` and `monolith prune`: whole runs, for good. The log of runs keeps their leaves, and a signed note says who
//! deleted them.

use std::fmt::Write as _;

use clap::Args;

use super::values::{outcome, reason};
use crate::context::app::App;
use crate::context::ask::confirm;
use crate::ui::when::{self, When};
use monolith_core::message::{RunId, utc};
use monolith_service::clock::unix_ms;
use monolith_service::delete::runs::{self, Deletion, PruneRequest, deletable, prunable};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Run name or unique prefix, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The reason, recorded in the signed note
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(crate) reason: String,
    /// Also delete an unfinished run
    ///
    /// Also deletes a run that others still need: one in an unfinished tree, or one that a fork of a workflow uses.
    #[arg(long)]
    pub(crate) force: bool,
    /// Skip the confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Minimum age, such as 12h, 30d or 8w, or a date
    ///
    /// A date such as 2026-11-20 selects the runs that started before it.
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) older_than: When,
    /// Only runs with this outcome, such as failed
    ///
    /// A class, a code, or a family of classes, as in `list --outcome`.
    #[arg(long, value_name = "CLASS|CODE", value_parser = outcome)]
    pub(crate) outcome: Option<String>,
    /// The reason, recorded in the signed notes
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(crate) reason: String,
    /// List the runs without deleting them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Skip the confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

/// `monolith delete`.
pub(crate) fn delete(app: &App, args: DeleteArgs) -> Result<Exit, ServiceError> {
    let deletion = deletable(app, &args.run, args.force)?;
    if let (false, Some((run_id, below))) = (args.yes, deletion.runs.split_last()) {
        let below = match below.len() {
            0 => String::new(),
            below => format!(", and {} below it", counted(below, "run")),
        };
        let question = format!("Delete run {run_id}{below} for good?");
        confirm(app, "delete", &question)?;
    }
    deleted(app, deletion, args.reason)
}

/// `monolith prune`: runs that have ended, never one that could go on.
pub(crate) fn prune(app: &App, args: PruneArgs) -> Result<Exit, ServiceError> {
    let request = PruneRequest {
        before_unix_ms: args.older_than.unix_ms(unix_ms()),
        outcome: args.outcome,
    };
    let found = prunable(app, &request)?;
    for note in &found.notes {
        app.screen.write_err(&format!("note: {note}\n"));
    }
    let mut text = String::new();
    for row in &found.rows {
        let (class, code) = row.outcome.clone().unwrap_or_default();
        let begun = utc(row.created_unix_ms);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}  {begun}  {} ({})",
            row.run_id,
            line(&class),
            line(&code)
        );
    }
    app.screen.out(&text)?;
    let count = counted(found.rows.len(), "run");
    if args.dry_run || found.rows.is_empty() {
        app.screen.out(&format!("{count} would be deleted\n"))?;
        return Ok(Exit::OK);
    }
    if !args.yes {
        confirm(app, "prune", &format!("Delete {count} for good?"))?;
    }
    deleted(app, found.deletion(), args.reason)
}

fn deleted(app: &App, deletion: Deletion, reason: String) -> Result<Exit, ServiceError> {
    let done = runs::delete(app, deletion, reason)?;
    let names: Vec<&str> = done.runs.iter().map(RunId::as_str).collect();
    app.screen
        .out(&format!("deleted: {}\n", names.join(", ")))?;
    if let Some(fault) = done.stopped {
        return Err(fault);
    }
    if !done.is_compacted {
        app.screen.note("The store file keeps its size because it is in use; the next delete, prune or erase rewrites it.");
    }
    app.screen
        .note("Copies elsewhere stay: exports, backups, copies made by migrate.");
    Ok(Exit::OK)
}
