//! The place of a value in a file of the caller, for errors. Reads no file.

use std::fmt;

/// A value that a file of the caller gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The file, where that is not the contract's own.
    pub origin: Option<String>,
    /// The dotted path that the value has in a contract's file.
    pub path: String,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(origin) => write!(f, "{} (in {origin})", self.path),
            None => f.write_str(&self.path),
        }
    }
}
