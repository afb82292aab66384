//! Why a description of a service gives no tools. Plain data.

/// Why a description of a service, or one of its operations, gives no tool. The author of the description is to blame, unless the variant says
/// otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenapiFault {
    /// It is longer than any description that is read.
    #[error("the description has {size} bytes, more than {most}")]
    TooLong { most: usize, size: usize },
    /// It is neither JSON nor YAML.
    #[error("read the description: {reason}")]
    Unreadable { reason: String },
    /// It is of a version that is not read.
    #[error(
        "the description is Swagger {version}, which is not read; convert it to OpenAPI 3, such as with swagger2openapi"
    )]
    Swagger { version: String },
    /// It says no version that is known.
    #[error("the description says `openapi: {version}`; 3.0 and 3.1 are read")]
    Version { version: String },
    /// The author of the contract: it does not say where the service is.
    #[error("the description names no address of its service ({reason}); `base_url` names it")]
    NoServer { reason: String },
    /// The author of the contract: it takes too much.
    #[error(
        "the description has {found} operations, more than {most}; `tags` and `include_methods` take some of them"
    )]
    TooMany { found: usize, most: usize },
    /// It refers to what is not in it.
    #[error("{reference:?} is not in the description, and nothing else is read")]
    Reference { reference: String },
    /// It refers to itself where it has to say something.
    #[error("{reference:?} leads back to itself, so nothing is said there")]
    Circular { reference: String },
    /// An operation has what no request can have.
    #[error("{reason}")]
    Operation { reason: String },
}
