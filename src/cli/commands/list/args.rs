//! The arguments of `monolith list`.

use clap::Args;

use crate::commands::values::{limit, outcome};
use crate::ui::when::{self, When};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only runs with this text in task or name
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Only runs that have no end yet
    ///
    /// They are in progress, or wait to be resumed.
    #[arg(long)]
    pub(crate) open: bool,
    /// Only runs that ended so: failed, step_timeout
    ///
    /// `completed` or `failed`; what failed: preflight, protocol, validation, budget, timeout or contract; a class such as
    /// COMPLETED_WITH_TOOLS, or a code such as step_timeout. A model that did not answer in time used up its attempts: attempts_exhausted.
    #[arg(long, value_name = "CLASS|CODE", value_parser = outcome, conflicts_with = "open")]
    pub(crate) outcome: Option<String>,
    /// Only runs begun since 2026-11-20, or 12h ago
    ///
    /// A date, a time such as 2026-11-20T08:00:00Z, or how long ago: 90m, 12h, 3d.
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) since: Option<When>,
    /// Only runs with a model of that name
    ///
    /// The text is looked for in PROVIDER/MODEL of each target.
    #[arg(long, value_name = "TEXT")]
    pub(crate) model: Option<String>,
    /// Only runs under that contract
    ///
    /// Its id or its hash begins so.
    #[arg(long, value_name = "ID|HASH")]
    pub(crate) contract: Option<String>,
    /// Each run with the runs below it, indented
    ///
    /// Those of agents, of steps and of forks. What fits the other options is listed, and the runs above it.
    #[arg(long)]
    pub(crate) tree: bool,
    /// How many runs at most; 0 shows all
    ///
    /// With 0 every run that fits is listed, however many there are. With --tree it counts trees.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    pub(crate) limit: usize,
}
