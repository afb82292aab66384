//! Finds the entry at which a fork begins, deciding each entry again. Does not start the new run.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::closed_history::closed_history;
use super::{BlobSource, ReplayReport, Replayer};
use crate::contract::{Counting, ExecutionContract, Label};
use crate::kernel::{EntryKind, EventKind, ParentRun, Run, RunStarted, conversation_digest};
use crate::message::{AdapterStatus, AgentMessage, Digest, RunId, TokenCounter};
use crate::transcript::SealedEntry;

/// Looks for the point of a run at which another one begins: takes the entries one by one, and decides each again.
///
/// ```
/// use monolith_core::replay::Fork;
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
/// let mut fork = Fork::new(contract, run_id, 2);
/// for entry in &entries {
///     fork.take(entry, &blobs);
/// }
/// let point = fork.finish()?;
/// assert_eq!(point.head, entries[2].hash);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Fork {
    after: Option<u64>,
    /// The entry; none for the end of the run.
    requested: Option<u64>,
    before: Option<u64>,
    contract: ExecutionContract,
    found: Option<ForkPoint>,
    last: Option<u64>,
    marks: Marks,
    parent: Option<ParentRun>,
    replayer: Replayer,
    run_id: RunId,
    /// As of before the last step: the conversation, and how many requests each target had answered.
    step: (Digest, Vec<usize>),
    takes_back: bool,
    /// Text that the intent rules judged.
    task: Option<String>,
}

/// A point of a run at which another one can begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// Number of requests that each provider has answered.
    pub answered: BTreeMap<String, usize>,
    /// Token counting of the messages.
    pub counting: Counting,
    /// The hash of the entry.
    pub head: Digest,
    /// The labels of all that the run had seen there.
    pub labels: BTreeSet<Label>,
    /// The conversation as of after the entry.
    pub messages: Vec<AgentMessage>,
    /// The run that this one began from itself.
    pub parent: Option<ParentRun>,
    /// The name of the run.
    pub run_id: RunId,
    /// The system prompt of the run's contract.
    pub system: String,
    /// Text that the intent rules judged.
    pub task: Option<String>,
}

/// The reason for refusing a fork.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkFault {
    /// The caller: the run has no such entry.
    #[error("fork run {run_id} at entry {requested}: it has entries 0 to {last}")]
    NoSuchEntry {
        /// The requested entry.
        requested: u64,
        /// The last entry there is.
        last: u64,
        /// The run.
        run_id: RunId,
    },
    /// The caller: the run has no end that another one could go on from.
    #[error("continue run {run_id}: it has not ended")]
    NotEnded {
        /// The run.
        run_id: RunId,
    },
    /// The caller: at that entry a call has no answer yet.
    #[error(
        "fork run {run_id} at entry {requested}: a call has no answer there; {}",
        Nearest(*before, *after)
    )]
    Unanswered {
        /// The first entry after it that will do.
        after: Option<u64>,
        /// The requested entry.
        requested: u64,
        /// The last entry before it that will do.
        before: Option<u64>,
        /// The run.
        run_id: RunId,
    },
    /// The transcript was changed, or monolith was: it does not hold, or the entries are not decided again.
    #[error("fork {run}: {}", first(report))]
    DoesNotReplay {
        /// The differences.
        report: Box<ReplayReport>,
        /// The run, as it was asked for.
        run: String,
    },
}

struct Nearest(Option<u64>, Option<u64>);

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(before), Some(after)) => {
                write!(
                    f,
                    "the nearest that will do are entries {before} and {after}"
                )
            }
            (Some(only), None) | (None, Some(only)) => {
                write!(f, "the nearest that will do is entry {only}")
            }
            (None, None) => f.write_str("no entry will do"),
        }
    }
}

fn first(report: &ReplayReport) -> String {
    let first = report.first_difference.as_ref();
    first.map_or_else(|| "it has no beginning".to_owned(), ToString::to_string)
}

/// A conversation as far as it is known: its digest after each message, and whether every call is answered then.
#[derive(Default)]
struct Marks {
    known: Vec<(Digest, bool)>,
    open: BTreeSet<String>,
}

impl Marks {
    fn digest(&self) -> Digest {
        self.known
            .last()
            .map_or(Digest::ZERO, |(digest, _)| *digest)
    }

