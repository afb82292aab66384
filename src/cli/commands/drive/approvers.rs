//! Answers for a run and for those below it: one question at the terminal at a time. Asks nothing itself.

use tokio::sync::mpsc;

use super::approval::{Approver, refused_now};
use super::leaving::LeavingArgs;
use super::live::Live;
use crate::session::Control;
use crate::store::Store;

/// What is asked of a run of the tree.
pub(super) struct RunControl {
    pub(super) control: Control,
    /// The run below that it is asked of; none for the first.
    pub(super) of: Option<mpsc::Sender<Control>>,
}

impl RunControl {
    /// Hands it to the run below that it is for; else it is the caller's.
    pub(super) fn for_the_first(self) -> Option<Control> {
        match self.of {
            None => Some(self.control),
            Some(below) => {
                // A full queue holds eight requests to end already.
                drop(below.try_send(self.control));
                None
            }
        }
    }
}

/// One run of the tree.
struct Place<'a> {
    approver: Approver<'a>,
    /// How many runs below it have a place.
    below: usize,
    of: Option<mpsc::Sender<Control>>,
    run: Live,
}

/// Brings answers to a run and to those below it.
pub(super) struct Approvers<'a> {
    /// The run itself first.
    all: Vec<Place<'a>>,
    leaving: LeavingArgs,
    live: &'a Live,
    store: &'a Store,
}

impl<'a> Approvers<'a> {
    pub(super) fn new(store: &'a Store, live: &'a Live, leaving: LeavingArgs) -> Self {
        Self {
            all: vec![Place {
                approver: Approver::of(store, live, live.clone(), leaving),
                below: 0,
                of: None,
                run: live.clone(),
            }],
            leaving,
            live,
            store,
        }
    }

    /// Called about ten times a second: asks about a call that waits and was not asked about yet, and returns an answer to one.
    pub(super) async fn look(&mut self) -> Option<RunControl> {
        self.find_places();
        let at_terminal = |place: &Place<'_>| place.approver.is_at_terminal();
        let mut asking = self.all.iter().position(at_terminal);
        for (n, place) in self.all.iter_mut().enumerate() {
            let may_ask = asking.is_none_or(|at| at == n);
            if let Some(control) = place.approver.look(may_ask).await {
                let of = place.of.clone();
                return Some(RunControl { control, of });
            }
            if at_terminal(place) {
                asking = Some(n);
            }
        }
        None
    }

    /// Gives a place to the runs that were begun since, those below them included.
    fn find_places(&mut self) {
        let mut at = 0;
        while let Some(place) = self.all.get_mut(at) {
            let found = place.run.below_since(place.below);
            place.below = place.below.saturating_add(found.len());
            for (run, control) in found {
                self.all.push(Place {
                    approver: Approver::of(self.store, self.live, run.clone(), self.leaving),
                    below: 0,
                    of: Some(control),
                    run,
                });
            }
            at = at.saturating_add(1);
        }
    }

    /// What is asked of a run where no person is waited for: to go on without an answer where one is refused then, and to leave once all that
    /// is under way in the tree waits (`all_wait`).
    pub(super) fn without_an_answer(&self, all_wait: bool) -> Option<RunControl> {
        let refused = self.all.iter().find_map(|place| {
            let (order, _) = place.run.awaited()?;
            let control = refused_now(&order)?;
            let of = place.of.clone();
            Some(RunControl { control, of })
        });
        // All of the tree is left together.
        let leaves = || RunControl {
            control: Control::Suspend,
            of: None,
        };
        refused.or_else(|| all_wait.then(leaves))
    }
}
