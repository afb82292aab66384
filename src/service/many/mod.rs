//! Many runs in one process: begun from a list or resumed from the store, each in a task, and one result for each input.
//!
//! Knows how a run of many is begun, resumed, suspended and reported, and which inputs have begun none. It knows no signals and no
//! screen: the surface broadcasts controls, takes results as they come, and asks for the summary at the end.
//!
//! ```text
//! Inputs ─▶ Input ─▶ Worker: prepare ─▶ drive ──▶ ManyResult ─▶ each() ─▶ Summary
//!   only when a worker is free            ▲          the worker is free once the result was taken
//!                                    broadcast()
//! ```

mod file_limit;
mod input;
mod inputs;
#[expect(clippy::module_inception, reason = "the type that the module is about")]
mod many;
mod new_run;
mod not_begun;
mod one_run;
mod recorded_run;
mod result;
mod terms;
mod worker;
mod workflow_run;

pub use self::input::{Input, RunLine, Wanted};
pub use self::inputs::Inputs;
pub use self::many::Many;
pub use self::result::{Ending, ManyResult, Rest, RunEnd, Summary, awaited};
pub use self::terms::{Limits, Surface, Terms};
