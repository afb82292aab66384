//! The arguments of `monolith list`.

use clap::Args;

use crate::cli::commands::values::outcome;
use crate::cli::ui::when::{self, When};

#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Only runs whose task or name holds this text, whatever its case
    #[arg(value_name = "TEXT")]
    pub(in crate::cli) text: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Only runs that have no end yet: in progress, or to be resumed
    #[arg(long)]
    pub(in crate::cli) open: bool,
    /// Only runs that ended so, such as COMPLETED_WITH_TOOLS or step_timeout
    #[arg(long, value_name = "CLASS|CODE", value_parser = outcome, conflicts_with = "open")]
    pub(in crate::cli) outcome: Option<String>,
    /// Only runs begun since then: 2026-11-20, 2026-11-20T08:00:00Z, or 90m, 12h, 3d ago
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(in crate::cli) since: Option<When>,
    /// Only runs with a target whose PROVIDER/MODEL holds this text
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) model: Option<String>,
    /// Only runs under the contract whose id or hash begins so
    #[arg(long, value_name = "ID|HASH")]
    pub(in crate::cli) contract: Option<String>,
    /// How many runs; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(in crate::cli) limit: usize,
}
