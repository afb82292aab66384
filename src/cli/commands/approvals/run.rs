//! `monolith approvals`: looks through the open runs of the store for calls that wait for a person. Answers none.

use serde::Serialize;

use super::args::ApprovalsArgs;
use super::render::listed;
use super::waiting::Waiting;
use crate::cli::commands::list::{name_damaged, waits};
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::ui::escape::line;
use crate::store::RunFilter;

#[derive(Serialize)]
struct Inbox {
    approvals: Vec<Waiting>,
}

/// `monolith approvals`.
pub(in crate::cli) fn approvals(app: &App, args: &ApprovalsArgs) -> Result<Exit, CliError> {
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    if let (Some(index), Some(mut reader)) = (app.reader()?, app.reader()?) {
        index.each_row(RunFilter::Open, |row| {
            match row {
                Ok(row) if waits(&mut reader, &row) => runs.push(row.run_id),
                Ok(_) => {}
                Err(row) => damaged.push(row),
            }
            true
        })?;
    }
    let path = app.store_path()?;
    let mut found = Vec::new();
    // The newest run comes first in the store; who waits longest is answered first.
    for run_id in runs.into_iter().rev() {
        match Waiting::of(&run_id, &path) {
            Ok(waiting) => found.extend(waiting),
            // One run that cannot be read hides no other.
            Err(fault) => {
                let text = line(&format!("run {run_id}: failed to {fault}"));
                app.screen.write_err(&format!("warning: {text}\n"));
            }
        }
    }
    found.sort_by_key(|one| one.since_unix_ms);
    let exit = name_damaged(app, &damaged);
    if args.json {
        app.screen.out_json(&Inbox { approvals: found })?;
    } else if found.is_empty() {
        let place = line(&path.display().to_string());
        app.screen
            .write_err(&format!("no call waits for a person in {place}\n"));
    } else {
        app.screen.out(&listed(app, &found))?;
    }
    Ok(exit)
}
