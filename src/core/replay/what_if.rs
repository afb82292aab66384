//! Feeds recorded events to a machine under another contract. Asks no model or tool.

use std::sync::Arc;

use super::decision::{decision, effect_in_words, in_words, same_effect};
use super::pointer::{differences, first_difference};
use super::replayer::{counter_of, session_of, text_of};
use super::what_if_event::{Mismatch, RecordedAnswers};
use super::{BlobSource, OtherDecision, RecordingMismatch, TermsDifference, WhatIfReport};
use crate::contract::ExecutionContract;
use crate::kernel::{
    Action, EffectRecord, EntryDraft, Event, EventKind, Fold, Outcome, Run, State,
};
use crate::message::TokenCounters;
use crate::session::{Input, Output, Session};
use crate::transcript::SealedEntry;

/// Differences between two contracts beyond this many are not listed.
const MAX_DIFFERENCES: usize = 1_000;

/// Asks what would have happened under another contract: a fresh machine under it is given the recorded events, as far as they
/// answer what it asks. No model and no tool is asked.
///
/// ```
/// use monolith_core::replay::WhatIf;
/// # use std::collections::BTreeMap;
/// # use monolith_core::contract::ExecutionContract;
/// # use monolith_core::transcript::{LineReader, Record, SealedEntry};
///
/// # let text = std::fs::read("../../replay/v1/core.valid_call.jsonl")?;
/// # let (mut reader, mut header, mut entries) = (LineReader::new(), None, Vec::new());
/// # let mut blobs = BTreeMap::new();
/// # for line in text.split_inclusive(|byte| *byte == b'\n') {
/// #     match reader.read(line)? {
/// #         Record::Header(found) => header = Some((ExecutionContract::decode(found.contract)?, found.run_id)),
/// #         Record::Entry(entry) => entries.push(SealedEntry::from(&*entry)),
/// #         Record::Blob(blob) => drop(blobs.insert(blob.hash, blob.bytes.to_vec())),
/// #         _ => {}
/// #     }
/// # }
/// # let (contract, run_id) = header.ok_or("no header")?;
/// let mut other: serde_json::Value = serde_json::from_str(&contract.canonical_text())?;
/// other["max_turns"] = 1.into();
/// let other = ExecutionContract::decode(&other.to_string())?;
/// let mut what_if = WhatIf::new(contract, other);
/// for entry in &entries {
///     what_if.take(entry, &blobs);
/// }
/// let report = what_if.finish();
/// assert!(report.first_other_decision.is_some());
/// assert_eq!(report.entries, entries.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WhatIf {
    recorded_answers: RecordedAnswers,
    fits: Option<RecordingMismatch>,
    first_other: Option<OtherDecision>,
    other: Arc<ExecutionContract>,
    recorded: Arc<ExecutionContract>,
    /// The machine under the recorded contract, for what a clock decided in the recorded run.
    recorded_run: Fold,
    recorded_outcome: Option<Outcome>,
    same: u64,
    /// The run under the other contract.
    session: Session,
    entries: u64,
    step: Step,
    /// Reason why the other contract fails a check of PRECHECK.
    refused: Option<String>,
}

/// One step as it was recorded, and as it is decided now.
#[derive(Default)]
struct Step {
    decided: Vec<EntryDraft>,
    recorded: Vec<(u64, Action)>,
}

impl WhatIf {
    /// Prepares a comparison of `recorded` with the course under `other`.
    #[must_use]
    pub fn new(recorded: ExecutionContract, other: ExecutionContract) -> Self {
        let (recorded, other) = (Arc::new(recorded), Arc::new(other));
        let recorded_answers = RecordedAnswers::new(Arc::clone(&recorded), Arc::clone(&other));
        Self {
            session: session_of(&other, &recorded_answers.counter),
            recorded_answers,
            fits: None,
            first_other: None,
            recorded_run: Fold::new(Arc::clone(&recorded)),
            recorded_outcome: None,
            same: 0,
            entries: 0,
            step: Step::default(),
            refused: None,
            other,
            recorded,
        }
    }

    /// The same, with estimates made by the other contract's tokenizer where that is among `tokenizers`.
    #[must_use]
    pub fn counting_with(mut self, tokenizers: &dyn TokenCounters) -> Self {
        self.recorded_answers.counter = counter_of(&self.other, tokenizers);
        self.session = session_of(&self.other, &self.recorded_answers.counter);
        self
    }

