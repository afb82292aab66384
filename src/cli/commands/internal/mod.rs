//! The hidden commands: processes that monolith starts of itself.

mod slow_tool;
#[cfg(feature = "local")]
mod template;
#[cfg(feature = "local")]
mod try_model;

pub(crate) use self::slow_tool::{SLOW_TOOL, slow_tool};
#[cfg(feature = "local")]
pub(crate) use self::template::template;
#[cfg(feature = "local")]
pub(crate) use self::try_model::{TryModelArgs, try_model};
