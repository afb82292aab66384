//! `monolith import`: takes a transcript that verifies into the store.

use std::fmt::Write as _;
use std::path::Path;

use super::args::ImportArgs;
use crate::cli::commands::verify::place;
use crate::cli::context::app::App;
use crate::cli::context::clock::unix_ms;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::context::source::each_line;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::store::{
    Change, ImportError, ImportTerms, Imported, import as import_file, is_handed_in,
};

/// `monolith import`: file by file, so that one that does not verify keeps none of the others out.
pub(in crate::cli) fn import(app: &App, args: &ImportArgs) -> Result<Exit, CliError> {
    let store = app.ready_store()?;
    let trust = app.trust(&args.keys, &[], &[])?;
    let mut exit = Exit::OK;
    for given in &args.files {
        // What other programs mean by it.
        let named = if given == Path::new("-") {
            Path::new("/dev/stdin")
        } else {
            given.as_path()
        };
        let path = app.cwd.join(named);
        // What never was a transcript is refused as such, before it is judged as one. A pipe that a shell hands in can be looked at
        // only once.
        if !is_handed_in(&path) {
            each_line(&path, |_| Ok(false))?;
        }
        let terms = ImportTerms {
            deleted: args.deleted,
            now_unix_ms: unix_ms(),
            open: args.open,
        };
        let line = match import_file(&store, &path, terms, &trust) {
            Ok(done) => report_text(&done),
            Err(ImportError::NotVerified { report, .. }) => {
                exit = Exit::EVIDENCE;
                let mut text = format!("not imported: {}: ", line(&given.display().to_string()));
                let bad = report.first_bad.as_ref().map(place);
                let _ = writeln!(text, "{}", bad.unwrap_or_default());
                app.screen.write_err(&text);
                continue;
            }
            Err(fault) => return Err(fault.into()),
        };
        app.screen.out(&line)?;
    }
    Ok(exit)
}

fn report_text(done: &Imported) -> String {
    let run = &done.run_id;
    let entries = counted(done.entries, "entry");
    match done.change {
        Change::New => format!("imported: run {run}, {entries}\n"),
        Change::Extended { from } => format!("extended: run {run}, from {from} to {entries}\n"),
        Change::Restored { blobs } => {
            let blobs = counted(blobs, "blob");
            format!("already here: run {run}, {entries}; {blobs} added that it lacked\n")
        }
        Change::Nothing => format!("already here: run {run}, {entries}\n"),
    }
}
