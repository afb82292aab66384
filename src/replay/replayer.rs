use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::pointer::{first_difference, shown};
use super::{Attribution, BlobSource, Difference, ReplayReport};
use crate::adapter::{Adapter, Decoded, RequestEncoder, RequestShape, ResponseMeta};
use crate::contract::{ExecutionContract, Validators};
use crate::kernel::{
    Effect, EntryDraft, EntryKind, Event, EventKind, InferRequest, InferenceReturned, Run,
};
use crate::message::{Digest, InferenceSeq, RunId};
use crate::transcript::{Chain, Link, SealedEntry};

/// Differences beyond this many are not kept: by then the recording and the replay have parted.
const MAX_DIFFERENCES: usize = 1_000;

/// Folds one transcript, entry by entry, through a fresh machine.
pub struct Replayer {
    chain: Chain,
    contract: Arc<ExecutionContract>,
    differences: Vec<Difference>,
    encoders: Vec<RequestEncoder>,
    entries: u64,
    expected: VecDeque<EntryDraft>,
    not_compared: Vec<String>,
    /// The digest of each issued request's body, as this build encodes it.
    requests: BTreeMap<InferenceSeq, (Digest, usize)>,
    run: Option<Run>,
    sealed: bool,
    validators: Arc<Validators>,
}

impl Replayer {
    /// A replay of the run of that name under that contract.
    #[must_use]
    pub fn new(contract: ExecutionContract, run_id: &RunId) -> Self {
        let chain = Chain::genesis(contract.contract_hash(), run_id);
        let validators = Arc::new(Validators::compile(&contract));
        let mut replayer = Self {
            chain,
            differences: Vec::new(),
            encoders: Vec::new(),
            entries: 0,
            expected: VecDeque::new(),
            not_compared: Vec::new(),
            requests: BTreeMap::new(),
            run: None,
            sealed: false,
            validators,
            contract: Arc::new(contract),
        };
        replayer.check_contract();
        replayer
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
        let encoders: Result<Vec<_>, _> = (0..self.contract.targets.len())
            .map(|target| RequestEncoder::new(&self.contract, target))
            .collect();
        match encoders {
            Ok(encoders) => self.encoders = encoders,
            Err(fault) => self.differ(Difference {
                seq: 0,
                state: None,
                step_id: None,
                pointer: "/contract/adapter_version".to_owned(),
                expected: self.contract.adapter_version.clone(),
                actual: fault.to_string(),
                attribution: Attribution::UnknownVersion,
            }),
        }
    }