    fn push(&mut self, message: &AgentMessage) {
        if let Some(id) = &message.tool_call_id {
            self.open.remove(id);
        }
        let requested = message.tool_calls.iter().map(|call| call.id.clone());
        self.open.extend(requested);
        let digest = conversation_digest(self.digest(), message);
        self.known.push((digest, self.open.is_empty()));
    }

    /// Returns the number of messages at that digest, if every call is answered then.
    fn whole(&self, digest: Digest) -> Option<usize> {
        if digest == Digest::ZERO {
            return Some(0);
        }
        let index = self.known.iter().rposition(|(known, _)| *known == digest)?;
        let (_, whole) = self.known.get(index)?;
        whole.then_some(index.saturating_add(1))
    }
}

impl Fork {
    /// A fork of that run after its entry `requested`.
    #[must_use]
    pub fn new(contract: ExecutionContract, run_id: RunId, requested: u64) -> Self {
        Self::looking(contract, run_id, Some(requested))
    }

    /// The end of that run: what is said there has an end, too. Calls that were never answered are left out, and an accepted
    /// final report is text.
    pub fn at_end(contract: ExecutionContract, run_id: RunId) -> Self {
        Self::looking(contract, run_id, None)
    }

    fn looking(contract: ExecutionContract, run_id: RunId, requested: Option<u64>) -> Self {
        let answered = vec![0; contract.targets.len()];
        Self {
            after: None,
            requested,
            before: None,
            found: None,
            last: None,
            marks: Marks::default(),
            parent: None,
            replayer: Replayer::new(contract.clone(), &run_id),
            step: (Digest::ZERO, answered),
            takes_back: false,
            task: None,
            contract,
            run_id,
        }
    }

    /// The contract of the run.
    #[must_use]
    pub const fn contract(&self) -> &ExecutionContract {
        &self.contract
    }

    /// Takes the next stored entry.
    pub fn take(&mut self, entry: &SealedEntry, blobs: &dyn BlobSource) {
        if let Ok(Some(event)) = entry.decode_event() {
            if let EventKind::RunStarted(started) = &event.event {
                self.parent.clone_from(&started.parent);
                self.task = RunStarted::intent(started.judged_messages(&self.contract));
            }
            self.step = (self.marks.digest(), self.replayer.answered.clone());
            // An answer that is in no conversation yet is not used up.
            self.takes_back = matches!(&event.event, EventKind::InferenceReturned(returned)
                if returned.result.status != AdapterStatus::Rejected);
        }
        self.replayer.take(entry, blobs);
        self.last = Some(entry.seq);
        if let Some(run) = self.replayer.run() {
            for message in run.conversation().iter().skip(self.marks.known.len()) {
                self.marks.push(message);
            }
        }
        let Ok(action) = entry.decode_action() else {
            return;
        };
        let Some(requested) = self.requested else {
            if action.kind == EntryKind::Seal {
                self.found = Some(self.end(entry.hash));
            }
            return;
        };
        let Some(length) = self.marks.whole(action.conversation_digest) else {
            return;
        };
        match entry.seq.cmp(&requested) {
            Ordering::Less => self.before = Some(entry.seq),
            Ordering::Equal => {
                self.found = Some(self.point(entry.hash, action.conversation_digest, length));
            }
            Ordering::Greater => {
                self.after.get_or_insert(entry.seq);
            }
        }
    }

    fn point(&self, head: Digest, digest: Digest, length: usize) -> ForkPoint {
        let conversation = self.replayer.run().map(Run::conversation);
        let messages = conversation.unwrap_or_default().iter().take(length);
        let messages = messages.map(|message| (**message).clone()).collect();
        let (before, answered_before) = &self.step;
        let counts = if self.takes_back && *before == digest {
            answered_before
        } else {
            &self.replayer.answered
        };
        self.point_with(head, messages, counts)
    }

    fn end(&self, head: Digest) -> ForkPoint {
        let run = self.replayer.run();
        let conversation = run.map(Run::conversation).unwrap_or_default();
        let messages = closed_history(conversation, run.and_then(Run::final_report));
        self.point_with(head, messages, &self.replayer.answered)
    }

