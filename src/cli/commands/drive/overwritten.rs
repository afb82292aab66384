//! Whether a conversation may be written where `--save` says. Writes none.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, InputFault};

/// How many bytes of a file show what it is; white space may stand before and between.
const MOST_WHITE: u64 = 4096;

/// Refuses a conversation that is to be written over what is none: an agent's file, the accounting, the store.
pub(in crate::cli) fn overwritten(app: &App) -> Result<(), CliError> {
    let Some(save) = &app.accounting.kept.save else {
        return Ok(());
    };
    let path = app.cwd.join(save);
    let holds = if settled(&app.billing_path()?) == settled(&path) {
        "requests and calls are accounted for there"
    } else if begins_as_conversation(&path) {
        return Ok(());
    } else {
        "the file there holds something that is no conversation"
    };
    let path = save.clone();
    Err(InputFault::Overwritten { holds, path }.into())
}

/// The path without links, of a file that may not be there yet.
fn settled(path: &Path) -> PathBuf {
    let within = path.parent().and_then(|folder| folder.canonicalize().ok());
    let named = within.zip(path.file_name());
    let named = named.map(|(folder, name)| folder.join(name));
    let found = path.canonicalize().ok().or(named);
    found.unwrap_or_else(|| path.to_owned())
}

/// Whether a file is not there, is empty, or begins as a conversation does. What is no regular file, or cannot be read, is for the writing.
fn begins_as_conversation(path: &Path) -> bool {
    let begin = || -> io::Result<Vec<u8>> {
        let mut begin = Vec::new();
        if path.is_file() {
            File::open(path)?.take(MOST_WHITE).read_to_end(&mut begin)?;
        }
        Ok(begin)
    };
    let mut begin = begin().unwrap_or_default();
    begin.retain(|byte| !byte.is_ascii_whitespace());
    begin.is_empty() || begin == b"[]" || begin.starts_with(br#"[{"role":"#)
}
