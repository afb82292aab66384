//! Arguments of the commands that drive a run: how its record is kept.

use clap::Args;

use crate::cli::commands::values::DurabilityArg;
use crate::cli::context::accounting::AccountingArgs;

/// How the record of a run is kept.
#[derive(Debug, Args)]
pub(in crate::cli) struct RecordingArgs {
    /// Whether a recorded step must survive the loss of power (full), or only the death of the process (normal)
    #[arg(long, hide_short_help = true, value_enum, default_value_t)]
    pub(in crate::cli) durability: DurabilityArg,
    /// Do not sign the record
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) no_sign: bool,
    #[command(flatten)]
    pub(in crate::cli) accounting: AccountingArgs,
}
