//! A file of pins, to which one line is added. Does not judge a run by it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::service::Service;
use monolith_host::store::{NewFile, judge_regular};

/// Adds a line to a file of pins unless it is already there; a missing file appears with the line in it.
///
/// It is its owner's alone: what can be written by others is not trusted. The file's lines stay: a line is only ever added at its end, by one process at a time.
///
/// # Errors
/// [`TrustFault::Broken`](crate::error::trust::TrustFault::Broken) where the file holds something else than pins.
pub(crate) fn add(service: &Service, asked: &Path, pin: &str) -> Result<(), ServiceError> {
    let path = service.cwd.join(asked);
    let refuse = |fault: io::Error| SystemFault::CannotWrite {
        path: asked.to_owned(),
        reason: fault.to_string(),
    };
    service.judge_place(asked)?;
    if !path.exists() && make(&path, pin).map_err(refuse)? {
        return Ok(());
    }
    // A pipe without a reader would be waited for.
    fs::metadata(&path)
        .and_then(|found| judge_regular(found.file_type()))
        .map_err(refuse)?;
    let mut file = OpenOptions::new()
        .append(true)
        .open(&path)
        .map_err(refuse)?;
    // Held until the file is closed; another process that adds a line waits.
    file.lock().map_err(refuse)?;
    service.pins(&[asked.to_owned()])?;
    let text = service.read_trusted(asked)?;
    if text.lines().any(|line| line == pin.trim_end()) {
        return Ok(());
    }
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    file.write_all(format!("{end}{pin}").as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(refuse)?;
    Ok(())
}

/// Makes the file with its first line in it; false where another process was faster.
fn make(path: &Path, pin: &str) -> io::Result<bool> {
    let mut new = NewFile::private(path)?;
    new.file().write_all(pin.as_bytes())?;
    match new.take_name() {
        Ok(()) => Ok(true),
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(fault) => Err(fault),
    }
}
