//! The arguments of `monolith delete`.

use clap::Args;

use crate::commands::values::{outcome, reason};
use crate::ui::when::{self, When};

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Why; the signed note that stays says it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(crate) reason: String,
    /// Delete a run that has not ended, too
    ///
    /// Or one that another still needs: the tree above it that has not ended, or a workflow that was forked.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Begun longer ago: 12h, 30d, 8w, or a date
    ///
    /// A date such as 2026-11-20 stands for the runs that were begun before it.
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) older_than: When,
    /// Only those that ended so, such as failed
    ///
    /// A class, a code, or a family of classes, as `list --outcome` takes it.
    #[arg(long, value_name = "CLASS|CODE", value_parser = outcome)]
    pub(crate) outcome: Option<String>,
    /// Why; the signed notes that stay say it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(crate) reason: String,
    /// Name the runs, and delete none
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}
