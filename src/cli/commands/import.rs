use std::fmt::Write as _;
use std::path::Path;

use super::verify::place;
use crate::cli::args::ImportArgs;
use crate::cli::clock::unix_ms;
use crate::cli::error::CliError;
use crate::cli::escape::line;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::numbers::counted;
use crate::cli::recorded::each_line;
use crate::store::{
    Change, ImportError, ImportTerms, Imported, import as import_file, is_handed_in,
};

/// `monolith import`: file by file, so that one that does not verify keeps none of the others out.
pub(in crate::cli) fn import(home: &Home, args: &ImportArgs) -> Result<Exit, CliError> {
    let store = home.ready_store()?;
    let trust = home.trust(&args.keys, &[], &[])?;
    let mut exit = Exit::OK;
    for given in &args.files {
        // What other programs mean by it.
        let named = if given == Path::new("-") {
            Path::new("/dev/stdin")
        } else {
            given.as_path()
        };
        let path = home.cwd.join(named);
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
        let told = match import_file(&store, &path, terms, &trust) {
            Ok(done) => told(&done),
            Err(ImportError::NotVerified { report, .. }) => {
                exit = Exit::EVIDENCE;
                let mut text = format!("not imported: {}: ", line(&given.display().to_string()));
                let bad = report.first_bad.as_ref().map(place);
                let _ = writeln!(text, "{}", bad.unwrap_or_default());
                home.screen.write_err(&text);
                continue;
            }
            Err(fault) => return Err(fault.into()),
        };
        home.screen.out(&told)?;
    }
    Ok(exit)
}

fn told(done: &Imported) -> String {
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
