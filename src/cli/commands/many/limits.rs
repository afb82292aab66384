//! The options that bound many runs: `--max-runs` and `--max-inferences`.

use std::num::NonZeroUsize;

use clap::Args;

use monolith_host::driver::RunnerLimits;
use monolith_service::error::input::InputFault;

/// How much of the process its runs may take at once.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LimitArgs {
    /// Of many runs: open at once; 256 by default
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<NonZeroUsize>,
    /// Of many runs: model requests at once; 64
    #[arg(long, value_name = "N")]
    pub(crate) max_inferences: Option<NonZeroUsize>,
}

impl LimitArgs {
    /// The limits that are given, each with its option.
    pub(crate) fn named(self) -> impl Iterator<Item = (&'static str, NonZeroUsize)> {
        let given = [
            ("--max-runs", self.max_runs),
            ("--max-inferences", self.max_inferences),
        ];
        given
            .into_iter()
            .filter_map(|(option, limit)| Some((option, limit?)))
    }

    /// Refuses limits that nothing would keep: they are of many runs, which `option` asks for.
    pub(crate) fn refused_unless(self, option: &'static str) -> Result<(), InputFault> {
        match (self.max_runs, self.max_inferences) {
            (None, None) => Ok(()),
            _ => Err(InputFault::LimitOfOne { option }),
        }
    }
}

impl From<LimitArgs> for RunnerLimits {
    fn from(given: LimitArgs) -> Self {
        let usual = Self::default();
        Self {
            max_runs: given.max_runs.map_or(usual.max_runs, NonZeroUsize::get),
            max_inferences: given
                .max_inferences
                .map_or(usual.max_inferences, NonZeroUsize::get),
            ..usual
        }
    }
}
