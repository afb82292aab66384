//! The machine made again from recorded events, for readers that want its state and nothing else.

use std::sync::Arc;

use super::{Effect, Event, EventKind, Run};
use crate::contract::ExecutionContract;

/// The machine alone, made again from its events: no request is written, no entry is sealed, and no clock is asked.
#[derive(Clone)]
pub struct Fold {
    contract: Arc<ExecutionContract>,
    run: Option<Run>,
}

impl Fold {
    /// Begins to fold the run of a contract.
    pub const fn new(contract: Arc<ExecutionContract>) -> Self {
        Self {
            contract,
            run: None,
        }
    }

    /// Takes the next event. The first one is the start of the run: what comes before it does nothing.
    pub fn take(&mut self, event: Event) -> Vec<Effect> {
        match (&mut self.run, event) {
            (Some(run), event) => run.step(event),
            (
                None,
                Event {
                    event: EventKind::RunStarted(started),
                    ..
                },
            ) => {
                let validators = Arc::clone(self.contract.validators());
                let (run, effects) = Run::start(Arc::clone(&self.contract), validators, *started);
                self.run = Some(run);
                effects
            }
            (None, _) => Vec::new(),
        }
    }

    /// The machine after the events; `None` if the run has not begun.
    pub fn into_run(self) -> Option<Run> {
        self.run
    }

    /// The machine after the events so far; none before the run has begun.
    pub const fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }
}
