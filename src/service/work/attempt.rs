//! The calls of an attempt, read from the transcripts of the agent's run and of those below it. Judges nothing.

use std::collections::BTreeSet;

use crate::error::ServiceError;
use crate::source::Source;
use monolith_core::contract::{ExecutionContract, SandboxTerms};
use monolith_core::kernel::{AgentOutcome, OutcomeCode};
use monolith_core::message::RunId;
use monolith_core::view::{Call, CallEnd, RunView};
use monolith_core::work::{AgentEnd, AttemptCalls, RunLimit, WorkItem, WorkPath};
use monolith_host::store::StoreReader;
use monolith_host::telemetry::AgentResult;

/// The tools inside monolith, as contracts call their server.
const BUILTIN: &str = "builtin";
/// The tool inside monolith that asks hosts.
const HTTP_GET: &str = "http_get";
/// The tool inside monolith that runs commands.
const SHELL: &str = "shell";

/// The end of an agent's run, and its calls.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// The end as the item records it.
    pub(super) end: AgentEnd,
    /// Number of calls that acted outside of the tree, allowed ones included.
    pub(super) outside: u64,
    /// Paths that calls changed.
    pub(super) touched: BTreeSet<WorkPath>,
}

impl Attempt {
    /// Reads a sealed run. `own_timeout_ms` is the limit that the agent's own file states.
    pub(super) fn read(
        reader: &mut StoreReader,
        run_id: &RunId,
        item: &WorkItem,
        own_timeout_ms: u64,
    ) -> Result<Self, ServiceError> {
        let (run, view) = Source::Run(run_id.clone(), reader.again()?).fold(None)?;
        let mut calls = AttemptCalls {
            limit: limit_of(&view, item, own_timeout_ms),
            ..AttemptCalls::default()
        };
        let mut outside = 0;
        take_calls(&view, item, &mut calls, &mut outside);
        for below in reader.runs_below(run_id)? {
            let source = Source::Run(below, reader.again()?);
            let view = source.each_step(|_, _, _| Ok(()))?;
            take_calls(&view, item, &mut calls, &mut outside);
        }
        let touched = view.work_changes().touched();
        let touched = touched.filter_map(|path| WorkPath::from_bytes(path.as_bytes()).ok());
        Ok(Self {
            end: AgentEnd {
                calls,
                failure: AgentResult::of_run(&run, &view).error,
                head: view.head(),
                run_id: run_id.clone(),
            },
            outside,
            touched: touched.collect(),
        })
    }
}

/// The limit of the item that ended the run.
fn limit_of(view: &RunView, item: &WorkItem, own_timeout_ms: u64) -> Option<RunLimit> {
    let (outcome, contract) = (view.outcome()?, view.contract());
    match (outcome.class, outcome.code) {
        (AgentOutcome::FailedBudgetExhausted, OutcomeCode::MaxCalls) => {
            let is_ours = contract.max_calls.run == Some(item.constraints.max_tool_ops);
            let of_tool = !contract.max_calls.per_tool.is_empty();
            (is_ours && !of_tool).then_some(RunLimit::Calls)
        }
        (AgentOutcome::FailedTimeout, OutcomeCode::TotalTimeout) => {
            (contract.total_timeout_ms < own_timeout_ms).then_some(RunLimit::Time)
        }
        _ => None,
    }
}

fn take_calls(view: &RunView, item: &WorkItem, calls: &mut AttemptCalls, outside: &mut u64) {
    calls.count = calls.count.saturating_add(view.requested_tools());
    for call in view.calls().values() {
        if calls.failed.is_none() && has_failed(call) {
            calls.failed = Some(call.name.clone());
        }
        if calls.interrupted.is_none() && was_interrupted(call) {
            calls.interrupted = Some(call.name.clone());
        }
        if !has_acted(call) || !acts_outside(view.contract(), &call.name) {
            continue;
        }
        *outside = outside.saturating_add(1);
        if !item.allows_external(&call.name) && !calls.external.contains(&call.name) {
            calls.external.push(call.name.clone());
        }
    }
}

fn has_failed(call: &Call) -> bool {
    let last = call.executions.last();
    last.is_some_and(|execution| execution.end.is_some() && !execution.is_ok())
}

/// True if the process ended before the call did, and no other one made it again.
fn was_interrupted(call: &Call) -> bool {
    let last = call.executions.last();
    last.is_some_and(|made| matches!(made.end, Some(CallEnd::Lost { .. })))
}

/// The first tool of an open run, or of one below it, of whose call the process ended first, unless a resume makes the call again.
pub(super) fn interrupted_call(
    reader: &mut StoreReader,
    run_id: &RunId,
) -> Result<Option<String>, ServiceError> {
    if !reader.is_open(run_id)? {
        return Ok(None);
    }
    let below = reader.runs_below(run_id)?;
    for run in std::iter::once(run_id.clone()).chain(below) {
        if !reader.is_open(&run)? || reader.has_steps(&run)? {
            continue;
        }
        let view = Source::Run(run, reader.again()?).each_step(|_, _, _| Ok(()))?;
        let Some(machine) = view.machine() else {
            continue;
        };
        let lost = view.lost_calls(machine, false);
        if let Some((_, call)) = lost.first() {
            return Ok(Some(call.name.clone()));
        }
    }
    Ok(None)
}

/// True if the call reached its tool, or may have.
fn has_acted(call: &Call) -> bool {
    let mut ends = call.executions.iter().map(|made| made.end.as_ref());
    ends.any(|end| end.is_none_or(CallEnd::was_started))
}

/// True if a call of the tool may have an effect outside of the workspace: it asks another host, its program is not confined to the workspace,
/// or it is an agent, whose workspace is another one.
fn acts_outside(contract: &ExecutionContract, name: &str) -> bool {
    if contract.session_tool(name).is_some() {
        return false;
    }
    let Some(tool) = contract.tool(name) else {
        return contract.agents.contains_key(name);
    };
    if contract.agents.contains_key(name) {
        return true;
    }
    let server = contract.servers.get(&tool.origin);
    let is_within = is_within(server.and_then(|server| server.sandbox.as_ref()));
    if tool.origin == BUILTIN {
        return name == HTTP_GET || (name == SHELL && !is_within);
    }
    !is_within || server.is_some_and(|server| !server.roots.is_empty())
}

/// True if a program with that sandbox writes nothing but its workspace, and reaches nobody.
fn is_within(sandbox: Option<&SandboxTerms>) -> bool {
    sandbox.is_some_and(|terms| {
        terms.confined && !terms.network && terms.sockets.is_empty() && terms.write.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_acts_outside_unless_it_is_confined_to_the_workspace() {
        assert!(!is_within(None));
        let confined = || SandboxTerms {
            confined: true,
            ..SandboxTerms::default()
        };
        assert!(is_within(Some(&confined())));
        for wider in [
            SandboxTerms {
                network: true,
                ..confined()
            },
            SandboxTerms {
                write: vec!["/srv".to_owned()],
                ..confined()
            },
            SandboxTerms {
                sockets: vec!["/run/docker.sock".to_owned()],
                ..confined()
            },
            SandboxTerms::default(),
        ] {
            assert!(!is_within(Some(&wider)), "{wider:?}");
        }
    }
}
