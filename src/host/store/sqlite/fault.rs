//! Errors of SQLite, sorted by who must act.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::store::StoreError;

impl StoreError {
    /// Sorts a fault of the database by who has to do something about it.
    pub(super) fn from_sql(path: &Path, fault: &rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let reason = fault.to_string();
        // SQLite calls a folder a fault of the disk.
        if path.is_dir() {
            return Self::Folder { path };
        }
        match fault.sqlite_error_code() {
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::CannotOpen { path, reason }
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, reason },
            Some(ErrorCode::SystemIoFailure) => Self::Io { path, reason },
            // A value that no statement of this module writes: another program did.
            None if is_value_fault(fault) => Self::Corrupt { path, reason },
            _ => Self::Statement { path, reason },
        }
    }

    /// True if the last operation of the store cannot be relied on.
    pub(super) const fn poisons(&self) -> bool {
        matches!(
            self,
            Self::Io { .. } | Self::Corrupt { .. } | Self::NotADatabase { .. }
        )
    }
}

/// True if a column holds a value of another type.
const fn is_value_fault(fault: &rusqlite::Error) -> bool {
    matches!(
        fault,
        rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
