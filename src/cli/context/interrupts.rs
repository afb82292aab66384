//! The last resort behind every command: the second Ctrl-C ends the process, whatever it does.
//!
//! A separate thread counts the interrupts; no command can keep it from that. A command with its own handler (`run`, `resume`,
//! a live replay) is left alone at the first interrupt, and an answer of a conversation at the first two. The thread does not
//! know what the command does, and closes nothing: recorded entries are durable, and tool servers end with the process that
//! supervises them. It waits only until the changes of `shell` commands to git repositories are judged.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[cfg(unix)]
use super::judged::say_judged;

/// The exit code that a shell reports for a program ended by SIGINT.
pub(crate) const EXIT_CODE: u8 = 130;
/// The time that a command has after its second interrupt to end in order. A debug build on a busy machine takes longer to seal a run.
const GRACE: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5_000 } else { 800 });

// The second Ctrl-C ends every command of a release build within a second.
const _: () = assert!(
    cfg!(debug_assertions) || GRACE.as_millis() < 1_000,
    "only this wait stands between the second interrupt and the end"
);

/// Number of interrupts that the command handles.
static OWN: AtomicU32 = AtomicU32::new(0);
/// Number of ended answers of a conversation.
static ANSWERS: AtomicU32 = AtomicU32::new(0);

/// From now on the first interrupt is the command's own.
pub(crate) fn listened() {
    OWN.fetch_max(1, Ordering::SeqCst);
}

/// From now on the second interrupt is the command's own, too: many runs take their time to be ended.
pub(crate) fn listened_twice() {
    OWN.fetch_max(2, Ordering::SeqCst);
}

/// Marks the start of an answer: its second interrupt ends it, and the command continues.
pub(crate) fn answering() {
    OWN.store(2, Ordering::SeqCst);
}

/// The answer has ended: the next interrupt is the first again, and where no answer is awaited the second ends the command.
pub(crate) fn answered() {
    ANSWERS.fetch_add(1, Ordering::SeqCst);
    OWN.store(1, Ordering::SeqCst);
}

/// Counts interrupts from now on: each that comes after this has returned is counted. Where no thread can be had, the system's
/// default holds until a command listens.
pub(crate) fn watch() {
    #[cfg(unix)]
    {
        let (counting, begun) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("interrupts".to_owned());
        if thread.spawn(move || count(&counting)).is_ok() {
            // A command that listened before this thread did would take the first interrupt away from it, and the second would be
            // counted as the first. The thread that cannot listen drops its end.
            let _ = begun.recv();
        }
    }
}

#[cfg(unix)]
fn count(counting: &std::sync::mpsc::SyncSender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let kind = tokio::signal::unix::SignalKind::interrupt();
        let Ok(mut interrupts) = tokio::signal::unix::signal(kind) else {
            return;
        };
        // The receiver cannot have gone.
        let _ = counting.send(());
        let (mut seen, mut answers) = (0_u32, 0);
        while interrupts.recv().await.is_some() {
            let now = ANSWERS.load(Ordering::SeqCst);
            seen = if now == answers {
                seen.saturating_add(1)
            } else {
                1
            };
            answers = now;
            if seen <= OWN.load(Ordering::SeqCst) {
                continue;
            }
            if seen > 1 {
                tokio::time::sleep(GRACE).await;
            }
            if answers != ANSWERS.load(Ordering::SeqCst) {
                continue;
            }
            say_judged();
            // Not `std::process::exit`: what other code has registered for the end of the process may wait, too.
            signal_hook::low_level::exit(i32::from(EXIT_CODE));
        }
    });
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// The signals that the process catches, one bit each, as the system has them.
    fn caught() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(mask.unwrap().trim(), 16).unwrap()
    }

    #[test]
    fn an_interrupt_that_comes_after_the_watch_has_begun_is_counted() {
        watch();
        let interrupt = 1 << (rustix::process::Signal::INT.as_raw() - 1);
        assert_ne!(caught() & interrupt, 0);
    }
}
