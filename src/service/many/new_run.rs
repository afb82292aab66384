//! A run that a line of a list begins. One that is in the store already is reported as it ended, or resumed, where it is the run that the
//! line asks for; one that is not is refused where it would be begun.

use std::path::PathBuf;
use std::sync::Arc;

use super::input::RunLine;
use super::not_begun::{Became, NotBegun};
use super::one_run::{drive, driven_by, end_of, guarded, recorded_end_of, refused};
use super::recorded_run::resume;
use super::result::RunEnd;
use super::worker::{Common, Worker};
use super::workflow_run::{ListedWorkflow, RepeatedWorkflow, end_of_workflow, repeated_workflow};
use crate::contract_file::ContractFile;
use crate::drive::ended::{Broken, Ended};
use crate::drive::follower::Follower;
use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::source::{Recorded, Source};
use crate::verify::report::{place, report_of};
use crate::workflow::check::as_written;
use monolith_core::message::RunId;
use monolith_core::view::RunStart;
use monolith_host::driver::{DriverError, Prepared};
use monolith_host::store::StoreError;
use monolith_host::telemetry::Listed;

/// A line that was taken from the inputs.
pub(super) struct Taken {
    /// Follows its run.
    pub(super) follower: Follower,
    pub(super) line: Result<RunLine, String>,
    pub(super) not_begun: Arc<NotBegun>,
    /// Number among the lines that were taken.
    pub(super) number: u64,
}

/// Begins the run of a line, and drives it to its end or until it is left.
pub(super) async fn begin(place: &str, taken: Taken, worker: Worker) -> RunEnd {
    let Taken {
        follower,
        line,
        not_begun,
        number,
    } = taken;
    let line = match line {
        Ok(line) => line,
        Err(rule) => return refused(place, &rule),
    };
    let common = Arc::clone(&worker.common);
    let file = ContractFile::given(common.service(), name_of(&line, &common), Vec::new());
    if file.is_workflow() {
        // It is in the store as soon as anything of it is.
        not_begun.closed(number, Became::Begun);
        return begin_workflow(place, line, file, follower, worker).await;
    }
    // A run that has ended is verified, which takes as long as it is.
    let look = || repeated(&line, &common);
    if let Some(there) = tokio::task::block_in_place(look) {
        not_begun.closed(number, Became::Refused);
        return match there {
            Repeated::Driven(run_id, pid) => driven_by(place, &run_id, pid),
            Repeated::Ended(ended) => recorded_end_of(&common, place, *ended),
            Repeated::Open(run_id) => {
                let sets = line.sets_under(&common.terms.sets);
                resume(&format!("run {run_id}"), run_id, sets, follower, worker).await
            }
        };
    }
    // Boxed: what is open for long should take no more than it needs.
    let driven = Box::pin(begun(line.clone(), worker, &follower));
    let driven = guarded(&follower, driven).await;
    not_begun.closed(number, became_of(&driven));
    // Another process may have begun the run since the look.
    if let Err(Broken {
        error: ServiceError::Driver(DriverError::Store(StoreError::RunExists { .. })),
        ..
    }) = &driven
    {
        let look = || repeated(&line, &common);
        match tokio::task::block_in_place(look) {
            None | Some(Repeated::Open(_)) => {}
            Some(Repeated::Driven(run_id, pid)) => return driven_by(place, &run_id, pid),
            Some(Repeated::Ended(ended)) => return recorded_end_of(&common, place, *ended),
        }
    }
    end_of(&common, place, driven)
}

/// The input of a list, as its result names it.
pub(super) fn listed(place: &str, line: Option<&RunLine>, common: &Common) -> Listed {
    let contract = line.map(|line| name_of(line, common).display().to_string());
    let task = line.and_then(|line| line.task.as_ref().or(common.terms.task.as_ref()));
    Listed {
        place: place.to_owned(),
        contract,
        task: task.cloned(),
    }
}

/// A file of the folder that the caller stands in is named as it is seen from there.
fn name_of(line: &RunLine, common: &Common) -> PathBuf {
    let name = line.contract.strip_prefix(&common.service().cwd);
    name.unwrap_or(&line.contract).to_owned()
}

