//! The name and path of OpenAI's Responses protocol. Constants only.

use crate::contract::wire_version;

/// What contracts and results call the adapter.
pub(in crate::adapter) const VERSION: &str = wire_version::OPENAI_RESPONSES;
/// Where requests go, below the base URL.
pub(in crate::adapter) const PATH: &str = "responses";
