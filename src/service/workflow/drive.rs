//! A workflow that is driven to its end, or until it is left.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::ended::{WorkflowResult, use_of_steps};
use super::host::Host;
use super::ready::Ready;
use super::step_files::Files;
use super::waiting::AwaitedCall;
use crate::drive::approvers::{Approvers, LOOK_EVERY};
use crate::drive::follower::Follower;
use crate::error::ServiceError;
use crate::service::Service;
use monolith_core::contract::StepId;
use monolith_core::session::Control;
use monolith_host::driver::{Environment, StepTerms, Waiting, blocking, drive_workflow};
use monolith_host::store::Store;

/// Maximum number of controls that may wait for a workflow.
const CONTROLS: usize = 8;

/// Terms under which a workflow is driven.
pub struct Under {
    /// Variables, programs and files that its step runs are brought up in.
    pub environment: Environment,
    /// True if each step is shown when it begins and ends.
    pub is_watched: bool,
    /// Follows its step runs and accounts for them.
    pub live: Follower,
    /// The folder of snapshots of each step, where the layers of its contract name one.
    pub sessions: BTreeMap<StepId, PathBuf>,
    /// Limits of its steps.
    pub terms: StepTerms,
}

/// Drives a workflow to its end, or until it is left.
pub async fn driven(
    service: &Service,
    store: &Store,
    ready: Ready,
    under: Under,
    control: mpsc::Receiver<Control>,
) -> Result<WorkflowResult, ServiceError> {
    let Ready {
        begin,
        file,
        files,
        spec,
        view,
        ..
    } = ready;
    let live = under.live.clone();
    let host = Mutex::new(Host {
        files: Arc::new(Files {
            service: service.during_a_run(),
            environment: under.environment,
            file,
            spec,
            store: store.clone(),
            trusted: files,
            workflow: begin.run_id().clone(),
        }),
        is_watched: under.is_watched,
        live: live.clone(),
        sessions: under.sessions,
        view,
    });
    let (sender, controls) = mpsc::channel(CONTROLS);
    let (waiting, report) = Waiting::alone();
    // Its futures are large.
    let terms = (under.terms, report);
    let driving = Box::pin(drive_workflow(begin, store, &host, controls, terms));
    let approvers = Approvers::among_many(store, &live);
    let finished = answered(driving, approvers, &waiting, (control, sender)).await?;
    let host = host.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (service, store, mut view) = (service.clone(), store.clone(), host.view);
    // What each step run used is read from the store, and so is each run that waits.
    blocking(move || {
        use_of_steps(&mut view, Some(&mut store.reader()?))?;
        let run_id = finished.workflow.started().run_id.clone();
        let waits_for = if finished.workflow.outcome().is_none() {
            AwaitedCall::answerable(&service, &run_id)?
        } else {
            Vec::new()
        };
        let output = finished.workflow.output();
        let result = WorkflowResult::of(run_id, finished.head, output, view);
        Ok(result.waiting_for(waits_for))
    })
    .await
}

/// Drives it, while answers are handed to its steps and what it is asked for is handed on.
async fn answered<T>(
    mut driving: impl Future<Output = T> + Unpin,
    mut approvers: Approvers<'_>,
    waiting: &Waiting,
    (mut asked, control): (mpsc::Receiver<Control>, mpsc::Sender<Control>),
) -> T {
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let ask = tokio::select! {
            biased;
            finished = &mut driving => return finished,
            Some(ask) = asked.recv() => Some(ask),
            _ = tick.tick() => approvers.look(waiting.of_all(1)).await,
        };
        if let Some(ask) = ask {
            approvers.hand(ask, &control);
        }
    }
}
