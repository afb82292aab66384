//! The name of the embedded protocol. Constants only.

use crate::contract::wire_version;

/// What contracts and results call the adapter.
pub(in crate::adapter) const VERSION: &str = wire_version::LOCAL_HERMES;
/// An embedded model has no paths.
pub(in crate::adapter) const PATH: &str = "";
