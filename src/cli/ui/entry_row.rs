//! One entry as the row that `show` lists it in. Reads the view; does not know the store.

use super::screen::{Screen, Style};
use monolith_core::kernel::{Action, EntryKind, EventKind, State};
use monolith_core::message::{Digest, EnvelopeStatus, ToolOutcome};
use monolith_core::view::{Entry, RunView, Step};
use monolith_service::text::escape::line;
use monolith_service::text::narration::{Transition, numbered, started_beside};
use monolith_service::text::numbers::{counted, seconds};

/// The cells of a terminal that shows every column of a row.
const FULL_WIDTH: usize = 100;

/// What happened in one entry, as one line.
pub(crate) struct EntryRow {
    at_ms: u64,
    detail: String,
    failed: bool,
    from: State,
    hash: Digest,
    kind: EntryKind,
    /// The number of the predicate that decided, where the detail begins with its words.
    rule: Option<u8>,
    seq: u64,
    step: Step,
    to: State,
    warned: bool,
}

impl EntryRow {
    /// The row of the entry that `view` took last, in that step.
    pub(crate) fn of(view: &RunView, entry: Entry<'_>, step: Step) -> Self {
        let action = entry.action;
        let transition = Transition::of(view, entry);
        let transition = transition.filter(|_| action.kind == EntryKind::Transition);
        let rule = transition.as_ref().and_then(|transition| transition.rule);
        Self {
            at_ms: view.at_ms(),
            detail: transition.map_or_else(|| beside(view, action), |transition| transition.detail),
            failed: entry.event.is_some_and(|event| failed(&event.event))
                || view.refuses_calls(action)
                || view.refused_report(action).is_some(),
            from: action.from,
            hash: entry.hash,
            kind: action.kind,
            rule,
            seq: action.seq,
            step,
            to: action.to,
            warned: entry.event.is_some_and(|event| warned(&event.event)),
        }
    }

    /// The row for people.
    pub(crate) fn line(&self, screen: Screen) -> String {
        self.line_with(screen, &self.detail)
    }

    /// The same with the number of the predicate that decided.
    pub(crate) fn numbered_line(&self, screen: Screen) -> String {
        self.line_with(screen, &numbered(self.rule, &self.detail))
    }

    fn line_with(&self, screen: Screen, detail: &str) -> String {
        let used = match (self.step.tokens, self.step.took_ms) {
            (0, 0) => String::new(),
            (0, ms) => format!("+{ms} ms"),
            (tokens, ms) => format!("+{}, +{ms} ms", counted(tokens, "token")),
        };
        let (seq, at) = (self.seq, seconds(self.at_ms));
        if screen.width_out() < FULL_WIDTH {
            // Where the machine came from stands in the row before, and `show --step` has the hash.
            let to = match self.kind {
                EntryKind::Transition => format!("→ {}", self.to),
                _ => self.to.to_string(),
            };
            let used = match used.as_str() {
                "" => used,
                used => format!(" ({used})"),
            };
            return format!("{seq:>4}  {at:>8}  {to:<16}  {detail}{used}\n");
        }
        let hash = screen.paint_out(Style::Dim, &self.hash.short(8));
        let states = self.states();
        let row = format!("{seq:>4}  {at:>9}  {states:<24}  {hash}  {used:<22}  {detail}");
        format!("{}\n", row.trim_end())
    }

    /// Where the machine went, and why, without when.
    pub(crate) fn decision(&self) -> String {
        format!("{:>4}  {:<24}  {}", self.seq, self.states(), self.detail)
    }

    /// Whether a request or a call failed in it, or something was refused.
    pub(crate) const fn failed(&self) -> bool {
        self.failed
    }

    /// Whether it holds a warning: a tag of the model was ignored, or taken although it is not closed.
    pub(crate) const fn warned(&self) -> bool {
        self.warned
    }

    /// The number of the entry.
    pub(crate) const fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether it is the last of its run.
    pub(crate) fn is_seal(&self) -> bool {
        self.kind == EntryKind::Seal
    }

    fn states(&self) -> String {
        if self.kind == EntryKind::Transition {
            format!("{} → {}", self.from, self.to)
        } else {
            self.to.to_string()
        }
    }
}

/// What there is to show of an entry that is no transition.
fn beside(view: &RunView, action: &Action) -> String {
    let note = action.note.as_deref().map(line);
    let parts = note.into_iter().chain(started_beside(view, action));
    let note = parts.collect::<Vec<String>>().join("; ");
    match action.kind {
        EntryKind::Start => "the run begins".to_owned(),
        EntryKind::Seal => "sealed".to_owned(),
        EntryKind::Ignored => "an event that came too late".to_owned(),
        EntryKind::Noted | EntryKind::Transition => note,
    }
}

fn warned(event: &EventKind) -> bool {
    matches!(event, EventKind::InferenceReturned(returned) if !returned.result.tag_warnings.is_empty())
}

/// Whether a request or a call failed, or something was refused or lost.
fn failed(event: &EventKind) -> bool {
    match event {
        EventKind::InferenceFailed(_)
        | EventKind::ApprovalDenied(_)
        | EventKind::EffectLost(_)
        | EventKind::Interrupted(_) => true,
        EventKind::InferenceReturned(returned) => returned.result.failure_code.is_some(),
        EventKind::ToolReturned(returned) => match &returned.outcome {
            ToolOutcome::Returned(envelope) => envelope.status != EnvelopeStatus::Ok,
            ToolOutcome::InputRequired(_) | ToolOutcome::SamplingRequired(_) => false,
            ToolOutcome::Malformed { .. }
            | ToolOutcome::TimedOut
            | ToolOutcome::ConnectionLost { .. }
            | ToolOutcome::Cancelled
            | ToolOutcome::ToolChanged { .. }
            | ToolOutcome::RestartInProgress
            | ToolOutcome::RestartFailed { .. } => true,
        },
        EventKind::RunStarted(_)
        | EventKind::Probed(_)
        | EventKind::TimerFired
        | EventKind::StopRequested
        | EventKind::ApprovalGiven(_)
        | EventKind::Suspended
        | EventKind::Resumed(_) => false,
    }
}
