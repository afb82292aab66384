//! The floor of a decision: a machine of two states on statig, which handles an event by a transition and does nothing else.

use std::hint::black_box;

use statig::Outcome;
use statig::blocking::{self, IntoStateMachine, IntoStateMachineExt as _};

use crate::process::timed;

struct Bare;

#[derive(Clone, Copy)]
enum Step {
    Odd,
    Even,
}

enum Never {}

impl IntoStateMachine for Bare {
    type Event<'evt> = u64;
    type Context<'ctx> = ();
    type State = Step;
    type Superstate<'sub> = Never;

    fn initial() -> Step {
        Step::Even
    }
}

impl blocking::State<Bare> for Step {
    fn call_handler(&mut self, _: &mut Bare, event: &u64, (): &mut ()) -> Outcome<Self> {
        match self {
            Self::Even if *event > 0 => Outcome::Transition(Self::Odd),
            Self::Odd if *event > 0 => Outcome::Transition(Self::Even),
            Self::Even | Self::Odd => Outcome::Handled,
        }
    }
}

impl blocking::Superstate<Bare> for Never {
    fn call_handler(&mut self, _: &mut Bare, _: &u64, (): &mut ()) -> Outcome<Step> {
        match *self {}
    }
}

/// Seconds of one transition.
pub fn transition() -> f64 {
    const TIMES: u32 = 10_000_000;
    let mut machine = Bare.state_machine();
    let ((), took) = timed(|| {
        for event in 1..=u64::from(TIMES) {
            // The state is read from memory and written to it each time, as in a machine that does something between.
            black_box(&mut machine).handle(&black_box(event));
        }
    });
    took.as_secs_f64() / f64::from(TIMES)
}
