//! The blame of a replay, for every golden transcript: forged with every hash recomputed, decided under the same and another
//! contract, answered again, and forked at every entry.

use monolith_core::adapter::ResponseMeta;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::EventKind;
use monolith_core::message::{Digest, InferenceSeq, NoSecrets};
use monolith_core::replay::{
    BlobSource as _, Difference, Fork, ForkFault, LiveScope, Reissue, Requerier, WhatIf,
    WhatIfReport,
};
use monolith_core::session::Input;
use monolith_core::transcript::SealedEntry;
use serde_json::Value;

use crate::golden::{Golden, goldens};

impl Golden {
    /// A recorded response, as a server would send it again.
    fn response(&self, inference: InferenceSeq, status: u16, raw: Option<Digest>) -> Input {
        let bytes = raw.and_then(|hash| self.blobs.blob(hash));
        Input::Response {
            bytes: bytes.unwrap_or_default(),
            inference,
            meta: ResponseMeta {
                status,
                ..ResponseMeta::default()
            },
        }
    }

    /// Changes the first event of that kind, and recomputes every hash as a forger would.
    fn forged(mut self, kind: &str, change: impl Fn(&mut Value)) -> Self {
        let kind = format!("\"kind\":\"{kind}\"");
        let holds = |entry: &&mut SealedEntry| entry.event.contains(&kind);
        let entry = self.entries.iter_mut().find(holds).unwrap();
        let mut event: Value = serde_json::from_str(&entry.event).unwrap();
        change(&mut event);
        entry.event = event.to_string();
        self.chain_anew();
        self
    }

    /// Returns the contract with one field changed and its hash recomputed.
    fn other(&self, field: &str, value: Value) -> ExecutionContract {
        let mut document: Value = serde_json::from_str(&self.contract.canonical_text()).unwrap();
        document[field] = value;
        let changed = ExecutionContract::decode(&document.to_string()).unwrap();
        document["contract_hash"] = changed.rehash().to_string().into();
        ExecutionContract::decode(&document.to_string()).unwrap()
    }

    fn differences(&self) -> Vec<Difference> {
        self.replayed().differences
    }

    fn under(&self, other: ExecutionContract) -> WhatIfReport {
        let mut what_if = WhatIf::new(self.contract.clone(), other);
        for entry in &self.entries {
            what_if.take(entry, &self.blobs);
        }
        what_if.finish()
    }
}

/// Shows 002/6.open.7.
#[test]
fn what_was_never_asked_or_never_happened_so_is_blamed_at_its_field() {
    let check = |golden: Golden, pointer: &str, attribution: &str| {
        let found = golden.differences();
        let place = |found: &&Difference| found.pointer == pointer;
        let blamed = found
            .iter()
            .find(place)
            .map(|found| found.attribution.as_str());
        assert_eq!(blamed, Some(attribution), "{pointer}: {found:#?}");
    };
    let valid = || Golden::of("core.valid_call");
    let inference = "/event/event/value/inference";
    let answers_another = valid().forged("inference_returned", |event| {
        event["event"]["value"]["inference"] = 7.into();
    });
    check(answers_another, inference, "tampered");
    let falls = Golden::of("core.step_timeout").forged("inference_returned", |event| {
        event["at_ms"] = 9.into();
    });
    let falls = falls.forged("timer_fired", |event| event["at_ms"] = 8.into());
    check(falls, "/event/at_ms", "tampered");
    let unsent = Golden::of("rate_limit.one_target").forged("inference_failed", |event| {
        let failed = event["event"]["value"].as_object_mut().unwrap();
        failed.remove("request_hash").unwrap();
    });
    check(unsent, "/event/event/value/request_hash", "adapter");
    let envelope = "/event/event/value/outcome/value";
    let recut = Golden::of("core.oversized_result").forged("tool_returned", |event| {
        event["event"]["value"]["outcome"]["value"]["content"][0]["value"] = "made up".into();
    });
    check(recut, &format!("{envelope}/content/0/value"), "tampered");
    for size in ["bytes_in", "bytes_out"] {
        let resized = valid().forged("tool_returned", |event| {
            event["event"]["value"]["outcome"]["value"][size] = 1.into();
        });
        check(resized, &format!("{envelope}/{size}"), "tampered");
    }
    let breached = valid().forged("inference_returned", |event| {
        event["event"]["value"]["gate_breached"] = true.into();
    });
    check(breached, "/event/event/value/gate_breached", "kernel");
    let lighter = valid().forged("run_started", |event| {
        event["event"]["value"]["messages"][1]["tokens"] = 1.into();
    });
    let pointer = "/event/event/value/messages/1/tokens";
    check(lighter, pointer, "tampered");
    let mut unknown = valid();
    unknown.contract = unknown.other("semantics_version", 99.into());
    unknown.chain_anew();
    check(unknown, "/contract/semantics_version", "unknown_version");
    let mut unknown = valid();
    let mut targets = serde_json::to_value(&unknown.contract.targets).unwrap();
    targets[0]["adapter_version"] = "telepathy/1".into();
    unknown.contract = unknown.other("targets", targets);
    unknown.chain_anew();
    let pointer = "/contract/targets/0/adapter_version";
    let found = unknown.differences();
    assert_eq!(found[0].pointer, pointer);
    check(unknown, pointer, "unknown_version");
    let mut extended = valid();
    let last = extended.entries.last().unwrap().clone();
    extended.entries.push(last);
    check(extended, "", "extended");
}