/// The workflow of a line, whose task is its input: begun, resumed where an earlier list began it, or as it is recorded.
async fn begin_workflow(
    place: &str,
    line: RunLine,
    file: ContractFile,
    follower: Follower,
    worker: Worker,
) -> RunEnd {
    let common = Arc::clone(&worker.common);
    let name = file.name().display().to_string();
    let sets = line.sets_under(&common.terms.sets).into_iter();
    if let Err(fault) = as_written(&name, sets.map(|set| format!("--set {set}"))) {
        return end_of(&common, place, Err(fault.into()));
    }
    let input = line.task.or_else(|| common.terms.task.clone());
    let look = || {
        let run_id = line.run_id.as_ref()?;
        repeated_workflow(&common, place, (&file, input.as_ref()), run_id)
    };
    let listed = match tokio::task::block_in_place(look) {
        Some(RepeatedWorkflow::Ended(end)) => return end,
        Some(RepeatedWorkflow::Open(run_id)) => ListedWorkflow::Recorded(run_id),
        None => ListedWorkflow::New(Box::new(file), input, line.run_id),
    };
    end_of_workflow(place, listed, follower, worker).await
}

fn became_of(driven: &Result<Ended, Broken>) -> Became {
    match driven {
        Err(Broken {
            error: ServiceError::Driver(DriverError::Cancelled),
            result: None,
        }) => Became::Cancelled,
        Err(Broken { result: None, .. }) => Became::Refused,
        Ok(_)
        | Err(Broken {
            result: Some(_), ..
        }) => Became::Begun,
    }
}

async fn begun(line: RunLine, worker: Worker, follower: &Follower) -> Result<Ended, ServiceError> {
    let prepared = Box::pin(prepared(line, &worker, follower)).await?;
    // Its future is large.
    Box::pin(drive(worker, prepared, follower)).await
}

async fn prepared(
    line: RunLine,
    worker: &Worker,
    follower: &Follower,
) -> Result<Prepared, ServiceError> {
    let common = &worker.common;
    let service = common.service();
    let sets = line.sets_under(&common.terms.sets);
    let mut file = ContractFile::given(service, name_of(&line, common), sets);
    let mut spec = file.read(service)?;
    follower.keeps_snapshots(service, spec.sessions_dir.as_deref())?;
    if let Some(task) = line.task.or_else(|| common.terms.task.clone()) {
        spec.task = Some(task);
    }
    let spec = file.with_abilities(service, spec)?;
    let mut request = file.request(service, spec, common.key.clone());
    request.invocation = Some(file.invocation(request.spec.files.clone()));
    request.run_id = line.run_id;
    let prepared = worker.prepare(request).await;
    prepared.map_err(|fault| file.located(fault))
}

/// The run of a line that is in the store already.
enum Repeated {
    /// Another process drives it, with its id where it has written that down.
    Driven(RunId, Option<u32>),
    /// It has ended so.
    Ended(Box<Result<Ended, Broken>>),
    /// It has no end, and no process drives it.
    Open(RunId),
}

/// The run of a line that an earlier list began under the same file and changes, with the same task; `None` if the line is to begin one.
fn repeated(line: &RunLine, common: &Common) -> Option<Repeated> {
    let (service, terms) = (common.service(), &common.terms);
    let run_id = line.run_id.as_ref()?;
    let mut reader = common.store.reader().ok()?;
    let begun = reader.invocation(run_id).ok()??;
    let sets = line.sets_under(&terms.sets);
    let file = ContractFile::given(service, line.contract.clone(), sets);
    let now = file.invocation(Vec::new());
    if (&begun.contract_file, &begun.sets) != (&now.contract_file, &now.sets) {
        return None;
    }
    let task = line.task.as_ref().or(terms.task.as_ref()).cloned();
    let task = task.or_else(|| file.read_to_look(service).ok()?.task);
    let mut run = reader.read_run(run_id).ok()?;
    let has_ended = run.row().outcome.is_some();
    let first = Recorded::decode(&run.next()?.ok()?).ok()?;
    if RunStart::of(first.entry().event?)?.task != task {
        return None;
    }
    drop(run);
    let run_id = run_id.clone();
    if has_ended {
        return Some(Repeated::Ended(Box::new(recorded_end(common, &run_id))));
    }
    match reader.driver_of(&run_id).ok()? {
        // The list has that name twice.
        Some(by) if by.pid == Some(std::process::id()) => None,
        Some(by) => Some(Repeated::Driven(run_id, by.pid)),
        None => Some(Repeated::Open(run_id)),
    }
}

/// The result that is recorded, if it verifies.
fn recorded_end(common: &Common, run_id: &RunId) -> Result<Ended, Broken> {
    let service = common.service();
    let source = || service.run(run_id.as_str());
    let (report, _) = report_of(source()?, true, &service.trust(&[], &[], &[])?)?;
    if let Some(bad) = &report.first_bad {
        let (asked, place) = (run_id.to_string(), place(bad));
        return Err(ServiceError::from(TranscriptFault::NotVerified { asked, place }).into());
    }
    let (run, view) = Source::fold(source()?, service.first_of(run_id)?)?;
    Ok(Ended::of(&run, view))
}
