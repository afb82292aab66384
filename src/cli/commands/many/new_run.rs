//! Runs that begin under the contracts of a folder or a list.

use crate::commands::drive::Watched;
use monolith_service::drive::ended::Broken;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::follower::Follower;
use std::path::PathBuf;
use std::sync::Arc;

use super::fleet::Source;
use super::line::RunLine;
use super::lines::{Lines, ListedRun};
use super::not_begun::{Became, NotBegun, OpenLine};
use super::one_run::{RunEnd, drive, driven_by, end_of, guarded, recorded_end_of, refused};
use super::recorded_run::RecordedRun;
use super::repeated::{Repeated, repeated};
use super::terms::Terms;
use super::workflow_run::{RepeatedWorkflow, repeated_workflow, workflow_driven, workflow_end};
use crate::commands::workflow::ListedWorkflow;
use monolith_host::driver::{DriverError, Job, Prepared, Worker};
use monolith_host::store::StoreError;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::secrets;
use monolith_service::text::command::shell_word;
use monolith_service::workflow::options::as_written;

/// Runs that begin, and what is the same for all of them.
#[derive(Debug)]
pub(crate) struct NewRuns {
    /// The words with which the same list is begun again.
    again: String,
    lines: Lines,
    not_begun: Arc<NotBegun>,
    /// How many lines were taken.
    taken: u64,
    terms: Arc<Terms>,
}

impl NewRuns {
    /// The runs of those lines; `again` has the words with which the same list is begun again.
    pub(crate) fn of(lines: Lines, again: String, terms: Terms) -> Self {
        Self {
            again,
            lines,
            not_begun: Arc::default(),
            taken: 0,
            terms: Arc::new(terms),
        }
    }
}

/// One run of a list.
pub(crate) struct NewRun {
    listed: ListedRun,
    /// Follows it.
    live: Follower,
    not_begun: Arc<NotBegun>,
    /// Which one of the lines that were taken it is.
    taken: u64,
    terms: Arc<Terms>,
}

impl Source for NewRuns {
    type Job = NewRun;

    async fn next(&mut self) -> Option<NewRun> {
        let listed = self.lines.next().await?;
        self.taken = self.taken.saturating_add(1);
        let live = Follower::among_many(
            self.terms.accounts.clone(),
            Watched::among_many(self.terms.app.screen),
        );
        if let Ok(line) = &listed.line {
            let open = OpenLine {
                at: listed.at(),
                is_unnamed: line.run_id.is_none(),
                live: live.clone(),
            };
            self.not_begun.opened(self.taken, open);
        }
        Some(NewRun {
            listed,
            live,
            not_begun: Arc::clone(&self.not_begun),
            taken: self.taken,
            terms: Arc::clone(&self.terms),
        })
    }

    fn has_more(&mut self) -> bool {
        self.lines.has_more()
    }

    fn left(&self) -> Option<usize> {
        self.lines.left()
    }

    fn rest(&self, has_more: bool) -> Option<String> {
        let ((first, from), is_again) = match self.not_begun.first() {
            Some(first) => first,
            None if has_more => (self.lines.rest(), false),
            None => return None,
        };
        let begins = format!("{} --from {}", self.again, shell_word(&from));
        let begins = self.terms.app.hint(&begins);
        let again = if is_again {
            ", and again what has begun behind it without a run_id"
        } else {
            ""
        };
        Some(format!(
            "not begun: the rest of the list, from {first} on; {begins} begins it{again}"
        ))
    }
}

impl Job for NewRun {
    type End = RunEnd;

    async fn run(self, worker: Worker) -> RunEnd {
        // What the file of one run keeps secret need not be known once that run has ended.
        secrets::scoped(self.begin(worker)).await
    }
}

