//! Checks what a fork names as its parent. Does not look the parent up.

use super::Verifier;
use crate::kernel::{EventKind, ParentRun};
use crate::transcript::{EntryRecord, Flaw, Location};

/// The result of looking up the parent of a forked run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentFound {
    /// Its entry of this number has the hash that is named.
    Entry(u64),
    /// It is there, and none of its entries has that hash.
    NoSuchEntry,
    /// It is not there.
    NotHere,
}

/// The parent that entry 0 names, and what was found of it.
#[derive(Clone, Debug, Default)]
pub(super) struct ParentBook {
    pub(super) found: Option<ParentFound>,
    pub(super) named: Option<ParentRun>,
}

impl ParentBook {
    /// Notes the parent that entry 0 names.
    pub(super) fn note(&mut self, entry: &EntryRecord<'_>) {
        if let Some(EventKind::RunStarted(started)) =
            entry.decoded_event.as_ref().map(|event| &event.event)
        {
            self.named.clone_from(&started.parent);
        }
    }

    /// The check, where it came to a verdict, or why it did not.
    pub(super) fn describe(&self) -> Option<Result<String, String>> {
        let parent = self.named.as_ref()?;
        let (run, link) = (&parent.run_id, parent.link());
        Some(match self.found {
            Some(ParentFound::Entry(seq)) => Ok(format!("{link} at entry {seq}")),
            Some(ParentFound::NoSuchEntry) => Ok(String::new()),
            Some(ParentFound::NotHere) => Err(format!("run {run} is not in this store")),
            None => Err(format!("{link}, which a file does not hold")),
        })
    }
}

impl Verifier {
    /// The run that this one was forked from, once entry 0 was seen.
    #[must_use]
    pub fn parent(&self) -> Option<&ParentRun> {
        self.parent.named.as_ref()
    }

    /// Takes what is known of the parent. False where that is a flaw.
    pub fn take_parent(&mut self, location: Location, found: ParentFound) -> bool {
        if self.bad.is_some() {
            return false;
        }
        self.parent.found = Some(found);
        let Some(parent) = &self.parent.named else {
            return true;
        };
        if found != ParentFound::NoSuchEntry {
            return true;
        }
        let expected = format!("the hash of an entry of run {}", parent.run_id);
        let flaw = Flaw::tampered("event.parent.head", expected, parent.head);
        self.settle(Err(Finding::new("parent", flaw).at(location).seq(0)))
    }
}

/// The verdict on one record.
pub(super) type Verdict = Result<(), Box<Finding>>;

/// A flaw, the check that found it, and where it is if not at the record in hand.
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) flaw: Flaw,
    pub(super) location: Option<Location>,
    pub(super) seq: Option<u64>,
}

impl Finding {
    pub(super) fn new(check: &'static str, flaw: Flaw) -> Box<Self> {
        Box::new(Self {
            check,
            flaw,
            location: None,
            seq: None,
        })
    }

    pub(super) fn at(mut self: Box<Self>, location: Location) -> Box<Self> {
        self.location = Some(location);
        self
    }

    pub(super) fn seq(mut self: Box<Self>, seq: u64) -> Box<Self> {
        self.seq = Some(seq);
        self
    }
}
