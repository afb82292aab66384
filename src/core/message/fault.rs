//! The closed list of structural faults (semantics §6). Does not know how they are found.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason why a response is no canonical message: a closed list (semantics §6, structural faults).
///
/// A code about the message or one of its calls rejects it, which leads to FAILED_PROTOCOL_MALFORMED when no format retry is
/// left. A code about the bytes around the message ([`Self::is_of_server`]) is a fault of the provider. Unknown names and schema violations are not here: the adapter cannot judge them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FailureCode {
    /// A call's argument text is not JSON: cut off, unquoted, with something after it.
    ArgsInvalidJson,
    /// A call's arguments are JSON, but not an object.
    ArgsNotObject,
    /// An object in a call's arguments names a key twice.
    ArgsDuplicateKey,
    /// A call's arguments nest deeper than 64 levels.
    ArgsTooDeep,
    /// A call has no name.
    CallNameMissing,
    /// A call is not of the shape that the protocol prescribes.
    CallShape,
    /// The provider says that the model wrote a call which it could not read.
    CallMalformed,
    /// The provider says that the model called a tool where none was offered to it.
    CallUnexpected,
    /// Two calls of one message carry the same id.
    CallIdDuplicate,
    /// The message holds more calls than the adapter reads.
    TooManyCalls,
    /// The body, or one line of the stream, is larger than the adapter reads.
    TooLarge,
    /// The body is not JSON.
    BodyInvalidJson,
    /// The body is JSON, but holds no message where the protocol puts it.
    BodyShape,
    /// The message is not of the shape that the protocol prescribes.
    MessageShape,
    /// The stream ended before the message did.
    StreamIncomplete,
    /// The provider paused the turn: what came is no message yet, and nothing that we ask for lets it go on.
    TurnPaused,
    /// The adapter repaired the message, and strict mode allows no repair.
    RecoveredInStrict,
}

impl FailureCode {
    /// Every code.
    pub const ALL: [Self; 17] = [
        Self::ArgsInvalidJson,
        Self::ArgsNotObject,
        Self::ArgsDuplicateKey,
        Self::ArgsTooDeep,
        Self::CallNameMissing,
        Self::CallShape,
        Self::CallMalformed,
        Self::CallUnexpected,
        Self::CallIdDuplicate,
        Self::TooManyCalls,
        Self::TooLarge,
        Self::BodyInvalidJson,
        Self::BodyShape,
        Self::MessageShape,
        Self::StreamIncomplete,
        Self::TurnPaused,
        Self::RecoveredInStrict,
    ];

    /// True if the server, and not the model, wrote what is wrong: there is no whole message.
    #[must_use]
    pub const fn is_of_server(self) -> bool {
        matches!(
            self,
            Self::BodyInvalidJson | Self::BodyShape | Self::StreamIncomplete
        )
    }

    /// The code as it is written in files: upper case, words joined by `_`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ArgsInvalidJson => "ARGS_INVALID_JSON",
            Self::ArgsNotObject => "ARGS_NOT_OBJECT",
            Self::ArgsDuplicateKey => "ARGS_DUPLICATE_KEY",
            Self::ArgsTooDeep => "ARGS_TOO_DEEP",
            Self::CallNameMissing => "CALL_NAME_MISSING",
            Self::CallShape => "CALL_SHAPE",
            Self::CallMalformed => "CALL_MALFORMED",
            Self::CallUnexpected => "CALL_UNEXPECTED",
            Self::CallIdDuplicate => "CALL_ID_DUPLICATE",
            Self::TooManyCalls => "TOO_MANY_CALLS",
            Self::TooLarge => "TOO_LARGE",
            Self::BodyInvalidJson => "BODY_INVALID_JSON",
            Self::BodyShape => "BODY_SHAPE",
            Self::MessageShape => "MESSAGE_SHAPE",
            Self::StreamIncomplete => "STREAM_INCOMPLETE",
            Self::TurnPaused => "TURN_PAUSED",
            Self::RecoveredInStrict => "RECOVERED_IN_STRICT",
        }
    }
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
