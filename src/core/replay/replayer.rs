//! Replays a transcript entry by entry and compares decisions. Does not know stores or displays.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::pointer::{first_difference, shown};
use super::{Attribution, BlobSource, Difference, ReplayReport, Unfinished};
use crate::contract::{CONTRACT_FORMAT, ExecutionContract, SEMANTICS_VERSION};
use crate::kernel::{Action, EffectRecord, EntryKind, Event, Run, State};
use crate::message::{
    BytesPerToken, CallSeq, InferenceSeq, NoTokenizers, RunId, TokenCounter, TokenCounters,
};
use crate::session::{Call, Input, Output, Request, Session};
use crate::transcript::{Chain, Link, SealedEntry};

/// Differences beyond this many are not kept: by then the recording and the replay have parted.
const MAX_DIFFERENCES: usize = 1_000;

/// Folds one transcript, entry by entry, through a fresh machine.
///
/// ```
/// use monolith_core::replay::Replayer;
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
/// let mut replayer = Replayer::new(contract, &run_id);
/// for entry in &entries {
///     replayer.take(entry, &blobs);
/// }
/// assert!(replayer.finish(false).same);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Replayer {
    /// Number of requests that each target has answered.
    pub(super) answered: Vec<usize>,
    at_ms: u64,
    chain: Chain,
    pub(super) contract: Arc<ExecutionContract>,
    /// Counter for redoing estimates; otherwise why there is none.
    pub(super) counter: Result<Arc<dyn TokenCounter>, String>,
    differences: Vec<Difference>,
    entries: u64,
    /// Decisions that are not compared yet.
    expected: VecDeque<(Action, SealedEntry)>,
    pub(super) not_compared: Vec<String>,
    /// Each call that the machine started and that has not ended.
    pub(super) orders: BTreeMap<CallSeq, Call>,
    /// The inferences that the machine issued, whether or not this build can write their requests.
    pub(super) issued: BTreeSet<InferenceSeq>,
    /// The inferences that recorded entries say were issued.
    pub(super) recorded_requests: BTreeSet<InferenceSeq>,
    /// The requests that have no response yet, where they are to be sent again.
    pub(super) requests: Option<BTreeMap<InferenceSeq, Request>>,
    sealed: bool,
    /// The inferences whose requests this build writes.
    pub(super) sendable: BTreeSet<InferenceSeq>,
    pub(super) session: Session,
    /// Estimates that nothing here can make again.
    pub(super) uncounted: u64,
}

/// Returns the counter of a contract, if it is among `tokenizers`.
pub(super) fn counter_of(
    contract: &ExecutionContract,
    tokenizers: &dyn TokenCounters,
) -> Result<Arc<dyn TokenCounter>, String> {
    tokenizers.of(contract.tokenizer.as_deref())
}

impl Replayer {
    /// A replay of the run of that name under that contract. Where the contract names a tokenizer, estimates are taken as they are
    /// recorded.
    #[must_use]
    pub fn new(contract: impl Into<Arc<ExecutionContract>>, run_id: &RunId) -> Self {
        let contract = contract.into();
        let chain = Chain::genesis(contract.contract_hash(), run_id);
        let counter = counter_of(&contract, &NoTokenizers);
        let session = session_of(&contract, &counter);
        let mut replayer = Self {
            answered: vec![0; contract.targets.len()],
            at_ms: 0,
            chain,
            contract,
            counter,
            differences: Vec::new(),
            entries: 0,
            expected: VecDeque::new(),
            not_compared: Vec::new(),
            orders: BTreeMap::new(),
            issued: BTreeSet::new(),
            recorded_requests: BTreeSet::new(),
            requests: None,
            sealed: false,
            sendable: BTreeSet::new(),
            session,
            uncounted: 0,
        };
        replayer.check_contract();
        replayer
    }

