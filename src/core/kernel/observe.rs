//! OBSERVE: turns results into observations, in call order, and makes the only [`Proof`]s there are.

use serde::Serialize;

use super::ReportSource;
use super::batch::{BatchCall, Ended, FailedEnd, Settled, Shown};
use super::child_run::Delegated;
use super::edges::FromObserve;
use super::flow::Source;
use super::guard::{Guard, holds};
use super::machine::{Machine, Verdict};
use super::predicate::Proof;
use super::session::Report;
use super::texts::FailedReason;
use crate::contract::{ToolOutputBudget, ToolTransport, WireNames};
use crate::message::{
    AgentMessage, EnvelopeStatus, Observed, ObservedStatus, TokenCounter, ToolEnvelope,
    cut_to_limit, estimate_tokens, exact_sum,
};

impl Machine {
    pub(super) fn observe(&mut self, ended: Ended) -> FromObserve {
        self.observe_calls(ended.calls);
        if self.verdict == Verdict::None {
            self.verdict = Verdict::Advanced;
        }
        FromObserve::Commit
    }

    /// Appends one observation for each call, in the message's order; calls inside a container have one together, and an
    /// accepted final report has none.
    pub(super) fn observe_calls(&mut self, calls: Vec<BatchCall<Settled>>) {
        let mut all: Vec<Observation> = Vec::with_capacity(calls.len());
        for call in calls {
            let (id, name) = (call.invocation.id, call.invocation.name);
            let observed = self.observed(&call.slot);
            let source = shows(&call.slot).then(|| Source {
                entry: call.returned_in,
                report: call.delegated.as_ref().map(|agent| agent.labels.clone()),
                tool: name.clone(),
            });
            let (text, tokens) = match call.slot {
                Settled::Answered(reason) => counted(reason.observation()),
                Settled::Acknowledged(text) => counted(text),
                Settled::Report => {
                    all.push(Observation::Report { id, observed });
                    continue;
                }
                Settled::Returned {
                    envelope, shown, ..
                } => self.returned(&envelope, shown, call.delegated.as_deref()),
                Settled::Failed { end, .. } => counted(failed(end).observation()),
            };
            let seen = Seen {
                observed,
                source,
                text,
                tokens,
            };
            match (call.part, all.last_mut()) {
                (None, _) => all.push(Observation::Call { id, seen }),
                (Some(part), Some(Observation::Container { id, parts }))
                    if *id == part.container =>
                {
                    parts.push((part.label, name, seen));
                }
                (Some(part), _) => all.push(Observation::Container {
                    id: part.container,
                    parts: vec![(part.label, name, seen)],
                }),
            }
        }
        let unreported = self.settle_report();
        for observation in all {
            match (observation, &unreported) {
                (Observation::Report { .. }, None) => {}
                (Observation::Report { id, observed }, Some(reason)) => {
                    let (text, tokens) = counted(reason.observation());
                    let seen = Seen {
                        observed,
                        source: None,
                        text,
                        tokens,
                    };
                    self.append_observation(id, seen);
                }
                (Observation::Call { id, seen }, _) => self.append_observation(id, seen),
                (Observation::Container { id, parts }, _) => self.append_parts(id, &parts),
            }
        }
    }

    /// One call's observation. EXECUTE has already counted what returned; the rest is counted here.
    fn append_observation(&mut self, id: String, seen: Seen) {
        self.label_next(&seen);
        let observation = |tokens| AgentMessage {
            observed: seen.observed,
            ..AgentMessage::observation(id, seen.text, tokens)
        };
        match seen.tokens {
            Counted::Already(tokens) => self.conversation.push(observation(tokens)),
            Counted::Now(tokens) => self.append_pending(observation(tokens)),
        }
    }

    /// The next message of the conversation shows this.
    fn label_next(&mut self, seen: &Seen) {
        if let Some(source) = &seen.source {
            let place = self.conversation.messages().len();
            self.show_labelled(place, source);
        }
    }

