//! The result of decoding a response: a message or a fault. Plain data.

use crate::message::{ProtocolAdapterResult, ProviderFault, Usage};

/// The result of decoding a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// The model answered: a canonical message, or one that is rejected with its reason. The message's `tokens`
    /// are 0; the session stamps them.
    Message(Box<ProtocolAdapterResult>),
    /// No message came back, and it is not the model's doing.
    Fault {
        /// Why.
        fault: ProviderFault,
        /// What the provider reported of usage, where it did.
        usage: Option<Usage>,
    },
}
