//! The results of many runs. A separate thread writes them, so that a reader that does not read blocks nothing else. Decides
//! nothing about a run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use tokio::sync::{mpsc, oneshot};

use super::run_result::{Printed, label, workflow_label};
use crate::context::app::App;
use crate::ui::runs_progress::{RunsNow, RunsProgress};
use monolith_host::telemetry::BillingFault;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::many::{Ending, Many, ManyResult, RunEnd};
use monolith_service::text::escape::line;

/// Maximum number of results that wait for their reader; the runs of further results wait with them.
const WAITING: usize = 16;

/// Takes what runs have come to, and has it written in that order.
pub(super) struct Results {
    messages: mpsc::Sender<Message>,
    state: Arc<State>,
}

/// A request to the thread.
enum Message {
    Ended(Box<ManyResult>),
    /// Everything is written once this is answered.
    Last(oneshot::Sender<()>),
    Progress(RunsNow),
    /// For people who watch.
    Watched(&'static str),
}

#[derive(Default)]
struct State {
    faults: Mutex<Faults>,
    /// Number of processed messages.
    written: AtomicU64,
}

/// The first fault of each kind; the system reports some of them once only.
#[derive(Default)]
pub(super) struct Faults {
    /// Accounting that could not be made to survive the loss of power.
    pub(super) unsynced: Option<BillingFault>,
    /// A line that could not be written.
    pub(super) unwritten: Option<io::Error>,
}

impl Results {
    /// Begins to write for those runs, `json` for documents on a terminal too.
    ///
    /// # Errors
    /// [`SystemFault::Runtime`] where no thread can be had.
    pub(super) fn new(app: &App, json: bool, many: &Arc<Many>) -> Result<Self, ServiceError> {
        let (messages, waiting) = mpsc::channel(WAITING);
        let state = Arc::<State>::default();
        let writer = Writer {
            app: app.clone(),
            is_read: true,
            json,
            many: Arc::clone(many),
            progress: RunsProgress::new(app.screen),
            state: Arc::clone(&state),
        };
        thread::Builder::new()
            .name("results".to_owned())
            .spawn(move || writer.write(waiting))
            .map_err(|fault| SystemFault::Runtime {
                reason: fault.to_string(),
            })?;
        Ok(Self { messages, state })
    }

    /// Hands a result over; waits as long as too many others wait.
    pub(super) async fn take(&self, result: ManyResult) {
        self.send(Message::Ended(Box::new(result))).await;
    }

    /// Writes a line for people who watch. Nothing waits for it: it is left out where there is no reader.
    pub(super) fn note(&self, line: &'static str) {
        drop(self.messages.try_send(Message::Watched(line)));
    }

    /// Shows the current progress, if nothing else waits to be written.
    pub(super) fn show(&self, now: RunsNow) {
        if self.messages.capacity() == WAITING {
            drop(self.messages.try_send(Message::Progress(now)));
        }
    }

    /// Waits until everything is written.
    pub(super) async fn written(&self) {
        let (done, written) = oneshot::channel();
        self.send(Message::Last(done)).await;
        // Gone with its thread, which has panicked then.
        drop(written.await);
    }

    /// Returns a count of written messages, which grows as long as somebody reads.
    pub(super) fn progress(&self) -> u64 {
        self.state.written.load(Ordering::Relaxed)
    }

    /// Takes the errors so far.
    pub(super) fn faults(&self) -> Faults {
        std::mem::take(&mut *self.state.faults())
    }

    async fn send(&self, message: Message) {
        // The thread lives as long as this does, unless it has panicked.
        drop(self.messages.send(message).await);
    }
}

impl State {
    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that writes.
struct Writer {
    app: App,
    /// True until a result cannot be written.
    is_read: bool,
    /// True if results are documents even on a terminal.
    json: bool,
    many: Arc<Many>,
    progress: RunsProgress,
    state: Arc<State>,
}

impl Writer {
    fn write(mut self, mut waiting: mpsc::Receiver<Message>) {
        let mut group = Vec::with_capacity(WAITING);
        while waiting.blocking_recv_many(&mut group, WAITING) > 0 {
            let is_end = |message: &Message| matches!(message, Message::Ended(_));
            // What a result says is accounted for, whatever becomes of the power. Once for all of them: it waits for the disk.
            if group.iter().any(is_end)
                && let Err(fault) = self.many.sync()
            {
                self.state.faults().unsynced.get_or_insert(fault);
            }
            for message in group.drain(..) {
                match message {
                    Message::Ended(result) => self.result(&result.end),
                    Message::Last(done) => {
                        self.progress.sum_up();
                        // The caller closes the store, not this thread.
                        drop(self);
                        let _ = done.send(());
                        return;
                    }
                    Message::Progress(now) => self.progress.show(now),
                    Message::Watched(line) => {
                        self.progress.clear();
                        self.app.screen.note(line);
                    }
                }
                self.state.written.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn result(&mut self, end: &RunEnd) {
        let printed = match end {
            RunEnd::Run(result, ending) => {
                let entries = result.entries;
                match result.outcome.map(|outcome| outcome.class.as_str()) {
                    Some(class) if *ending == Ending::Recorded => self.progress.had_ended(class),
                    Some(class) => self.progress.ended(class, entries),
                    None if result.waits_for.is_some() => self.progress.waits(entries),
                    None => self.progress.left(label(result, ending), entries),
                }
                Printed::run(&self.app, self.json, result, ending)
            }
            RunEnd::Workflow(result, ending) => {
                let entries = result.entries;
                match result.awaited() {
                    Some(_) => self.progress.waits(entries),
                    None => self.progress.left(workflow_label(result), entries),
                }
                Printed::workflow(&self.app, self.json, result, ending)
            }
            RunEnd::Skipped(why) => {
                if !self.app.accounting.quiet {
                    self.write_err(&format!("note: skipped {}\n", line(why)));
                }
                return;
            }
            RunEnd::Lost(why) => {
                return self.write_err(&format!("warning: a result is lost: {}\n", line(why)));
            }
        };
        if !self.is_read {
            return;
        }
        self.progress.clear();
        if let Err(fault) = printed.write(self.app.screen) {
            self.state.faults().unwritten.get_or_insert(fault);
            self.is_read = false;
            self.many.give_up();
        }
        if let Some(note) = printed.note.filter(|_| !self.app.accounting.quiet) {
            self.app.screen.write_err(&note);
        }
    }

    fn write_err(&self, text: &str) {
        self.progress.clear();
        self.app.screen.write_err(text);
    }
}
