//! The run of a work item's agent: begun below the item, resumed, or left as it ended. Does not know what an item is.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use monolith_core::kernel::ParentRun;
use monolith_core::message::RunId;
use monolith_core::session::Control;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::bring_up::prepare_step;
use super::child_state::{ChildLink, ChildState, UpAgain, child_state, up_again};
use super::drive::drive;
use super::tasks::blocking;
use super::waiting::WaitingReport;
use super::workflow::StepTerms;
use super::{DriverError, Environment, Observer, Prepared, Reopened, RunRequest};
use crate::store::{Invocation, Store};

/// Builds the request of the run, from the invocation of one that has begun. The error is for people.
pub type ItemRequest = dyn Fn(Option<Invocation>) -> Result<RunRequest, String> + Send + Sync;

/// The run of an item's agent, and all that it needs.
pub struct ItemRun {
    /// Its control channel.
    pub control: mpsc::Sender<Control>,
    /// The other end of it.
    pub controls: mpsc::Receiver<Control>,
    /// The environment in which its state is looked up.
    pub environment: Environment,
    /// Sees its entries.
    pub observer: Box<dyn Observer>,
    /// The item, and its entry that begins the run.
    pub parent: ParentRun,
    /// Builds its request.
    pub request: Arc<ItemRequest>,
    /// Its name.
    pub run_id: RunId,
    /// The terms that it shares with other runs.
    pub terms: StepTerms,
    /// The report about waiting for a person.
    pub waiting: WaitingReport,
    /// True if an earlier process may have begun it.
    pub was_begun: bool,
}

impl fmt::Debug for ItemRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ItemRun");
        shown.field("run_id", &self.run_id).finish_non_exhaustive()
    }
}

/// The result of driving the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemRunEnd {
    /// It is sealed.
    Ended,
    /// It was left, and another process can resume it.
    Left,
    /// It has no entries, and why.
    NotBegun(String),
}

impl ItemRun {
    /// Drives the run, whatever of it has happened before: nothing of it happens twice.
    ///
    /// # Errors
    /// [`DriverError`] where the store cannot be written, or a run that has begun cannot be resumed.
    pub async fn drive(mut self, store: &Store) -> Result<ItemRunEnd, DriverError> {
        let link = ChildLink {
            call: None,
            child: self.run_id.clone(),
            parent: self.parent.run_id.clone(),
            was_begun: self.was_begun,
        };
        let prepared = match child_state(store, &self.environment, link.clone()).await? {
            ChildState::NameTaken => {
                let run_id = &self.run_id;
                let reason = format!("the name {run_id} is taken by a run of another origin");
                return Ok(ItemRunEnd::NotBegun(reason));
            }
            ChildState::Ended(_) => return Ok(ItemRunEnd::Ended),
            ChildState::Open(open) => match Box::pin(self.resumed(store, *open, link)).await? {
                UpAgain::Up { prepared, .. } => *prepared,
                UpAgain::Left => return Ok(ItemRunEnd::Left),
                UpAgain::Ended(_) => return Ok(ItemRunEnd::Ended),
            },
            ChildState::Absent => match Box::pin(self.begun()).await? {
                Ok(prepared) => *prepared,
                Err(end) => return Ok(end),
            },
        };
        let mut prepared = prepared
            .with_grace(self.terms.grace)
            .that_reports(self.waiting);
        if let Some(most) = self.terms.max_inferences {
            prepared = prepared.with_max_inferences(most);
        }
        // Its futures are large.
        let driving = drive(prepared, store, self.controls, self.observer.as_mut());
        let finished = Box::pin(driving).await?;
        Ok(match finished.run.outcome() {
            Some(_) => ItemRunEnd::Ended,
            None => ItemRunEnd::Left,
        })
    }

    async fn resumed(
        &mut self,
        store: &Store,
        open: Reopened,
        link: ChildLink,
    ) -> Result<UpAgain, DriverError> {
        self.observer.recorded(open.contract(), open.entries());
        let (request, begun) = (Arc::clone(&self.request), open.invocation().cloned());
        let built = blocking(move || {
            let nothing = || "it was begun without a file".to_owned();
            let built = begun.ok_or_else(nothing);
            Ok::<_, DriverError>(built.and_then(|begun| request(Some(begun))))
        });
        let built = built.await?;
        let request = built.map_err(|reason| DriverError::AgentUnreadable {
            reason,
            run_id: link.child.clone(),
        })?;
        let cancel = CancellationToken::new();
        let up = up_again(open, request, (store, link), &mut self.controls, &cancel);
        let up = Box::pin(up).await?;
        if let UpAgain::Up {
            is_to_stop: true, ..
        } = &up
        {
            // The queue was empty when it was up.
            drop(self.control.try_send(Control::Stop));
        }
        Ok(up)
    }

    async fn begun(&mut self) -> Result<Result<Box<Prepared>, ItemRunEnd>, DriverError> {
        let request = Arc::clone(&self.request);
        let built = blocking(move || Ok::<_, DriverError>(request(None))).await?;
        let request = match built {
            Ok(request) => request.named(self.run_id.clone()),
            Err(reason) => return Ok(Err(ItemRunEnd::NotBegun(reason))),
        };
        let cancel = CancellationToken::new();
        let parent = self.parent.clone();
        let preparing = prepare_step(parent, BTreeSet::new(), None, request, &cancel);
        Ok(tokio::select! {
            biased;
            prepared = preparing => match prepared {
                Ok(prepared) => Ok(Box::new(prepared)),
                Err(fault) => Err(ItemRunEnd::NotBegun(fault.to_string())),
            },
            Some(wanted) = self.controls.recv() => Err(match wanted {
                Control::Suspend => ItemRunEnd::Left,
                _ => ItemRunEnd::NotBegun("the item was stopped before its run began".to_owned()),
            }),
        })
    }
}
