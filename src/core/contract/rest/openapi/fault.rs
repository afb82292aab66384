//! Reasons for which a service description gives no tools. Plain data.

/// Reason for which a service description, or one of its operations, gives no tool. Its author has to act, unless the variant says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenapiFault {
    /// It is longer than any description that is read.
    #[error("the description has {size} bytes, more than {most}")]
    TooLong {
        /// The maximum.
        most: usize,
        /// The size, in bytes.
        size: usize,
    },
    /// It is neither JSON nor YAML.
    #[error("read the description: {reason}")]
    Unreadable {
        /// The reason.
        reason: String,
    },
    /// It is of a version that is not read.
    #[error(
        "the description is Swagger {version}, which is not read; convert it to OpenAPI 3, such as with swagger2openapi"
    )]
    Swagger {
        /// The stated version.
        version: String,
    },
    /// It says no version that is known.
    #[error("the description says `openapi: {version}`; 3.0 and 3.1 are read")]
    Version {
        /// The stated version.
        version: String,
    },
    /// The author of the contract: it does not say where the service is.
    #[error("the description names no address of its service ({reason}); `base_url` names it")]
    NoServer {
        /// The reason.
        reason: String,
    },
    /// The author of the contract: it takes too much.
    #[error(
        "the description has {found} operations, more than {most}; `tags` and `include_methods` take some of them"
    )]
    TooMany {
        /// The number found.
        found: usize,
        /// The maximum.
        most: usize,
    },
    /// It has more values than are held in memory.
    #[error(
        "the description holds more than {most} values; cut it down to the operations that you need"
    )]
    TooManyValues {
        /// The maximum.
        most: usize,
    },
    /// The author of the contract: all operations together cost too much, references followed.
    #[error(
        "the operations up to {at:?} need more than {most} {unit}; `tags` and `include_methods` take fewer operations"
    )]
    TooMuch {
        /// The place in the document.
        at: String,
        /// The maximum.
        most: u64,
        /// The unit of the maximum.
        unit: &'static str,
    },
    /// One operation costs too much, references followed.
    #[error(
        "its parameters and schemas need more than {most} steps to read; state the operation under `rest` instead"
    )]
    TooLargeOperation {
        /// The maximum.
        most: u64,
    },
    /// Nobody waits for it any longer.
    #[error("reading the description was cancelled")]
    GivenUp,
    /// It refers to what is not in it.
    #[error("{reference:?} is not in the description, and nothing else is read")]
    Reference {
        /// The reference as written.
        reference: String,
    },
    /// It refers to itself where it has to say something.
    #[error("{reference:?} leads back to itself, so nothing is said there")]
    Circular {
        /// The reference as written.
        reference: String,
    },
    /// An operation has what no request can have.
    #[error("{reason}")]
    Operation {
        /// The reason.
        reason: String,
    },
}

impl OpenapiFault {
    /// A limit on all operations together; the operation is not known yet.
    pub(super) const fn too_much(unit: &'static str, most: u64) -> Self {
        let at = String::new();
        Self::TooMuch { at, most, unit }
    }

    /// True if it is about the whole description, whichever operation was being read.
    pub(super) const fn ends_reading(&self) -> bool {
        matches!(self, Self::TooMuch { .. } | Self::GivenUp)
    }

    /// The same, named by the operation that was being read.
    pub(super) fn of_operation(self, pointer: String) -> Self {
        match self {
            Self::TooMuch { most, unit, .. } => Self::TooMuch {
                at: pointer,
                most,
                unit,
            },
            other => other,
        }
    }
}
