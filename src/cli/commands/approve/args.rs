//! The arguments of `monolith approve`.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(in crate::cli) run: String,
    /// Refuse the call instead
    #[arg(long)]
    pub(in crate::cli) deny: bool,
    /// Do not ask (needs --arguments)
    ///
    /// --arguments says which call is meant.
    #[arg(long, requires = "arguments")]
    pub(in crate::cli) yes: bool,
    /// Answer only the call with this hash
    ///
    /// The hash of the call's arguments, as it is shown, or the beginning of it: 8 digits at least.
    #[arg(long, value_name = "HASH")]
    pub(in crate::cli) arguments: Option<String>,
    /// Replace an answer that was not taken yet
    ///
    /// Put this answer in the place of another one that was given before and has not been taken yet.
    #[arg(long)]
    pub(in crate::cli) replace: bool,
}
