//! Answers for a run, or a workflow, and for its child runs: those that were left in the store, and those of a person at the surface, who
//! is asked one question at a time. Decides when a tree is left in which everything waits for a person.

use std::time::Duration;

use tokio::sync::mpsc;

use super::follower::{Follower, Question};
use crate::text::escape::line;
use monolith_core::kernel::{Approval, CallOrder};
use monolith_core::session::Control;
use monolith_host::driver::WaitsFor;
use monolith_host::store::{Answer, Store};
use monolith_host::tools::FileChange;

/// Interval at which a tree is looked at.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A question with what a person needs to judge it.
#[derive(Debug)]
pub struct Asked<'q> {
    /// File changes that the call would make, or the reason why they cannot be shown; `None` for a tool that writes no file.
    pub change: Option<Result<Vec<FileChange>, String>>,
    /// True if the run is a child of the one that the person started.
    pub is_child: bool,
    /// True if only signed answers count, which nobody gives at a surface.
    pub needs_signature: bool,
    /// The question.
    pub question: &'q Question,
}

/// The end of a question that the surface asked and got no answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// Another process left an answer; true if it allows the call.
    Answered(bool),
    /// The run waits for no answer any more.
    Over,
}

/// A surface that asks a person. It asks one question at a time.
pub trait Asker: Send {
    /// Shows a question. Returns true if an answer is expected here.
    fn ask(&mut self, asked: &Asked<'_>) -> bool;

    /// Returns the answer that was given since, if one was.
    fn answer(&mut self, order: &CallOrder) -> Option<Control>;

    /// Takes the question back.
    fn unask(&mut self, why: Unasked);
}

/// A control for one run of the tree.
struct RunControl {
    control: Control,
    /// The child run that it is for; `None` for the root.
    of: Option<mpsc::Sender<Control>>,
}

impl RunControl {
    /// Hands the control to its child run; else it is the caller's.
    fn for_the_root(self) -> Option<Control> {
        match self.of {
            None => Some(self.control),
            Some(child) => {
                // A full queue holds eight requests to end already.
                drop(child.try_send(self.control));
                None
            }
        }
    }
}

/// One run of the tree.
struct Place {
    /// Number of the question that was answered last, and its answer: a machine that takes no such answer waits on.
    answered: Option<(u64, Control)>,
    /// Number of the question that was asked last.
    asked: Option<u64>,
    /// True if an answer is expected at the surface.
    is_asking: bool,
    /// True if an answer is there that the run has not recorded yet.
    is_pending: bool,
    of: Option<mpsc::Sender<Control>>,
    /// Set once a person was told that an answer in the store is not taken.
    refused: bool,
    run: Follower,
}

impl Place {
    const fn new(run: Follower, of: Option<mpsc::Sender<Control>>) -> Self {
        Self {
            answered: None,
            asked: None,
            is_asking: false,
            is_pending: false,
            of,
            refused: false,
            run,
        }
    }

    /// Returns the answer unless the run was handed it before: recording it takes a moment.
    fn once(&mut self, question: &Question, control: Control) -> Option<Control> {
        let answer = Some((question.number, control.clone()));
        (self.answered.replace(answer.clone()?) != answer).then_some(control)
    }
}

/// Brings answers to a run and to its children.
pub struct Approvers<'a> {
    /// The root first.
    all: Vec<Place>,
    /// Asks the person at the surface; `None` where only answers in the store are taken.
    asker: Option<Box<dyn Asker + 'a>>,
    /// True if the tree is left once all of it waits for a person.
    leaves_waiting: bool,
    /// True if everything waited for people at the last look. What has just got its answer reports it by the next.
    rested: bool,
    store: &'a Store,
    /// Set once the tree is being left: another process takes answers from now on.
    was_left: bool,
}

impl<'a> Approvers<'a> {
    /// Brings answers to the run that `root` follows. `leaves_waiting` leaves the tree once all of it waits for a person.
    #[must_use]
    pub fn new(
        store: &'a Store,
        root: &Follower,
        asker: Option<Box<dyn Asker + 'a>>,
        leaves_waiting: bool,
    ) -> Self {
        Self {
            all: vec![Place::new(root.clone(), None)],
            asker,
            leaves_waiting,
            rested: false,
            store,
            was_left: false,
        }
    }

    /// Brings answers that were left in the store, and leaves the tree once all of it waits for a person.
    #[must_use]
    pub fn among_many(store: &'a Store, root: &Follower) -> Self {
        Self::new(store, root, None, true)
    }

    /// Hands a control to the root. A tree that is being left is looked at no more.
    pub fn hand(&mut self, asked: Control, control: &mpsc::Sender<Control>) {
        let leaves = asked == Control::Suspend;
        // A full queue holds eight requests to end already.
        if control.try_send(asked).is_ok() && leaves {
            self.was_left = true;
        }
    }

