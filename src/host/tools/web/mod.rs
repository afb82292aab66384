//! Tools that are requests to web services: sent through the address guard, within the contract's limits.
//!
//! What is asked is made by `contract/rest`, which knows no secrets; the values of headers are added here. A request is sent once.

mod exchange;
mod web_tools;

pub(super) use exchange::WebFault;
pub(crate) use exchange::web_header_holds;
pub(super) use web_tools::WebTools;
pub(crate) use web_tools::{is_out_of_reach, is_unreadable};
