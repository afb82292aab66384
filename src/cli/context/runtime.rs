//! The threads of the process. One runtime a command.

use tokio::runtime::Runtime;

use crate::cli::context::error::{CliError, SystemFault};
use crate::driver::DriverError;

/// Threads on which files of tools are read, at most: each holds files open.
const FILE_THREADS: usize = 64;

/// Makes what a command that waits for the world runs on: this thread. One run waits most of the time, and a second thread would be woken for
/// each thing that happens and wake this one in turn. What blocks for long has a thread of its own: the store, files of tools, engines, the last Ctrl-C.
pub(in crate::cli) fn runtime() -> Result<Runtime, CliError> {
    made(&mut tokio::runtime::Builder::new_current_thread())
}

/// Makes what a command runs on that drives many runs at once: a thread for each processor.
pub(in crate::cli) fn runtime_of_many() -> Result<Runtime, CliError> {
    made(tokio::runtime::Builder::new_multi_thread().max_blocking_threads(FILE_THREADS))
}

/// What `work` comes to, on a thread for work that waits for a disk: the others of the runtime go on meanwhile. A panic in it goes on in
/// the caller.
pub(in crate::cli) async fn off_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CliError> + Send + 'static,
) -> Result<T, CliError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(fault) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
        Err(_) => Err(DriverError::Cancelled.into()),
    }
}

fn made(builder: &mut tokio::runtime::Builder) -> Result<Runtime, CliError> {
    let runtime = builder.enable_all().build();
    Ok(runtime.map_err(|fault| SystemFault::Runtime {
        reason: fault.to_string(),
    })?)
}
