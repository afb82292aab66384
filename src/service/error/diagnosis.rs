//! An error as a surface shows it.

use serde::Serialize;

use super::ServiceError;
use super::advice::Advice as _;
use super::code::ErrorCode;
use crate::secrets;

/// An error as a surface shows it: without secrets, and with what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Stable code for programs.
    pub code: ErrorCode,
    /// Exit code of a command that ends with it (semantics §3).
    pub exit_code: u8,
    /// Advice, where there is some.
    pub hint: Option<String>,
    /// First place in a file that it is about.
    pub location: Option<Location>,
    /// The problem in one line.
    pub message: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Location {
    /// Column, from 1.
    pub column: u64,
    /// The file, as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
}

impl From<&ServiceError> for Diagnosis {
    fn from(error: &ServiceError) -> Self {
        let location = match error {
            ServiceError::Spec(errors) | ServiceError::Located(_, errors) => {
                let first = errors.with_helps().next();
                first.map(|(first, _)| {
                    let (file, line, column) = errors.place_of(first);
                    Location {
                        column: u64::try_from(column).unwrap_or(u64::MAX),
                        file: file.to_string(),
                        line: u64::try_from(line).unwrap_or(u64::MAX),
                    }
                })
            }
            _ => None,
        };
        Self {
            code: error.code(),
            exit_code: error.exit().0,
            hint: error
                .help()
                .map(|hint| secrets::without_secrets(&crate::text::command::unkept(&hint))),
            location,
            message: error.summary(),
        }
    }
}
