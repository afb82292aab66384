//! The hidden process in which the chat template of a model's file runs.

use monolith_host::inference::template_process;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

/// `monolith __template`: the process in which the template of a model's file runs, from its input to its output.
pub(crate) fn template() -> Result<Exit, ServiceError> {
    template_process(&mut std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    Ok(Exit::OK)
}
