//! The arguments of `monolith chat`.

use std::path::PathBuf;

use clap::Args;

use crate::commands::drive::RecordingArgs;
use crate::context::knobs::KnobArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "Each message is a run: the first begins, the next continue it. Ctrl-C asks an answer to come to its end, a second one ends it at once; \
the conversation goes on. \
/help lists the commands."
)]
pub(crate) struct ChatArgs {
    /// The contract file (else agent.yaml)
    ///
    /// By default it is agent.yaml or agent.yml of this folder.
    #[arg(value_name = "CONTRACT")]
    pub(crate) contract: Option<PathBuf>,
    /// Go on from the end of that run
    ///
    /// Its contract is made again from the file that it was begun with. Where CONTRACT is given too, that file is taken as it is now.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Change a value, such as max_turns=3
    ///
    /// Change a value of the file by its dotted key; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    #[command(flatten)]
    pub(crate) knobs: KnobArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}
