//! Work that reads a large file, with its progress shown and an interrupt that ends it. Does not know the work.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::signals::Signals;
use crate::ui::progress::Progress;
use monolith_host::inference::Reading;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;

/// Does work that reads a large file: shows how far it has come, and ends it where the process is asked to end. What is called
/// `name` has `total` bytes.
pub(crate) fn reading<T: Send>(
    app: &App,
    name: String,
    total: u64,
    work: impl FnOnce(&mut Reading<'_>) -> T + Send,
) -> Result<T, ServiceError> {
    let refuse = |reason: String| ServiceError::from(SystemFault::Runtime { reason });
    let runtime = runtime()?;
    let ended = AtomicBool::new(false);
    let mut progress = Progress::new(app.screen, name, total);
    let mut progress = |have| {
        progress.at(have);
        !ended.load(Ordering::Relaxed)
    };
    let (done, mut finished) = tokio::sync::oneshot::channel();
    let asked = async {
        let mut signals = Signals::listen().map_err(|fault| refuse(fault.to_string()))?;
        let done = tokio::select! {
            biased;
            done = &mut finished => done,
            _ = signals.next() => {
                ended.store(true, Ordering::Relaxed);
                finished.await
            }
        };
        done.map_err(|_| refuse("the reading ended without a result".to_owned()))
    };
    std::thread::scope(|scope| {
        scope.spawn(|| drop(done.send(work(&mut progress))));
        runtime.block_on(asked)
    })
}
