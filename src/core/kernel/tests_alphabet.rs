//! The letters that exploration and random sequences are made of: one representative event of each kind, built for the run as
//! it stands.

mod responses;

use super::testing::*;
use super::tests_monitors::{Ledger, OpenCall};
use super::{
    AgentOutcome, Answerer, Approval, ChildEnd, Event, EventKind, InferenceFailed, Interrupter,
    LostEffect, Outcome, OutcomeCode, Resumed, Run,
};
use crate::contract::{
    AGENT_PREFIX, BATCH, ExecutionContract, FINAL_REPORT, Label, PROGRESS_REPORT,
};
use crate::message::{
    AdapterStatus, AgentMessage, CallSeq, Digest, EnvelopeFields, FailureCode, InferenceSeq,
    InputQuestion, ObjectText, Parameter, ProtocolAdapterResult, ProviderFaultClass,
    SamplingRequest, StopReason, ToolEnvelope, ToolInvocation, ToolOutcome, Usage,
};

use responses::{response, streamed};

/// A model's response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    Text,
    Blank,
    Reasoning,
    Cut,
    Unended,
    Refused,
    Filtered,
    RefusedRead,
    Read,
    ReadB,
    CutRead,
    Write,
    ReadWrite,
    ReadRead,
    WriteRead,
    Three,
    TextRead,
    Unknown,
    Outside,
    Invalid,
    ReadUnknown,
    ReadOutside,
    ReadInvalid,
    ReadUnreadable,
    OutsideReadRead,
    Rejected,
    RecoveredText,
    RecoveredRead,
    Breached,
    BreachedUnknown,
    ReportUnknown,
    ProgressUnknown,
    Report,
    ReportBad,
    ReportCut,
    ReadReport,
    ReadReportBad,
    ReadReportUnreadable,
    Progress,
    ReadProgress,
    Batch,
    BatchUnknown,
}

/// A tool's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Ok,
    Error,
    Large,
    TooLong,
    Malformed,
    WrongId,
    Contradicts,
    TimesOut,
    Disconnects,
    Cancelled,
    Changed,
    Asks,
    AsksWaiting,
    Samples,
    SamplesWaiting,
    /// Of an agent: a tool below it returned an ok result.
    ChildProves,
    /// Of an agent: it used more than it was given.
    ChildOverspends,
    ChildCosts,
    /// Of an agent: the envelope says that it completed, and its run did not.
    ChildDisagrees,
    /// Of an agent: its run saw what a stranger wrote.
    ChildUntrusted,
    /// Of an agent: the labels that its run saw are not recorded.
    ChildUnlabelled,
    /// Of an agent: no run was begun.
    NotBegun,
}

/// When something comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Now,
    AtDeadline,
    PastStep,
    PastTotal,
}

/// A rationed kind of letter in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ration {
    Stale,
    Suspended,
    Asked,
}

