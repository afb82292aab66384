//! The records of an ended run that a caller keeps if the options say so: the conversation, a session snapshot, its tree on the
//! screen.

use crate::context::fault::show_error;
use monolith_service::drive::ended::Ended;
use std::io;
use std::path::Path;

use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_host::store::{judge_folder, judge_new_folder, judge_regular};
use monolith_host::telemetry::{AgentResult, SessionSnapshot, SnapshotReason};
use monolith_service::drive::overwritten::overwritten;
use monolith_service::drive::own_file::{put, write};
use monolith_service::drive::snapshots;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::session_runs::SessionRuns;
use monolith_service::text::escape::line;

/// Writes and shows what the options of the command ask for. Of a run that has not ended there is nothing to keep. What cannot be written
/// keeps nothing else from being written.
pub(crate) fn keep(app: &App, ended: &Ended) -> Result<(), ServiceError> {
    let kept = &app.accounting.kept;
    let (Some(run_id), Some(_)) = (ended.view.run_id(), ended.view.outcome()) else {
        return Ok(());
    };
    let of_runs = keep_run(app, run_id, ended.sessions_dir.as_deref());
    let path = kept.save.as_ref().filter(|_| ended.result.success);
    // Something else may stand there by now: the run itself makes the store, where there was none.
    let saved = path.map(|path| {
        overwritten(app, app.accounting.kept.save.as_deref())?;
        write(path, &conversation(&ended.result)?)
    });
    all_of(app, [Some(of_runs), saved].into_iter().flatten())
}

/// Does the same for a stored run that has ended, and for the runs of the agents that it called. Leaves out the file that is
/// kept of one run alone.
fn keep_run(app: &App, run_id: &RunId, sessions: Option<&Path>) -> Result<(), ServiceError> {
    if !is_kept(app, sessions) {
        return Ok(());
    }
    let runs = SessionRuns::read(&app.store_path()?, run_id)?;
    keep_session(app, &runs, sessions)
}

/// The same of the run of a step, whose place is known: `WORKFLOW:STEP`. `sessions` is the folder of snapshots that the layers of its
/// contract name.
pub(crate) fn keep_step(
    app: &App,
    (run_id, path): (&RunId, String),
    sessions: Option<&Path>,
) -> Result<(), ServiceError> {
    if !is_kept(app, sessions) {
        return Ok(());
    }
    let runs = SessionRuns::of_step(&app.store_path()?, run_id, path)?;
    keep_session(app, &runs, sessions)
}

fn is_kept(app: &App, sessions: Option<&Path>) -> bool {
    let kept = &app.accounting.kept;
    kept.show_tree || app.sessions_dir(sessions).is_some() || kept.save_all.is_some()
}

fn keep_session(
    app: &App,
    runs: &SessionRuns,
    sessions: Option<&Path>,
) -> Result<(), ServiceError> {
    let kept = &app.accounting.kept;
    if kept.show_tree
        && let Some(snapshot) = SessionSnapshot::of(&runs.session, SnapshotReason::Final)
    {
        for shown in snapshot.lines() {
            app.screen.write_err(&format!("{}\n", line(&shown)));
        }
    }
    let folder = app.sessions_dir(sessions);
    let snapshot = folder.map(|folder| snapshots::keep(folder, runs, SnapshotReason::Final));
    let folder = kept.save_all.as_ref();
    let saved = folder.map(|folder| save_all(&folder.join(runs.origin.as_str()), runs));
    all_of(app, [snapshot, saved].into_iter().flatten())
}

/// Writes the conversation of each run that succeeded.
fn save_all(folder: &Path, runs: &SessionRuns) -> Result<(), ServiceError> {
    for (of, result) in runs.results.iter().filter(|(_, result)| result.success) {
        put(folder, &format!("{of}.json"), &conversation(result)?)?;
    }
    Ok(())
}

/// Shows every error except the last, which it returns.
fn all_of(
    app: &App,
    written: impl Iterator<Item = Result<(), ServiceError>>,
) -> Result<(), ServiceError> {
    let mut last = Ok(());
    for fault in written.filter_map(Result::err) {
        if let Err(before) = std::mem::replace(&mut last, Err(fault)) {
            show_error(app.screen, &before);
        }
    }
    last
}

/// Refuses a run of which the caller could not keep what the options and its layers ask for: it would be paid for first. All that is wrong
/// is shown; `sessions` is the folder of snapshots that the layers of its contract name.
pub(crate) fn keepable(app: &App, sessions: Option<&Path>) -> Result<(), ServiceError> {
    let mut faults = unkeepable(app, sessions).into_iter();
    let first = faults.next();
    for other in faults {
        show_error(app.screen, &other);
    }
    first.map_or(Ok(()), Err)
}

/// Returns the errors known before a run about files to keep: they cannot be written, or hold something else.
pub(crate) fn unkeepable(app: &App, sessions: Option<&Path>) -> Vec<ServiceError> {
    let overwritten = overwritten(app, app.accounting.kept.save.as_deref()).err();
    let unwritable = unwritable(app, sessions).into_iter();
    overwritten.into_iter().chain(unwritable).collect()
}

/// Returns the errors known before a run about files to keep that cannot be written. `sessions` is the snapshot folder that the
/// layers of its contract name.
fn unwritable(app: &App, sessions: Option<&Path>) -> Vec<ServiceError> {
    let kept = &app.accounting.kept;
    let beside = |path: &Path| {
        let path = app.cwd.join(path);
        let folder = path.parent().filter(|folder| !folder.is_dir());
        let reason = match folder {
            _ if path.is_dir() => "it is a folder".to_owned(),
            Some(folder) => format!("{} is no folder", folder.display()),
            None => {
                let kind = path.metadata().map(|found| found.file_type());
                let kind = kind.map_or(Ok(()), judge_regular);
                let folder = path.parent()?;
                kind.and_then(|()| judge_folder(folder)).err()?.to_string()
            }
        };
        Some((path, reason))
    };
    let within = |path: &Path| {
        let path = app.cwd.join(path);
        let reason = judge_new_folder(&path).err()?.to_string();
        Some((path, reason))
    };
    let files = kept.save.iter().filter_map(|path| beside(path));
    let folders = [app.sessions_dir(sessions), kept.save_all.as_deref()];
    let folders = folders.into_iter().flatten().filter_map(within);
    let faults = files.chain(folders);
    let faults = faults.map(|(path, reason)| SystemFault::CannotWrite { path, reason }.into());
    faults.chain(app.billing_refusal()).collect()
}

fn conversation(result: &AgentResult) -> Result<Vec<u8>, ServiceError> {
    Ok(serde_json::to_vec(&result.conversation).map_err(io::Error::from)?)
}
