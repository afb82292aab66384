//! The threads of the process. One runtime a command.

use tokio::runtime::Runtime;

use crate::cli::context::error::{CliError, SystemFault};

/// Starts the threads that a run needs.
pub(in crate::cli) fn runtime() -> Result<Runtime, CliError> {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let runtime = threads.enable_all().build();
    Ok(runtime.map_err(|fault| SystemFault::Runtime {
        reason: fault.to_string(),
    })?)
}
