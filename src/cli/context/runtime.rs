//! The threads of the process. One runtime a command.

use tokio::runtime::Runtime;

use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;

/// Threads on which files of tools are read, at most: each holds files open.
const FILE_THREADS: usize = 64;

/// Builds the runtime of a command that waits for I/O: this thread alone. One run waits most of the time, and a second thread
/// would be woken for each event and wake this one in turn. Long blocking work has separate threads: the store, files of tools,
/// engines, the last Ctrl-C.
pub(crate) fn runtime() -> Result<Runtime, ServiceError> {
    made(&mut tokio::runtime::Builder::new_current_thread())
}

/// Makes what a command runs on that drives many runs at once: a thread for each processor.
pub(crate) fn runtime_of_many() -> Result<Runtime, ServiceError> {
    made(tokio::runtime::Builder::new_multi_thread().max_blocking_threads(FILE_THREADS))
}

fn made(builder: &mut tokio::runtime::Builder) -> Result<Runtime, ServiceError> {
    let runtime = builder.enable_all().build();
    Ok(runtime.map_err(|fault| SystemFault::Runtime {
        reason: fault.to_string(),
    })?)
}
