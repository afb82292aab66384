use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::boundary::Issued;
use super::pointer::{first_difference, shown};
use super::{Attribution, BlobSource, Difference, ReplayReport, Unfinished};
use crate::adapter::{RequestEncoder, RequestShape};
use crate::contract::{CONTRACT_FORMAT, ExecutionContract, SEMANTICS_VERSION, Validators};
use crate::kernel::{
    CallOrder, Effect, EffectRecord, EntryDraft, EntryKind, Event, EventKind, InferRequest, Run,
    State, SummaryRequest,
};
use crate::message::{CallSeq, InferenceSeq, NoTokenizers, RunId, TokenCounter, TokenCounters};
use crate::transcript::{Chain, Link, SealedEntry};

/// Differences beyond this many are not kept: by then the recording and the replay have parted.
const MAX_DIFFERENCES: usize = 1_000;

/// Folds one transcript, entry by entry, through a fresh machine.
pub struct Replayer {
    /// How many requests each target has answered.
    pub(super) answered: Vec<usize>,
    at_ms: u64,
    chain: Chain,
    pub(super) contract: Arc<ExecutionContract>,
    /// What estimates are made with again; else why they cannot be.
    pub(super) counter: Result<Arc<dyn TokenCounter>, String>,
    differences: Vec<Difference>,
    /// One for each target; none where this build has no adapter of its version.
    encoders: Vec<Option<RequestEncoder>>,
    entries: u64,
    expected: VecDeque<EntryDraft>,
    pub(super) not_compared: Vec<String>,
    /// Each call that the machine started and that has not ended.
    pub(super) orders: BTreeMap<CallSeq, CallOrder>,
    /// The inferences that the machine issued, whether or not this build has an adapter to encode them.
    pub(super) issued: BTreeSet<InferenceSeq>,
    /// The inferences that recorded entries say were issued.
    pub(super) recorded_requests: BTreeSet<InferenceSeq>,
    /// Each issued request, as this build encodes it.
    pub(super) requests: BTreeMap<InferenceSeq, Issued>,
    pub(super) run: Option<Run>,
    sealed: bool,
    started_unix_ms: u64,
    /// Estimates that nothing here can make again.
    pub(super) uncounted: u64,
    validators: Arc<Validators>,
}

