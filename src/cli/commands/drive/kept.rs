//! What a caller keeps of a run that has ended, where the options say so: the conversation, a snapshot of the session, its tree on the screen.

use std::io::{self, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::ended::Ended;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, SystemFault};
use crate::cli::ui::escape::line;
use crate::store::{NewFile, PRIVATE};
use crate::telemetry::SessionSnapshot;

/// Writes and shows what the options of the command ask for. Of a run that has not ended there is nothing to keep.
pub(in crate::cli) fn keep(app: &App, ended: &Ended) -> Result<(), CliError> {
    let (kept, result) = (&app.accounting.kept, &ended.result);
    let Some(snapshot) = SessionSnapshot::of(result, &ended.view) else {
        return Ok(());
    };
    let run = ended.view.run_id().map(ToString::to_string);
    let run = run.unwrap_or_default();
    if kept.show_tree {
        for shown in snapshot.lines() {
            app.screen.write_err(&format!("{}\n", line(&shown)));
        }
    }
    // A file that cannot be written costs no other one.
    let mut written = Ok(());
    let mut wrote = |one: Result<(), CliError>| {
        if written.is_ok() {
            written = one;
        } else if let Err(fault) = one {
            fault.show(app.screen);
        }
    };
    if let Some(folder) = &kept.sessions_dir {
        let json = serde_json::to_vec(&snapshot).map_err(io::Error::from)?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(&json)?;
        wrote(put(folder, &format!("{run}.json.gz"), &packed.finish()?));
    }
    if result.success {
        let conversation = serde_json::to_vec(&result.conversation).map_err(io::Error::from)?;
        if let Some(path) = &kept.save {
            wrote(write(path, &conversation));
        }
        if let Some(folder) = &kept.save_all {
            let folder = folder.join(&run);
            wrote(put(&folder, &format!("{run}.json"), &conversation));
        }
    }
    written
}

/// Writes a file into a folder, which is made where it is not there.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), CliError> {
    std::fs::create_dir_all(folder).map_err(|fault| SystemFault::CannotWrite {
        path: folder.to_owned(),
        reason: fault.to_string(),
    })?;
    write(&folder.join(name), bytes)
}

/// Puts bytes in the place of a file, for its owner alone: conversations hold what was said.
fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let put = || -> io::Result<()> {
        let mut new = NewFile::over_file(path, PRIVATE)?;
        new.file().write_all(bytes)?;
        new.replace()
    };
    Ok(put().map_err(|fault| SystemFault::CannotWrite {
        path: path.to_owned(),
        reason: fault.to_string(),
    })?)
}