    /// Takes the next stored entry. What does not read back is left to the verification.
    pub fn take(&mut self, entry: &SealedEntry, blobs: &dyn BlobSource) {
        self.entries = self.entries.saturating_add(1);
        let (Ok(action), Ok(event)) = (entry.decode_action(), entry.decode_event()) else {
            self.mismatch(entry.seq, Mismatch::unreadable());
            return;
        };
        self.recorded_outcome = action.outcome.or(self.recorded_outcome);
        if let Some(event) = event {
            self.close_step();
            if self.fits.is_none() {
                self.feed(entry.seq, event, blobs);
            }
        }
        if self.fits.is_none() || !self.step.decided.is_empty() {
            self.step.recorded.push((entry.seq, action));
        }
    }

    /// Ends the comparison.
    #[must_use]
    pub fn finish(mut self) -> WhatIfReport {
        self.close_step();
        let outcome = self.session.run().and_then(Run::outcome);
        let difference = |(pointer, recorded, other)| TermsDifference {
            pointer,
            recorded,
            other,
        };
        let uncounted = self.recorded_answers.uncounted();
        self.recorded_answers.not_compared.extend(uncounted);
        let (recorded, other) = (text_of(&**self.recorded), text_of(&**self.other));
        let terms = differences("", &recorded, &other, MAX_DIFFERENCES);
        WhatIfReport {
            same_outcome: outcome.is_some() && outcome == self.recorded_outcome,
            recorded_contract: self.recorded.contract_hash(),
            other_contract: self.other.contract_hash(),
            contract_differences: terms.into_iter().map(difference).collect(),
            refused: self.refused,
            entries: self.entries,
            same_decisions: self.same,
            first_other_decision: self.first_other,
            no_longer_fits: self.fits,
            recorded_outcome: self.recorded_outcome,
            outcome,
            not_compared: self.recorded_answers.not_compared,
        }
    }

    fn mismatch(&mut self, seq: u64, mismatch: Mismatch) {
        self.fits.get_or_insert(RecordingMismatch {
            seq,
            why: mismatch.why,
            recorded: mismatch.recorded,
            other: mismatch.other,
        });
    }

    /// Gives the machine what was recorded, where it answers what the machine waits for.
    fn feed(&mut self, seq: u64, event: Event, blobs: &dyn BlobSource) {
        let recorded_deadline = self.recorded_run.run().and_then(Run::next_deadline);
        drop(self.recorded_run.take(event.clone()));
        let Some(run) = self.session.run() else {
            self.begin(seq, event, blobs);
            return;
        };
        // What the recorded clock let pass, another clock does too: an answer may come in just as its time is up.
        let passed = |deadline: &u64| {
            *deadline < event.at_ms && recorded_deadline.is_none_or(|recorded| recorded > *deadline)
        };
        if let Some(at_ms) = run.next_deadline().filter(passed) {
            let mismatch = Mismatch::times_out(at_ms, event.at_ms);
            let event = EventKind::TimerFired;
            self.decide(Event { at_ms, event }, blobs);
            self.mismatch(seq, mismatch);
            return;
        }
        match self.recorded_answers.fitted(event, &self.session, blobs) {
            Ok(event) => self.decide(event, blobs),
            Err(mismatch) => self.mismatch(seq, mismatch),
        }
    }

    fn begin(&mut self, seq: u64, event: Event, blobs: &dyn BlobSource) {
        let EventKind::RunStarted(started) = event.event else {
            self.mismatch(seq, Mismatch::unreadable());
            return;
        };
        let started = Box::new(self.recorded_answers.started(*started));
        self.hand_in(event.at_ms, Input::Start(started), blobs);
    }

    fn decide(&mut self, event: Event, blobs: &dyn BlobSource) {
        let recorded = Input::Recorded(Box::new(event.event));
        self.hand_in(event.at_ms, recorded, blobs);
    }

    fn hand_in(&mut self, at_ms: u64, input: Input, blobs: &dyn BlobSource) {
        if self.session.handle(at_ms, input).is_err() {
            return;
        }
        while let Some(output) = self.session.poll() {
            match output {
                Output::Append(append) => {
                    let mut checks = append.drafts.iter().flat_map(|draft| &draft.action.checks);
                    let failed = checks.find(|check| !check.ok);
                    if let Some(failed) = failed {
                        self.refused.get_or_insert_with(|| failed.detail.clone());
                    }
                    self.step.decided.extend(append.drafts);
                }
                Output::Summarise { full, .. } | Output::Sample { prompt: full, .. } => {
                    if let Some(bytes) = blobs.blob(full) {
                        let blob = Input::Blob { bytes, hash: full };
                        drop(self.session.handle(at_ms, blob));
                    }
                }
                Output::Probe { .. }
                | Output::Send(_)
                | Output::Call(_)
                | Output::Delegate(_)
                | Output::Ask(_)
                | Output::Arm(_)
                | Output::Delta { .. }
                | Output::Thinking { .. }
                | Output::Close(_)
                | Output::Cancel
                | Output::Done(_) => {}
            }
        }
    }