    /// Returns how a call ended, if results are rendered as text.
    fn observed(&self, call: &Settled) -> Option<Observed> {
        let failed = |duration_ms| Observed {
            duration_ms,
            status: ObservedStatus::Failed,
        };
        let observed = match call {
            Settled::Acknowledged(_) => Observed {
                duration_ms: 0,
                status: ObservedStatus::Ok,
            },
            Settled::Returned {
                envelope, shown, ..
            } if envelope.status == EnvelopeStatus::Ok && *shown != Shown::Nothing => Observed {
                duration_ms: envelope.duration_ms,
                status: ObservedStatus::Ok,
            },
            Settled::Returned { envelope, .. } => failed(envelope.duration_ms),
            Settled::Answered(_) | Settled::Report | Settled::Failed { .. } => failed(0),
        };
        (self.contract.tool_transport == ToolTransport::Xml).then_some(observed)
    }

    /// The observation of a container: what came of each call in it. The whole is never cut; its parts were.
    fn append_parts(&mut self, container: String, parts: &[(String, String, Seen)]) {
        let names = WireNames::of(&self.contract);
        let rendered = |text: fn(&Seen) -> &str| {
            let shown: Vec<PartShown<'_>> = parts
                .iter()
                .map(|(label, tool, seen)| PartShown {
                    id: label,
                    output: text(seen),
                    tool: names.wire(tool),
                })
                .collect();
            // Three strings each: serialising them cannot fail.
            serde_json::to_string(&shown).unwrap_or_default()
        };
        let frame = estimate_tokens(&rendered(|_| ""));
        let (fresh, already) = parts
            .iter()
            .fold((frame, 0), |(fresh, already), (.., seen)| {
                match seen.tokens {
                    Counted::Now(tokens) => (exact_sum(fresh, tokens), already),
                    Counted::Already(tokens) => (fresh, exact_sum(already, tokens)),
                }
            });
        self.context.new = exact_sum(self.context.new, fresh);
        for (.., seen) in parts {
            self.label_next(seen);
        }
        let tokens = exact_sum(fresh, already);
        let text = rendered(|seen| &seen.text);
        // The container took as long as its parts, and failed where one of them did.
        let observed = parts
            .iter()
            .filter_map(|(.., seen)| seen.observed)
            .reduce(|a, b| Observed {
                duration_ms: exact_sum(a.duration_ms, b.duration_ms),
                status: if a.status == ObservedStatus::Ok {
                    b.status
                } else {
                    a.status
                },
            });
        self.conversation.push(AgentMessage {
            observed,
            ..AgentMessage::observation(container, text, tokens)
        });
    }

    /// Decides the result of the message's report, now that the other calls have ended. Returns why its calls are answered, if
    /// they are.
    fn settle_report(&mut self) -> Option<FailedReason> {
        // What ends the run before item 6 of COMMIT leaves no report to be taken.
        let undecided = self.verdict == Verdict::None
            && !self.head_decides()
            && !self.invalid_turns_used_up()
            && !self.no_target_is_left();
        match std::mem::take(&mut self.report) {
            Report::Held(report) if undecided => {
                if holds(Guard::ReportProof, self.required_unproven()) {
                    return Some(FailedReason::Unproven);
                }
                self.report = Report::Accepted(report, ReportSource::Tool);
                self.verdict = Verdict::Terminal;
                None
            }
            Report::Broken(reason) if undecided => {
                self.verdict = Verdict::ReportFailed;
                Some(reason)
            }
            Report::None | Report::Held(_) | Report::Broken(_) | Report::Accepted(..) => {
                Some(FailedReason::NotStartedCutShort)
            }
        }
    }

    /// Counts a result as executed, and returns the text that the model sees.
    fn returned(
        &mut self,
        envelope: &ToolEnvelope,
        shown: Shown,
        delegated: Option<&Delegated>,
    ) -> (String, Counted) {
        self.count_executed(envelope, delegated);
        match shown {
            Shown::Cut => {
                let text = self.observation_text(envelope);
                (text, Counted::Already(envelope.tokens))
            }
            Shown::Nothing => {
                let stub = FailedReason::ContextExceeded.observation();
                let tokens = estimate_tokens(&stub);
                (stub, Counted::Already(tokens))
            }
            Shown::Summary { text, tokens } => (text, Counted::Already(tokens)),
        }
    }

