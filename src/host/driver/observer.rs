//! The trait that sees durable entries. Does not influence the run.

use std::sync::Arc;

use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{EntryDraft, Run};
use monolith_core::message::{Digest, InferenceSeq, RunId};
use monolith_core::session::Control;
use monolith_core::transcript::{SealedEntry, entry_line};
use tokio::sync::mpsc;

/// Sees a run's entries, each once, after it has become durable.
///
/// ```
/// use monolith_core::kernel::{EntryDraft, Run};
/// use monolith_core::message::RunId;
/// use monolith_core::session::Control;
/// use monolith_core::transcript::SealedEntry;
/// use monolith_host::driver::Observer;
/// use tokio::sync::mpsc::Sender;
///
/// struct Printed;
///
/// impl Observer for Printed {
///     fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, _: &Run) {
///         println!("{} {}", sealed.seq, draft.action.to.as_str());
///     }
///
///     fn below(&mut self, _: &RunId, _: Sender<Control>) -> Box<dyn Observer> {
///         Box::new(Self)
///     }
/// }
/// ```
pub trait Observer: Send {
    /// One entry, and the run after the step that wrote it.
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run);

    /// Returns the observer of a child run that is about to begin or resume. Messages sent to `control` go to that run.
    ///
    /// A call of that run may wait for a person: an observer that answers for its own run has to answer for this one, too.
    fn below(&mut self, run_id: &RunId, control: mpsc::Sender<Control>) -> Box<dyn Observer>;

    /// Receives the earlier record of the run, first, if another process has begun it. None of it follows as an entry.
    fn recorded(&mut self, contract: &Arc<ExecutionContract>, entries: &[SealedEntry]) {
        let _ = (contract, entries);
    }

    /// Text of a response that may be shown while the rest arrives.
    fn text(&mut self, inference: InferenceSeq, text: &str) {
        let _ = (inference, text);
    }

    /// Thinking of a response that may be shown while the rest arrives; it comes before the text.
    fn thinking(&mut self, inference: InferenceSeq, text: &str) {
        let _ = (inference, text);
    }
}

/// Sees nothing, neither of a run nor of those below it: what waits there for a person waits for as long as it may.
#[derive(Clone, Copy, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn entry(&mut self, _: &EntryDraft, _: &SealedEntry, _: &Run) {}

    fn below(&mut self, _: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(Self)
    }
}

/// Hands each entry on as a line of JSON, with the bytes that an export of the run has. Entries of runs below it come under their own names.
///
/// ```
/// use monolith_host::driver::EntryLines;
/// use monolith_core::message::RunId;
///
/// let run_id = RunId::try_from("r-1".to_owned())?;
/// let printed = EntryLines::new(run_id, |run_id: &RunId, line: &str| print!("{run_id} {line}"));
/// # drop(printed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EntryLines<F> {
    run_id: RunId,
    take: F,
}

impl<F: FnMut(&RunId, &str) + Clone + Send + 'static> EntryLines<F> {
    /// Hands the lines of that run to `take`, each with its line feed.
    pub const fn new(run_id: RunId, take: F) -> Self {
        Self { run_id, take }
    }
}

impl<F: FnMut(&RunId, &str) + Clone + Send + 'static> Observer for EntryLines<F> {
    fn entry(&mut self, _: &EntryDraft, sealed: &SealedEntry, _: &Run) {
        (self.take)(&self.run_id, &entry_line(sealed));
    }

    fn below(&mut self, run_id: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(Self::new(run_id.clone(), self.take.clone()))
    }
}

/// A run that has ended, or was suspended: then its machine has no outcome yet.
#[non_exhaustive]
pub struct Finished {
    /// The machine in TERMINATE, or where it rests.
    pub run: Run,
    /// The name of the run.
    pub run_id: RunId,
    /// The hash of the last entry.
    pub head: Digest,
    /// Number of entries.
    pub entries: u64,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// Duration of the run in milliseconds.
    pub elapsed_ms: u64,
}
