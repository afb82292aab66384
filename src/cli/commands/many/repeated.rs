//! A line of a list whose run is in the store already: it is reported as it ended, or gone on with. Judges whether the run is the one that the line
//! asks for; one that is not is refused where it would be begun.

use super::line::RunLine;
use super::terms::Terms;
use crate::commands::verify::{self, place};
use monolith_core::message::RunId;
use monolith_core::view::RunStart;
use monolith_host::store::Store;
use monolith_service::contract_file::ContractFile;
use monolith_service::drive::ended::Broken;
use monolith_service::drive::ended::Ended;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::source::{Recorded, Source};

/// What is there of the run that a line asks for.
pub(super) enum Repeated {
    /// Another process drives it.
    Driven(Driven),
    /// It has ended so.
    Ended(Box<Result<Ended, Broken>>),
    /// It has no end, and no process drives it.
    Open(RunId),
}

/// A run that another process drives.
pub(super) struct Driven {
    /// That process, where it has written its id down.
    pub(super) pid: Option<u32>,
    pub(super) run_id: RunId,
}

/// The run of a line that an earlier list began under the same file and changes, with the same task; `None` if the line is to begin one.
pub(super) fn repeated(line: &RunLine, terms: &Terms, store: &Store) -> Option<Repeated> {
    let app = &terms.app;
    let run_id = line.run_id.as_ref()?;
    let mut reader = store.reader().ok()?;
    let begun = reader.invocation(run_id).ok()??;
    let file = ContractFile::given(app, line.contract.clone(), line.sets_under(&terms.sets));
    let now = file.invocation(Vec::new());
    if (&begun.contract_file, &begun.sets) != (&now.contract_file, &now.sets) {
        return None;
    }
    let task = line.task.as_ref().or(terms.task.as_ref()).cloned();
    let task = task.or_else(|| file.read_to_look(app).ok()?.task);
    let mut run = reader.read_run(run_id).ok()?;
    let has_ended = run.row().outcome.is_some();
    let first = Recorded::decode(&run.next()?.ok()?).ok()?;
    if RunStart::of(first.entry().event?)?.task != task {
        return None;
    }
    drop(run);
    if has_ended {
        return Some(Repeated::Ended(Box::new(recorded_end(terms, run_id))));
    }
    let run_id = run_id.clone();
    match reader.driver_of(&run_id).ok()? {
        // The list has that name twice.
        Some(by) if by.pid == Some(std::process::id()) => None,
        Some(by) => Some(Repeated::Driven(Driven {
            pid: by.pid,
            run_id,
        })),
        None => Some(Repeated::Open(run_id)),
    }
}

/// The result that is recorded, if it verifies.
fn recorded_end(terms: &Terms, run_id: &RunId) -> Result<Ended, Broken> {
    let app = &terms.app;
    let trust = app.trust(&[], &[], &[])?;
    let source = || app.run(run_id.as_str());
    let (report, _) = verify::report_of(source()?, true, &trust)?;
    if let Some(bad) = &report.first_bad {
        let (asked, place) = (run_id.to_string(), place(bad));
        return Err(ServiceError::from(TranscriptFault::NotVerified { asked, place }).into());
    }
    let first = app.first_of(run_id)?;
    let (run, view) = Source::fold(source()?, first)?;
    Ok(Ended::of(&run, view))
}
