//! The hidden process that loads a model's file for the first time: what crashes there takes nothing else along.

use std::path::PathBuf;

use clap::Args;

use monolith_host::inference::trial_process;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct TryModelArgs {
    /// The model's file
    pub(crate) file: PathBuf,
    /// Tokens of the context
    pub(crate) context_window: u32,
}

/// `monolith __try-model`: the process in which a model's file is loaded that was never loaded before.
pub(crate) fn try_model(args: &TryModelArgs) -> Result<Exit, ServiceError> {
    let mut output = std::io::stdout().lock();
    trial_process(&args.file, args.context_window, &mut output)?;
    Ok(Exit::OK)
}
