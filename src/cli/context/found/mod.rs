//! What this machine has that could answer: model servers on loopback, stored models, keys by their names.
//!
//! Knows where such servers usually listen and how they say what they hold. It deliberately asks no model anything, sends no
//! key anywhere and never looks at a key's value but to see whether there is one.

mod built_in;
mod choice;
mod endpoint;
mod fitting;
mod no_way;
mod server_kind;
mod servers;

pub(crate) use built_in::{CAUTIOUS_WINDOW, built_in, built_in_names};
pub(crate) use choice::{Choice, choices};
pub(crate) use endpoint::{UNCHECKED, base_url, endpoint, failing_at, other_server};
pub(crate) use fitting::other_profile;
pub(crate) use no_way::{Looked, NoWay, ways_out};
pub(crate) use servers::{Calling, Places, running};
