//! The call that a run waits with, as a fresh machine finds it from what is stored. Answers nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::answer_refusal::AnswerRefusal;
use super::app::App;
use super::changes::Changes;
use super::contract_file::ContractFile;
use super::error::CliError;
use super::next_resume::NextResume;
use super::source::Source;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{CallOrder, EffectRecord, EventKind, Run};
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::{Replayer, Unfinished};
use monolith_core::view::RunView;
use monolith_host::driver::{DriverError, committed_workspace, redactor_of};
use monolith_host::store::StoreReader;

/// The call that a run waits with.
pub(crate) struct WaitingCall {
    pub(crate) contract: Arc<ExecutionContract>,
    /// How many entries the run has.
    pub(crate) entries: u64,
    /// The hash of the run's first entry: every answer names it.
    pub(crate) first_entry: Digest,
    /// What a person is asked.
    pub(crate) order: CallOrder,
    /// Which question of the run it is, from 1: the server of a call may ask the same again.
    pub(crate) question: u64,
    /// When it was asked first, in milliseconds since 1970-01-01 UTC, at the earliest: time in which no process drove the run before that is
    /// recorded nowhere.
    pub(crate) since_unix_ms: u64,
    /// The models that the contract names, in its order.
    pub(crate) models: Vec<String>,
    /// What the next process makes of the run alone.
    next: NextResume,
    workspace: Option<Digest>,
}

impl WaitingCall {
    /// That of a run; `None` if it has ended, or waits for no person.
    pub(crate) fn of(run_id: &RunId, mut reader: StoreReader) -> Result<Option<Self>, CliError> {
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
            let decoded = super::source::Recorded::decode(entry)?;
            view.take(decoded.entry());
            let event = decoded.entry().event;
            at_ms = event.map_or(at_ms, |event| event.at_ms);
            // A process that goes on with the run asks what was asked before.
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
    pub(crate) fn below(app: &App, run_id: &RunId) -> Result<Vec<(RunId, Self)>, CliError> {
        let Some(mut reader) = app.reader()? else {
            return Ok(Vec::new());
        };
        let below = reader.runs_below(run_id)?;
        Self::unanswered(app, std::iter::once(run_id.clone()).chain(below))
    }

    /// Those of them of which an answer is taken.
    pub(crate) fn answerable_below(
        app: &App,
        run_id: &RunId,
    ) -> Result<Vec<(RunId, Self)>, CliError> {
        let mut found = Vec::new();
        for (run, call) in Self::below(app, run_id)? {
            if call.refusal(app, &run)?.is_none() {
                found.push((run, call));
            }
        }
        Ok(found)
    }

    /// Why no answer to it is taken; `None` where one is.
    pub(crate) fn refusal(
        &self,
        app: &App,
        run_id: &RunId,
    ) -> Result<Option<AnswerRefusal>, CliError> {
        AnswerRefusal::of(app, run_id, &self.order, || {
            // What does not read is named by `verify`.
            let above = NextResume::above(app, run_id);
            self.next.and(above.unwrap_or_default())
        })
    }

    /// The calls that wait in these runs, each with its run; those that were answered already are left out.
    pub(crate) fn unanswered(
        app: &App,
        runs: impl IntoIterator<Item = RunId>,
    ) -> Result<Vec<(RunId, Self)>, CliError> {
        let mut found = Vec::new();
        let Some(reader) = app.reader()? else {
            return Ok(found);
        };
        for run_id in runs {
            if !reader.is_open(&run_id)? || reader.is_workflow(&run_id)? {
                continue;
            }
            let own = app.reader()?.map(|own| Self::of(&run_id, own));
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

    /// Where what it would change of files is looked up; `None` if the run's workspace is not there any more.
    pub(crate) fn changes(
        &self,
        app: &App,
        run_id: &RunId,
        reader: &StoreReader,
    ) -> Option<Changes> {
        let begun = reader.invocation(run_id).ok()?;
        let file = ContractFile::of_run(app, begun, None, Vec::new())?;
        let spec = file.read_to_look(app).ok()?;
        let root = committed_workspace(&spec, file.folder(), self.workspace?)?;
        let key = app.redaction_key().ok()?;
        let redactor = redactor_of(&spec, &app.environment, &key, run_id).ok()?;
        Some(Changes::beneath(root, app.withheld().ok()?).without_secrets(redactor))
    }
}

/// Whether a run, or each run below it that is not at its end, waits for a person who has not answered: a process that goes on with it comes
/// no further. One that has ended, or is not begun, does not wait. `waits` knows the runs whose call waits.
pub(crate) fn is_stuck(
    app: &App,
    reader: &mut StoreReader,
    run_id: &RunId,
    waits: impl Fn(&RunId) -> bool,
) -> Result<bool, CliError> {
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
            !above.contains(&run) && !waits(&run) || has_more(app, reader, &run, &waits)?;
        if comes_further {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a run that waits, for a person or for runs below it, has something else to go on with: an answer to its own call, what ended with the
/// process that drove it, or the call of an agent that has no open run and would get a place in its queue.
fn has_more(
    app: &App,
    reader: &StoreReader,
    run_id: &RunId,
    waits: impl Fn(&RunId) -> bool,
) -> Result<bool, CliError> {
    let Some(own) = app.reader()? else {
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

/// How many agents of a contract may be at work at once.
fn places_of_agents(contract: &ExecutionContract) -> usize {
    let queue = || {
        let tool = contract.tool(contract.agents.keys().next()?)?;
        let (_, server) = contract.server_of(tool)?;
        let queue = contract.queues.get(server.queue.as_ref()?)?;
        usize::try_from(queue.concurrent).ok()
    };
    queue().unwrap_or(usize::MAX)
}