impl NewRun {
    async fn begin(self, worker: Worker) -> RunEnd {
        let Self {
            listed,
            live,
            not_begun,
            taken,
            terms,
        } = self;
        let line = match listed.line {
            Ok(line) => line,
            Err(rule) => return refused(&terms, &listed.place, &rule),
        };
        let file = ContractFile::given(&terms.app, name_of(&line, &terms), Vec::new());
        if file.is_workflow() {
            // It is in the store as soon as anything of it is.
            not_begun.closed(taken, Became::Begun);
            return begin_workflow(&listed.place, line, file, (&terms, worker)).await;
        }
        // A run that has ended is verified, which takes as long as it is.
        let look = || repeated(&line, &terms, worker.store());
        if let Some(there) = tokio::task::block_in_place(look) {
            not_begun.closed(taken, Became::Refused);
            return match there {
                Repeated::Driven(driven) => driven_by(&terms, &listed.place, &driven),
                Repeated::Ended(ended) => recorded_end_of(&terms, &listed.place, *ended),
                Repeated::Open(run_id) => {
                    let sets = line.sets_under(&terms.sets);
                    RecordedRun::repeated(run_id, sets, terms).run(worker).await
                }
            };
        }
        let store = Arc::clone(worker.store());
        // Boxed: what is open for long should take no more than it needs.
        let driven = Box::pin(begun(line.clone(), &terms, worker, &live));
        let driven = guarded(&live, driven).await;
        not_begun.closed(taken, became_of(&driven));
        // Another process may have begun the run since the look.
        if let Err(Broken {
            error: ServiceError::Driver(DriverError::Store(StoreError::RunExists { .. })),
            ..
        }) = &driven
        {
            let look = || repeated(&line, &terms, &store);
            match tokio::task::block_in_place(look) {
                None | Some(Repeated::Open(_)) => {}
                Some(Repeated::Driven(driven)) => return driven_by(&terms, &listed.place, &driven),
                Some(Repeated::Ended(ended)) => {
                    return recorded_end_of(&terms, &listed.place, *ended);
                }
            }
        }
        end_of(&terms, &listed.place, driven)
    }
}

/// A file of the folder that the caller stands in is named as it is seen from there.
fn name_of(line: &RunLine, terms: &Terms) -> PathBuf {
    let name = line.contract.strip_prefix(&terms.app.cwd);
    name.unwrap_or(&line.contract).to_owned()
}

/// The workflow of a line, whose task is its input: begun, gone on with where an earlier list began it, or as it is recorded.
async fn begin_workflow(
    place: &str,
    line: RunLine,
    file: ContractFile,
    (terms, worker): (&Arc<Terms>, Worker),
) -> RunEnd {
    let name = file.name().display().to_string();
    let sets = line.sets_under(&terms.sets).into_iter();
    if let Err(fault) = as_written(&name, sets.map(|set| format!("--set {set}"))) {
        return end_of(terms, place, Err(fault.into()));
    }
    let input = line.task.or_else(|| terms.task.clone());
    let store = Arc::clone(worker.store());
    let look = || {
        let run_id = line.run_id.as_ref()?;
        repeated_workflow(terms, place, (&file, input.as_ref()), (run_id, &store))
    };
    let listed = match tokio::task::block_in_place(look) {
        Some(RepeatedWorkflow::Ended(end)) => return end,
        Some(RepeatedWorkflow::Open(run_id)) => ListedWorkflow::Recorded(run_id),
        None => ListedWorkflow::New(Box::new(file), input, line.run_id),
    };
    let driven = workflow_driven(terms, worker, listed).await;
    workflow_end(terms, place, driven)
}

/// What became of the line's run.
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

async fn begun(
    line: RunLine,
    terms: &Terms,
    worker: Worker,
    following: &Follower,
) -> Result<Ended, ServiceError> {
    let prepared = Box::pin(prepared(line, terms, &worker, following)).await?;
    // Its future is large.
    Box::pin(drive(worker, prepared, following, terms.leaving)).await
}

async fn prepared(
    line: RunLine,
    terms: &Terms,
    worker: &Worker,
    following: &Follower,
) -> Result<Prepared, ServiceError> {
    let app = &terms.app;
    let sets = line.sets_under(&terms.sets);
    let mut file = ContractFile::given(app, name_of(&line, terms), sets);
    let mut spec = app.read_contract(&file)?;
    following.keeps_snapshots(app, spec.sessions_dir.as_deref())?;
    if let Some(task) = line.task.or_else(|| terms.task.clone()) {
        spec.task = Some(task);
    }
    let spec = file.with_abilities(app, spec)?;
    let mut request = file.request(app, spec, terms.key.clone());
    request.invocation = Some(file.invocation(request.spec.files.clone()));
    request.run_id = line.run_id;
    let prepared = worker.prepare(request).await;
    prepared.map_err(|fault| file.located(fault))
}
