//! The options that say when a process leaves a run: `--grace` and `--no-wait`.

use clap::Args;

/// The seconds that `--grace` gives where it is left out.
const GRACE_SECONDS: u64 = 10;

/// When a process leaves a run that it drives.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct LeavingArgs {
    /// Once the process is asked to end (SIGTERM), the seconds in which what is in flight may still end
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value_t = GRACE_SECONDS)]
    pub(in crate::cli) grace: u64,
    /// Suspend at a call that awaits approval
    ///
    /// The run does not wait for the answer: monolith approve gives it, monolith resume goes on.
    #[arg(long)]
    pub(in crate::cli) no_wait: bool,
}

impl Default for LeavingArgs {
    fn default() -> Self {
        Self {
            grace: GRACE_SECONDS,
            no_wait: false,
        }
    }
}
