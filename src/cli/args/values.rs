use clap::ValueEnum;

use crate::message::RunId;

/// What an entry must survive.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(in crate::cli) enum DurabilityArg {
    #[default]
    Full,
    Normal,
}

/// The number of an entry.
pub(super) fn entry_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected the number of an entry, such as 3; `show RUN` lists them".to_owned())
}

/// The name of a run.
pub(super) fn run_id(text: &str) -> Result<RunId, String> {
    RunId::try_from(text.to_owned()).map_err(|fault| fault.to_string())
}
