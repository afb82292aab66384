//! `monolith verify --tree`: a run, a workflow or a work item and all its child runs, each checked against its parent's record of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use crate::error::ServiceError;
use crate::verify::decided::decide_again;
use crate::verify::difference::Difference;
use crate::verify::recorded_agent::{RecordedAgent, runs_of};
use crate::verify::recorded_call::{
    arguments_of, continued_from, label_words, labels_differ, result_differs, task_differs,
};
use crate::verify::recorded_step::{BegunSteps, RecordedStep, forked_from, steps_of};
use monolith_core::contract::{DelegationTerms, ExecutionContract, delegation_below, ungranted};
use monolith_core::message::{CallSeq, RunId};
use monolith_core::transcript::{
    FirstBad, FlawKind, ParentFound, TranscriptKind, Trust, VerifyReport,
};
use monolith_host::driver::recorded_result;
use monolith_host::store::{DelegatedRun, Lineage, StoreError, StoreReader};

/// One run of a tree, verified.
#[derive(Debug, Serialize)]
pub struct TreeReport {
    /// The number of its parent runs.
    pub depth: usize,
    /// Name of the run.
    pub run_id: RunId,
    /// Its place as a step of its parent workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Report of the verification.
    #[serde(flatten)]
    pub report: VerifyReport,
}

/// The parent's record of a run.
enum Above {
    /// A run, of the run of a call.
    Call(Box<Caller>, Box<DelegatedRun>),
    /// A workflow, of the run of a step.
    Step(Box<RecordedStep>),
    /// A work item, of a run of its agent.
    Agent(Box<RecordedAgent>),
    /// No record: only the child run says that this one began it, and names an entry that it has.
    Nothing(RunId),
}

/// A run that called an agent.
#[derive(Clone)]
struct Caller {
    /// The arguments of each of its agent calls, as far as its messages hold them.
    arguments: Arc<BTreeMap<CallSeq, String>>,
    contract: Arc<ExecutionContract>,
    /// True if it is sealed: then no process continues its child runs.
    has_ended: bool,
    run_id: RunId,
}

impl Above {
    const fn has_ended(&self) -> bool {
        match self {
            Self::Call(caller, one) => one.end.is_some() || caller.has_ended,
            Self::Step(step) => step.end.is_some(),
            Self::Agent(run) => run.head.is_some(),
            Self::Nothing(_) => false,
        }
    }

    /// Holds a run that holds by itself against it.
    fn judge(
        &self,
        reader: &mut StoreReader,
        begun_steps: &mut BegunSteps,
        run_id: &RunId,
        report: &mut VerifyReport,
    ) -> Result<(), ServiceError> {
        let (found, name, above, recorded) = match self {
            Self::Call(caller, one) => {
                let found = difference(reader, report, (caller, one))?;
                let parent = &caller.run_id;
                (found, "delegated", parent, recorded(parent, one))
            }
            Self::Step(step) => {
                let found = step.difference(reader, begun_steps, report)?;
                (found, "step", &step.workflow, step.recorded())
            }
            Self::Agent(run) => (run.difference(reader)?, "agent", &run.item, run.recorded()),
            Self::Nothing(above) => {
                let link = reader.lineage(run_id)?.map(|found| found.parent);
                let says = link.map_or_else(String::new, |parent| parent.link());
                let expected = format!("nothing: {above} records no such run");
                let found = Some(("event.parent".to_owned(), expected, says));
                (found, "begun", above, String::new())
            }
        };
        let detail = match &found {
            None => recorded,
            Some((field, ..)) => format!("{field} is not what {above} recorded"),
        };
        let flaw = found.map(|(field, expected, actual)| FirstBad {
            seq: None,
            line: None,
            table: Some("runs"),
            field,
            expected,
            actual,
            kind: FlawKind::Tampered,
        });
        report.add(name, detail, flaw);
        Ok(())
    }
}

