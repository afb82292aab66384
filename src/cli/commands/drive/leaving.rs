//! The options that say when a process leaves a run: `--grace` and `--no-wait`.

use clap::Args;

/// The seconds that `--grace` gives where it is left out.
const GRACE_SECONDS: u64 = 10;

/// When a process leaves a run that it drives.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LeavingArgs {
    /// Grace period after SIGTERM (default: 10)
    ///
    /// Work in flight may finish within this time; then the run suspends.
    #[arg(long, value_name = "SECONDS", hide_default_value = true, default_value_t = GRACE_SECONDS)]
    pub(crate) grace: u64,
    /// Suspend instead of waiting for approvals
    ///
    /// The run suspends once all its work in progress waits for approvals. Answer with `monolith approve`, then run `monolith
    /// resume`. Always on with --contracts and --all, and for `resume` without a terminal.
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// True if the command has these options.
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
