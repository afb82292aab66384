//! Answers for a run, or a workflow, and for the runs below it: one question at the terminal at a time; and when the tree is left where no
//! person is waited for. Asks nothing itself.

use std::time::Duration;

use tokio::sync::mpsc;

use super::approval::Approver;
use super::leaving::LeavingArgs;
use super::live::Live;
use super::unanswered::refused_now;
use monolith_core::session::Control;
use monolith_host::driver::WaitsFor;
use monolith_host::store::Store;

/// How often a tree is looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is asked of a run of the tree.
struct RunControl {
    control: Control,
    /// The run below that it is asked of; none for the first.
    of: Option<mpsc::Sender<Control>>,
}

impl RunControl {
    /// Hands it to the run below that it is for; else it is the caller's.
    fn for_the_first(self) -> Option<Control> {
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
    of: Option<mpsc::Sender<Control>>,
    run: Live,
}

/// Brings answers to a run and to those below it.
pub(crate) struct Approvers<'a> {
    /// The run itself first.
    all: Vec<Place<'a>>,
    /// Whether a person may be asked here; else only what was left elsewhere is taken.
    asks: bool,
    leaving: LeavingArgs,
    live: &'a Live,
    /// Whether all waited for people when it was last looked at: what has just got its answer, or its turn, reports it by the next time.
    rested: bool,
    store: &'a Store,
    /// Whether the tree is being left: another process takes what is answered from now on.
    was_left: bool,
}

impl<'a> Approvers<'a> {
    /// For the run that `live` follows. A person at the terminal is asked there, unless the process leaves without an answer.
    pub(super) fn new(store: &'a Store, live: &'a Live, leaving: LeavingArgs) -> Self {
        Self {
            all: vec![Place {
                approver: Approver::of(store, live, live.clone(), leaving),
                of: None,
                run: live.clone(),
            }],
            asks: true,
            leaving,
            live,
            rested: false,
            store,
            was_left: false,
        }
    }

    /// The same without questions at the terminal, and without waiting for a person: among many runs, and in a workflow.
    pub(crate) fn among_many(store: &'a Store, live: &'a Live, leaving: LeavingArgs) -> Self {
        let leaving = LeavingArgs {
            no_wait: true,
            ..leaving
        };
        Self {
            asks: false,
            ..Self::new(store, live, leaving)
        }
    }

    /// Hands the first run what it is asked for. A tree that is being left is looked at no more.
    pub(crate) fn hand(&mut self, asked: Control, control: &mpsc::Sender<Control>) {
        let leaves = asked == Control::Suspend;
        // A full queue holds eight requests to end already.
        if control.try_send(asked).is_ok() && leaves {
            self.was_left = true;
        }
    }

    /// Called each [`LOOK_EVERY`]: asks about calls that wait and were not asked about yet, hands answers to the runs that wait for them,
    /// and returns what the first run is asked for: an answer, or, with `--no-wait`, to be left once all of the tree waits for a person.
    pub(crate) async fn look(&mut self, all_wait_for: Option<WaitsFor>) -> Option<Control> {
        if self.was_left {
            return None;
        }
        self.find_places();
        if let Some(answer) = self.answer().await {
            self.rested = false;
            return answer.for_the_first();
        }
        if !self.leaving.no_wait {
            return None;
        }
        if let Some(refused) = self.refused() {
            self.rested = false;
            return refused.for_the_first();
        }
        // What has its answer goes on with it, however long that takes to be written down.
        let is_pending = self.all.iter().any(|place| place.approver.is_pending());
        let rests = all_wait_for == Some(WaitsFor::Person) && !is_pending;
        let rested = std::mem::replace(&mut self.rested, rests);
        (rested && rests).then_some(Control::Suspend)
    }

    /// Whether a call of the tree waits for a person.
    pub(crate) fn any_waits(&self) -> bool {
        self.all.iter().any(|place| place.run.question().is_some())
    }

    async fn answer(&mut self) -> Option<RunControl> {
        let at_terminal = |place: &Place<'_>| place.approver.is_at_terminal();
        let mut asking = self.all.iter().position(at_terminal);
        for (n, place) in self.all.iter_mut().enumerate() {
            let may_ask = self.asks && asking.is_none_or(|at| at == n);
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

    /// Gives a place to the runs that were begun since, those below them included; those that are over have none any more.
    fn find_places(&mut self) {
        self.all
            .retain(|place| place.of.as_ref().is_none_or(|of| !of.is_closed()));
        let mut at = 0;
        while let Some(place) = self.all.get(at) {
            at = at.saturating_add(1);
            for (run, control) in place.run.runs_below() {
                if control.is_closed() || self.all.iter().any(|known| known.run.is_same(&run)) {
                    continue;
                }
                self.all.push(Place {
                    approver: Approver::of(self.store, self.live, run.clone(), self.leaving),
                    of: Some(control),
                    run,
                });
            }
        }
    }

    /// The refusal of a question that no process can be left with.
    fn refused(&mut self) -> Option<RunControl> {
        self.all.iter_mut().find_map(|place| {
            let question = place.run.question()?;
            let refused = refused_now(&question.order)?;
            let control = place.approver.once(&question, refused)?;
            let of = place.of.clone();
            Some(RunControl { control, of })
        })
    }
}
