//! The signals that reach a process which drives a run. Says what was asked, not what follows.

use tokio::time::{Instant, sleep_until};

use crate::context::interrupts;
use monolith_service::error::system::SystemFault;

/// A request to the process from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// The system ends the process.
    Terminate,
}

/// The process's signals, from the moment of the call on.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Listens from now on; must be called inside a runtime.
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self, SystemFault> {
        use tokio::signal::unix::{SignalKind, signal};
        interrupts::listened();
        let listen = |kind| {
            signal(kind).map_err(|fault| SystemFault::Runtime {
                reason: fault.to_string(),
            })
        };
        Ok(Self {
            hangup: listen(SignalKind::hangup())?,
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Listens from now on; must be called inside a runtime.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self, SystemFault> {
        interrupts::listened();
        Ok(Self {})
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            Some(()) = self.terminate.recv() => Signal::Terminate,
            // The terminal is gone; tool servers would outlive a process that dies of it.
            Some(()) = self.hangup.recv() => Signal::Terminate,
            else => std::future::pending().await,
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Waits for that moment; for ever if there is none.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
