//! The call that a run waits with, as a fresh machine finds it from what is stored. Answers nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::form::fields;
use crate::text::escape::line;

use crate::answer_refusal::AnswerRefusal;
use crate::changes::Changes;
use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::next_resume::NextResume;
use crate::service::Service;
use crate::source::Source;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{CallOrder, EffectRecord, EventKind, Run};
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::{Replayer, Unfinished};
use monolith_core::view::RunView;
use monolith_host::driver::{DriverError, committed_workspace, redactor_of};
use monolith_host::store::StoreReader;

/// The call that a run waits with.
pub struct WaitingCall {
    /// Contract of the run.
    pub contract: Arc<ExecutionContract>,
    /// The number of the run's entries.
    pub entries: u64,
    /// The hash of the run's first entry: every answer names it.
    pub first_entry: Digest,
    /// The question to a person.
    pub order: CallOrder,
    /// The number of the question in the run, from 1: the server of a call may ask the same again.
    pub question: u64,
    /// When it was asked first, in milliseconds since 1970-01-01 UTC, at the earliest: time in which no process drove the run before that is
    /// recorded nowhere.
    pub since_unix_ms: u64,
    /// The models that the contract names, in its order.
    pub models: Vec<String>,
    /// The effect of the next process on the run alone.
    next: NextResume,
    workspace: Option<Digest>,
}

impl WaitingCall {
    /// Returns the waiting call of a run; `None` if it has ended, or waits for no person.
    pub fn of(run_id: &RunId, mut reader: StoreReader) -> Result<Option<Self>, ServiceError> {
        if reader.read_run(run_id)?.row().outcome.is_some() {
            return Ok(None);
        }
        let recorded = Source::Run(run_id.clone(), reader).load()?;
        let contract = Arc::new(recorded.contract.clone());
        let mut replayer = Replayer::new(recorded.contract.clone(), run_id);
        let mut view = RunView::new(Arc::clone(&contract));
        let (mut asked, mut asked_at_ms, mut at_ms) = (None, 0, 0);
        let mut question = 0_u64;
        for entry in &recorded.entries {
            let decoded = crate::source::Recorded::decode(entry)?;
            view.take(decoded.entry());
            let event = decoded.entry().event;
            at_ms = event.map_or(at_ms, |event| event.at_ms);
            // A process that resumes the run asks the earlier question again.
            let asks_again =
                event.is_some_and(|event| matches!(event.event, EventKind::Resumed(_)));
            for effect in &decoded.entry().action.effects {
                if let EffectRecord::AwaitApproval {
                    arguments_hash,
                    call,
                    ..
                } = effect
                {
                    question = question.saturating_add(u64::from(!asks_again));
                    if asked.replace((*call, *arguments_hash)) != Some((*call, *arguments_hash)) {
                        asked_at_ms = at_ms;
                    }
                }
            }
            replayer.take(entry, &recorded);
        }
        let unfinished = unfinished(replayer, run_id)?;
        let run = unfinished.session.run();
        let order = run.and_then(Run::awaited);
        let next = run.map(NextResume::by).unwrap_or_default();
        let first = recorded.entries.first().map(|entry| entry.hash);
        let started = view
            .start()
            .map(|start| (start.started_unix_ms, start.workspace));
        let (Some(order), Some(first_entry), Some((began, workspace))) = (order, first, started)
        else {
            return Ok(None);
        };
        let targets = contract.targets.iter();
        let models = targets.map(|target| format!("{}/{}", target.provider, target.model));
        Ok(Some(Self {
            entries: u64::try_from(recorded.entries.len()).unwrap_or(u64::MAX),
            first_entry,
            models: models.collect(),
            next,
            order,
            question,
            since_unix_ms: began.saturating_add(asked_at_ms),
            workspace,
            contract,
        }))
    }

    /// The calls that wait in a run or a workflow, and in the runs below it, each with its run; those that were answered already are left
    /// out.
    pub fn below(service: &Service, run_id: &RunId) -> Result<Vec<(RunId, Self)>, ServiceError> {
        let Some(mut reader) = service.reader()? else {
            return Ok(Vec::new());
        };
        let below = reader.runs_below(run_id)?;
        Self::unanswered(service, std::iter::once(run_id.clone()).chain(below))
    }

    /// Returns the waiting calls below that take an answer.
    pub fn answerable_below(
        service: &Service,
        run_id: &RunId,
    ) -> Result<Vec<(RunId, Self)>, ServiceError> {
        let mut found = Vec::new();
        for (run, call) in Self::below(service, run_id)? {
            if call.refusal(service, &run)?.is_none() {
                found.push((run, call));
            }
        }
        Ok(found)
    }

    /// Returns the reason why it takes no answer; `None` if it takes one.
    pub fn refusal(
        &self,
        service: &Service,
        run_id: &RunId,
    ) -> Result<Option<AnswerRefusal>, ServiceError> {
        AnswerRefusal::of(service, run_id, &self.order, || {
            // What does not read is named by `verify`.
            let above = NextResume::above(service, run_id);
            self.next.and(above.unwrap_or_default())
        })
    }

