//! The display of a run that is driven, as a surface implements it. Every method returns at once, and does nothing by default.

use std::any::Any;
use std::collections::BTreeSet;

use crate::text::narration::Transition;
use monolith_core::kernel::Run;
use monolith_core::message::InferenceSeq;
use monolith_core::session::Control;
use monolith_core::view::{Entry, RunView};

/// An entry that became durable, with what a display needs to show it.
pub struct ShownEntry<'a> {
    /// The entry.
    pub entry: Entry<'a>,
    /// The machine behind it.
    pub run: &'a Run,
    /// The transition in words, where the entry is one.
    pub transition: Option<Transition>,
    /// The run, the entry included.
    pub view: &'a RunView,
}

/// A display of a run.
pub trait Display: Any + Send {
    /// Returns a display for a child of this run.
    fn child(&self) -> Box<dyn Display>;

    /// Shows an entry.
    fn entry(&mut self, _: &ShownEntry<'_>) {}

    /// Shows text of an answer while it arrives.
    fn text(&mut self, _: InferenceSeq, _: &str) {}

    /// Shows thinking of a response while it arrives, before the text.
    fn thinking(&mut self, _: InferenceSeq, _: &str) {}

    /// Names the tool servers that are still starting.
    fn starting(&mut self, _: &BTreeSet<String>) {}

    /// Shows progress that a tool reports.
    fn progress(&mut self, _tool: &str, _report: &str) {}

    /// Shows a note about a tool server, which a pipe gets too.
    fn remark(&mut self, _: &str) {}

    /// Shows that a step of a workflow began or ended.
    fn step(&mut self, _: &str) {}

    /// Shows a line of monolith's own between those of the run.
    fn note(&mut self, _: &str) {}

    /// Shows that the run is asked to stop, to end at once or to be suspended.
    fn asked(&mut self, _: &Control) {}

    /// Shows a warning: the run continues.
    fn warn(&mut self, _: &str) {}

    /// Reports once that the view is not the machine's state (002 Invariant D).
    fn diverged(&mut self, _: &RunView) {}

    /// Wipes what shows that something is awaited: the run has ended, or will not begin.
    fn rest(&mut self) {}

    /// Marks shown text of an attempt without an end: the run is left.
    fn left(&mut self, _: &RunView) {}
}

/// A display that shows nothing.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Display for Quiet {
    fn child(&self) -> Box<dyn Display> {
        Box::new(Self)
    }
}
