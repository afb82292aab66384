//! The check that a run's entries are those that the machine makes of its events (002 Invariant D).
//!
//! Folds the events through a machine of the run's contract, and holds each entry against the one that this machine writes: its
//! state digest first. Where the run's own machine is at work, it steps no second one: it takes the entries as that one decides
//! them. Knows neither displays nor stores. What it cannot know is whether the events are true.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use super::Entry;
use crate::contract::ExecutionContract;
use crate::kernel::{Action, Effect, Fold, Run};
use crate::message::Digest;

/// The first entry from which on a view shows something else than the machine's state.
///
/// ```
/// use monolith_core::view::Divergence;
///
/// fn warning(departure: &Divergence) -> String {
///     format!("not the state of the run from entry {} on: {departure}", departure.seq)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The number of the entry.
    pub seq: u64,
    kind: DivergenceKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum DivergenceKind {
    /// The entry states something else beside the state digest.
    Action,
    /// The view and the machine count differently.
    Count(&'static str),
    /// The run has more entries or has ended, and the view has not taken that.
    End,
    /// The machine writes at least one entry more before the next event.
    Missing,
    /// Another entry was due.
    Order { due: u64 },
    /// The state digest is another one.
    State { folded: Digest, stated: Digest },
    /// The machine writes no entry here.
    Unexpected,
}

/// The comparison of a view with a machine.
#[derive(Clone)]
pub(super) struct Agreement {
    departure: Option<Divergence>,
    /// The state digest of the last entry.
    last: Option<Digest>,
    next: u64,
    reference: Reference,
}

#[derive(Clone)]
enum Reference {
    /// A machine of the view's own.
    Folded(Box<Folded>),
    /// The run's own, whose entries are given as it decides them: only the caller has it. Holds what the view counts otherwise
    /// after the last entry; it departs where no entry of the same step follows.
    Followed(Option<&'static str>),
}

#[derive(Clone)]
struct Folded {
    /// The actions that the machine has written and the view has not yet taken.
    due: VecDeque<Action>,
    fold: Fold,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match &self.kind {
            DivergenceKind::Action => {
                write!(f, "entry {seq} states something else than the machine")
            }
            DivergenceKind::Count(what) => {
                write!(
                    f,
                    "after entry {seq} the {what} are not those of the machine"
                )
            }
            DivergenceKind::End => write!(f, "the run continued after entry {seq}"),
            DivergenceKind::Missing => write!(f, "an entry is missing before entry {seq}"),
            DivergenceKind::Order { due } => write!(f, "entry {seq} came where {due} was due"),
            DivergenceKind::State { folded, stated } => {
                let (folded, stated) = (folded.short(16), stated.short(16));
                write!(
                    f,
                    "entry {seq} has the state digest {stated}, and the machine's is {folded}"
                )
            }
            DivergenceKind::Unexpected => write!(f, "the machine writes no entry {seq} here"),
        }
    }
}

impl Agreement {
    /// Folds the events, and holds each entry against the one that a machine makes of them.
    pub(super) fn folding(contract: Arc<ExecutionContract>) -> Self {
        Self::with(Reference::Folded(Box::new(Folded {
            due: VecDeque::new(),
            fold: Fold::new(contract),
        })))
    }

    /// Takes the decisions of the run's own machine. Compares its numbers and counts with the view's, and at the end its state
    /// with that of the last entry.
    pub(super) const fn following() -> Self {
        Self::with(Reference::Followed(None))
    }

    const fn with(reference: Reference) -> Self {
        Self {
            departure: None,
            last: None,
            next: 0,
            reference,
        }
    }

    pub(super) const fn departure(&self) -> Option<&Divergence> {
        self.departure.as_ref()
    }

    /// Takes the next entry. After the first departure the events are folded and nothing is compared any more.
    pub(super) fn take(&mut self, entry: Entry<'_>) {
        if self.departure.is_some() {
            if let (Reference::Folded(own), Some(event)) = (&mut self.reference, entry.event) {
                drop(own.fold.take(event.clone()));
            }
            return;
        }
        if entry.event.is_some() {
            self.end_step();
        }
        let action = entry.action;
        let kind = match &mut self.reference {
            _ if action.seq != self.next => Some(DivergenceKind::Order { due: self.next }),
            Reference::Folded(own) => own.judge(entry),
            Reference::Followed(_) => None,
        };
        if let Some(kind) = kind {
            self.depart(action.seq, kind);
        }
        self.last = Some(action.state_digest);
        self.next = self.next.saturating_add(1);
    }

    /// Takes what the view counts otherwise than the machine after the last entry, where it does so at rest.
    pub(super) fn counted(&mut self, off: Option<&'static str>) {
        let what = match &mut self.reference {
            Reference::Folded(own) => off.filter(|_| own.due.is_empty()),
            Reference::Followed(last) => {
                *last = off;
                None
            }
        };
        if let Some(what) = what {
            self.depart_behind(DivergenceKind::Count(what));
        }
    }

    /// No entry follows for now: then the machine has none to write either.
    pub(super) fn pause(&mut self) {
        self.end_step();
        if !self.is_at_rest() {
            self.depart_behind(DivergenceKind::End);
        }
    }

    /// Holds the last entry against the run itself, which has taken all of its events.
    pub(super) fn end(&mut self, run: &Run) {
        self.end_step();
        if (self.next, self.last) != (run.entries(), Some(run.state_digest())) {
            self.depart_behind(DivergenceKind::End);
        }
    }

    /// No entry of the same step follows.
    fn end_step(&mut self) {
        if let Reference::Followed(Some(what)) = self.reference {
            self.depart_behind(DivergenceKind::Count(what));
        }
    }

    /// Departs after the last entry.
    fn depart_behind(&mut self, kind: DivergenceKind) {
        self.depart(self.next.saturating_sub(1), kind);
    }

    fn depart(&mut self, seq: u64, kind: DivergenceKind) {
        self.departure.get_or_insert(Divergence { seq, kind });
    }

    /// The machine after the events so far; `None` before the first, and if the caller has it.
    pub(super) fn machine(&self) -> Option<&Run> {
        match &self.reference {
            Reference::Folded(own) => own.fold.run(),
            Reference::Followed(_) => None,
        }
    }

    /// Hands the machine out: from then on the caller has it.
    pub(super) fn release(&mut self) -> Option<Run> {
        match std::mem::replace(&mut self.reference, Reference::Followed(None)) {
            Reference::Folded(own) => own.fold.into_run(),
            Reference::Followed(_) => None,
        }
    }

    /// The machine's state in the form in which the state digest takes it; `None` if it is not that of the last entry.
    pub(super) fn state_text(&self) -> Option<String> {
        let agrees = self.departure.is_none() && self.is_at_rest();
        self.machine().filter(|_| agrees).map(Run::state_text)
    }

    fn is_at_rest(&self) -> bool {
        match &self.reference {
            Reference::Folded(own) => own.due.is_empty(),
            Reference::Followed(_) => true,
        }
    }
}

impl Folded {
    fn judge(&mut self, entry: Entry<'_>) -> Option<DivergenceKind> {
        let stated = entry.action;
        if let Some(event) = entry.event {
            if !self.due.is_empty() {
                return Some(DivergenceKind::Missing);
            }
            for effect in self.fold.take(event.clone()) {
                if let Effect::Append(drafts) = effect {
                    self.due
                        .extend(drafts.into_iter().map(|draft| draft.action));
                }
            }
        }
        let Some(folded) = self.due.pop_front() else {
            return Some(DivergenceKind::Unexpected);
        };
        if folded.state_digest != stated.state_digest {
            return Some(DivergenceKind::State {
                folded: folded.state_digest,
                stated: stated.state_digest,
            });
        }
        (folded != *stated).then_some(DivergenceKind::Action)
    }
}

/// Two values that have taken the same entries are compared with the same machine.
impl PartialEq for Agreement {
    fn eq(&self, other: &Self) -> bool {
        (self.next, &self.departure) == (other.next, &other.departure)
    }
}

impl fmt::Debug for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agreement")
            .field("departure", &self.departure)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
