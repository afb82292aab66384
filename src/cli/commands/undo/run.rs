//! `monolith undo`: each file that the run changed, and that nothing else has changed since, gets back what it held.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::args::UndoArgs;
use crate::commands::verify;
use crate::context::app::App;
use monolith_core::message::{Digest, RunId};
use monolith_core::view::RunView;
use monolith_host::store::{ReadKept, StoreReader};
use monolith_host::tools::{Restored, RestoredFolder};
use monolith_service::drive::ended::agreeing;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::error::undo::UndoFault;
use monolith_service::exit::Exit;
use monolith_service::run_status::RunStatus;
use monolith_service::source::Source;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// The transcript does not name every file that may have been changed.
const MORE: &str = "More files may have been changed than the run recorded.\n";

/// The tool that runs commands.
const SHELL: &str = "shell";
/// What is neither compared nor restored.
const NOT_COMPARED: &str =
    "Links, folders and modes are not compared: what a run made or changed of those stays.\n";

/// `monolith undo`.
pub(crate) fn undo(app: &App, args: &UndoArgs) -> Result<Exit, ServiceError> {
    let Source::Run(run_id, mut reader) = app.run(&args.run)? else {
        return Ok(Exit::USAGE);
    };
    let row = reader.read_run(&run_id)?.row().clone();
    if let Some(RunStatus::Running { .. }) = RunStatus::of(&mut reader, &row)? {
        return Err(UndoFault::Running { run_id }.into());
    }
    let store = app.store_path()?;
    let below = changed_below(app, &store, &mut reader, &run_id);
    drop(reader);
    let view = verified(app, &run_id)?;
    let changed = view.work_changes().files().count();
    if changed == 0 {
        let more = more(&view);
        let first = if more.is_empty() && below.is_empty() {
            format!("run {run_id} left what every file holds as it was\n")
        } else {
            format!("no file is known to hold something else after run {run_id}\n")
        };
        app.screen
            .out(&format!("{first}{NOT_COMPARED}{more}{below}"))?;
        return Ok(Exit::OK);
    }
    let kept = ReadKept::of(&store, &run_id).map_err(|fault| UndoFault::Unreadable {
        reason: fault.to_string(),
        run_id: run_id.clone(),
    })?;
    let Some(mut kept) = kept else {
        return Err(UndoFault::NothingKept { run_id }.into());
    };
    let folder = workspace(&view, &run_id, kept.workspace())?;
    let opened = RestoredFolder::open(folder.clone(), app.withheld()?);
    let opened = opened.map_err(|fault| UndoFault::Workspace {
        path: folder.clone(),
        reason: fault.to_string(),
        run_id: run_id.clone(),
    })?;
    let (mut out, mut left) = (String::new(), 0_usize);
    for (path, change) in view.work_changes().files() {
        let end = if change.interleaved {
            None
        } else {
            let hashes = (change.before, change.after);
            Some(opened.restore(path, hashes, |hash| kept.content(hash), args.dry_run))
        };
        let (word, why) = words(end.as_ref());
        left += usize::from(why.is_some());
        let why = why.map_or_else(String::new, |why| format!(": {}", line(&why)));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{word:<13}  {}{why}", line(path));
    }
    out.push_str(&more(&view));
    // A command may do anything.
    if view.calls().values().any(|call| call.name == SHELL) {
        out.push_str(NOT_COMPARED);
    }
    out.push_str(&below);
    if args.dry_run {
        out.push_str("Nothing was changed (--dry-run).\n");
    }
    app.screen.out(&out)?;
    if left == 0 {
        return Ok(Exit::OK);
    }
    let of = counted(changed, "file");
    let were = if changed == 1 { "was" } else { "were" };
    app.screen
        .write_err(&format!("{left} of {of} {were} not restored\n"));
    Ok(Exit::FAILED)
}

/// What else the run may have changed; nothing where it has stated all.
fn more(view: &RunView) -> String {
    let more = if view.may_have_changed_more() {
        MORE
    } else {
        ""
    };
    format!("{more}{}", unstated(view))
}