    /// The same replay, with estimates made again by the contract's tokenizer where that is among `tokenizers`.
    #[must_use]
    pub fn counting_with(mut self, tokenizers: &dyn TokenCounters) -> Self {
        self.counter = counter_of(&self.contract, tokenizers);
        self.session = session_of(&self.contract, &self.counter);
        self
    }

    /// The same replay, which keeps the requests that have no response yet.
    pub(super) fn keeping_requests(mut self) -> Self {
        self.requests = Some(BTreeMap::new());
        self
    }

    /// The machine as far as it has been folded.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        self.session.run()
    }

    fn check_contract(&mut self) {
        let stated = self.contract.contract_hash();
        let computed = self.contract.rehash();
        if stated != computed {
            self.differ(Difference {
                seq: 0,
                is_outside: true,
                state: None,
                step_id: None,
                pointer: "/contract/contract_hash".to_owned(),
                expected: stated.to_string(),
                actual: computed.to_string(),
                attribution: Attribution::Contract,
            });
        }
        let unknown = self.session.unknown_targets();
        let unknown: Vec<(usize, String)> = unknown
            .map(|(index, fault)| (index, fault.to_string()))
            .collect();
        for (index, fault) in unknown {
            let pointer = format!("/contract/targets/{index}/adapter_version");
            let version = self.contract.targets.get(index);
            let version = version.map(|target| target.adapter_version.clone());
            self.differ_unknown(pointer, &version.unwrap_or_default(), &fault);
        }
    }

    /// Under rules that this build does not know, PRECHECK ends the run; one that went on was decided by another build.
    fn check_versions(&mut self) {
        let contract = Arc::clone(&self.contract);
        let known = [
            (
                "/contract/format",
                contract.format.clone(),
                CONTRACT_FORMAT.to_owned(),
            ),
            (
                "/contract/semantics_version",
                contract.semantics_version.to_string(),
                SEMANTICS_VERSION.to_string(),
            ),
        ];
        for (pointer, recorded, known) in known {
            if recorded != known {
                self.differ_unknown(pointer.to_owned(), &recorded, &known);
            }
        }
    }

    /// A version that this build does not know.
    fn differ_unknown(&mut self, pointer: String, recorded: &str, known: &str) {
        self.differ(Difference {
            seq: 0,
            is_outside: true,
            state: None,
            step_id: None,
            pointer,
            expected: shown(recorded),
            actual: shown(known),
            attribution: Attribution::UnknownVersion,
        });
    }

    /// Takes the next stored entry.
    pub fn take(&mut self, entry: &SealedEntry, blobs: &dyn BlobSource) {
        self.entries += 1;
        if self.sealed {
            self.differ_at(entry, "", "nothing", "an entry", Attribution::Extended);
            return;
        }
        let Ok(event) = entry.decode_event() else {
            let cause = self.judge_as_stored(entry);
            let cause = match cause {
                Attribution::Tampered => cause,
                _ => Attribution::UnknownVersion,
            };
            let actual = "an event that this build does not know";
            self.differ_at(entry, "/event", &entry.event, actual, cause);
            return;
        };
        let before = self.differences.len();
        if let Some(event) = event {
            self.hand_in(entry, event, blobs);
        }
        let decided = self.expected.pop_front();
        if let Some((action, decided)) = &decided
            && decided == entry
        {
            // The texts and the hash are those that were just made: nothing of them has to be read or hashed again.
            self.chain = Chain::resumed(
                self.contract.contract_hash(),
                entry.hash,
                self.chain.length().saturating_add(1),
            );
            self.note_recorded(action);
            return;
        }
        // What is wrong with the stored bytes comes before what follows from them.
        let following = self.differences.split_off(before);
        let cause = self.judge_as_stored(entry);
        self.differences.extend(following);
        self.differences.truncate(MAX_DIFFERENCES);
        match decided {
            Some((action, decided)) => {
                self.sealed |= action.kind == EntryKind::Seal;
                self.compare(entry, &decided, cause);
            }
            None => self.differ_at(entry, "", "an entry", "nothing", cause),
        }
    }

    /// Compares the event with what the machine waits for, and lets it decide.
    fn hand_in(&mut self, entry: &SealedEntry, event: Event, blobs: &dyn BlobSource) {
        if let Some((missing, _)) = self.expected.pop_front() {
            let missing = missing.kind;
            self.differ_at(
                entry,
                "",
                "the next event",
                &format!("first an entry {missing:?}"),
                Attribution::Kernel,
            );
            self.expected.clear();
        }
        if event.at_ms < self.at_ms {
            let (at, before) = (event.at_ms.to_string(), format!("{} or later", self.at_ms));
            self.differ_at(entry, "/event/at_ms", &at, &before, Attribution::Tampered);
        }
        self.check_boundary(entry, &event, blobs);
        self.step(event, blobs);
    }

    /// Judges the stored texts by themselves; what a difference from them then comes from.
    fn judge_as_stored(&mut self, entry: &SealedEntry) -> Attribution {
        let action = entry.decode_action().ok();
        let whole = self.check_chain(entry, action.as_ref());
        if let Some(action) = &action {
            self.note_recorded(action);
        }
        if whole {
            Attribution::Kernel
        } else {
            Attribution::Tampered
        }
    }

    /// Ends the replay. `open` accepts a run that has no seal yet.
    #[must_use]
    pub fn finish(self, open: bool) -> ReplayReport {
        self.ended(open).0
    }

    fn ended(mut self, open: bool) -> (ReplayReport, Session) {
        self.note_uncounted();
        let is_open = !self.sealed && self.expected.is_empty();
        let same_so_far = self.differences.is_empty() && self.run().is_some();
        let is_whole = self.sealed || (open && is_open);
        if !is_whole {
            let next = self.expected.front().map_or_else(
                || "the seal, after what is missing".to_owned(),
                |(action, _)| format!("an entry {:?}", action.kind),
            );
            self.differ(Difference {
                seq: self.entries,
                is_outside: false,
                state: None,
                step_id: None,
                pointer: String::new(),
                expected: "the end".to_owned(),
                actual: next,
                attribution: Attribution::Truncated,
            });
        }
        let report = ReplayReport {
            same: self.differences.is_empty(),
            entries: self.entries,
            first_difference: self.differences.first().cloned(),
            differences: self.differences,
            open: is_open && same_so_far,
            not_compared: self.not_compared,
        };
        (report, self.session)
    }

    /// Ends the replay of a run that is to go on: its state, if all of it was decided again as recorded.
    ///
    /// # Errors
    /// The report, where anything differs or there is no entry.
    pub fn into_unfinished(mut self) -> Result<Unfinished, Box<ReplayReport>> {
        let head = self.chain.head();
        let (answered, at_ms) = (std::mem::take(&mut self.answered), self.at_ms);
        let (report, session) = self.ended(true);
        if report.same && session.run().is_some() {
            return Ok(Unfinished {
                answered,
                at_ms,
                head,
                session,
            });
        }
        Err(Box::new(report))
    }

    /// True if the stored bytes give the stored hash. The chain continues from the stored hash, so that one changed entry is
    /// one difference.
    fn check_chain(&mut self, entry: &SealedEntry, action: Option<&Action>) -> bool {
        let Some(action) = action else {
            let actual = "an action that this build does not know";
            self.differ_at(
                entry,
                "/action",
                &entry.action,
                actual,
                Attribution::Tampered,
            );
            return false;
        };
        let computed = self.chain.extend(&Link::of(entry, action));
        let length = self.chain.length();
        self.chain = Chain::resumed(self.contract.contract_hash(), entry.hash, length);
        if computed == entry.hash && action.to == entry.state && action.seq == entry.seq {
            return true;
        }
        self.differ_at(
            entry,
            "/hash",
            &entry.hash.to_string(),
            &computed.to_string(),
            Attribution::Tampered,
        );
        false
    }

    /// Notes the effects or the seal of a recorded action.
    fn note_recorded(&mut self, action: &Action) {
        self.sealed |= action.kind == EntryKind::Seal;
        if (action.from, action.to) == (State::Precheck, State::Infer) {
            self.check_versions();
        }
        self.recorded_requests.extend(issued_by(action));
    }

    fn step(&mut self, event: Event, blobs: &dyn BlobSource) {
        self.at_ms = self.at_ms.max(event.at_ms);
        let recorded = Input::Recorded(Box::new(event.event));
        // Refused where a transcript does not begin with its beginning, or begins twice: nothing is decided then.
        if self.session.handle(event.at_ms, recorded).is_err() {
            return;
        }
        while let Some(output) = self.session.poll() {
            match output {
                Output::Append(append) => {
                    for (draft, sealed) in append.drafts.into_iter().zip(append.entries) {
                        self.issued.extend(issued_by(&draft.action));
                        self.expected.push_back((draft.action, sealed));
                    }
                }
                Output::Send(request) => {
                    let inference = request.inference.inference;
                    self.sendable.insert(inference);
                    if let Some(requests) = &mut self.requests {
                        requests.insert(inference, request);
                    }
                }
                Output::Summarise { full, .. } | Output::Sample { prompt: full, .. } => {
                    if let Some(bytes) = blobs.blob(full) {
                        let blob = Input::Blob { hash: full, bytes };
                        drop(self.session.handle(event.at_ms, blob));
                    }
                }
                Output::Call(call) => {
                    self.orders.insert(call.order.call, call);
                }
                Output::Probe { .. }
                | Output::Ask(_)
                | Output::Delegate(_)
                | Output::Arm(_)
                | Output::Delta { .. }
                | Output::Thinking { .. }
                | Output::Close(_)
                | Output::Cancel
                | Output::Done(_) => {}
            }
        }
    }

    fn compare(&mut self, entry: &SealedEntry, decided: &SealedEntry, cause: Attribution) {
        let action = first_difference("/action", &entry.action, &decided.action);
        let event = first_difference("/event", &entry.event, &decided.event);
        for (pointer, expected, actual) in event.into_iter().chain(action) {
            self.differ_at(entry, &pointer, &expected, &actual, cause);
        }
    }

    pub(super) fn differ_at(
        &mut self,
        entry: &SealedEntry,
        pointer: &str,
        expected: &str,
        actual: &str,
        attribution: Attribution,
    ) {
        let step_id = entry.decode_action().ok().map(|action| action.step_id);
        self.differ(Difference {
            seq: entry.seq,
            is_outside: false,
            state: Some(entry.state),
            step_id,
            pointer: pointer.to_owned(),
            expected: shown(expected),
            actual: shown(actual),
            attribution,
        });
    }

    fn differ(&mut self, difference: Difference) {
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(difference);
        }
    }
}

/// The session that a transcript is made again in. Without a counter its estimates are not compared.
pub(super) fn session_of(
    contract: &Arc<ExecutionContract>,
    counter: &Result<Arc<dyn TokenCounter>, String>,
) -> Session {
    let counter = counter.clone().unwrap_or_else(|_| BytesPerToken::counter());
    Session::recorded(Arc::clone(contract), counter)
}

/// The inferences that an entry says were issued.
pub(super) fn issued_by(action: &Action) -> impl Iterator<Item = InferenceSeq> {
    action.effects.iter().filter_map(|effect| match effect {
        EffectRecord::Infer { inference, .. }
        | EffectRecord::Summarise { inference, .. }
        | EffectRecord::Sample { inference, .. } => Some(*inference),
        _ => None,
    })
}

/// The stored form of a recorded value.
pub(super) fn text_of<T: serde::Serialize>(value: &T) -> String {
    // Recorded values hold strings, integers and booleans only: serialising them cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}