/// What counts under a contract, where that is among `tokenizers`.
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
    pub fn new(contract: ExecutionContract, run_id: &RunId) -> Self {
        let chain = Chain::genesis(contract.contract_hash(), run_id);
        let validators = Arc::new(Validators::compile(&contract));
        let mut replayer = Self {
            answered: vec![0; contract.targets.len()],
            at_ms: 0,
            chain,
            counter: counter_of(&contract, &NoTokenizers),
            differences: Vec::new(),
            encoders: Vec::new(),
            entries: 0,
            expected: VecDeque::new(),
            not_compared: Vec::new(),
            orders: BTreeMap::new(),
            issued: BTreeSet::new(),
            recorded_requests: BTreeSet::new(),
            requests: BTreeMap::new(),
            run: None,
            sealed: false,
            started_unix_ms: 0,
            uncounted: 0,
            validators,
            contract: Arc::new(contract),
        };
        replayer.check_contract();
        replayer
    }

    /// The same replay, with estimates made again by the contract's tokenizer where that is among `tokenizers`.
    #[must_use]
    pub fn counting_with(mut self, tokenizers: &dyn TokenCounters) -> Self {
        self.counter = counter_of(&self.contract, tokenizers);
        self
    }

    /// The machine as far as it has been folded.
    #[must_use]
    pub const fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    fn check_contract(&mut self) {
        let stated = self.contract.contract_hash();
        let computed = self.contract.rehash();
        if stated != computed {
            self.differ(Difference {
                seq: 0,
                state: None,
                step_id: None,
                pointer: "/contract/contract_hash".to_owned(),
                expected: stated.to_string(),
                actual: computed.to_string(),
                attribution: Attribution::Contract,
            });
        }
        let contract = Arc::clone(&self.contract);
        for (index, target) in contract.targets.iter().enumerate() {
            let encoder = RequestEncoder::new(&contract, index);
            if let Err(fault) = &encoder {
                let pointer = format!("/contract/targets/{index}/adapter_version");
                self.differ_unknown(pointer, &target.adapter_version, &fault.to_string());
            }
            self.encoders.push(encoder.ok());
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
        let whole = self.check_chain(entry);
        self.note_recorded(entry);
        let Ok(event) = entry.decode_event() else {
            let actual = "an event that this build does not know";
            let cause = if whole {
                Attribution::UnknownVersion
            } else {
                Attribution::Tampered
            };
            self.differ_at(entry, "/event", &entry.event, actual, cause);
            return;
        };
        if let Some(event) = event {
            if let Some(missing) = self.expected.pop_front() {
                self.differ_at(
                    entry,
                    "",
                    "the next event",
                    &format!("first an entry {:?}", missing.action.kind),
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
        let cause = if whole {
            Attribution::Kernel
        } else {
            Attribution::Tampered
        };
        match self.expected.pop_front() {
            Some(draft) => {
                self.sealed |= draft.action.kind == EntryKind::Seal;
                self.compare(entry, &draft, cause);
            }
            None => self.differ_at(entry, "", "an entry", "nothing", cause),
        }
    }

    /// Ends the replay. `open` accepts a run that has no seal yet.
    #[must_use]
    pub fn finish(mut self, open: bool) -> ReplayReport {
        self.note_uncounted();
        let is_open = !self.sealed && self.expected.is_empty();
        let same_so_far = self.differences.is_empty() && self.run.is_some();
        let is_whole = self.sealed || (open && is_open);
        if !is_whole {
            let next = self.expected.front().map_or_else(
                || "the seal, after what is missing".to_owned(),
                |draft| format!("an entry {:?}", draft.action.kind),
            );
            self.differ(Difference {
                seq: self.entries,
                state: None,
                step_id: None,
                pointer: String::new(),
                expected: "the end".to_owned(),
                actual: next,
                attribution: Attribution::Truncated,
            });
        }
        ReplayReport {
            same: self.differences.is_empty(),
            entries: self.entries,
            first_difference: self.differences.first().cloned(),
            differences: self.differences,
            open: is_open && same_so_far,
            not_compared: self.not_compared,
        }
    }

    /// Ends the replay of a run that is to go on: where it stands, if all of it was decided again as recorded.
    ///
    /// # Errors
    /// The report, where anything differs or there is no entry.
    pub fn into_unfinished(mut self) -> Result<Unfinished, Box<ReplayReport>> {
        let head = self.chain.head();
        let (answered, at_ms) = (std::mem::take(&mut self.answered), self.at_ms);
        let run = self.run.take();
        let report = self.finish(true);
        match run {
            Some(run) if report.same => Ok(Unfinished {
                answered,
                at_ms,
                head,
                run,
            }),
            _ => Err(Box::new(report)),
        }
    }

    /// Whether the stored bytes give the stored hash. The chain goes on from the stored hash, so that one changed entry is
    /// one difference.
    fn check_chain(&mut self, entry: &SealedEntry) -> bool {
        let Ok(action) = entry.decode_action() else {
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
        let computed = self.chain.extend(&Link {
            action: &entry.action,
            adapter_version: &action.adapter_version,
            event: &entry.event,
            model_fingerprint: &action.model_fingerprint,
            model_profile_id: &action.model_profile_id,
            state: action.to.as_str(),
        });
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

    /// What the recorded action says was set going or sealed.
    fn note_recorded(&mut self, entry: &SealedEntry) {
        let Ok(action) = entry.decode_action() else {
            return;
        };
        self.sealed |= action.kind == EntryKind::Seal;
        if (action.from, action.to) == (State::Precheck, State::Infer) {
            self.check_versions();
        }
        let issued = action.effects.iter().filter_map(|effect| match effect {
            EffectRecord::Infer { inference, .. } | EffectRecord::Summarise { inference, .. } => {
                Some(*inference)
            }
            _ => None,
        });
        self.recorded_requests.extend(issued);
    }

    fn step(&mut self, event: Event, blobs: &dyn BlobSource) {
        self.at_ms = self.at_ms.max(event.at_ms);
        let effects = match (&mut self.run, event.event) {
            (None, EventKind::RunStarted(started)) => {
                let begun = started.started_unix_ms;
                self.started_unix_ms = begun;
                for encoder in &mut self.encoders {
                    *encoder = encoder.take().map(|encoder| encoder.begun_at(begun));
                }
                let contract = Arc::clone(&self.contract);
                let (run, effects) = Run::start(contract, Arc::clone(&self.validators), *started);
                self.run = Some(run);
                effects
            }
            (Some(run), kind) => run.step(Event {
                at_ms: event.at_ms,
                event: kind,
            }),
            // A transcript that does not begin with its beginning: nothing can be expected of it.
            (None, _) => Vec::new(),
        };
        for effect in effects {
            match effect {
                Effect::Append(drafts) => self.expected.extend(drafts),
                Effect::Infer(request) => self.note_request(&request),
                Effect::Summarise(asked) => self.note_summary(&asked, blobs),
                Effect::Execute(order) => {
                    self.orders.insert(order.call, order);
                }
                Effect::Probe
                | Effect::AwaitApproval(_)
                | Effect::Wait { .. }
                | Effect::Cancel
                | Effect::Finish(_) => {}
            }
        }
    }

    fn note_request(&mut self, request: &InferRequest) {
        self.issued.insert(request.inference);
        let encoder = self.encoders.get_mut(request.target);
        let (Some(run), Some(encoder)) = (&self.run, encoder.and_then(Option::as_mut)) else {
            return;
        };
        let body = encoder.encode(run.conversation(), &RequestShape::from(request));
        self.requests
            .insert(request.inference, Issued::of(request, body));
    }

    /// A summary is asked for in a conversation of its own, made of the whole result.
    fn note_summary(&mut self, asked: &SummaryRequest, blobs: &dyn BlobSource) {
        let request = &asked.request;
        self.issued.insert(request.inference);
        let begun = self.started_unix_ms;
        let body = summary_body(&self.contract, asked, begun, blobs);
        if let Some(body) = body {
            self.requests
                .insert(request.inference, Issued::of(request, body));
        }
    }

    fn compare(&mut self, entry: &SealedEntry, draft: &EntryDraft, cause: Attribution) {
        let action = first_difference("/action", &entry.action, &text_of(&draft.action));
        let event = first_difference("/event", &entry.event, &text_of(&draft.event));
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

/// The body of a request for a summary; none where this build has no adapter for it, or the result is not there.
pub(super) fn summary_body(
    contract: &ExecutionContract,
    asked: &SummaryRequest,
    begun_unix_ms: u64,
    blobs: &dyn BlobSource,
) -> Option<Vec<u8>> {
    let encoder = RequestEncoder::new(contract, asked.request.target).ok()?;
    let whole = blobs.blob(asked.full)?;
    let said = asked.conversation(&String::from_utf8_lossy(&whole));
    let shape = RequestShape::from(&asked.request);
    Some(encoder.begun_at(begun_unix_ms).encode(&said, &shape))
}

/// The stored form of a recorded value.
pub(super) fn text_of<T: serde::Serialize>(value: &T) -> String {
    // Recorded values hold strings, integers and booleans only: serialising them cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}