/// Verifies a run or a workflow and all below it; each stands after the one that began it, which `open` allows to be in progress.
pub fn tree_of(
    reader: &mut StoreReader,
    root: &RunId,
    open: bool,
    trust: &Arc<Trust>,
) -> Result<Vec<TreeReport>, ServiceError> {
    let (mut begun_steps, mut reports) = (BegunSteps::default(), Vec::new());
    let mut next = vec![(0, root.clone(), None::<Above>)];
    while let Some((depth, run_id, above)) = next.pop() {
        let ended = above.as_ref().is_none_or(Above::has_ended);
        let mut report = match reader.verify_run_trusting(&run_id, open || !ended, trust) {
            Ok(report) => report,
            Err(StoreError::NoSuchRun { .. }) if above.is_some() => missing(&run_id),
            Err(fault) => return Err(fault.into()),
        };
        if report.first_bad.is_none() {
            if let Some(above) = &above {
                above.judge(reader, &mut begun_steps, &run_id, &mut report)?;
            } else {
                forked_from(reader, &run_id, &mut report)?;
                continued_from(reader, &run_id, &mut report)?;
            }
        }
        if report.first_bad.is_none() {
            // Asked for before the entries are read: a run that is there has the entry that began it before it.
            let named = reader.named_below(&run_id)?;
            let mut below = below(reader, &run_id)?;
            below.extend(unrecorded(reader, &run_id, (named, &below), &mut report)?);
            let below = below.into_iter().rev();
            let depth = depth + 1;
            next.extend(below.map(|(run_id, above)| (depth, run_id, Some(above))));
            if report.first_bad.is_none() {
                decide_again(reader, &run_id, open || !ended, &mut report)?;
            }
        }
        let step = match above {
            Some(Above::Step(step)) => Some(step.place),
            _ => None,
        };
        reports.push(TreeReport {
            depth,
            run_id,
            step,
            report,
        });
    }
    Ok(reports)
}

/// The runs that one began: for calls, or as steps.
fn below(reader: &mut StoreReader, run_id: &RunId) -> Result<Vec<(RunId, Above)>, ServiceError> {
    let mut below = Vec::new();
    let kind = reader.read_run(run_id)?.row().kind;
    if kind == TranscriptKind::Work {
        for run in runs_of(reader, run_id)? {
            // One that was begun in the transcript alone has no run yet.
            if run.head.is_some() || reader.lineage(&run.run_id)?.is_some() {
                below.push((run.run_id.clone(), Above::Agent(Box::new(run))));
            }
        }
        return Ok(below);
    }
    if kind == TranscriptKind::Workflow {
        for step in steps_of(reader, run_id)? {
            // One that was begun in the transcript alone has no run yet.
            let is_here = || Ok::<_, ServiceError>(reader.lineage(&step.run_id)?.is_some());
            if step.end.is_some() || is_here()? {
                below.push((step.run_id.clone(), Above::Step(Box::new(step))));
            }
        }
        return Ok(below);
    }
    let delegated = reader.delegated(run_id)?;
    if delegated.is_empty() {
        return Ok(below);
    }
    let caller = {
        let stored = reader.read_run(run_id)?;
        let contract = Arc::new(stored.contract()?);
        Caller {
            has_ended: stored.row().outcome.is_some(),
            arguments: Arc::new(arguments_of(&contract, stored)?),
            contract,
            run_id: run_id.clone(),
        }
    };
    for one in delegated {
        // A call whose run was not begun before its process ended has none, nor has one that was answered without a run.
        if one.is_owed(caller.has_ended) || reader.is_child_of(&one, run_id)? {
            below.push((
                one.run_id.clone(),
                Above::Call(Box::new(caller.clone()), Box::new(one)),
            ));
        }
    }
    Ok(below)
}

