//! The models that this machine could use: model servers on loopback, stored models, keys by their names.
//!
//! Knows where such servers usually listen and how they say what they hold. It deliberately asks no model anything, sends no
//! key anywhere and never looks at a key's value but to see whether there is one.

pub mod built_in;
pub mod choice;
pub mod endpoint;
pub mod fitting;
#[expect(missing_docs, reason = "the message of each error shows its fields")]
pub mod no_way;
pub mod server_kind;
pub mod servers;
