//! A run that is driven in a task, for a surface that responds as soon as it has begun.

use std::io;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::display::{Display, Quiet, ShownEntry};
use super::ended::{Broken, Ended};
use super::follower::Follower;
use super::run::{Conduct, Start, start};
use crate::error::ServiceError;
use crate::service::Service;
use monolith_core::message::RunId;
use monolith_core::session::Control;

/// A run that a task drives.
#[derive(Debug)]
pub struct Background {
    /// Stops, ends or suspends the run.
    pub control: mpsc::Sender<Control>,
    /// The end of the run. The run is left if the runtime shuts down before.
    pub ended: JoinHandle<Result<Ended, Broken>>,
    /// Name of the run.
    pub run_id: RunId,
}

/// Starts a run in a task and returns once its first entry is durable. Nobody is asked: answers to its calls are taken from the store.
///
/// # Errors
///
/// The run is refused before its first entry.
pub async fn start_in_background(
    service: Arc<Service>,
    run: Start,
) -> Result<Background, ServiceError> {
    let (announce, begun) = oneshot::channel();
    let display = Box::new(Announce(Some(announce)));
    let sessions = run.spec.sessions_dir.as_deref();
    let follower = Follower::accounting(&service, display, sessions, run.durability)?;
    let (control, asked) = mpsc::channel(8);
    let ended = tokio::spawn(async move {
        // Its future is large.
        let conduct = Conduct {
            asked,
            ..Conduct::unattended(&follower)
        };
        let driven = Box::pin(start(&service, run, conduct)).await;
        // A run that was refused drops its announcement.
        drop(follower);
        driven
    });
    if let Ok(run_id) = begun.await {
        return Ok(Background {
            control,
            ended,
            run_id,
        });
    }
    match ended.await.map_err(io::Error::other)? {
        Err(broken) => Err(broken.error),
        Ok(_) => Err(io::Error::other("the run ended without an entry").into()),
    }
}

/// Reports the name of a run once its first entry is durable.
struct Announce(Option<oneshot::Sender<RunId>>);

impl Display for Announce {
    fn child(&self) -> Box<dyn Display> {
        Box::new(Quiet)
    }

    fn entry(&mut self, shown: &ShownEntry<'_>) {
        if let (Some(run_id), Some(begun)) = (shown.view.run_id(), self.0.take()) {
            // The caller may have gone.
            drop(begun.send(run_id.clone()));
        }
    }
}
