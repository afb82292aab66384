//! Panics as faults: what of a bug is shown, and that the command still ends in order.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use futures_util::FutureExt as _;

use crate::error::ServiceError;
use crate::error::system::SystemFault;

/// Returns the result of `body`; a panic in it becomes an error.
pub fn caught<T>(body: impl FnOnce() -> Result<T, ServiceError>) -> Result<T, ServiceError> {
    panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(fault_of(&*payload)))
}

/// Like [`caught`], for a future.
pub(crate) async fn caught_in<T>(
    body: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, ServiceError> {
    let done = AssertUnwindSafe(body).catch_unwind().await;
    done.unwrap_or_else(|payload| Err(fault_of(&*payload)))
}

fn fault_of(payload: &(dyn Any + Send)) -> ServiceError {
    let message = words(payload);
    SystemFault::Panic { message }.into()
}

/// Returns the message of a panic.
pub fn words(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_panic_is_a_fault_of_monolith_with_its_words() {
        let check = |body: fn() -> Result<Exit, ServiceError>, expect: &str| {
            let fault = caught(body).map_err(|fault| (Exit::from(&fault), fault.summary()));
            assert_eq!(fault, Err((Exit::FAILED, expect.to_owned())));
        };
        check(|| panic!("plain"), "monolith itself failed: plain");
        check(|| panic!("{}", 1 + 1), "monolith itself failed: 2");
        check(|| panic::panic_any(7), "monolith itself failed: no message");
    }
}
