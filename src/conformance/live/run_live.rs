//! Drives the live cases, one run after another.

use std::collections::BTreeMap;
use std::path::Path;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::live_case::{LiveCase, LiveCases, LiveTarget};
use super::live_report::{LiveRecord, LiveReport, LiveRow, LiveStatus};
use super::server_traits::{Agreement, ServerTraits};
use super::watcher::{FirstMessage, Watcher};
use crate::metrics::{RunFacts, Spread, Tally};
use crate::{CaseError, JudgedCall};
use monolith_core::contract::ToolPolicy;
use monolith_core::kernel::{AgentOutcome, Outcome};
use monolith_core::message::{Digest, ObjectText, ProviderFaultClass};
use monolith_core::replay::{BlobSource, Replayer};
use monolith_host::driver::{
    DriverError, Environment, Finished, RunRequest, drive, prepare, random_run_id,
};
use monolith_host::store::{Store, StoreError, StoreReader};

/// Errors that prevent asking an endpoint at all. A missing server is not among them: its runs end with a typed outcome.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// monolith: a case that it carries is faulty, or the caller's endpoint cannot stand in a contract.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// No contract could be made or no run driven.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs every live case `runs` times, one run after the other; `workspace` holds `note.txt` and a large `big.txt`. `told` is
/// called after each run.
///
/// # Errors
/// [`LiveError`] with the first run that could not be begun or read back.
pub async fn run_live(
    target: &LiveTarget,
    runs: usize,
    workspace: &Path,
    environment: &Environment,
    store: &Store,
    told: &mut dyn FnMut(&LiveRecord),
) -> Result<LiveReport, LiveError> {
    let cases = LiveCases::built_in()?;
    let mut gathered = Gathered::default();
    for case in &cases.cases {
        let spec = cases.spec(case, target)?;
        for round in 0..runs {
            let key = target.redaction_key.clone();
            let request = RunRequest::new(spec.clone(), workspace, environment.clone(), key)
                .named(random_run_id(&label(&case.case))?);
            let prepared = prepare(request, &CancellationToken::new()).await?;
            let required = prepared.contract().tool_policy == ToolPolicy::Required;
            let (_nobody, asked) = mpsc::channel(1);
            let mut watcher = Watcher::default();
            let finished = drive(prepared, store, asked, &mut watcher).await?;
            let record = record_of(case, &finished, &watcher, store)?;
            told(&record);
            gathered.add(case, round, required, &finished, watcher, record);
        }
    }
    Ok(gathered.report(&cases.cases))
}

/// Returns the name prefix of a case's runs.
fn label(case: &str) -> String {
    format!("live-{}-", case.to_lowercase().replace(' ', "-"))
}

/// Everything that came of the runs so far.
#[derive(Default)]
struct Gathered {
    faults: BTreeMap<ProviderFaultClass, u64>,
    firsts: BTreeMap<(String, usize), FirstMessage>,
    latency_ms: Vec<u64>,
    records: Vec<LiveRecord>,
    server: ServerTraits,
    tally: Tally,
}

impl Gathered {
    fn add(
        &mut self,
        case: &LiveCase,
        round: usize,
        required: bool,
        finished: &Finished,
        watcher: Watcher,
        record: LiveRecord,
    ) {
        let counters = finished.run.counters();
        let outcome = finished.run.outcome();
        self.tally.add(RunFacts {
            class: outcome.map(|outcome| outcome.class),
            elapsed_ms: watcher.elapsed_ms,
            executed: counters.executed,
            inferences: counters.inferences,
            out_of_turns: counters.turns >= finished.run.contract().max_turns,
            rejected: watcher.rejected,
            required,
            responses: watcher.responses,
        });
        let server = &mut self.server;
        server.required.add(watcher.required);
        server.none.add(watcher.none);
        server.arguments.add(watcher.arguments);
        server.finish.add(watcher.finish);
        server.usage.add(watcher.usage);
        for (class, count) in watcher.faults {
            *self.faults.entry(class).or_default() += count;
        }
        self.latency_ms.extend(watcher.latency_ms);
        if let Some(first) = watcher.first {
            let twin = case.twin.as_ref().map(|twin| (twin.clone(), round));
            if let Some(other) = twin.and_then(|twin| self.firsts.get(&twin)) {
                let agreement = if *other == first {
                    Agreement::Same
                } else {
                    Agreement::Different
                };
                server.streaming = server.streaming.and(agreement);
            }
            self.firsts.insert((case.case.clone(), round), first);
        }
        self.records.push(record);
    }

