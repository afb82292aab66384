//! Why a text is not one JSON object. Names line and column; does not quote the text.

/// Why a text is not the text of one JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ObjectFault {
    /// The text is not JSON: cut off, or with something after the value.
    #[error("not valid JSON (line {line}, column {column})")]
    InvalidJson {
        /// Line in the text, from 1.
        line: usize,
        /// Column in the text, from 1.
        column: usize,
    },
    /// The text is JSON, but of another type: null, an array, a string, a number.
    #[error("not a JSON object")]
    NotObject,
    /// An object in it names the same key twice.
    #[error("the same key stands twice in one object")]
    DuplicateKey,
    /// It nests deeper than 64 levels.
    #[error("nested deeper than 64 levels")]
    TooDeep,
}