    fn point_with(&self, head: Digest, messages: Vec<AgentMessage>, counts: &[usize]) -> ForkPoint {
        let mut answered: BTreeMap<String, usize> = BTreeMap::new();
        for (target, count) in self.contract.targets.iter().zip(counts) {
            let of_provider = answered.entry(target.provider.clone()).or_default();
            *of_provider = of_provider.saturating_add(*count);
        }
        ForkPoint {
            answered,
            counting: self.contract.counting(),
            head,
            labels: self
                .replayer
                .run()
                .map(Run::seen_labels)
                .unwrap_or_default(),
            messages,
            parent: self.parent.clone(),
            run_id: self.run_id.clone(),
            system: self.contract.system.clone(),
            task: self.task.clone(),
        }
    }

    /// Ends the search.
    ///
    /// # Errors
    /// [`ForkFault`] where the run does not replay, or no run can begin there.
    pub fn finish(self) -> Result<ForkPoint, ForkFault> {
        let (requested, run_id) = (self.requested, self.run_id);
        let report = self.replayer.finish(true);
        match (report.same, self.last, requested) {
            (true, Some(last), Some(requested)) if last < requested => {
                Err(ForkFault::NoSuchEntry {
                    requested,
                    last,
                    run_id,
                })
            }
            (true, Some(_), Some(requested)) => self.found.ok_or(ForkFault::Unanswered {
                after: self.after,
                requested,
                before: self.before,
                run_id,
            }),
            (true, Some(_), None) => self.found.ok_or(ForkFault::NotEnded { run_id }),
            _ => Err(ForkFault::DoesNotReplay {
                report: Box::new(report),
                run: format!("run {run_id}"),
            }),
        }
    }
}

impl ForkPoint {
    /// Returns the text for the intent rules of a run that begins here: the user's words to this run and to that one.
    #[must_use]
    pub fn intent_with(&self, task: Option<&str>) -> Option<String> {
        let before = RunStarted::intent(&self.messages);
        let texts: Vec<&str> = before.as_deref().into_iter().chain(task).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// Returns the initial conversation of a child run: its own contract's system prompt, the parent's messages, and its task.
    #[must_use]
    pub fn opening(
        &self,
        system: &str,
        task: Option<&str>,
        counter: &dyn TokenCounter,
    ) -> Vec<AgentMessage> {
        let messages = self.messages.clone();
        let mut messages = RunStarted::with_system(system, messages, &self.system, counter);
        messages.extend(
            task.map(|task| RunStarted::opening_counted("", task, counter))
                .unwrap_or_default(),
        );
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::BytesPerToken;

    fn fault(before: Option<u64>, after: Option<u64>) -> String {
        let run_id = RunId::try_from("r1".to_owned()).unwrap();
        let requested = 3;
        let fault = ForkFault::Unanswered {
            after,
            requested,
            before,
            run_id,
        };
        fault.to_string()
    }

    #[test]
    fn a_point_with_an_open_call_names_the_nearest_that_will_do() {
        let begin = "fork run r1 at entry 3: a call has no answer there; ";
        let check = |before, after, end: &str| {
            assert_eq!(fault(before, after), format!("{begin}{end}"));
        };
        check(
            Some(1),
            Some(6),
            "the nearest that will do are entries 1 and 6",
        );
        check(Some(1), None, "the nearest that will do is entry 1");
        check(None, Some(6), "the nearest that will do is entry 6");
        check(None, None, "no entry will do");
    }

    #[test]
    fn a_child_has_its_own_system_prompt_and_the_words_of_its_parent() {
        let head = Digest::ZERO;
        let point = ForkPoint {
            answered: BTreeMap::new(),
            counting: Counting::default(),
            head,
            labels: BTreeSet::new(),
            messages: RunStarted::opening("Be brief.", "Count."),
            parent: None,
            run_id: RunId::try_from("r1".to_owned()).unwrap(),
            system: "Be brief.".to_owned(),
            task: None,
        };
        let texts = |system: &str, task| {
            let messages = point.opening(system, task, &BytesPerToken).into_iter();
            messages.map(|message| message.content).collect::<Vec<_>>()
        };
        assert_eq!(texts("Be long.", None), ["Be long.", "Count."]);
        assert_eq!(texts("", Some("More.")), ["Count.", "More."]);
        let intent_with = |task| point.intent_with(task);
        assert_eq!(intent_with(None).as_deref(), Some("Count."));
        assert_eq!(intent_with(Some("More.")).as_deref(), Some("Count.\nMore."));
    }
}
