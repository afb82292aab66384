//! `monolith resume`: a run goes on whose process died.

mod args;
mod below;
mod run;

pub(in crate::cli) use self::args::ResumeArgs;
pub(in crate::cli) use self::run::resume;
