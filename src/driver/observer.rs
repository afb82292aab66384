//! The trait that sees durable entries. Does not influence the run.

use crate::kernel::{EntryDraft, Run};
use crate::message::InferenceSeq;
use crate::transcript::SealedEntry;

/// Sees a run's entries, each once, after it has become durable.
///
/// ```
/// use monolith::{EntryDraft, Observer, Run, SealedEntry};
///
/// struct Printed;
///
/// impl Observer for Printed {
///     fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, _: &Run) {
///         println!("{} {}", sealed.seq, draft.action.to.as_str());
///     }
/// }
/// ```
pub trait Observer: Send {
    /// One entry, and the run after the step that wrote it.
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run);

    /// Text of a response that may be shown while the rest arrives.
    fn text(&mut self, inference: InferenceSeq, text: &str) {
        let _ = (inference, text);
    }
}