/// One letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letter {
    Started,
    Probed,
    ProbeDead,
    ProbedLate,
    Returns(Response),
    ReturnsAt(Response, When),
    ReturnsFor(Response, u64),
    ReturnsAtCost(Response, u64),
    Fails(ProviderFaultClass),
    FailsFor(ProviderFaultClass, u64),
    LimitedFor(u64),
    Tool(Does),
    LastTool(Does),
    ToolAt(Does, When),
    Approved,
    ApprovedOther,
    Denied,
    /// Signed by the key of that name.
    ApprovedBy(&'static str),
    DeniedBy(&'static str),
    LostProbe,
    LostInference,
    LostWait,
    LostCall,
    LostOther,
    Stop,
    Interrupt(Interrupter),
    Timer(When),
    FailsUnknown,
    FailsPermanently,
    Refuses(Parameter),
    Suspended,
    Resumed,
    /// After that many milliseconds without a process.
    ResumedAfter(u64),
    ResumedOther,
    ResumedWithout,
    StaleAnswer,
    StaleFailure,
    StaleTool,
    StaleApproval,
    StaleDenial,
    LostOtherInference,
    /// The call of that response at that place is whole.
    Streams(Response, usize),
}

fn does(does: Does, c: &OpenCall) -> ToolOutcome {
    let ok = || envelope(&c.id, &c.name, "MIT");
    match does {
        Does::Ok
        | Does::ChildProves
        | Does::ChildUntrusted
        | Does::ChildUnlabelled
        | Does::ChildOverspends
        | Does::ChildCosts
        | Does::ChildDisagrees => ToolOutcome::Returned(ok()),
        Does::NotBegun | Does::Error => ToolOutcome::Returned(error_envelope(&c.id, &c.name)),
        Does::Large => ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            tokens: 90_000,
            ..ok().into_fields()
        })),
        Does::TooLong => ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            bytes_out: 400,
            full: Some(Digest::of(b"the whole")),
            tokens: 50,
            ..ok().into_fields()
        })),
        Does::Malformed => ToolOutcome::Malformed {
            detail: "no".to_owned(),
            raw_hash: None,
        },
        Does::WrongId => ToolOutcome::Returned(envelope("c77", &c.name, "MIT")),
        Does::Contradicts => ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            error: None,
            ..error_envelope(&c.id, &c.name).into_fields()
        })),
        Does::TimesOut => ToolOutcome::TimedOut,
        Does::Disconnects => ToolOutcome::ConnectionLost {
            detail: "eof".to_owned(),
        },
        Does::Cancelled => ToolOutcome::Cancelled,
        Does::Changed => ToolOutcome::ToolChanged {
            detail: String::new(),
        },
        Does::Samples | Does::SamplesWaiting => ToolOutcome::SamplingRequired(SamplingRequest {
            bytes: 40,
            max_tokens: 5,
            prompt: Digest::of(b"a prompt"),
            resume: (does == Does::Samples).then(|| "where it stands".to_owned()),
        }),
        Does::Asks | Does::AsksWaiting => ToolOutcome::InputRequired(InputQuestion {
            question: ObjectText::parse(r#"{"message":"?"}"#).unwrap(),
            resume: (does == Does::Asks).then(|| "where it stands".to_owned()),
        }),
    }
}

impl Letter {
    /// The event, where the letter has a meaning in the run as it stands.
    pub(super) fn event(self, run: &Run, ledger: &Ledger) -> Option<Event> {
        let now = ledger.at_ms;
        let event = self.kind(run, ledger)?;
        let at_ms = match self {
            Self::Timer(when) | Self::ReturnsAt(_, when) | Self::ToolAt(_, when) => {
                moment(when, run, ledger)?
            }
            Self::ProbedLate => moment(When::PastTotal, run, ledger)?,
            _ => now,
        };
        Some(Event {
            at_ms: now.max(at_ms),
            event,
        })
    }

