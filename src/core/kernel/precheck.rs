//! PRECHECK: every check in its order, all recorded, the first failed gives the code (semantics §1).

use super::commit::{Carried, Decision, Ending, Next};
use super::edges::{FromPrecheck, Reply};
use super::guard::{Guard, holds};
use super::machine::Machine;
use super::outbox::Outbox;
use super::stage::Arrived;
use super::{
    AgentOutcome, Check, CheckName, EventKind, LostEffect, Outcome, OutcomeCode, PolicyRecord,
    Predicate, PredicateName, Probed, RunStarted,
};
use crate::contract::{
    CONTRACT_FORMAT, ExecutionContract, SEMANTICS_VERSION, TermFault, ToolFault, context_feasible,
    profile_faults, structure_faults, tool_faults_with,
};
use crate::message::{
    AdapterStatus, AgentMessage, Digest, ProtocolAdapterResult, Role, StopReason, Usage,
};

impl Machine {
    /// The checks that need no probe, in their order.
    /// `too_large` says why the first request fits no target, where it fits none.
    pub(super) fn static_checks(
        &self,
        inputs: &RunStarted,
        too_large: Option<String>,
    ) -> Vec<Check> {
        let contract = &self.contract;
        let mut structure = texts(structure_faults(contract));
        structure.extend(opening_fault(&contract.system, &inputs.messages));
        structure.extend(given_fault(contract, inputs));
        let stated = contract.contract_hash();
        let computed = contract.rehash();
        let known = |id: &str| !id.is_empty() || !contract.asks_model();
        let provenance = !contract.contract_id().is_empty() && known(&contract.model_profile_id);
        let hash_ok = stated == computed && stated == inputs.contract_hash;
        let tools = tool_faults_with(contract, &self.validators);
        let mut profile = texts(profile_faults(contract));
        profile.extend(inputs.tokenizer_fault.clone());
        let infeasible = context_feasible(contract).err().map(|fault| fault.text);
        let context = infeasible.or(too_large);
        vec![
            check(CheckName::Structure, structure.is_empty(), || {
                structure.join("; ")
            }),
            check(CheckName::Provenance, provenance, || {
                "contract_id, contract_hash or model_profile_id is missing".to_owned()
            }),
            check(CheckName::Hash, hash_ok, || {
                format!(
                    "stated {stated}, computed {computed}, started with {}",
                    inputs.contract_hash
                )
            }),
            check(
                CheckName::Format,
                contract.format == CONTRACT_FORMAT,
                || {
                    format!(
                        "format {:?}, this build reads {CONTRACT_FORMAT:?}",
                        contract.format
                    )
                },
            ),
            check(
                CheckName::Semantics,
                contract.semantics_version == SEMANTICS_VERSION,
                || {
                    format!(
                        "semantics version {}, this build implements {SEMANTICS_VERSION}",
                        contract.semantics_version
                    )
                },
            ),
            check(CheckName::Tools, tools.is_empty(), || {
                let details = tools.iter().map(|(_, fault)| fault.text.as_str());
                details.collect::<Vec<_>>().join("; ")
            }),
            check(CheckName::Profile, profile.is_empty(), || {
                profile.join("; ")
            }),
            check(CheckName::Context, context.is_none(), || {
                context.clone().unwrap_or_default()
            }),
        ]
    }

    /// PRECHECK rests until the probe has answered.
    pub(super) fn precheck(
        &mut self,
        event: &EventKind,
        outbox: &mut Outbox,
    ) -> Reply<FromPrecheck> {
        match event {
            EventKind::Probed(probed) => self.judge_precheck(probed, outbox),
            EventKind::EffectLost(LostEffect::Probe) if holds(Guard::Suspended, self.suspended) => {
                Reply::Stay("the probe is due")
            }
            EventKind::EffectLost(LostEffect::Probe) => {
                outbox.probe();
                Reply::Stay("the probe is repeated")
            }
            EventKind::RunStarted(_)
            | EventKind::CallStreamed(_)
            | EventKind::InferenceReturned(_)
            | EventKind::InferenceFailed(_)
            | EventKind::ToolReturned(_)
            | EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(_)
            | EventKind::Suspended
            | EventKind::Resumed(_) => Reply::Defer,
        }
    }