/// The tools whose changes are not known; nothing where none of them ran.
fn unstated(view: &RunView) -> String {
    let tools = view.unstated_changes();
    if tools.is_empty() {
        return String::new();
    }
    let tools: Vec<_> = tools.into_iter().map(line).collect();
    let tools = tools.join(", ");
    format!("What tools of servers changed is not known, and not taken back: {tools}\n")
}

/// The runs below a run that changed files, with what restores these, and what of them cannot be read; nothing where there are none. Each is
/// undone by itself, so that the order is the caller's. It is a note: nothing that is wrong below keeps a file from being restored.
fn changed_below(app: &App, store: &Path, reader: &mut StoreReader, run_id: &RunId) -> String {
    let unread = |what: &str, fault: ServiceError| {
        format!("{what} cannot be read: {}\n", line(&fault.summary()))
    };
    let below = match reader.runs_below(run_id) {
        Ok(below) => below,
        Err(fault) => return unread("What runs below it changed", fault.into()),
    };
    let (mut commands, mut notes) = (Vec::new(), String::new());
    for run in below {
        // What keeps nothing cannot be restored.
        let kept = !matches!(ReadKept::of(store, &run), Ok(None));
        let source = app.source(run.as_str());
        match source.and_then(|source| source.each_step(|_, _, _| Ok(()))) {
            Ok(view) => {
                if kept && view.work_changes().files().next().is_some() {
                    commands.push(app.hint(&format!("undo {run}")));
                }
                let unstated = unstated(&view);
                if !unstated.is_empty() {
                    // Writing to a String cannot fail.
                    let _ = write!(notes, "Run {run} below it: {unstated}");
                }
            }
            Err(_) if !kept => {}
            Err(fault) => {
                let what = format!("What run {run} below it changed");
                notes.push_str(&unread(&what, fault));
            }
        }
    }
    if !commands.is_empty() {
        let commands = commands.join(", ");
        notes.insert_str(0, &format!("Runs below it changed files: {commands}\n"));
    }
    notes
}

/// The run, where its transcript verifies: what is restored is decided by it.
fn verified(app: &App, run_id: &RunId) -> Result<RunView, ServiceError> {
    let trust = app.trust(&[], &[], &[])?;
    let source = || app.source(run_id.as_str());
    let (report, _) = verify::report_of(source()?, true, &trust)?;
    if let Some(bad) = &report.first_bad {
        return Err(TranscriptFault::NotVerified {
            asked: run_id.to_string(),
            place: verify::place(bad),
        }
        .into());
    }
    let view = source()?.each_step(|_, _, _| Ok(()))?;
    agreeing(run_id.as_str(), &view)?;
    Ok(view)
}

/// The folder whose files they are: the one that the run committed to, where it still is.
fn workspace(view: &RunView, run_id: &RunId, kept: &Path) -> Result<PathBuf, UndoFault> {
    let committed = view.start().and_then(|start| start.workspace);
    let refuse = |reason: &str| UndoFault::Workspace {
        path: kept.to_owned(),
        reason: reason.to_owned(),
        run_id: run_id.clone(),
    };
    if committed != Some(Digest::of(kept.as_os_str().as_encoded_bytes())) {
        return Err(refuse("it is not the folder that the run recorded"));
    }
    match kept.canonicalize() {
        Ok(now) if now == kept => Ok(now),
        Ok(_) => Err(refuse("a link stands in its place now")),
        Err(fault) => Err(refuse(&fault.to_string())),
    }
}

/// What became of a file, and why it was not restored.
fn words(end: Option<&Restored>) -> (&'static str, Option<String>) {
    let not = |why: &str| ("NOT RESTORED", Some(why.to_owned()));
    match end {
        Some(Restored::Done) => ("restored", None),
        Some(Restored::Removed) => ("removed", None),
        Some(Restored::AsBefore) => ("as before", None),
        Some(Restored::ChangedSince) => not("something else has changed it since the run"),
        Some(Restored::NotKept) => not("what it held was not kept, or was erased"),
        Some(Restored::Refused(why)) => not(why),
        None => not("something else changed it between two changes of the run"),
    }
}
