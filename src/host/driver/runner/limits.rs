//! How much of a process its runs may take at once.

/// How much the runs of a [`Runner`](super::Runner) take at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunnerLimits {
    /// Runs that are open at once; at least 1.
    pub max_runs: usize,
    /// Requests to models, of all runs and all providers; at least 1. The others wait, the oldest first. As many runs may probe their models
    /// meanwhile.
    pub max_inferences: usize,
    /// Tool servers that are up at once, those that runs share and those that a run has for itself (`shared: false`); at least 1. A run that
    /// wants more of them waits until others have ended; one that wants more than all is begun once it would be alone.
    pub max_servers: usize,
}

impl Default for RunnerLimits {
    fn default() -> Self {
        Self {
            max_runs: 256,
            max_inferences: 64,
            max_servers: usize::MAX,
        }
    }
}
