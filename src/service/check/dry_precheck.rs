//! The checks at the start of a run, performed by the machine without a run. Asks no model.

use std::sync::Arc;

use crate::text::numbers::grouped;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{
    Check, CheckName, Effect, Event, EventKind, Fold, OutcomeCode, Probed, ProbedTarget, Run,
    RunStarted,
};
use monolith_core::message::{AgentMessage, ObjectText, Role, RunId, ToolInvocation};
use monolith_host::driver::Preview;

/// The result of a run's beginning, as the machine itself decides it. No model is asked.
#[derive(Default)]
pub(super) struct DryPrecheck {
    /// All checks of PRECHECK except the last, which asks if a model answers.
    pub(super) checks: Vec<Check>,
    /// The reason why no model would be asked although every check holds; `None` if one would be.
    pub(super) over_budget: Option<String>,
}

/// Takes the machine through PRECHECK without a run.
pub(super) fn dry_precheck(preview: &Preview) -> DryPrecheck {
    let contract = &preview.contract;
    let Ok(run_id) = RunId::try_from("check".to_owned()) else {
        return DryPrecheck::default();
    };
    let started = RunStarted {
        addresses: Vec::new(),
        bring_up: preview.faults.clone(),
        confinement: Vec::new(),
        contract_hash: contract.rehash(),
        inherited: None,
        intent_words: Vec::new(),
        messages: opening(preview),
        parent: None,
        provider_states: Vec::new(),
        run_id,
        started_unix_ms: 0,
        tokenizer_fault: preview.tokenizer_fault.clone(),
        tool_servers: Vec::new(),
        workspace: None,
    };
    let mut fold = Fold::new(Arc::new(contract.clone()));
    fold.take(Event {
        at_ms: 0,
        event: EventKind::RunStarted(Box::new(started)),
    });
    let targets = contract.targets.iter().map(|_| ProbedTarget {
        detail: String::new(),
        responsive: true,
        ..ProbedTarget::default()
    });
    let probed = Event {
        at_ms: 0,
        event: EventKind::Probed(Probed {
            targets: targets.collect(),
        }),
    };
    let entries = fold
        .take(probed)
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Append(entries) => Some(entries),
            _ => None,
        });
    let checks = entries
        .flatten()
        .flat_map(|entry| entry.action.checks)
        .filter(|check| check.name != CheckName::Backend)
        .collect();
    DryPrecheck {
        checks,
        over_budget: fold.run().and_then(over_budget),
    }
}

/// The first messages. A contract without a target needs a call, and no check looks at its arguments.
fn opening(preview: &Preview) -> Vec<AgentMessage> {
    let contract: &ExecutionContract = &preview.contract;
    let call = |name: &String| ToolInvocation {
        arguments: ObjectText::empty(),
        fault: None,
        id: "call_1".to_owned(),
        name: name.clone(),
        raw_payload: None,
        source_model: String::new(),
    };
    let call = contract.allowed_tools.iter().flatten().next().map(call);
    let call = call.filter(|_| !contract.asks_model());
    let call = call.map(|call| AgentMessage {
        tool_calls: vec![call],
        ..AgentMessage::text(Role::Assistant, "", 0)
    });
    preview.opening.iter().cloned().chain(call).collect()
}

/// The budget that leaves no room for the first request.
fn over_budget(run: &Run) -> Option<String> {
    let contract = run.contract();
    let (key, limit) = match run.outcome()?.code {
        OutcomeCode::MaxTokens => ("max_tokens_consumed", contract.max_tokens_consumed.0),
        OutcomeCode::MaxCost => {
            let limit = contract.max_cost_micro_usd.as_ref()?;
            ("max_cost_micro_usd", limit.0)
        }
        _ => return None,
    };
    let limit = grouped(limit);
    Some(format!(
        "{key} is {limit}, and the first request needs more before its answer: no model would be asked"
    ))
}
