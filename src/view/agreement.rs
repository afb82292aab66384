//! Whether the entries of a run are those that the machine makes of its events (002 Invariant D).
//!
//! Folds the events through a machine of the run's contract, and holds each entry against the one that this machine writes: its
//! state digest first. Knows neither displays nor stores. What it cannot know is whether the events are true.

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
/// use monolith::Departure;
///
/// fn warning(departure: &Departure) -> String {
///     format!("not the state of the run from entry {} on: {departure}", departure.seq)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The number of the entry.
    pub seq: u64,
    kind: DepartureKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum DepartureKind {
    /// The entry states something else beside the state digest.
    Action,
    /// What the view counts is not what the machine counts.
    Count(&'static str),
    /// The run has gone on or has ended, and the view has not taken it.
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

/// The machine beside a view.
#[derive(Clone)]
pub(super) struct Agreement {
    departure: Option<Departure>,
    /// What the machine has written and the view has not taken.
    due: VecDeque<Action>,
    fold: Fold,
    next: u64,
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match &self.kind {
            DepartureKind::Action => {
                write!(f, "entry {seq} states something else than the machine")
            }
            DepartureKind::Count(what) => {
                write!(
                    f,
                    "after entry {seq} the {what} are not those of the machine"
                )
            }
            DepartureKind::End => write!(f, "the run has gone on after entry {seq}"),
            DepartureKind::Missing => write!(f, "an entry is missing before entry {seq}"),
            DepartureKind::Order { due } => write!(f, "entry {seq} came where {due} was due"),
            DepartureKind::State { folded, stated } => {
                let (folded, stated) = (folded.short(16), stated.short(16));
                write!(
                    f,
                    "entry {seq} has the state digest {stated}, and the machine's is {folded}"
                )
            }
            DepartureKind::Unexpected => write!(f, "the machine writes no entry {seq} here"),
        }
    }
}

impl Agreement {
    pub(super) fn new(contract: Arc<ExecutionContract>) -> Self {
        Self {
            departure: None,
            due: VecDeque::new(),
            fold: Fold::new(contract),
            next: 0,
        }
    }

    pub(super) const fn departure(&self) -> Option<&Departure> {
        self.departure.as_ref()
    }

    /// Takes the next entry. After the first departure the events are folded and nothing is compared any more.
    pub(super) fn take(&mut self, entry: Entry<'_>) {
        if self.departure.is_some() {
            if let Some(event) = entry.event {
                drop(self.fold.take(event.clone()));
            }
        } else {
            let (seq, found) = (entry.action.seq, self.judge(entry));
            self.departure = found.map(|kind| Departure { seq, kind });
            self.next = self.next.saturating_add(1);
        }
    }

    fn judge(&mut self, entry: Entry<'_>) -> Option<DepartureKind> {
        let stated = entry.action;
        if stated.seq != self.next {
            return Some(DepartureKind::Order { due: self.next });
        }
        if let Some(event) = entry.event {
            if !self.due.is_empty() {
                return Some(DepartureKind::Missing);
            }
            for effect in self.fold.take(event.clone()) {
                if let Effect::Append(drafts) = effect {
                    self.due
                        .extend(drafts.into_iter().map(|draft| draft.action));
                }
            }
        }
        let Some(folded) = self.due.pop_front() else {
            return Some(DepartureKind::Unexpected);
        };
        if folded.state_digest != stated.state_digest {
            return Some(DepartureKind::State {
                folded: folded.state_digest,
                stated: stated.state_digest,
            });
        }
        (folded != *stated).then_some(DepartureKind::Action)
    }

    /// Takes what the view counts otherwise than the machine, where it does so at rest.
    pub(super) fn counted(&mut self, seq: u64, off: Option<&'static str>) {
        if let (None, true, Some(what)) = (&self.departure, self.is_at_rest(), off) {
            let kind = DepartureKind::Count(what);
            self.departure = Some(Departure { seq, kind });
        }
    }

    /// No entry follows for now: then the machine has none to write either.
    pub(super) fn pause(&mut self) {
        if self.departure.is_none() && !self.is_at_rest() {
            self.gone_on();
        }
    }

    /// Holds the machine against that of the run itself, which has taken all of its events.
    pub(super) fn end(&mut self, run: &Run) {
        let own = self.fold.run().map(Run::state_text);
        if self.departure.is_none() && own != Some(run.state_text()) {
            self.gone_on();
        }
    }

    fn gone_on(&mut self) {
        let seq = self.next.saturating_sub(1);
        let kind = DepartureKind::End;
        self.departure = Some(Departure { seq, kind });
    }

    /// The machine after the events so far; none before the first.
    pub(super) const fn machine(&self) -> Option<&Run> {
        self.fold.run()
    }

    /// The machine's state in the form in which the state digest takes it; none where it is not that of the last entry.
    pub(super) fn state_text(&self) -> Option<String> {
        let agrees = self.departure.is_none() && self.is_at_rest();
        let run = self.fold.run().filter(|_| agrees);
        run.map(Run::state_text)
    }

    fn is_at_rest(&self) -> bool {
        self.due.is_empty()
    }
}

/// Two that have taken the same entries have the same machine.
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
