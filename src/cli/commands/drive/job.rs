//! Drives one run to its end, with signals, approvals and progress beside it. Decides nothing about the run.

use std::fs;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::approvers::Approvers;
use super::ended::{Broken, Ended};
use super::leaving::LeavingArgs;
use super::live::Live;
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::signals::{Signal, Signals};
use monolith_core::contract::ContractSpec;
use monolith_core::kernel::OutcomeCode;
use monolith_core::message::{AgentMessage, RunId};
use monolith_core::session::Control;
use monolith_core::view::RunView;
use monolith_host::driver::{self, DriverError, Prepared, Waiting};
use monolith_host::store::{Durability, Store};
use monolith_host::telemetry::AgentResult;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::panics::caught;

/// How often the screen may show that something is waited for.
const TICK: Duration = Duration::from_millis(100);

/// What is to be run, read and judged as far as the file goes.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) spec: ContractSpec,
    pub(crate) file: ContractFile,
    pub(crate) run_id: Option<RunId>,
    /// The conversation that the run begins with, before its task.
    pub(crate) saved: Vec<AgentMessage>,
    pub(crate) durability: Durability,
    pub(crate) leaving: LeavingArgs,
}

/// How long a finished run waits for file operations that it gave up.
const LINGER: Duration = Duration::from_secs(1);

/// Runs a job, on that runtime or on one of its own; a person who watches sees it happen.
pub(crate) fn drive_job(
    app: &App,
    on: Option<&Runtime>,
    job: Job,
    live: &Live,
) -> Result<Ended, Broken> {
    let origins = job.spec.origins.clone();
    let mut request = job.file.request(app, job.spec, app.redaction_key()?);
    // A store that the run refuses is not made.
    let found = fs::metadata(app.store_path()?);
    if found.map_or(0, |found| found.len()) == 0 {
        driver::judge_store(&request).map_err(ServiceError::from)?;
    }
    let store = app.open_store(job.durability)?;
    request.invocation = Some(job.file.invocation(request.spec.files.clone()));
    request.run_id = job.run_id;
    let request = live.preparing(request);
    let saved = job.saved;
    let prepare = async |cancel: &CancellationToken| {
        if saved.is_empty() {
            return driver::prepare(request, cancel).await;
        }
        driver::prepare_loaded(saved, request, cancel).await
    };
    let driven = drive_to_the_end(on, &store, live, job.leaving, prepare);
    match driven {
        Ok(ended) => Ok(ended.located(&job.file, &origins)),
        Err(broken) => Err(broken.located(&job.file)),
    }
}

/// How long a second request to leave waits for what is being closed.
const AT_ONCE: Duration = Duration::from_millis(500);

/// What became of a run that was driven.
enum Driven {
    /// Ended, or suspended in good order; and whether it was asked to stop.
    Finished(Box<driver::Finished>, bool),
    /// Left at once.
    Abandoned,
}

impl Driven {
    /// Whether nothing that is still under way is to be waited for.
    fn is_at_once(&self) -> bool {
        match self {
            Self::Finished(finished, _) => {
                let end = finished.run.outcome();
                end.is_some_and(|end| end.code == OutcomeCode::Abort)
            }
            Self::Abandoned => true,
        }
    }
}

/// Prepares and drives, on that runtime or on one of its own; a person who watches sees it happen.
pub(crate) fn drive_to_the_end(
    on: Option<&Runtime>,
    store: &Store,
    live: &Live,
    leaving: LeavingArgs,
    preparing: impl AsyncFnOnce(&CancellationToken) -> Result<Prepared, DriverError>,
) -> Result<Ended, Broken> {
    let Some(shared) = on else {
        let runtime = runtime()?;
        let driven = driven_on(&runtime, store, live, leaving, preparing);
        // A file operation that never returns must not keep a finished run's process alive.
        let at_once = driven.as_ref().is_ok_and(Driven::is_at_once);
        runtime.shutdown_timeout(if at_once { Duration::ZERO } else { LINGER });
        return came_to(driven, live);
    };
    came_to(driven_on(shared, store, live, leaving, preparing), live)
}

