//! `monolith undo`: gives the files that built-in tools of a run changed back what they held before.

use std::fmt::Write as _;

use clap::Args;

use crate::context::app::App;
use monolith_host::tools::Restored;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::undo::{self, Undone};

/// The transcript does not name every file that may have been changed.
const MORE: &str = "More files may have been changed than the run recorded.\n";
/// Names the changes that are neither compared nor restored.
const NOT_COMPARED: &str =
    "Links, folders and modes are not compared: what a run made or changed of those stays.\n";

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// Run name or unique prefix, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Print what would be done without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `monolith undo`.
pub(crate) fn undo(app: &App, args: &UndoArgs) -> Result<Exit, ServiceError> {
    let undone = undo::undo(app, &args.run, args.dry_run)?;
    let run_id = &undone.run_id;
    let (more, below) = (more(&undone), changed_below(app, &undone));
    if undone.files.is_empty() {
        let first = if more.is_empty() && below.is_empty() {
            format!("run {run_id} changed the content of no file\n")
        } else {
            format!("no file is known to have changed in run {run_id}\n")
        };
        app.screen
            .out(&format!("{first}{NOT_COMPARED}{more}{below}"))?;
        return Ok(Exit::OK);
    }
    let (mut out, mut left) = (String::new(), 0_usize);
    let width = if args.dry_run { 17 } else { 13 };
    for file in &undone.files {
        let (word, why) = words(file.restored.as_ref(), args.dry_run);
        left += usize::from(why.is_some());
        let why = why.map_or_else(String::new, |why| format!(": {}", line(&why)));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{word:<width$}  {}{why}", line(&file.path));
    }
    out.push_str(&more);
    // A command may do anything.
    if undone.used_shell {
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
    let changed = undone.files.len();
    let of = counted(changed, "file");
    let were = match changed {
        _ if args.dry_run => "would not be restored",
        1 => "was not restored",
        _ => "were not restored",
    };
    app.screen.write_err(&format!("{left} of {of} {were}\n"));
    Ok(Exit::FAILED)
}

/// Names other changes that the run may have made; empty if it has stated all.
fn more(undone: &Undone) -> String {
    let more = if undone.may_be_more { MORE } else { "" };
    format!("{more}{}", unstated(&undone.unstated))
}

/// The tools whose changes are not known; nothing where none of them ran.
fn unstated(tools: &[String]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let tools: Vec<_> = tools.iter().map(|tool| line(tool)).collect();
    let tools = tools.join(", ");
    format!("Changes made by server tools are unknown and were not reverted: {tools}\n")
}

/// The runs below a run that changed files, with what restores these, and what of them cannot be read; nothing where there are none. Each is
/// undone by itself, so that the order is the caller's.
fn changed_below(app: &App, undone: &Undone) -> String {
    let unread = |what: &str, fault: &ServiceError| {
        format!("{what} cannot be read: {}\n", line(&fault.summary()))
    };
    let below = match &undone.below {
        Ok(below) => below,
        Err(fault) => return unread("What runs below it changed", fault),
    };
    let (mut commands, mut notes) = (Vec::new(), String::new());
    for changed in below {
        let run = &changed.run_id;
        match &changed.changes {
            Ok(changes) => {
                if changes.can_undo {
                    commands.push(app.hint(&format!("undo {run}")));
                }
                let unstated = unstated(&changes.unstated);
                if !unstated.is_empty() {
                    // Writing to a String cannot fail.
                    let _ = write!(notes, "Run {run} below it: {unstated}");
                }
            }
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

/// Returns the state of a file, and the reason if it was not restored. A dry run has done nothing: it says what would be done.
fn words(end: Option<&Restored>, dry_run: bool) -> (&'static str, Option<String>) {
    let [done, removed, left] = if dry_run {
        ["would restore", "would remove", "WOULD NOT RESTORE"]
    } else {
        ["restored", "removed", "NOT RESTORED"]
    };
    let not = |why: &str| (left, Some(why.to_owned()));
    match end {
        Some(Restored::Done) => (done, None),
        Some(Restored::Removed) => (removed, None),
        Some(Restored::AsBefore) => ("as before", None),
        Some(Restored::ChangedSince) => not("something else has changed it since the run"),
        Some(Restored::NotKept) => not("its earlier content was not kept, or was erased"),
        Some(Restored::Refused(why)) => not(why),
        None => not("something else changed it between two changes of the run"),
    }
}
