//! The formats of this build, and the migration of a store to the newest.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::error::ServiceError;
use crate::error::state::StateFault;
use crate::error::transcript::TranscriptFault;
use crate::service::Service;
use crate::source::each_line;
use monolith_core::adapter::Adapter;
use monolith_core::contract::{CONTRACT_FORMAT, RECEIPT_FORMAT, SEMANTICS_VERSION};
use monolith_core::message::check_version;
use monolith_core::transcript::{MAX_LINE_BYTES, TRANSCRIPT_FORMAT};
use monolith_host::store::{
    Migration, OLDEST_STORE_FORMAT, STORE_FORMAT, migrate as migrate_store, open_regular,
};

/// First bytes of every SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// A format of stored data.
#[derive(Clone, Debug)]
pub struct Format {
    /// Name of the format.
    pub name: &'static str,
    /// Versions that this build reads.
    pub reads: String,
    /// Versions that this build writes.
    pub writes: String,
}

/// Returns every format.
#[must_use]
pub fn formats() -> Vec<Format> {
    let adapters: Vec<&str> = Adapter::versions().collect();
    let adapters = adapters.join(", ");
    let semantics = format!("semantics {SEMANTICS_VERSION}");
    let same = |name, version: &str| Format {
        name,
        reads: version.to_owned(),
        writes: version.to_owned(),
    };
    vec![
        same("contract", CONTRACT_FORMAT),
        same("transcript", TRANSCRIPT_FORMAT),
        same("receipt", RECEIPT_FORMAT),
        same("adapter", &adapters),
        same("semantics", &semantics),
        Format {
            name: "store",
            reads: range(OLDEST_STORE_FORMAT, STORE_FORMAT),
            writes: STORE_FORMAT.to_string(),
        },
    ]
}

/// Migrates the store to the format `to`, else to the newest; returns its file too. With `dry_run` it only says what would be done.
///
/// # Errors
///
/// There is no store, or it cannot be migrated.
pub fn migrate(
    service: &Service,
    to: Option<i32>,
    dry_run: bool,
) -> Result<(PathBuf, Migration), ServiceError> {
    let path = service.store_path()?;
    if !path.exists() {
        return Err(StateFault::NoSuchStore { path }.into());
    }
    let done = migrate_store(&path, to, dry_run)?;
    Ok((path, done))
}

/// Two numbers as a range.
fn range(oldest: i32, newest: i32) -> String {
    if oldest == newest {
        return newest.to_string();
    }
    format!("{oldest} to {newest}")
}

/// Returns the format of a transcript or a contract.
///
/// # Errors
///
/// This build does not read the format, or a part that the contract names.
pub fn format_of(service: &Service, file: &Path) -> Result<String, ServiceError> {
    let path = &*service.cwd.join(file);
    let unreadable = |fault: io::Error| TranscriptFault::Unreadable {
        path: path.to_owned(),
        reason: fault.to_string(),
    };
    let mut head = Vec::new();
    let file = open_regular(path).map_err(unreadable)?;
    file.take(SQLITE.len() as u64)
        .read_to_end(&mut head)
        .map_err(unreadable)?;
    if head == SQLITE {
        return Err(TranscriptFault::StoreInsteadOfFile {
            path: path.to_owned(),
        }
        .into());
    }
    let mut first = Vec::new();
    each_line(path, |line| {
        first.extend_from_slice(line);
        Ok(false)
    })
    .or_else(|fault| match fault {
        // A contract may have its keys in any order, and lines within.
        ServiceError::Transcript(TranscriptFault::NotATranscript { .. }) => {
            first.clear();
            let file = open_regular(path).map_err(unreadable)?;
            let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
            file.take(most)
                .read_to_end(&mut first)
                .map_err(unreadable)?;
            Ok(())
        }
        fault => Err(fault),
    })?;
    let document: serde_json::Value = serde_json::from_slice(&first).unwrap_or_default();
    let format = document.get("format").and_then(|format| format.as_str());
    let format = format.ok_or_else(|| TranscriptFault::NoFormat {
        path: path.to_owned(),
    })?;
    // A transcript begins with its contract, which has a separate version.
    let inner = document.get("contract");
    let refuse = |fault| TranscriptFault::Version {
        path: path.to_owned(),
        fault,
    };
    match inner {
        None => check_version(format, CONTRACT_FORMAT),
        Some(inner) => check_version(format, TRANSCRIPT_FORMAT)
            .and_then(|_| check_version(text_of(inner, "format"), CONTRACT_FORMAT)),
    }
    .map_err(refuse)?;
    let contract = inner.unwrap_or(&document);
    let targets = contract
        .get("targets")
        .and_then(|targets| targets.as_array());
    for target in targets.into_iter().flatten() {
        let asked = text_of(target, "adapter_version");
        if Adapter::by_version(asked).is_err() {
            let known: Vec<&str> = Adapter::versions().collect();
            return Err(TranscriptFault::UnknownPart {
                path: path.to_owned(),
                what: "adapter",
                found: asked.chars().take(80).collect(),
                known: known.join(", "),
            }
            .into());
        }
    }
    let semantics = contract.get("semantics_version");
    if semantics.and_then(serde_json::Value::as_u64) != Some(u64::from(SEMANTICS_VERSION)) {
        return Err(TranscriptFault::UnknownPart {
            path: path.to_owned(),
            what: "semantics_version",
            found: semantics.map_or_else(|| "none".to_owned(), ToString::to_string),
            known: SEMANTICS_VERSION.to_string(),
        }
        .into());
    }
    Ok(format.to_owned())
}

fn text_of<'d>(document: &'d serde_json::Value, key: &str) -> &'d str {
    document
        .get(key)
        .and_then(|value| value.as_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_version_is_no_range() {
        assert_eq!(range(0, 1), "0 to 1");
        assert_eq!(range(1, 1), "1");
    }
}
