//! The options that say when a process leaves a run: `--grace` and `--no-wait`.

use clap::Args;

/// The seconds that `--grace` gives where it is left out.
const GRACE_SECONDS: u64 = 10;

/// When a process leaves a run that it drives.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LeavingArgs {
    /// After SIGTERM: for what is in flight; 10
    #[arg(long, value_name = "SECONDS", hide_default_value = true, default_value_t = GRACE_SECONDS)]
    pub(crate) grace: u64,
    /// Suspend where all waits for approvals
    ///
    /// Once nothing else of it goes on. monolith approve answers, monolith resume goes on. With --contracts and --all it is always so.
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Whether the command has these options.
    #[arg(skip = true)]
    pub(crate) is_offered: bool,
}

impl Default for LeavingArgs {
    fn default() -> Self {
        Self {
            grace: GRACE_SECONDS,
            no_wait: false,
            is_offered: false,
        }
    }
}