#[test]
fn under_its_own_contract_every_run_decides_the_same() {
    for path in goldens() {
        let golden = Golden::read(&path);
        let report = golden.under(golden.contract.clone());
        assert!(report.same_outcome, "{}: {report:#?}", path.display());
        assert_eq!(report.same_decisions, report.entries, "{report:#?}");
        assert_eq!(report.no_longer_fits, None, "{}", path.display());
    }
}

#[test]
fn another_time_limit_is_met_when_it_would_have_been() {
    // The model waits a second, then two: the turn would have been over before.
    let golden = Golden::of("rate_limit.one_target");
    let report = golden.under(golden.other("step_timeout_ms", 500.into()));
    let outcome = report.outcome.map(|outcome| outcome.to_string());
    assert_eq!(
        outcome.as_deref(),
        Some("FAILED_TIMEOUT (step_timeout)"),
        "{report:#?}"
    );
    let first = report.first_other_decision.unwrap();
    assert!(first.other.contains("step timeout exceeded"), "{first:#?}");
    // A longer one: no entry shows what would have come after the wait.
    let golden = Golden::of("core.step_timeout");
    let report = golden.under(golden.other("step_timeout_ms", 120_000.into()));
    assert_eq!(report.outcome, None);
    let why = report.no_longer_fits.unwrap().why;
    assert_eq!(why, "the recorded run waited no longer");
}

#[test]
fn answers_that_are_the_recorded_ones_are_the_same() {
    let scope = LiveScope {
        effects: true,
        inference: true,
        tools: true,
    };
    for path in goldens() {
        let golden = Golden::read(&path);
        let mut requerier = Requerier::new(golden.contract.clone(), &golden.run_id, scope);
        let mut asked = 0;
        for entry in &golden.entries {
            if let Some(reissue) = requerier.reissue(entry) {
                asked += 1;
                let event = entry.decode_event().unwrap().unwrap().event;
                let answer = match (reissue, event) {
                    (Reissue::Inference(request), EventKind::InferenceReturned(returned)) => {
                        assert_eq!(Digest::of(&request.body), returned.request_hash);
                        golden.response(returned.inference, 200, Some(returned.result.raw_hash))
                    }
                    (Reissue::Inference(_), EventKind::InferenceFailed(failed)) => {
                        let (inference, fault) = (failed.inference, failed.fault);
                        match fault.status {
                            Some(status) => golden.response(inference, status, fault.raw_hash),
                            None => Input::Fault { fault, inference },
                        }
                    }
                    (Reissue::Call(call), EventKind::ToolReturned(returned)) => {
                        assert_eq!(call.order.call, returned.call);
                        Input::ToolResult {
                            call: returned.call,
                            exchanges: returned.exchanges,
                            outcome: returned.outcome,
                        }
                    }
                    (reissue, event) => panic!("{reissue:?} is not answered by {event:?}"),
                };
                // What is withheld is no part of a recorded verdict, so only its bytes could be held back again.
                if !entry.event.contains("\"gated\":true") {
                    requerier.compare(entry, answer, &NoSecrets);
                }
            }
            requerier.take(entry, &golden.blobs);
        }
        let inference = |entry: &&SealedEntry| entry.event.contains("\"kind\":\"inference_");
        let answered = golden.entries.iter().filter(inference).count();
        assert!(asked >= answered, "{}: {asked}", path.display());
        let report = requerier.finish(false);
        assert!(report.same, "{}: {report:#?}", path.display());
    }
}