    /// Takes the next stored entry.
    pub fn take(&mut self, entry: &SealedEntry, blobs: &dyn BlobSource) {
        self.entries += 1;
        if self.sealed {
            self.differ_at(entry, "", "nothing", "an entry", Attribution::Extended);
            return;
        }
        let whole = self.check_chain(entry);
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
            self.check_boundary(entry, &event, blobs);
            self.step(event);
        }
        let cause = if whole {
            Attribution::Kernel
        } else {
            Attribution::Tampered
        };
        match self.expected.pop_front() {
            Some(draft) => {
                self.sealed = draft.action.kind == EntryKind::Seal;
                self.compare(entry, &draft, cause);
            }
            None => self.differ_at(entry, "", "an entry", "nothing", cause),
        }
    }

    /// Ends the replay. `open` accepts a run that has no seal yet.
    #[must_use]
    pub fn finish(mut self, open: bool) -> ReplayReport {
        let may_be_open = open && self.expected.is_empty();
        if !self.sealed && !may_be_open {
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
            not_compared: self.not_compared,
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

    /// Encodes and decodes again what crossed the boundary to the model.
    fn check_boundary(&mut self, entry: &SealedEntry, event: &Event, blobs: &dyn BlobSource) {
        match &event.event {
            EventKind::InferenceReturned(returned) => {
                let hash = returned.request_hash;
                self.check_request(entry, returned.inference, hash);
                self.check_decoding(entry, returned, blobs);
            }
            EventKind::InferenceFailed(failed) => {
                if let Some(hash) = failed.request_hash {
                    self.check_request(entry, failed.inference, hash);
                }
            }
            _ => {}
        }
    }

    fn check_request(&mut self, entry: &SealedEntry, inference: InferenceSeq, recorded: Digest) {
        // A late answer's request was compared when it was issued; one that this build never issued has no body to compare.
        let Some((encoded, _)) = self.requests.get(&inference).copied() else {
            return;
        };
        if encoded != recorded {
            self.differ_at(
                entry,
                "/event/event/value/request_hash",
                &recorded.to_string(),
                &encoded.to_string(),
                Attribution::Adapter,
            );
        }
    }

    fn check_decoding(
        &mut self,
        entry: &SealedEntry,
        returned: &InferenceReturned,
        blobs: &dyn BlobSource,
    ) {
        let recorded = &returned.result;
        let Some(raw) = blobs.blob(recorded.raw_hash) else {
            if returned.gated {
                self.not_compared.push(format!(
                    "entry {}: the response is withheld and was left out",
                    entry.seq
                ));
            } else {
                let pointer = "/event/event/value/result/raw_hash";
                let hash = recorded.raw_hash.to_string();
                self.differ_at(
                    entry,
                    pointer,
                    &hash,
                    "no such bytes",
                    Attribution::Truncated,
                );
            }
            return;
        };
        let actual_hash = Digest::of(&raw);
        if actual_hash != recorded.raw_hash {
            let pointer = "/event/event/value/result/raw_hash";
            let (expected, actual) = (recorded.raw_hash.to_string(), actual_hash.to_string());
            self.differ_at(entry, pointer, &expected, &actual, Attribution::Tampered);
            return;
        }
        let Some(run) = &self.run else { return };
        let target = self
            .requests
            .get(&returned.inference)
            .map_or(0, |(_, target)| *target);
        let model = self
            .contract
            .targets
            .get(target)
            .map_or("", |target| target.model.as_str());
        let decoded = Adapter::by_version(&recorded.adapter_version).map(|adapter| {
            let meta = ResponseMeta {
                status: 200,
                ..ResponseMeta::default()
            };
            let mut decoder = adapter.decoder(meta, model);
            decoder.push(&raw);
            decoder.finish()
        });
        let again = match decoded {
            Ok(Decoded::Message(result)) => {
                let admitted = run.admit(*result);
                if admitted.gated != returned.gated {
                    let (expected, actual) =
                        (returned.gated.to_string(), admitted.gated.to_string());
                    let pointer = "/event/event/value/gated";
                    self.differ_at(entry, pointer, &expected, &actual, Attribution::Kernel);
                }
                text_of(&admitted.result)
            }
            Ok(Decoded::Fault { fault, .. }) => text_of(&fault),
            Err(fault) => {
                let pointer = "/event/event/value/result/adapter_version";
                let version = &recorded.adapter_version;
                let actual = fault.to_string();
                self.differ_at(
                    entry,
                    pointer,
                    version,
                    &actual,
                    Attribution::UnknownVersion,
                );
                return;
            }
        };
        let found = first_difference("/event/event/value/result", &text_of(recorded), &again);
        if let Some((pointer, expected, actual)) = found {
            self.differ_at(entry, &pointer, &expected, &actual, Attribution::Adapter);
        }
    }

    fn step(&mut self, event: Event) {
        let effects = match (&mut self.run, event.event) {
            (None, EventKind::RunStarted(started)) => {
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
                Effect::Probe
                | Effect::Execute(_)
                | Effect::AwaitApproval(_)
                | Effect::Wait { .. }
                | Effect::Cancel
                | Effect::Finish(_) => {}
            }
        }
    }

    fn note_request(&mut self, request: &InferRequest) {
        let (Some(run), Some(encoder)) = (&self.run, self.encoders.get_mut(request.target)) else {
            return;
        };
        let body = encoder.encode(run.conversation(), &RequestShape::from(request));
        self.requests
            .insert(request.inference, (Digest::of(&body), request.target));
    }

    fn compare(&mut self, entry: &SealedEntry, draft: &EntryDraft, cause: Attribution) {
        let action = first_difference("/action", &entry.action, &text_of(&draft.action));
        let event = first_difference("/event", &entry.event, &text_of(&draft.event));
        for (pointer, expected, actual) in event.into_iter().chain(action) {
            self.differ_at(entry, &pointer, &expected, &actual, cause);
        }
    }

    fn differ_at(
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

/// The stored form of a recorded value.
fn text_of<T: serde::Serialize>(value: &T) -> String {
    // Recorded values hold strings, integers and booleans only: serialising them cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}
