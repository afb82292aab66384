//! The traits of a server in its responses, counted.

use serde::Serialize;

use crate::metrics::Spread;
use monolith_core::message::ProviderFaultClass;

/// The traits of a server that its responses show. Nothing here is a verdict on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerTraits {
    /// Responses to requests that asked for a call, and how many brought one, whole or not: is `required` obeyed? A message that
    /// the output limit cut before a call counts in neither.
    pub required: Share,
    /// Responses to requests without tools, and how many brought no call: is `none` obeyed?
    pub none: Share,
    /// Messages with calls, and how many had calls whose arguments were whole objects.
    pub arguments: Share,
    /// Messages, and how many said why the model stopped, truly as far as can be seen: a call that is cut and a message as
    /// long as it may be did not come to their end.
    pub finish: Share,
    /// Messages, and how many came with a report of usage.
    pub usage: Share,
    /// Agreement of the streamed and the unstreamed message of one request.
    pub streaming: Agreement,
    /// Milliseconds from a request to its whole message.
    pub latency_ms: Spread,
    /// Requests that brought no message, by the class of the fault.
    pub faults: Vec<(ProviderFaultClass, u64)>,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The total.
    pub of: u64,
    /// In how many it held.
    pub held: u64,
}

/// The agreement of two ways to the same message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// There was nothing to compare.
    #[default]
    Unknown,
    /// The same text and the same calls.
    Same,
    /// Another message.
    Different,
}

impl Share {
    pub(super) const fn count(&mut self, held: bool) {
        self.of += 1;
        if held {
            self.held += 1;
        }
    }

    pub(super) const fn add(&mut self, other: Self) {
        self.of += other.of;
        self.held += other.held;
    }
}

impl Agreement {
    /// One difference outweighs any agreement.
    pub(super) const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Different, _) | (_, Self::Different) => Self::Different,
            (Self::Same, _) | (_, Self::Same) => Self::Same,
            (Self::Unknown, Self::Unknown) => Self::Unknown,
        }
    }
}
