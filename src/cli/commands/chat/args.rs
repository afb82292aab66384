use std::path::PathBuf;

use clap::Args;

use crate::cli::commands::values::DurabilityArg;
use crate::cli::context::accounting::AccountingArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "Each message is a run: the first begins, the next continue it. Ctrl-C stops the answer, not the conversation. \
/help lists the commands."
)]
pub(in crate::cli) struct ChatArgs {
    /// The contract file; agent.yaml of this folder by default
    #[arg(value_name = "CONTRACT")]
    pub(in crate::cli) contract: Option<PathBuf>,
    /// Change a value of the file, such as max_turns=3; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(in crate::cli) sets: Vec<String>,
    /// Whether an entry must survive the loss of power, or only the death of the process
    #[arg(long, value_enum, default_value_t)]
    pub(in crate::cli) durability: DurabilityArg,
    /// Sign no checkpoints
    #[arg(long)]
    pub(in crate::cli) no_sign: bool,
    #[command(flatten)]
    pub(in crate::cli) accounting: AccountingArgs,
}