/// The runs that say of themselves that a run began them, which records none of them; one that names an entry that is not there may be
/// of another run of that name, which no store can know.
fn unrecorded(
    reader: &StoreReader,
    run_id: &RunId,
    (named, known): (Vec<RunId>, &[(RunId, Above)]),
    report: &mut VerifyReport,
) -> Result<Vec<(RunId, Above)>, ServiceError> {
    let mut unrecorded = Vec::new();
    let known: BTreeSet<&RunId> = known.iter().map(|(known, _)| known).collect();
    let is_direct = |name: &RunId| {
        let number = name.as_str().rsplit('.').next();
        let number = number.and_then(|number| number.parse().ok());
        number.is_some_and(|number| run_id.child(CallSeq(number)) == *name)
    };
    for name in named {
        if !is_direct(&name) || known.contains(&name) {
            continue;
        }
        let Some(link) = reader.lineage(&name)?.filter(Lineage::is_below) else {
            continue;
        };
        if link.parent.run_id != *run_id {
            continue;
        }
        if link.found == ParentFound::NoSuchEntry {
            report.not_checked.push(format!(
                "begun: {name} says that {run_id} began it, and {run_id} has no such entry: it is of another run of that name, or what \
                 began it was left out"
            ));
        } else {
            unrecorded.push((name, Above::Nothing(run_id.clone())));
        }
    }
    Ok(unrecorded)
}

/// A run that is recorded by the one above it, and not in the store.
fn missing(run_id: &RunId) -> VerifyReport {
    VerifyReport {
        level: "none",
        checks: Vec::new(),
        not_checked: Vec::new(),
        first_bad: Some(FirstBad {
            seq: None,
            line: None,
            table: Some("runs"),
            field: "run_id".to_owned(),
            expected: run_id.to_string(),
            actual: "no such run in this store".to_owned(),
            kind: FlawKind::Incomplete,
        }),
        entries: 0,
        head: None,
    }
}

/// Describes a run's record of the run of a call.
fn recorded(parent: &RunId, one: &DelegatedRun) -> String {
    match &one.end {
        Some(end) => format!(
            "as {parent} recorded it: {} at head {}",
            end.outcome,
            end.head.short(16)
        ),
        None => format!(
            "begun by {parent} at entry {}, and its end is not recorded there",
            one.seq
        ),
    }
}

/// Returns the difference if a run states another place than below its parent run, or is the run of another agent.
fn place_differs(
    above: &ExecutionContract,
    one: &DelegatedRun,
    contract: &ExecutionContract,
) -> Difference {
    let expected = delegation_below(above, &one.tool);
    let found = contract.delegation.as_ref();
    // Its file may state less.
    let as_deep = |found: &DelegationTerms| DelegationTerms {
        max_depth: found.max_depth.max(expected.max_depth),
        ..found.clone()
    };
    if found.map(as_deep).as_ref() == Some(&expected) {
        return None;
    }
    let shown = |terms: Option<&DelegationTerms>| {
        let text = terms.and_then(|terms| serde_json::to_string(terms).ok());
        text.unwrap_or_default()
    };
    let field = "contract.delegation".to_owned();
    Some((field, shown(Some(&expected)), shown(found)))
}

fn cost_limit(micro_usd: Option<u64>) -> String {
    micro_usd.map_or_else(|| "no limit".to_owned(), |most| most.to_string())
}

/// Finds a rule of `flow` of the parent that the child does not hold.
fn lacks_rule(above: &ExecutionContract, contract: &ExecutionContract) -> Difference {
    let mut rules = above.flow.iter();
    let rule = rules.find(|rule| !contract.flow.contains(rule))?;
    let rule = serde_json::to_string(rule).unwrap_or_default();
    let actual = "no such rule".to_owned();
    Some(("contract.flow".to_owned(), rule, actual))
}

