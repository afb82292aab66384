use crate::cli::args::TryModelArgs;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::inference::trial_process;

/// `monolith __try-model`: the process in which a model's file is loaded that was never loaded before.
pub(in crate::cli) fn try_model(args: &TryModelArgs) -> Result<Exit, CliError> {
    let mut output = std::io::stdout().lock();
    trial_process(&args.file, args.context_window, &mut output)?;
    Ok(Exit::OK)
}
