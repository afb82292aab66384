use std::fmt::Write as _;

use super::verify::place;
use crate::cli::app::unix_ms;
use crate::cli::args::ImportArgs;
use crate::cli::error::CliError;
use crate::cli::escape::line;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::numbers::counted;
use crate::cli::recorded::each_line;
use crate::store::{ImportError, import as import_file};

/// `monolith import`: file by file, so that one that does not verify keeps none of the others out.
pub(in crate::cli) fn import(home: &Home, args: &ImportArgs) -> Result<Exit, CliError> {
    let store = home.ready_store()?;
    let mut exit = Exit::OK;
    for given in &args.files {
        let path = home.cwd.join(given);
        // What never was a transcript is refused as such, before it is judged as one.
        each_line(&path, |_| Ok(false))?;
        let told = match import_file(&store, &path, args.open, unix_ms()) {
            Ok(done) => {
                let what = if done.already {
                    "already here"
                } else {
                    "imported"
                };
                let entries = usize::try_from(done.entries).unwrap_or(usize::MAX);
                let entries = counted(entries, "entry").replace("entrys", "entries");
                format!("{what}: run {}, {entries}\n", done.run_id)
            }
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
