//! Remedies for runs that failed: the cause picks one, with its values, and one place words it with the commands to type.
//!
//! ```text
//! RunView ─▶ of_run, unproven, server ─▶ Remedy ─▶ Remedy::words(Commands) ─▶ text
//! ```

mod commands;
mod limit;
mod of_run;
#[expect(
    clippy::module_inception,
    reason = "the file holds the type that the module is named after"
)]
mod remedy;
mod server;
#[cfg(test)]
mod tests;
mod unproven;

pub use commands::Commands;
pub use limit::Limit;
pub use of_run::{RunRemedy, remedy_of};
pub use remedy::Remedy;
pub use server::ServerRemedy;
pub use unproven::proof_rule;
