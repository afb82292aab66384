//! The threads of the process. One runtime a command.

use tokio::runtime::Runtime;

use crate::cli::context::error::{CliError, SystemFault};

/// Makes what a command that waits for the world runs on: this thread. One run waits most of the time, and a second thread would be woken for
/// each thing that happens and wake this one in turn. What blocks for long has a thread of its own: the store, files of tools, engines, the last Ctrl-C.
pub(in crate::cli) fn runtime() -> Result<Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    Ok(runtime.map_err(|fault| SystemFault::Runtime {
        reason: fault.to_string(),
    })?)
}
