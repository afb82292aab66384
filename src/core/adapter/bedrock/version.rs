//! The name of Bedrock's protocol. Constants only.

use crate::contract::wire_version;

/// What contracts and results call the adapter.
pub(in crate::adapter) const VERSION: &str = wire_version::BEDROCK;
