//! The checks at the start of a run, performed by the machine without a run. Asks no model.

use std::sync::Arc;

use crate::contract::{ExecutionContract, way_without_tools};
use crate::driver::Preview;
use crate::kernel::{
    Check, CheckName, Effect, Event, EventKind, Fold, Probed, ProbedTarget, RunStarted,
};
use crate::message::RunId;

/// The checks of PRECHECK, as the machine itself performs them at the start of a run. No model is asked: the last check, whether
/// one answers, is left out.
pub(in crate::cli) fn dry_precheck(preview: &Preview) -> Vec<Check> {
    let contract: &ExecutionContract = &preview.contract;
    let Ok(run_id) = RunId::try_from("check".to_owned()) else {
        return Vec::new();
    };
    let started = RunStarted {
        addresses: Vec::new(),
        bring_up: preview.faults.clone(),
        contract_hash: contract.rehash(),
        intent_words: Vec::new(),
        messages: preview.opening.clone(),
        parent: None,
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
    entries
        .flatten()
        .flat_map(|entry| entry.action.checks)
        .filter(|check| check.name != CheckName::Backend)
        .map(|check| with_way(contract, check))
        .collect()
}

/// The check with what an author may write instead, where a tool has a schema that cannot be used.
fn with_way(contract: &ExecutionContract, mut check: Check) -> Check {
    if check.name == CheckName::Tools
        && !check.ok
        && let Some(way) = way_without_tools(contract)
    {
        check.detail = format!("{}; {way}", check.detail);
    }
    check
}
