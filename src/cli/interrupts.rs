//! The last resort behind every command: the second Ctrl-C ends the process, whatever it does.
//!
//! A thread of its own counts the interrupts; no command can keep it from that. A command that listens itself (`run`, `resume`, a
//! live replay) is left alone at the first one. It does not know what the command does, and closes nothing: what is recorded is
//! durable, and tool servers end with the process that supervises them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a shell reports of a program that ended by SIGINT.
const EXIT_CODE: i32 = 130;
/// How long a command that was interrupted twice has for an end of its own.
const GRACE: Duration = Duration::from_millis(800);
/// How long the end of the process may take, before it is killed.
const LAST: Duration = Duration::from_millis(150);

/// Whether the command listens itself, or did.
static LISTENED: AtomicBool = AtomicBool::new(false);

/// From now on the first interrupt is the command's own.
pub(super) fn listened() {
    LISTENED.store(true, Ordering::SeqCst);
}

/// Counts interrupts from now on. Where no thread can be had, the system's default holds until a command listens.
pub(super) fn watch() {
    #[cfg(unix)]
    drop(
        std::thread::Builder::new()
            .name("interrupts".to_owned())
            .spawn(count),
    );
}

#[cfg(unix)]
fn count() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let kind = tokio::signal::unix::SignalKind::interrupt();
        let Ok(mut interrupts) = tokio::signal::unix::signal(kind) else {
            return;
        };
        let mut seen = 0_u32;
        while interrupts.recv().await.is_some() {
            seen = seen.saturating_add(1);
            let first = seen == 1;
            if first && LISTENED.load(Ordering::SeqCst) {
                continue;
            }
            if !first {
                tokio::time::sleep(GRACE).await;
            }
            drop(std::thread::Builder::new().spawn(exit));
            tokio::time::sleep(LAST).await;
            // The process hangs in its own end.
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
        }
    });
}

#[cfg(unix)]
fn exit() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the command did not end by itself, so nothing can be returned from main"
    )]
    std::process::exit(EXIT_CODE);
}