    fn count_executed(&mut self, envelope: &ToolEnvelope, delegated: Option<&Delegated>) {
        let c = &mut self.counters;
        c.executed = c.executed.saturating_add(1);
        if envelope.status == EnvelopeStatus::Ok {
            c.executed_ok = c.executed_ok.saturating_add(1);
            let of_agent = u64::from(delegated.is_some());
            c.agents_ok = c.agents_ok.saturating_add(of_agent);
        }
        if let Some(proof) = Proof::from_executed(envelope, self.contract.tool_proof, delegated) {
            self.proof = Some(proof);
        }
    }

    /// Renders an envelope for the model, cut to the contract's output budget.
    fn observation_text(&self, envelope: &ToolEnvelope) -> String {
        observation_text(
            envelope,
            self.contract.tool_output_budget.max_bytes_per_call,
            &self.contract.tool_output_budget.truncation_marker,
        )
    }
}

/// Counts the tokens of an envelope's observation. The machine counts nothing itself: sessions and replays stamp it.
#[must_use]
pub(crate) fn observation_tokens(
    envelope: &ToolEnvelope,
    budget: &ToolOutputBudget,
    counter: &dyn TokenCounter,
) -> u64 {
    let (limit, marker) = (budget.max_bytes_per_call, &budget.truncation_marker);
    counter.count(&observation_text(envelope, limit, marker))
}

/// The observation made of an envelope: its text, or `(tool failed: …)`, cut to `limit` bytes.
fn observation_text(envelope: &ToolEnvelope, limit: u64, marker: &str) -> String {
    let text = envelope.text();
    let length = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
    // Only a beginning of the text may be here; the rest lies in the blob store.
    let absent = envelope.bytes_out.saturating_sub(length(&text));
    let shown = match envelope.status {
        EnvelopeStatus::Ok => text,
        EnvelopeStatus::Error => FailedReason::Tool(text).observation(),
    };
    let original = length(&shown).saturating_add(absent);
    cut_to_limit(&shown, original, limit, marker).text
}

/// The model's view at one place of the conversation.
enum Observation {
    Call {
        id: String,
        seen: Seen,
    },
    /// Of each part its label, the tool's name and what is shown of it.
    Container {
        id: String,
        parts: Vec<(String, String, Seen)>,
    },
    /// A view that depends on the result of the report.
    Report {
        id: String,
        observed: Option<Observed>,
    },
}

/// The model's view of one call.
struct Seen {
    observed: Option<Observed>,
    /// The source of its words; `None` if the text is monolith's own.
    source: Option<Source>,
    text: String,
    tokens: Counted,
}

#[derive(Clone, Copy)]
enum Counted {
    Already(u64),
    Now(u64),
}

/// The model's view of one call in a container.
#[derive(Serialize)]
struct PartShown<'a> {
    id: &'a str,
    output: &'a str,
    tool: String,
}

/// True if the model sees words of the tool: the result, its beginning, its error, or a summary of it.
fn shows(call: &Settled) -> bool {
    matches!(call, Settled::Returned { shown, .. } if *shown != Shown::Nothing)
}

fn counted(text: String) -> (String, Counted) {
    let tokens = estimate_tokens(&text);
    (text, Counted::Now(tokens))
}

const fn failed(end: FailedEnd) -> FailedReason {
    match end {
        FailedEnd::Malformed | FailedEnd::Cancelled => FailedReason::EffectUnknown,
        FailedEnd::TimedOut => FailedReason::Timeout,
        FailedEnd::ConnectionLost => FailedReason::ConnectionLost,
        FailedEnd::ToolChanged => FailedReason::ToolChanged,
        FailedEnd::RestartInProgress => FailedReason::RestartInProgress,
        FailedEnd::RestartFailed => FailedReason::RestartFailed,
    }
}