    /// Compares what was decided with what is recorded, once the step is whole.
    fn close_step(&mut self) {
        let step = std::mem::take(&mut self.step);
        if step.decided.is_empty() {
            // The machine has ended, or the recording no longer fits.
            if let (Some((seq, action)), None) = (step.recorded.first(), &self.fits) {
                self.differs(*seq, &[action], &[]);
            }
            return;
        }
        let recorded: Vec<&Action> = step.recorded.iter().map(|(_, action)| action).collect();
        let decided: Vec<&Action> = step.decided.iter().map(|draft| &draft.action).collect();
        let (mut recorded, mut decided) = (recorded.as_slice(), decided.as_slice());
        while !recorded.is_empty() || !decided.is_empty() {
            let (was, is) = (recorded.first(), decided.first());
            if was.map(|action| decision(action)) == is.map(|action| decision(action)) {
                self.same = self.same.saturating_add(1);
            } else if let Some(action) = was.or(is) {
                self.differs(action.seq, recorded, decided);
            }
            recorded = recorded.get(1..).unwrap_or_default();
            decided = decided.get(1..).unwrap_or_default();
        }
        self.compare_effects(&step);
    }

    /// Notes the first entry that is decided otherwise: each side begins with it, the rest of its step follows.
    fn differs(&mut self, seq: u64, recorded: &[&Action], other: &[&Action]) {
        if self.first_other.is_some() {
            return;
        }
        let text = |step: &[&Action]| {
            let first = step.first();
            first.map_or_else(|| "null".to_owned(), |action| decision(action))
        };
        let pointer = first_difference("/action", &text(recorded), &text(other));
        let describe = |step: &[&Action], contract: &ExecutionContract| match step.split_first() {
            Some((action, rest)) => in_words(action, rest, contract),
            None => "no entry".to_owned(),
        };
        self.first_other = Some(OtherDecision {
            seq,
            state: recorded.first().map(|action| action.to),
            pointer: pointer.map_or_else(|| "/action".to_owned(), |(pointer, ..)| pointer),
            recorded: describe(recorded, &self.recorded),
            other: describe(other, &self.other),
        });
    }

    /// Checks that the machine starts the same effects now as then: otherwise their answers are not recorded.
    fn compare_effects(&mut self, step: &Step) {
        let recorded: Vec<&EffectRecord> =
            step.recorded.iter().flat_map(|(_, a)| &a.effects).collect();
        let decided = step.decided.iter().map(|draft| &draft.action);
        let decided: Vec<&EffectRecord> = decided.flat_map(|action| &action.effects).collect();
        let same = recorded.len() == decided.len()
            && recorded
                .iter()
                .zip(&decided)
                .all(|(r, d)| same_effect(r, d));
        if same {
            return;
        }
        let seq = step.recorded.last().map_or_else(
            || step.decided.last().map_or(0, |draft| draft.action.seq),
            |(seq, _)| *seq,
        );
        let ended = self.session.run().map(Run::state) == Some(State::Terminate);
        let recorded_ended = step.recorded.iter().any(|(_, a)| a.to == State::Terminate);
        let why = match (ended, recorded_ended) {
            (true, true) => return,
            (true, false) => "it ends here, but the recorded run continued",
            (false, true) => "it continues, but the recorded run ended here",
            (false, false) => "it does something here that was not recorded",
        };
        let describe = |effects: &[&EffectRecord], contract: &ExecutionContract| {
            let words = effects
                .iter()
                .map(|effect| effect_in_words(effect, contract));
            let words: Vec<String> = words.collect();
            if words.is_empty() {
                "sets nothing going".to_owned()
            } else {
                words.join(", ")
            }
        };
        let mismatch = Mismatch {
            why: why.to_owned(),
            recorded: describe(&recorded, &self.recorded),
            other: describe(&decided, &self.other),
        };
        self.mismatch(seq, mismatch);
    }
}
