//! How much of a process its runs may take at once.

/// How many runs a [`Runner`](super::Runner) drives at once, and how many requests to models they make at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunnerLimits {
    /// Runs that are open at once; at least 1.
    pub max_runs: usize,
    /// Requests to models, of all runs and all providers; at least 1. The others wait, the oldest first. As many runs may probe their models
    /// meanwhile.
    pub max_inferences: usize,
}

impl Default for RunnerLimits {
    fn default() -> Self {
        Self {
            max_runs: 256,
            max_inferences: 64,
        }
    }
}
