//! The stdout of the process. A process that began without one has /dev/null in its place, where an answer would be lost: the runtime
//! opens that before `main`, so the question is asked before the runtime starts. Does not know what is written.
#![cfg_attr(
    target_os = "linux",
    allow(
        unsafe_code,
        reason = "a function that runs before the runtime is found by its place in the program"
    )
)]

use std::io::{self, StdoutLock};
use std::time::Duration;

use super::whole::Whole;

/// Time between two looks for a reader.
const PAUSE: Duration = Duration::from_millis(150);

/// Waits until the reader of stdout has gone away, also while nothing is written.
pub(crate) async fn unread() {
    while !is_unread() {
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(unix)]
fn is_unread() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    // An error and the loss of the reader are always reported.
    let mut looked = [PollFd::new(&stdout, PollFlags::empty())];
    let found = poll(&mut looked, Some(&Timespec::default()));
    let gone = PollFlags::ERR | PollFlags::HUP;
    found.is_ok() && looked.iter().any(|fd| fd.revents().intersects(gone))
}

#[cfg(not(unix))]
const fn is_unread() -> bool {
    false
}

/// Locks stdout.
///
/// # Errors
/// The process began without a stdout.
pub(crate) fn stdout() -> io::Result<Whole<StdoutLock<'static>>> {
    #[cfg(target_os = "linux")]
    if closed::is_closed() {
        return Err(rustix::io::Errno::BADF.into());
    }
    Ok(Whole(io::stdout().lock()))
}

#[cfg(target_os = "linux")]
mod closed {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::io::{Errno, fcntl_getfd};

    static IS_CLOSED: AtomicBool = AtomicBool::new(false);

    // SAFETY: the section holds functions that take nothing and return nothing, and this one needs no runtime: it makes one system call.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static NOTE: extern "C" fn() = note;

    extern "C" fn note() {
        let is_closed = fcntl_getfd(rustix::stdio::stdout()) == Err(Errno::BADF);
        IS_CLOSED.store(is_closed, Ordering::Relaxed);
    }

    pub(super) fn is_closed() -> bool {
        IS_CLOSED.load(Ordering::Relaxed)
    }
}
