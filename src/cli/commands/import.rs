//! `monolith import`: takes transcripts that verify into the store.

use std::path::PathBuf;

use clap::Args;

use super::verify::place;
use crate::context::app::App;
use monolith_host::store::{Change, ImportError, Imported};
use monolith_service::error::ServiceError;
use monolith_service::error::advice::Advice as _;
use monolith_service::exit::Exit;
use monolith_service::import::{ImportRequest, Importer, is_of_the_file};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Transcript files, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Require a signature by this key or key file
    ///
    /// A public key that must have signed the run and the notes about its erased bytes, or a file of keys and rotations.
    /// Default: the keys of this machine.
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// Accept unfinished runs
    #[arg(long)]
    pub(crate) open: bool,
    /// Also import runs that were deleted here
    ///
    /// The signed notes of their deletion stay.
    #[arg(long)]
    pub(crate) deleted: bool,
}

/// `monolith import`: file by file, so that one that cannot be taken keeps none of the others out.
pub(crate) fn import(app: &App, args: ImportArgs) -> Result<Exit, ServiceError> {
    let request = ImportRequest {
        deleted: args.deleted,
        keys: args.keys,
        open: args.open,
    };
    let importer = Importer::new(app, &request)?;
    let mut exit = Exit::OK;
    let mut helps: Vec<String> = Vec::new();
    for given in &args.files {
        let fault = match importer.import(app, given) {
            Ok(done) => {
                app.screen.out(&report_text(&done))?;
                continue;
            }
            Err(fault) => fault,
        };
        let why = match &fault {
            ServiceError::Import(ImportError::NotVerified { report, .. }) => {
                report.first_bad.as_ref().map(place).unwrap_or_default()
            }
            fault if is_of_the_file(fault) && args.files.len() > 1 => fault.summary(),
            _ => return Err(fault),
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

fn report_text(done: &Imported) -> String {
    let run = &done.run_id;
    let entries = counted(done.entries, "entry");
    match done.change {
        Change::New => format!("imported: run {run}, {entries}\n"),
        Change::Extended { from } => format!("extended: run {run}, from {from} to {entries}\n"),
        Change::Restored { blobs } => {
            let blobs = counted(blobs, "blob");
            format!("already here: run {run}, {entries}; added {blobs} that it lacked\n")
        }
        Change::Nothing => format!("already here: run {run}, {entries}\n"),
    }
}