fn driven_on(
    runtime: &Runtime,
    store: &Store,
    live: &Live,
    leaving: LeavingArgs,
    preparing: impl AsyncFnOnce(&CancellationToken) -> Result<Prepared, DriverError>,
) -> Result<Driven, ServiceError> {
    // What panics here leaves a transcript behind, and the result says which.
    caught(|| {
        runtime.block_on(async {
            let mut signals = Signals::listen().map_err(|fault| SystemFault::Runtime {
                reason: fault.to_string(),
            })?;
            let mut terminated = false;
            let prepared = prepare(preparing, live, &mut signals, &mut terminated).await;
            let prepared = match prepared {
                // A run that is recorded already stays as it is, and can be resumed.
                Err(DriverError::Cancelled) if terminated && live.has_begun() => {
                    return Ok(Driven::Abandoned);
                }
                prepared => prepared?,
            };
            let prepared = prepared.with_grace(Duration::from_secs(leaving.grace));
            let driven = Box::pin(drive(prepared, store, live, &mut signals, leaving));
            Ok::<_, ServiceError>(driven.await?)
        })
    })
}

fn came_to(driven: Result<Driven, ServiceError>, live: &Live) -> Result<Ended, Broken> {
    live.rest();
    live.left_text();
    match driven {
        Ok(Driven::Finished(finished, stopped)) => Ok(Ended {
            stopped,
            ..finished_run(live, &finished)
        }),
        Ok(Driven::Abandoned) => match live.take_view() {
            Some(view) => Ok(Ended::suspended(None, view)),
            None => Err(ServiceError::from(DriverError::Cancelled).into()),
        },
        Err(error) => Err(broken_run(live, error)),
    }
}

/// What a run came to that was driven to its end, or suspended.
pub(crate) fn finished_run(live: &Live, finished: &driver::Finished) -> Ended {
    live.end(&finished.run);
    // A run that has ended has entries.
    let contract = || Arc::clone(finished.run.contract());
    let view = live.take_view().unwrap_or_else(|| RunView::new(contract()));
    match finished.run.outcome() {
        Some(_) => {
            let mut ended = Ended::of(&finished.run, view);
            ended.sessions_dir = live.sessions_dir();
            ended.shown = live.has_shown(ended.result.report_text());
            ended
        }
        None => Ended::suspended(Some(&finished.run), view),
    }
}

/// What a run came to that could not be driven on.
pub(crate) fn broken_run(live: &Live, error: ServiceError) -> Broken {
    let result = live.take_view().map(|view| {
        let exit = Exit::from(&error);
        AgentResult::cut_off(&view, exit.0, error.reason(), error.summary())
    });
    Broken {
        error,
        result: result.map(Box::new),
    }
}

async fn prepare(
    preparing: impl AsyncFnOnce(&CancellationToken) -> Result<Prepared, DriverError>,
    live: &Live,
    signals: &mut Signals,
    terminated: &mut bool,
) -> Result<Prepared, DriverError> {
    let cancel = CancellationToken::new();
    let mut preparing = pin!(preparing(&cancel));
    let mut tick = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            biased;
            prepared = &mut preparing => return prepared,
            asked = signals.next() => {
                *terminated |= asked == Signal::Terminate;
                cancel.cancel();
            }
            _ = tick.tick() => live.tick(),
        }
    }
}

