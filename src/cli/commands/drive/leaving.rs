use clap::Args;

/// When a process leaves a run that it drives.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct LeavingArgs {
    /// Once the process is asked to end (SIGTERM), the seconds in which what is in flight may still end
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(in crate::cli) grace: u64,
    /// Suspend the run where a call needs an approval that was not given yet, instead of waiting for it
    #[arg(long)]
    pub(in crate::cli) no_wait: bool,
}

impl Default for LeavingArgs {
    fn default() -> Self {
        Self {
            grace: 10,
            no_wait: false,
        }
    }
}