    fn kind(self, run: &Run, ledger: &Ledger) -> Option<EventKind> {
        let contract = run.contract();
        let approval = |other: bool| {
            ledger.awaiting.as_ref().map(|c| {
                let hash = if other {
                    Digest::of(b"{}")
                } else {
                    c.arguments
                };
                Approval::to(c.call, hash)
            })
        };
        let signed = |by: &str| {
            let answerer = Answerer {
                key: by.to_owned(),
                signature: String::new(),
            };
            let reason = Some("not today".to_owned());
            approval(false).map(|approval| Approval {
                answerer: Some(answerer),
                reason,
                ..approval
            })
        };
        let resumed = |other: bool, changed: &[&str]| {
            EventKind::Resumed(Resumed {
                addresses: Vec::new(),
                bring_up: Vec::new(),
                confinement: Vec::new(),
                contract_hash: if other {
                    Digest::of(b"other")
                } else {
                    contract.contract_hash()
                },
                tool_servers: Vec::new(),
                elapsed_ms: 0,
                tools_changed: changed.iter().map(|&t| t.to_owned()).collect(),
            })
        };
        let dead = || match probed() {
            EventKind::Probed(mut p) => {
                p.targets.iter_mut().for_each(|t| t.responsive = false);
                EventKind::Probed(p)
            }
            other => other,
        };
        Some(match self {
            Self::Started => {
                // The exploration's contracts are sealed from their terms, so what they say is their hash.
                EventKind::RunStarted(Box::new(started_under(contract.contract_hash())))
            }
            Self::Probed | Self::ProbedLate => probed(),
            Self::ProbeDead => dead(),
            Self::Returns(kind) | Self::ReturnsAt(kind, _) => {
                response_event(kind, run, ledger.asked()?, 10, None)
            }
            Self::ReturnsFor(kind, tokens) => {
                response_event(kind, run, ledger.asked()?, tokens, None)
            }
            Self::ReturnsAtCost(kind, cost) => {
                response_event(kind, run, ledger.asked()?, 10, Some(cost))
            }
            Self::Fails(class) => failed(ledger.asked()?, class),
            Self::FailsFor(class, tokens) => fails(failed(ledger.asked()?, class), |f| {
                f.usage = Some(usage(tokens, None));
            }),
            Self::FailsUnknown => fails(failed(ledger.asked()?, ProviderFaultClass::Model), |f| {
                f.fault.unknown_model = true;
            }),
            Self::FailsPermanently => {
                fails(failed(ledger.asked()?, ProviderFaultClass::Model), |f| {
                    f.fault.permanent = true;
                })
            }
            Self::Refuses(parameter) => {
                fails(failed(ledger.asked()?, ProviderFaultClass::Model), |f| {
                    f.fault.permanent = true;
                    f.fault.parameters = vec![parameter];
                })
            }
            Self::Suspended => EventKind::Suspended,
            Self::Streams(kind, at) => streamed(kind, at, ledger.inflight?)?,
            Self::LimitedFor(ms) => fails(
                failed(ledger.asked()?, ProviderFaultClass::RateLimit),
                |f| f.fault.retry_after_ms = Some(ms),
            ),
            Self::Tool(d) | Self::ToolAt(d, _) => {
                ledger.running.first().map(|c| of_call(d, c, contract))?
            }
            Self::LastTool(d) => ledger
                .running
                .get(1..)?
                .last()
                .map(|c| of_call(d, c, contract))?,
            Self::Approved => EventKind::ApprovalGiven(approval(false)?),
            Self::ApprovedOther => EventKind::ApprovalGiven(approval(true)?),
            Self::Denied => EventKind::ApprovalDenied(approval(false)?),
            Self::ApprovedBy(key) => EventKind::ApprovalGiven(signed(key)?),
            Self::DeniedBy(key) => EventKind::ApprovalDenied(signed(key)?),
            Self::LostProbe => EventKind::EffectLost(LostEffect::Probe),
            Self::LostInference => EventKind::EffectLost(LostEffect::Inference(ledger.asked()?)),
            Self::LostWait => EventKind::EffectLost(LostEffect::Wait),
            Self::LostCall => EventKind::EffectLost(LostEffect::Call(ledger.running.first()?.call)),
            Self::StaleApproval => EventKind::ApprovalGiven(stale_approval()),
            Self::StaleDenial => EventKind::ApprovalDenied(stale_approval()),
            Self::LostOtherInference => {
                EventKind::EffectLost(LostEffect::Inference(InferenceSeq(777)))
            }
            Self::LostOther => EventKind::EffectLost(LostEffect::Call(CallSeq(777))),
            Self::Stop => EventKind::StopRequested,
            Self::Interrupt(by) => EventKind::Interrupted(by),
            Self::Timer(_) => EventKind::TimerFired,
            Self::Resumed => resumed(false, &[]),
            Self::ResumedAfter(ms) => match resumed(false, &[]) {
                EventKind::Resumed(resumed) => EventKind::Resumed(Resumed {
                    elapsed_ms: ms,
                    ..resumed
                }),
                other => other,
            },
            Self::ResumedOther => resumed(true, &[]),
            Self::ResumedWithout => resumed(false, &["read"]),
            Self::StaleAnswer => response_event(Response::Read, run, InferenceSeq(777), 300, None),
            Self::StaleFailure => fails(failed(InferenceSeq(777), ProviderFaultClass::Auth), |f| {
                f.usage = Some(usage(300, None));
            }),
            Self::StaleTool => tool(
                CallSeq(777),
                ToolOutcome::Returned(envelope("c1", "read", "MIT")),
            ),
        })
    }

