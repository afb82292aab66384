//! What a caller keeps of a run that has ended, where the options say so: the conversation, a snapshot of the session, its tree on the screen.

use std::io;

use super::ended::Ended;
use super::own_file::{put, write};
use super::snapshots;
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::session_runs::SessionRuns;
use crate::cli::ui::escape::line;
use crate::message::RunId;
use crate::telemetry::{AgentResult, SessionSnapshot, SnapshotReason};

/// Writes and shows what the options of the command ask for. Of a run that has not ended there is nothing to keep.
pub(in crate::cli) fn keep(app: &App, ended: &Ended) -> Result<(), CliError> {
    let kept = &app.accounting.kept;
    let (Some(run_id), Some(_)) = (ended.view.run_id(), ended.view.outcome()) else {
        return Ok(());
    };
    keep_run(app, run_id)?;
    if let Some(path) = kept.save.as_ref().filter(|_| ended.result.success) {
        write(path, &conversation(&ended.result)?)?;
    }
    Ok(())
}

/// The same of a run of the store that has ended, and of the runs of the agents that it called; but for what is kept of one run alone.
pub(in crate::cli) fn keep_run(app: &App, run_id: &RunId) -> Result<(), CliError> {
    let kept = &app.accounting.kept;
    if !kept.show_tree && kept.sessions_dir.is_none() && kept.save_all.is_none() {
        return Ok(());
    }
    let runs = SessionRuns::read(&app.store_path()?, run_id)?;
    if kept.show_tree
        && let Some(snapshot) = SessionSnapshot::of(&runs.session, SnapshotReason::Final)
    {
        for shown in snapshot.lines() {
            app.screen.write_err(&format!("{}\n", line(&shown)));
        }
    }
    if let Some(folder) = &kept.sessions_dir {
        snapshots::keep(folder, &runs.session, SnapshotReason::Final)?;
    }
    if let Some(folder) = &kept.save_all {
        for (of, result) in runs.results.iter().filter(|(_, result)| result.success) {
            let folder = folder.join(run_id.as_str());
            put(&folder, &format!("{of}.json"), &conversation(result)?)?;
        }
    }
    Ok(())
}

fn conversation(result: &AgentResult) -> Result<Vec<u8>, CliError> {
    Ok(serde_json::to_vec(&result.conversation).map_err(io::Error::from)?)
}
