//! Work that waits for a disk, on a thread of its own: the task that waits for it does not keep others from going on.

use super::DriverError;

/// What `work` comes to; a panic in it goes on in the caller.
///
/// # Errors
/// Those of `work`, and [`DriverError::Cancelled`] where the process ends.
pub async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<DriverError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(fault) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
        Err(_) => Err(DriverError::Cancelled.into()),
    }
}
