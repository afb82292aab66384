//! Requests, calls and notes in the order in which they began and ended. Holds positions only.

use crate::message::{CallSeq, InferenceSeq};

/// One thing that a run set going or was given, by the place where its facts stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A request to a model.
    Request(InferenceSeq),
    /// An execution of a call, by its place among the executions of that call.
    Execution(CallSeq, usize),
    /// A final report in a tag, by its place among the reports.
    Report(usize),
}

/// Everything that a run set going, in the order in which it began, and what of it has ended, in the order in which it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Activities {
    all: Vec<Activity>,
    /// Places in `all`.
    ended: Vec<usize>,
}

impl Activities {
    /// Adds one; returns its number, from 0.
    pub(super) fn begin(&mut self, activity: Activity) -> usize {
        self.all.push(activity);
        self.all.len() - 1
    }

    /// Nothing but a late charge changes the facts of that number any more.
    pub(super) fn end(&mut self, number: usize) {
        self.ended.push(number);
    }

    pub(super) fn all(&self) -> &[Activity] {
        &self.all
    }

    pub(super) fn ended(&self) -> &[usize] {
        &self.ended
    }
}
