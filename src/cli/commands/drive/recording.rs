//! Arguments of the commands that drive a run: how its record is kept.

use clap::Args;

use crate::cli::commands::values::DurabilityArg;
use crate::cli::context::accounting::AccountingArgs;

/// How the record of a run is kept.
#[derive(Debug, Args)]
pub(in crate::cli) struct RecordingArgs {
    /// Whether an entry must survive the loss of power, or only the death of the process
    #[arg(long, value_enum, default_value_t)]
    pub(in crate::cli) durability: DurabilityArg,
    /// Sign no checkpoints
    #[arg(long)]
    pub(in crate::cli) no_sign: bool,
    #[command(flatten)]
    pub(in crate::cli) accounting: AccountingArgs,
}