    /// Returns the ration that exploration must apply, because the letter never runs out by itself.
    pub(super) fn ration(self) -> Option<Ration> {
        match self {
            Self::StaleAnswer | Self::StaleFailure => Some(Ration::Stale),
            Self::Suspended => Some(Ration::Suspended),
            Self::Tool(Does::Asks | Does::AsksWaiting | Does::Samples | Does::SamplesWaiting)
            | Self::ToolAt(Does::Asks | Does::AsksWaiting | Does::Samples, _) => {
                Some(Ration::Asked)
            }
            _ => None,
        }
    }
}

/// Returns the event of a started call: for an agent, the end of its run.
fn of_call(d: Does, c: &OpenCall, contract: &ExecutionContract) -> EventKind {
    let mut event = tool(c.call, does(d, c));
    if let EventKind::ToolReturned(returned) = &mut event
        && contract.agents.contains_key(&c.name)
        && matches!(returned.outcome, ToolOutcome::Returned(_))
        && d != Does::NotBegun
    {
        let (class, code) = if matches!(d, Does::Error | Does::ChildDisagrees) {
            (AgentOutcome::FailedTimeout, OutcomeCode::TotalTimeout)
        } else {
            (AgentOutcome::CompletedChatOnly, OutcomeCode::FinalMessage)
        };
        returned.child = Some(Box::new(ChildEnd {
            cost_micro_usd: if d == Does::ChildCosts { 9 } else { 0 },
            entries: 11,
            head: Digest::ZERO,
            labels: match d {
                Does::ChildUnlabelled => None,
                Does::ChildUntrusted => Some([Label::Untrusted].into()),
                _ => Some([Label::Trusted].into()),
            },
            outcome: Outcome::new(class, code),
            run_id: "r-1.1".to_owned().try_into().expect("a valid run id"),
            tokens: if d == Does::ChildOverspends { 250 } else { 30 },
            tools_ok: u64::from(d == Does::ChildProves),
        }));
    }
    event
}

fn stale_approval() -> Approval {
    Approval::to(CallSeq(777), Digest::ZERO)
}

fn fails(mut event: EventKind, change: impl FnOnce(&mut InferenceFailed)) -> EventKind {
    if let EventKind::InferenceFailed(failed) = &mut event {
        change(failed);
    }
    event
}

fn usage(input: u64, cost_micro_usd: Option<u64>) -> Usage {
    Usage {
        cache_read: 0,
        cache_write: 0,
        cost_micro_usd,
        cost_fault: false,
        estimated: false,
        input,
        output: 5,
    }
}

fn response_event(
    kind: Response,
    run: &Run,
    inference: InferenceSeq,
    tokens: u64,
    cost: Option<u64>,
) -> EventKind {
    let mut result = response(kind);
    for call in result
        .canonical_message
        .iter_mut()
        .flat_map(|m| &mut m.tool_calls)
    {
        let agent = format!("{AGENT_PREFIX}{}", call.name);
        if run.contract().agents.contains_key(&agent) {
            call.name = agent;
        }
    }
    let result = run.admit(result).result;
    let mut event = returned(inference, result);
    if let EventKind::InferenceReturned(r) = &mut event {
        r.usage = usage(tokens, cost);
        r.gate_breached = matches!(kind, Response::Breached | Response::BreachedUnknown);
    }
    event
}

fn moment(when: When, run: &Run, ledger: &Ledger) -> Option<u64> {
    let terms = run.contract();
    match when {
        When::Now => Some(ledger.at_ms),
        When::AtDeadline => run.next_deadline(),
        // A parked run is outside both.
        When::PastStep | When::PastTotal if ledger.awaiting.is_some() => None,
        When::PastStep => (ledger.turn > 0)
            .then(|| ledger.turn_began + ledger.parked_ms + terms.step_timeout_ms + 1),
        When::PastTotal => Some(ledger.parked_ms + terms.total_timeout_ms + 1),
    }
}
