//! `monolith approvals`: looks through the open runs of the store for calls that wait for a person. Answers none.

use serde::Serialize;

use super::args::ApprovalsArgs;
use super::render::listed;
use super::waiting::Waiting;
use crate::commands::list::name_damaged;
use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::list::found::waiting_runs;
use monolith_service::text::escape::line;

#[derive(Serialize)]
struct Inbox {
    approvals: Vec<Waiting>,
}

/// `monolith approvals`.
pub(crate) fn approvals(app: &App, args: &ApprovalsArgs) -> Result<Exit, ServiceError> {
    let (runs, damaged) = waiting_runs(app)?;
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
