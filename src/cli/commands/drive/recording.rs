//! Arguments of the commands that drive a run: how its record is kept.

use clap::Args;

use crate::commands::values::DurabilityArg;
use crate::context::accounting::AccountingArgs;

/// How the record of a run is kept.
#[derive(Debug, Args)]
pub(crate) struct RecordingArgs {
    /// Whether a recorded step must survive the loss of power (full), or only the death of the process (normal)
    #[arg(long, hide_short_help = true, value_enum, default_value_t)]
    pub(crate) durability: DurabilityArg,
    /// Do not sign the record
    #[arg(long, hide_short_help = true)]
    pub(crate) no_sign: bool,
    #[command(flatten)]
    pub(crate) accounting: AccountingArgs,
}
