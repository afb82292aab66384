//! Columns read with their type, and the flaw that a wrong one is.

use std::fmt::Display;
use std::path::Path;

use monolith_core::message::{Digest, amount};
use rusqlite::types::{Type, ValueRef};
use rusqlite::{ErrorCode, Row};

use super::entry_text::{NoText, text_of};
use crate::store::StoreError;

/// A row of a table, for the code that reads its columns and reports what is wrong with one.
#[derive(Clone, Copy)]
pub(super) struct Columns<'r> {
    pub(super) path: &'r Path,
    pub(super) row: &'r Row<'r>,
    pub(super) table: &'static str,
    /// The row, in words.
    pub(super) of: &'r dyn Display,
}

/// SQLite's integers are signed; nothing here comes near their end.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Columns<'_> {
    pub(super) fn integer(&self, at: usize, name: &str) -> Result<i64, StoreError> {
        match self.value(at)? {
            ValueRef::Integer(number) => Ok(number),
            other => Err(self.refuse(name, "an integer", other.data_type())),
        }
    }

    /// A number that is never negative.
    pub(super) fn count(&self, at: usize, name: &str) -> Result<u64, StoreError> {
        let number = self.integer(at, name)?;
        u64::try_from(number).map_err(|_| self.refuse(name, "0 or more", number))
    }

    pub(super) fn text(&self, at: usize, name: &str) -> Result<String, StoreError> {
        let text = self.text_or_null(at, name)?;
        text.ok_or_else(|| self.refuse(name, "a text", Type::Null))
    }

    pub(super) fn text_or_null(&self, at: usize, name: &str) -> Result<Option<String>, StoreError> {
        match self.value(at)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => std::str::from_utf8(bytes)
                .map(|text| Some(text.to_owned()))
                .map_err(|fault| self.refuse(name, "UTF-8 throughout", fault)),
            other => Err(self.refuse(name, "a text", other.data_type())),
        }
    }

    /// The text of an entry, packed or not.
    pub(super) fn entry_text(&self, at: usize, name: &str) -> Result<String, StoreError> {
        match text_of(self.value(at)?) {
            Ok(text) => Ok(text.into_owned()),
            Err(NoText { expected, got }) => Err(self.refuse(name, expected, got)),
        }
    }

    pub(super) fn digest(&self, at: usize, name: &str) -> Result<Digest, StoreError> {
        match self.value(at)? {
            ValueRef::Blob(bytes) => {
                <[u8; 32]>::try_from(bytes)
                    .map(Digest::from_bytes)
                    .map_err(|_| {
                        let length = amount(bytes.len(), "byte");
                        self.refuse(name, "the 32 bytes of a hash", length)
                    })
            }
            other => Err(self.refuse(name, "the 32 bytes of a hash", other.data_type())),
        }
    }

    pub(super) fn bytes(&self, at: usize, name: &str) -> Result<Vec<u8>, StoreError> {
        match self.value(at)? {
            ValueRef::Blob(bytes) => Ok(bytes.to_vec()),
            other => Err(self.refuse(name, "bytes", other.data_type())),
        }
    }

    fn value(&self, at: usize) -> Result<ValueRef<'_>, StoreError> {
        self.row
            .get_ref(at)
            .map_err(|fault| StoreError::from_sql(self.path, &fault))
    }

    /// Names the table, the row, the column and the rule that it breaks.
    pub(super) fn refuse(
        &self,
        name: &str,
        expected: impl Display,
        got: impl Display,
    ) -> StoreError {
        let Self { table, of, .. } = self;
        StoreError::Corrupt {
            path: self.path.to_path_buf(),
            reason: format!("{table}, {of}: {name}: expected {expected}, got {got}"),
        }
    }
}

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