    /// Looks at the tree. Called each [`LOOK_EVERY`]. Asks about calls that nobody was asked about, hands answers to child runs, and
    /// returns a control for the root: an answer, or to be left once all of the tree waits for a person.
    pub async fn look(&mut self, all_wait_for: Option<WaitsFor>) -> Option<Control> {
        if self.was_left {
            return None;
        }
        self.find_places();
        if let Some(answer) = self.answer().await {
            self.rested = false;
            return answer.for_the_root();
        }
        if !self.leaves_waiting {
            return None;
        }
        if let Some(refused) = self.refused() {
            self.rested = false;
            return refused.for_the_root();
        }
        // A run with an answer continues, however long recording it takes.
        let is_pending = self.all.iter().any(|place| place.is_pending);
        let rests = all_wait_for == Some(WaitsFor::Person) && !is_pending;
        let rested = std::mem::replace(&mut self.rested, rests);
        (rested && rests).then_some(Control::Suspend)
    }

    /// True if a call of the tree waits for a person.
    #[must_use]
    pub fn any_waits(&self) -> bool {
        self.all.iter().any(|place| place.run.question().is_some())
    }

    async fn answer(&mut self) -> Option<RunControl> {
        for n in 0..self.all.len() {
            let asking = self.all.iter().position(|place| place.is_asking);
            let may_ask = asking.is_none_or(|at| at == n);
            if let Some(control) = self.look_at(n, may_ask).await {
                let of = self.all.get(n)?.of.clone();
                return Some(RunControl { control, of });
            }
        }
        None
    }

    async fn look_at(&mut self, n: usize, may_ask: bool) -> Option<Control> {
        let (asker, place) = (&mut self.asker, self.all.get_mut(n)?);
        place.is_pending = false;
        let Some(question) = place.run.question() else {
            if let (Some(asker), true) = (asker, std::mem::take(&mut place.is_asking)) {
                asker.unask(Unasked::Over);
            }
            return None;
        };
        if let Some(left) = left_answer(self.store, place, &question) {
            place.is_pending = true;
            if let (Some(asker), true) = (asker, std::mem::take(&mut place.is_asking)) {
                asker.unask(Unasked::Answered(matches!(left, Control::Approve(_))));
            }
            return place.once(&question, left);
        }
        let was_answered = place
            .answered
            .as_ref()
            .is_some_and(|(n, _)| *n == question.number);
        let asker = asker.as_mut().filter(|_| may_ask && !was_answered)?;
        if place.asked.replace(question.number) != Some(question.number) {
            let change = match place.run.changes() {
                Some(changes) => changes.of_call(&question.order).await,
                None => None,
            };
            let reader = self.store.reader();
            let lineage = reader.and_then(|reader| reader.lineage(&question.run_id));
            let is_child = lineage.is_ok_and(|found| found.is_some_and(|found| found.is_below()));
            place.is_asking = asker.ask(&Asked {
                change,
                is_child,
                needs_signature: place.run.takes_signed_answers(),
                question: &question,
            });
            return None;
        }
        if !place.is_asking {
            return None;
        }
        let answer = asker.answer(&question.order)?;
        place.is_asking = false;
        place.once(&question, answer)
    }

    /// Adds the runs that were started since, with their children, and drops those that are over.
    fn find_places(&mut self) {
        self.all
            .retain(|place| place.of.as_ref().is_none_or(|of| !of.is_closed()));
        let mut at = 0;
        while let Some(place) = self.all.get(at) {
            at = at.saturating_add(1);
            for (run, control) in place.run.children() {
                if !control.is_closed() && !self.all.iter().any(|known| known.run.is_same(&run)) {
                    self.all.push(Place::new(run, Some(control)));
                }
            }
        }
    }

    /// Returns the refusal of a question that no process can be left with.
    fn refused(&mut self) -> Option<RunControl> {
        self.all.iter_mut().find_map(|place| {
            let question = place.run.question()?;
            let refused = refused_now(&question.order)?;
            let control = place.once(&question, refused)?;
            let of = place.of.clone();
            Some(RunControl { control, of })
        })
    }
}

/// Returns the refusal of a question that ends with this process; `None` if the run can be left with the question.
#[must_use]
pub fn refused_now(order: &CallOrder) -> Option<Control> {
    let approval = Approval::to(order.call, order.arguments_hash);
    let refused = order.asks_within_the_call();
    refused.then_some(Control::Deny(approval))
}

/// Returns the answer that another process left. An answer to another call, or to other arguments, is none.
fn left_answer(store: &Store, place: &mut Place, question: &Question) -> Option<Control> {
    let run_id = &question.run_id;
    let call = (question.order.call, question.order.arguments_hash);
    let mut refuse = |why: String| {
        if !std::mem::replace(&mut place.refused, true) {
            place.run.warn(&line(&format!("run {run_id}: {why}")));
        }
    };
    let left = match store.answer_to(run_id, call) {
        Ok(left) => left?,
        Err(fault) => {
            refuse(format!("no answer is taken: failed to {fault}"));
            return None;
        }
    };
    if left.is_forged() {
        // Nobody knows who gave it.
        drop(store.drop_answer(run_id, &left.approval));
        refuse("an answer is not taken: its signature does not hold".to_owned());
        return None;
    }
    Some(control_of(left))
}

fn control_of(left: Answer) -> Control {
    if left.approved {
        Control::Approve(left.approval)
    } else {
        Control::Deny(left.approval)
    }
}
