//! The turns of a run: attempts, then calls. Holds numbers only.

use crate::message::{CallSeq, InferenceSeq};

/// One turn of a run: attempts until one succeeds, then the calls of its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number, from 1.
    pub number: u32,
    /// When it began, in the milliseconds that the timeouts count.
    pub began_counted_ms: u64,
    /// Its attempts, in order; summaries are none.
    pub attempts: Vec<InferenceSeq>,
    /// The calls that came back in it, in the order in which they did.
    pub returned: Vec<CallSeq>,
}

/// The turns of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turns(Vec<Turn>);

impl Turns {
    pub(super) fn all(&self) -> &[Turn] {
        &self.0
    }

    /// So many turns have begun.
    pub(super) fn begun(&mut self, number: u32, counted_ms: u64) {
        if self.0.last().map_or(0, |turn| turn.number) < number {
            self.0.push(Turn {
                attempts: Vec::new(),
                began_counted_ms: counted_ms,
                number,
                returned: Vec::new(),
            });
        }
    }

    pub(super) fn attempt(&mut self, inference: InferenceSeq) {
        if let Some(turn) = self.0.last_mut() {
            turn.attempts.push(inference);
        }
    }

    pub(super) fn returned(&mut self, call: CallSeq) {
        if let Some(turn) = self.0.last_mut() {
            turn.returned.push(call);
        }
    }
}

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

    /// Marks an activity as ended. Only a late charge can change its facts after that.
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