    fn report(self, cases: &[LiveCase]) -> LiveReport {
        let rows = cases
            .iter()
            .map(|case| LiveRow::of(&case.case, &case.name, &self.records));
        LiveReport {
            table: rows.collect(),
            records: self.records,
            server: ServerTraits {
                faults: self.faults.into_iter().collect(),
                latency_ms: Spread::of(self.latency_ms),
                ..self.server
            },
            metrics: self.tally.metrics(),
        }
    }
}

fn record_of(
    case: &LiveCase,
    finished: &Finished,
    watcher: &Watcher,
    store: &Store,
) -> Result<LiveRecord, LiveError> {
    let outcome = finished.run.outcome();
    let class = outcome.map(|outcome| outcome.class);
    let executed = finished.run.counters().executed;
    let mut detail = unproven(finished, store)?;
    let proven = detail.is_empty();
    let is_in = |classes: &[AgentOutcome]| class.is_some_and(|class| classes.contains(&class));
    let reached = is_in(&case.reached);
    let unavailable = class == Some(AgentOutcome::FailedPreflight);
    if !reached && !unavailable && !is_in(&case.allowed) {
        let end = outcome.map_or_else(|| "none".to_owned(), |o| o.to_string());
        detail.push(format!("the contract does not allow the end {end}"));
    }
    if (class == Some(AgentOutcome::CompletedWithTools)) && executed == 0 {
        detail.push("completed with tools, and none was executed".to_owned());
    }
    // The result was not cut: the model read something else.
    let fell_short = case.cut && executed > 0 && !watcher.cut;
    let status = if !detail.is_empty() {
        LiveStatus::Broken
    } else if unavailable {
        LiveStatus::Unavailable
    } else if reached && !fell_short {
        LiveStatus::Reached
    } else {
        LiveStatus::Allowed
    };
    let calls = watcher.calls.iter().filter_map(|(name, arguments)| {
        Some(JudgedCall {
            name: name.clone(),
            arguments: ObjectText::parse(arguments.clone()).ok()?,
        })
    });
    Ok(LiveRecord {
        id: finished.run_id.to_string(),
        case: case.case.clone(),
        status,
        failure_code: outcome
            .filter(|_| status != LiveStatus::Reached)
            .map(|outcome| outcome.code.to_string()),
        outcome: outcome.map_or_else(String::new, |outcome: Outcome| outcome.to_string()),
        calls: calls.collect(),
        proven,
        elapsed_ms: watcher.elapsed_ms,
        detail,
    })
}

struct Blobs(StoreReader);

impl BlobSource for Blobs {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.blob(hash).ok().flatten()
    }
}

/// Returns the errors found by a second check of the stored run.
fn unproven(finished: &Finished, store: &Store) -> Result<Vec<String>, LiveError> {
    let mut wrong = Vec::new();
    let mut reader = store.reader()?;
    let report = reader.verify_run(&finished.run_id, false)?;
    if !report.holds() {
        wrong.push(format!(
            "the transcript does not verify: {:?}",
            report.first_bad
        ));
    }
    let blobs = Blobs(store.reader()?);
    let stored = reader.read_run(&finished.run_id)?;
    let mut replayer = Replayer::new(stored.contract()?, &finished.run_id);
    for entry in stored {
        replayer.take(&entry?, &blobs);
    }
    let again = replayer.finish(false);
    if let Some(difference) = again.first_difference.filter(|_| !again.same) {
        wrong.push(format!("the transcript does not replay: {difference:?}"));
    }
    Ok(wrong)
}