#[test]
fn a_request_that_this_build_encodes_otherwise_is_a_difference_and_is_not_sent() {
    let golden = Golden::of("core.valid_call").forged("inference_returned", |event| {
        event["event"]["value"]["request_hash"] = Digest::ZERO.to_string().into();
    });
    let scope = LiveScope {
        effects: false,
        inference: true,
        tools: false,
    };
    let mut requerier = Requerier::new(golden.contract.clone(), &golden.run_id, scope);
    let mut asked = Vec::new();
    for entry in &golden.entries {
        asked.extend(requerier.reissue(entry).map(|_| entry.seq));
        requerier.take(entry, &golden.blobs);
    }
    assert_eq!(asked, [7], "the second request is the recorded one");
    let first = requerier.finish(false).first_difference.unwrap();
    assert_eq!(first.seq, 2);
    assert_eq!(first.pointer, "/event/event/value/request_hash");
}

#[test]
fn what_was_never_answered_is_named_and_not_asked_again() {
    let check = |name: &str, expect: &str| {
        let golden = Golden::of(name);
        let scope = LiveScope {
            effects: true,
            inference: true,
            tools: true,
        };
        let mut requerier = Requerier::new(golden.contract.clone(), &golden.run_id, scope);
        for entry in &golden.entries {
            requerier.reissue(entry);
            requerier.take(entry, &golden.blobs);
        }
        let left_out = requerier.finish(false).not_compared;
        let printed = format!("{expect}: no answer is recorded, so it was not asked again");
        assert!(left_out.contains(&printed), "{name}: {left_out:?}");
    };
    check("abort.in_flight", "request 1");
    check("resume.lost_call", "call 1 of echo");
}

#[test]
fn every_entry_is_a_point_to_fork_at_or_names_the_nearest() {
    let (mut forked, mut refused) = (0, 0);
    for path in goldens() {
        let golden = Golden::read(&path);
        for at in 0..golden.entries.len() as u64 {
            let mut fork = Fork::new(golden.contract.clone(), golden.run_id.clone(), at);
            for entry in &golden.entries {
                fork.take(entry, &golden.blobs);
            }
            match fork.finish() {
                Ok(point) => {
                    forked += 1;
                    let entry = golden.entries.iter().find(|entry| entry.seq == at).unwrap();
                    assert_eq!(point.head, entry.hash);
                    let calls = point.messages.iter().flat_map(|said| &said.tool_calls);
                    let answers = point
                        .messages
                        .iter()
                        .filter_map(|said| said.tool_call_id.as_ref());
                    assert_eq!(calls.count(), answers.count(), "{} {at}", path.display());
                }
                Err(ForkFault::Unanswered { before, after, .. }) => {
                    refused += 1;
                    assert!(
                        before.is_some_and(|before| before < at),
                        "{}",
                        path.display()
                    );
                    assert!(after.is_none_or(|after| after > at), "{}", path.display());
                }
                Err(fault) => panic!("{} {at}: {fault}", path.display()),
            }
        }
    }
    assert!(forked > 100 && refused > 20, "{forked} {refused}");
}
