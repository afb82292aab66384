//! The check that a conversation may be written to the path of `--save`. Writes none.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::error::ServiceError;
use crate::error::input::InputFault;
use crate::service::Service;
use monolith_host::store::open_given;
use monolith_host::telemetry::{MOST_SAVED_BYTES, saved_conversation};

/// Refuses a conversation that is to be written over what is none: an agent's file, the accounting, the store.
pub fn overwritten(service: &Service, save: Option<&Path>) -> Result<(), ServiceError> {
    let Some(save) = save else {
        return Ok(());
    };
    let path = service.cwd.join(save);
    let holds = if settled(&service.billing_path()?) == settled(&path) {
        "requests and calls are accounted for there"
    } else if may_be_replaced(&path) {
        return Ok(());
    } else {
        "the file there holds something that is no conversation"
    };
    let path = save.to_owned();
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

/// True if a file does not exist, is empty, or holds a conversation that `--load` takes. The write itself deals with a path
/// that is no regular file or cannot be read.
fn may_be_replaced(path: &Path) -> bool {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if path.is_file() {
            let file = open_given(path)?;
            file.take(MOST_SAVED_BYTES).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = std::str::from_utf8(&bytes);
    text.is_ok_and(|text| text.trim().is_empty() || saved_conversation(text).is_ok())
}