/// The first thing in which a run is not what the one above recorded, and both values.
fn difference(
    reader: &mut StoreReader,
    report: &VerifyReport,
    (caller, one): (&Caller, &DelegatedRun),
) -> Result<Difference, ServiceError> {
    let parent = &caller.run_id;
    let differs = |field: &str, expected: String, actual: String| {
        (expected != actual).then(|| (field.to_owned(), expected, actual))
    };
    let link = reader.lineage(&one.run_id)?;
    let expected = format!("delegated by {parent} (call {})", one.call);
    let actual = link.map_or_else(String::new, |link| link.parent.link());
    if let Some(found) = differs("event.parent", expected, actual) {
        return Ok(Some(found));
    }
    let stored = reader.read_run(&one.run_id)?;
    let contract = stored.contract()?;
    let above = contract
        .parent_contract_hash
        .map_or_else(String::new, |hash| hash.to_string());
    let terms = [
        place_differs(&caller.contract, one, &contract),
        differs(
            "contract.parent_contract_hash",
            one.parent_contract.to_string(),
            above,
        ),
        differs(
            "contract.max_tokens_consumed",
            one.grant.max_tokens.to_string(),
            contract.max_tokens_consumed.0.to_string(),
        ),
        differs(
            "contract.max_cost_micro_usd",
            cost_limit(one.grant.max_cost_micro_usd),
            cost_limit(contract.max_cost_micro_usd.map(|max| max.0)),
        ),
        // Its file may state less.
        differs(
            "contract.total_timeout_ms",
            one.grant
                .total_timeout_ms
                .max(contract.total_timeout_ms)
                .to_string(),
            one.grant.total_timeout_ms.to_string(),
        )
        .map(|(field, actual, most)| (field, format!("at most {most}"), actual)),
        differs(
            "contract.tools",
            "the tools that it is granted".to_owned(),
            ungranted(&contract).join(", "),
        )
        .filter(|(.., more)| !more.is_empty()),
        lacks_rule(&caller.contract, &contract),
    ];
    if let Some(found) = terms.into_iter().flatten().next() {
        return Ok(Some(found));
    }
    let entries = stored.collect::<Result<Vec<_>, _>>()?;
    let arguments = caller.arguments.get(&one.call);
    if let Some(found) = arguments.and_then(|given| task_differs(given, entries.first())) {
        return Ok(Some(found));
    }
    if let Some(found) = labels_differ(&one.labels, entries.first()) {
        return Ok(Some(found));
    }
    let Some(end) = &one.end else {
        let found = || {
            let recorded = "no run was begun".to_owned();
            ("event.child".to_owned(), recorded, "its run".to_owned())
        };
        return Ok(one.answered.then(found));
    };
    let action = entries.last().and_then(|entry| entry.decode_action().ok());
    let sealed = action.and_then(|action| Some((action.outcome?, action.counters)));
    let Some((outcome, counters)) = sealed else {
        let found = (
            "action.outcome".to_owned(),
            end.outcome.to_string(),
            "no end".to_owned(),
        );
        return Ok(Some(found));
    };
    let head = report
        .head
        .map_or_else(String::new, |head| head.to_string());
    let ends = [
        differs("run_id", end.run_id.to_string(), one.run_id.to_string()),
        differs("head", end.head.to_string(), head),
        differs(
            "entries",
            end.entries.to_string(),
            report.entries.to_string(),
        ),
        differs(
            "action.outcome",
            end.outcome.to_string(),
            outcome.to_string(),
        ),
        differs(
            "tokens",
            end.tokens.to_string(),
            counters.tree_tokens().to_string(),
        ),
        differs(
            "cost",
            end.cost_micro_usd.to_string(),
            counters.tree_cost_micro_usd().to_string(),
        ),
        differs(
            "tools_ok",
            end.tools_ok.to_string(),
            counters.tree_tools_ok().to_string(),
        ),
    ];
    if let Some(found) = ends.into_iter().flatten().next() {
        return Ok(Some(found));
    }
    let made = recorded_result(Arc::new(contract), entries, one.run_id.clone());
    // What does not replay reports nothing that could be made again.
    let Ok((made, labels)) = made else {
        return Ok(None);
    };
    let [expected, actual] = [&end.labels, &labels].map(|labels| label_words(labels.as_ref()));
    if let Some(found) = differs("labels", expected, actual) {
        return Ok(Some(found));
    }
    let Some(result) = &one.result else {
        return Ok(None);
    };
    result_differs(reader, &caller.contract, (&one.tool, result), &made)
}
