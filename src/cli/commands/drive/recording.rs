//! Arguments of the commands that drive a run: how its record is kept.

use clap::Args;

use crate::commands::values::DurabilityArg;
use crate::context::accounting::AccountingArgs;

/// Options for the record of a run.
#[derive(Debug, Args)]
pub(crate) struct RecordingArgs {
    /// Durability of each entry: full survives a power loss, normal only a crash of the process
    #[arg(long, hide_short_help = true, value_enum, default_value_t)]
    pub(crate) durability: DurabilityArg,
    /// Do not sign the transcript
    #[arg(long, hide_short_help = true)]
    pub(crate) no_sign: bool,
    #[command(flatten)]
    pub(crate) accounting: AccountingArgs,
}