async fn drive(
    prepared: Prepared,
    store: &Store,
    live: &Live,
    signals: &mut Signals,
    leaving: LeavingArgs,
) -> Result<Driven, DriverError> {
    let (control, asked) = mpsc::channel(8);
    let (waiting, report) = Waiting::alone();
    live.without_secrets(prepared.scrubber());
    let prepared = prepared.that_reports(report);
    let mut observer = live.clone();
    let mut driving = pin!(driver::drive(prepared, store, asked, &mut observer));
    let mut tick = tokio::time::interval(TICK);
    let mut interrupts = 0_u32;
    let mut suspended = false;
    let mut leaves_at = None;
    let mut approvers = Approvers::new(store, live, leaving);
    loop {
        let ask = tokio::select! {
            biased;
            finished = &mut driving => {
                return Ok(Driven::Finished(Box::new(finished?), interrupts > 0));
            }
            () = until(leaves_at) => return Ok(Driven::Abandoned),
            signal = signals.next() => match signal {
                Signal::Interrupt if interrupts == 0 => {
                    live.note("stopping: the run is brought to its end; Ctrl-C again ends it at once");
                    live.leaves("stopping");
                    Control::Stop
                }
                Signal::Interrupt => {
                    live.note("ending the run at once");
                    live.leaves("ending");
                    Control::Abort
                }
                Signal::Terminate => {
                    if suspended {
                        // A third signal puts nothing off.
                            leaves_at = leaves_at.or_else(|| Instant::now().checked_add(AT_ONCE));
                    } else {
                        live.note("suspending: what is in flight may still end; a second signal leaves at once");
                        live.leaves("suspending");
                    }
                    Control::Suspend
                }
            },
            _ = tick.tick() => {
                live.tick();
                match approvers.look(waiting.of_all(1)).await {
                    Some(control) => control,
                    None => continue,
                }
            }
        };
        if matches!(ask, Control::Stop | Control::Abort) {
            interrupts = interrupts.saturating_add(1);
        }
        let leaves = ask == Control::Suspend;
        suspended |= leaves;
        approvers.hand(ask, &control);
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::screen::Screen;
    use monolith_core::kernel::{Effect, Fold, steps};
    use monolith_host::driver::Observer as _;
    use monolith_service::source::{Recorded, Source};

    fn golden() -> Recorded {
        let golden = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../replay/v1/core.valid_call.jsonl"
        );
        Source::File(golden.into()).load().unwrap()
    }

    fn unwatched() -> Live {
        let environment = driver::Environment::new(|_| None);
        Live::new(Screen::of_process(&environment))
    }

    /// A run of which two entries are recorded.
    fn followed() -> Live {
        let (live, recorded) = (unwatched(), golden());
        let entries = &recorded.entries[..2];
        let contract = Arc::new(recorded.contract.clone());
        live.recall(&contract, entries).unwrap();
        live
    }

    #[test]
    fn whoever_follows_a_run_steps_no_machine_beside_that_of_the_run() {
        let (mut live, recorded) = (unwatched(), golden());
        let mut own = Fold::new(Arc::new(recorded.contract.clone()));
        let mut events = 0;
        let taken = steps(|| {
            let mut sealed = recorded.entries.iter();
            for entry in &recorded.entries {
                let Some(event) = entry.decode_event().unwrap() else {
                    continue;
                };
                events += 1;
                for effect in own.take(event) {
                    let Effect::Append(drafts) = effect else {
                        continue;
                    };
                    for draft in &drafts {
                        live.entry(draft, sealed.next().unwrap(), own.run().unwrap());
                    }
                }
            }
            live.end(own.run().unwrap());
        });
        // The start of a run is no step.
        assert_eq!((events, taken), (5, 4));
        let view = live.take_view().unwrap();
        assert_eq!(view.departure(), None);
        assert!(view.outcome().is_some());
    }

    #[test]
    fn a_stop_that_came_too_late_is_reported_beside_the_success() {
        let recorded = golden();
        let contract = Arc::new(recorded.contract.clone());
        let mut own = Fold::new(Arc::clone(&contract));
        for entry in &recorded.entries {
            if let Some(event) = entry.decode_event().unwrap() {
                drop(own.take(event));
            }
        }
        let live = unwatched();
        live.recall(&contract, &recorded.entries).unwrap();
        let ended = Ended::of(own.run().unwrap(), live.take_view().unwrap());
        assert_eq!(ended.flaw(), None);
        let stopped = Ended {
            stopped: true,
            ..ended
        };
        let said = "the run had come to its end before it could be stopped";
        assert_eq!(stopped.flaw().as_deref(), Some(said));
    }

    /// 000/2.output.1
    #[test]
    fn a_panic_during_a_run_leaves_a_result_that_names_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("runs.db"), Durability::Normal).unwrap();
        let live = followed();
        let fails = async |_: &CancellationToken| panic!("as the test wants");
        let leaving = LeavingArgs::default();
        let broken = drive_to_the_end(None, &store, &live, leaving, fails).unwrap_err();
        assert!(broken.error.is_panic());
        let result = broken.result.unwrap();
        assert!(result.run_id.is_some());
        assert_eq!((result.entries, result.exit_code), (2, 1));
    }
}