    /// The calls that wait in these runs, each with its run; those that were answered already are left out.
    pub fn unanswered(
        service: &Service,
        runs: impl IntoIterator<Item = RunId>,
    ) -> Result<Vec<(RunId, Self)>, ServiceError> {
        let mut found = Vec::new();
        let Some(reader) = service.reader()? else {
            return Ok(found);
        };
        for run_id in runs {
            if !reader.is_open(&run_id)? || reader.has_steps(&run_id)? {
                continue;
            }
            let own = service.reader()?.map(|own| Self::of(&run_id, own));
            let Some(call) = own.transpose()?.flatten() else {
                continue;
            };
            let asked = (call.order.call, call.order.arguments_hash);
            if reader.answer_to(&run_id, asked)?.is_none() {
                found.push((run_id, call));
            }
        }
        Ok(found)
    }

    /// Returns the workspace to look up its file changes in; `None` if the run's workspace no longer exists.
    pub fn changes(
        &self,
        service: &Service,
        run_id: &RunId,
        reader: &StoreReader,
    ) -> Option<Changes> {
        let begun = reader.invocation(run_id).ok()?;
        let file = ContractFile::of_run(service, begun, None, Vec::new())?;
        let spec = file.read_to_look(service).ok()?;
        let root = committed_workspace(&spec, file.folder(), self.workspace?)?;
        let key = service.redaction_key().ok()?;
        let redactor = redactor_of(&spec, &service.environment, &key, run_id).ok()?;
        Some(Changes::beneath(root, service.withheld().ok()?).without_secrets(redactor))
    }
}

/// True if a run, or each of its unfinished child runs, waits for a person who has not answered: a process that resumes it gets
/// no further. One that has ended, or is not begun, does not wait. `waits` knows the runs whose call waits.
pub fn is_stuck(
    service: &Service,
    reader: &mut StoreReader,
    run_id: &RunId,
    waits: impl Fn(&RunId) -> bool,
) -> Result<bool, ServiceError> {
    if !reader.is_open(run_id)? {
        return Ok(false);
    }
    let (mut open, mut above) = (vec![run_id.clone()], BTreeSet::new());
    for below in reader.runs_below(run_id)? {
        if reader.is_open(&below)? {
            above.extend(reader.lineage(&below)?.map(|found| found.parent.run_id));
            open.push(below);
        }
    }
    for run in open {
        // One that has open runs below it waits for those.
        let comes_further =
            !above.contains(&run) && !waits(&run) || has_more(service, reader, &run, &waits)?;
        if comes_further {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if a run that waits, for a person or for child runs, has other work: an answer to its own call, a call that ended with
/// its process, or an agent's call that has no open run and would get a place in its queue.
fn has_more(
    service: &Service,
    reader: &StoreReader,
    run_id: &RunId,
    waits: impl Fn(&RunId) -> bool,
) -> Result<bool, ServiceError> {
    let Some(own) = service.reader()? else {
        return Ok(false);
    };
    let recorded = Source::Run(run_id.clone(), own).load()?;
    let mut replayer = Replayer::new(recorded.contract.clone(), run_id);
    for entry in &recorded.entries {
        replayer.take(entry, &recorded);
    }
    let unfinished = unfinished(replayer, run_id)?;
    let Some(run) = unfinished.session.run() else {
        return Ok(true);
    };
    let is_answered = run.awaited().is_some() && !waits(run_id);
    if is_answered || !run.unresolved().is_empty() {
        return Ok(true);
    }
    let (mut open, delegations) = (0_usize, run.delegations());
    for call in &delegations {
        open = open.saturating_add(usize::from(reader.is_open(&run_id.child(*call))?));
    }
    Ok(open < delegations.len() && open < places_of_agents(&recorded.contract))
}

/// The session of a run where its entries end.
fn unfinished(replayer: Replayer, run_id: &RunId) -> Result<Unfinished, DriverError> {
    replayer.into_unfinished().map_err(|report| {
        let run_id = run_id.clone();
        DriverError::DoesNotReplay { run_id, report }
    })
}

/// Returns the maximum number of a contract's agents that work at once.
fn places_of_agents(contract: &ExecutionContract) -> usize {
    let queue = || {
        let tool = contract.tool(contract.agents.keys().next()?)?;
        let (_, server) = contract.server_of(tool)?;
        let queue = contract.queues.get(server.queue.as_ref()?)?;
        usize::try_from(queue.concurrent).ok()
    };
    queue().unwrap_or(usize::MAX)
}

/// The command that answers the call which waits in that run, as it is to be typed: `approve` with the fields that a server's question needs,
/// either verb with a key where only signed answers count.
pub fn answering(verb: &str, run: &str, order: &CallOrder, signed: bool) -> String {
    let mut command = format!("{verb} {run}");
    if verb == "approve" && order.input.is_some() {
        for field in fields(&order.invocation.arguments) {
            let _ = write!(command, " --field {}=…", line(field.name()));
        }
    }
    if signed {
        command.push_str(" --key NAME");
    }
    command
}

impl WaitingCall {
    /// Returns the command that answers the call, with that name of its run.
    pub fn answering(&self, verb: &str, run: &str) -> String {
        let signed = !self.contract.approvers.is_empty();
        answering(verb, run, &self.order, signed)
    }
}
