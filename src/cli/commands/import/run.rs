//! `monolith import`: takes a transcript that verifies into the store.

use std::path::Path;
use std::sync::Arc;

use super::args::ImportArgs;
use crate::commands::verify::place;
use crate::context::app::App;
use monolith_core::transcript::Trust;
use monolith_host::store::{
    Change, ImportError, ImportTerms, Imported, import as import_file, is_handed_in,
};
use monolith_service::clock::unix_ms;
use monolith_service::error::ServiceError;
use monolith_service::error::advice::Advice as _;
use monolith_service::exit::Exit;
use monolith_service::source::each_line;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// `monolith import`: file by file, so that one that cannot be taken keeps none of the others out.
pub(crate) fn import(app: &App, args: &ImportArgs) -> Result<Exit, ServiceError> {
    let store = app.ready_store()?;
    let trust = app.trust(&args.keys, &[], &[])?;
    let mut exit = Exit::OK;
    let mut helps: Vec<String> = Vec::new();
    for given in &args.files {
        let fault = match take(app, args, &store, &trust, given) {
            Ok(done) => {
                app.screen.out(&report_text(&done))?;
                continue;
            }
            Err(fault) => fault,
        };
        // Of a store that fails nothing is to be had for the next file either.
        let is_of_the_file = matches!(
            &fault,
            ServiceError::Transcript(_) | ServiceError::Import(_)
        ) && !matches!(&fault, ServiceError::Import(ImportError::Store(_)));
        let why = match &fault {
            ServiceError::Import(ImportError::NotVerified { report, .. }) => {
                report.first_bad.as_ref().map(place).unwrap_or_default()
            }
            _ if !is_of_the_file || args.files.len() == 1 => return Err(fault),
            fault => fault.summary(),
        };
        let file = line(&given.display().to_string());
        app.screen
            .write_err(&format!("not imported: {file}: {why}\n"));
        if exit == Exit::OK {
            exit = fault.exit();
        }
        helps.extend(fault.help().filter(|help| !helps.contains(help)));
    }
    for help in helps {
        app.screen.write_err(&format!("help: {help}\n"));
    }
    Ok(exit)
}

/// Takes one file, or says why not.
fn take(
    app: &App,
    args: &ImportArgs,
    store: &Path,
    trust: &Arc<Trust>,
    given: &Path,
) -> Result<Imported, ServiceError> {
    // What other programs mean by it.
    let named = if given == Path::new("-") {
        Path::new("/dev/stdin")
    } else {
        given
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
    Ok(import_file(store, &path, terms, trust)?)
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