    fn judge_precheck(&mut self, probed: &Probed, outbox: &mut Outbox) -> Reply<FromPrecheck> {
        let answers = |target: usize| probed.targets.get(target).is_some_and(|t| t.responsive);
        let responsive = !self.contract.asks_model() || self.lineup().left().any(answers);
        let details: Vec<&str> = probed.targets.iter().map(|t| t.detail.as_str()).collect();
        let mut checks = std::mem::take(&mut self.checks);
        checks.push(Check {
            detail: details.join("; "),
            name: CheckName::Backend,
            ok: responsive,
        });
        let failed = checks.iter().find(|c| !c.ok).map(|c| c.name);
        outbox.policy = Some(self.policy_record());
        let ended = match (self.decide_interruption(), failed) {
            (Some(ending), _) => Some(ending),
            // A stop that was asked for meanwhile is why the run ends.
            (None, Some(name)) if !self.stop_requested => {
                outbox.note = checks.iter().find(|c| !c.ok).map(|c| c.detail.clone());
                Some(Ending::by(
                    0,
                    PredicateName::CheckFailed,
                    Outcome::new(AgentOutcome::FailedPreflight, self.preflight_code(name)),
                ))
            }
            (None, _) => None,
        };
        outbox.checks = checks;
        if ended.is_none()
            && !self.stop_requested
            && let Some(message) = self.given.take()
        {
            return Reply::Go(self.hand_in(message, outbox));
        }
        outbox.dropped = self.dropped_by_size();
        let decision = ended.map_or_else(|| self.decide_first(), Decision::End);
        Reply::Go(match self.carry_out(decision, outbox) {
            Carried::On(awaited) => FromPrecheck::Infer(awaited),
            Carried::Out(outcome) => FromPrecheck::Terminate(outcome),
        })
    }

    /// Validates the call that is an input of the run as that of a message: no inference stands behind it.
    fn hand_in(&mut self, message: AgentMessage, outbox: &mut Outbox) -> FromPrecheck {
        outbox.predicate = Some(Predicate {
            item: 0,
            name: PredicateName::ChecksPassed,
        });
        self.begin_turn(self.next_target(Next::Turn));
        FromPrecheck::ValidateCalls(Box::new(Arrived {
            gate_breached: false,
            result: ProtocolAdapterResult {
                adapter_version: String::new(),
                canonical_message: Some(message),
                excerpt: None,
                failure_code: None,
                pointer: None,
                raw_hash: Digest::ZERO,
                repair: None,
                served_by: None,
                status: AdapterStatus::Native,
                stop: StopReason::End,
                stop_word: None,
                tag_warnings: Vec::new(),
                usage: None,
                withheld: None,
            },
            usage: Usage::default(),
        }))
    }

    /// The end of a run that never left PRECHECK: interrupted, out of time, or resumed under another contract.
    pub(super) fn end_precheck_early(&mut self, outbox: &mut Outbox) -> Outcome {
        outbox.checks = std::mem::take(&mut self.checks);
        outbox.policy = Some(self.policy_record());
        let ending = self.decide_interruption().unwrap_or_else(|| {
            Ending::by(
                0,
                PredicateName::CheckFailed,
                Outcome::new(
                    AgentOutcome::FailedPreflight,
                    OutcomeCode::ContractHashMismatch,
                ),
            )
        });
        self.end(&ending, outbox)
    }

    fn policy_record(&mut self) -> PolicyRecord {
        PolicyRecord {
            decision: self.contract.policy_decision.clone(),
            matched: std::mem::take(&mut self.intent_words),
        }
    }

    fn preflight_code(&self, failed: CheckName) -> OutcomeCode {
        match failed {
            CheckName::Structure => OutcomeCode::ContractInvalid,
            CheckName::Provenance => OutcomeCode::ProvenanceMissing,
            CheckName::Hash => OutcomeCode::ContractHashMismatch,
            CheckName::Format | CheckName::Semantics => OutcomeCode::FormatVersion,
            CheckName::Tools => match tool_faults_with(&self.contract, &self.validators).first() {
                Some((ToolFault::Changed, _)) => OutcomeCode::ToolChanged,
                Some((ToolFault::Unavailable, _)) | None => OutcomeCode::ToolUnavailable,
            },
            CheckName::Profile => OutcomeCode::ProfileIncompatible,
            CheckName::Context => OutcomeCode::ContextInfeasible,
            CheckName::Backend => OutcomeCode::BackendUnavailable,
        }
    }
}

/// Returns the fault of the initial conversation: it must state the contract's `system` once, first.
fn opening_fault(system: &str, messages: &[AgentMessage]) -> Option<String> {
    let spoken: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter_map(|(at, message)| (message.role == Role::System).then_some(at))
        .collect();
    let said = messages
        .first()
        .map_or("", |message| message.content.as_str());
    let fits = if system.trim().is_empty() {
        spoken.is_empty()
    } else {
        spoken == [0] && said == system
    };
    (!fits).then(|| "the conversation does not begin with the contract's system prompt".to_owned())
}

/// Returns the fault of the call that a run is given. A run that asks a model gets its calls from that.
fn given_fault(contract: &ExecutionContract, inputs: &RunStarted) -> Option<String> {
    if contract.asks_model() {
        return None;
    }
    let calls = inputs.given_call().map_or(0, |call| call.tool_calls.len());
    (calls != 1).then(|| {
        format!(
            "a contract without a target needs one call in the last message, and it has {calls}"
        )
    })
}

fn texts(faults: Vec<TermFault>) -> Vec<String> {
    faults.into_iter().map(|fault| fault.text).collect()
}

fn check(name: CheckName, ok: bool, fault: impl FnOnce() -> String) -> Check {
    let detail = if ok { String::new() } else { fault() };
    Check { detail, name, ok }
}
