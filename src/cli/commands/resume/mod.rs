//! `monolith resume`: a run goes on whose process died.

mod args;
mod run;

pub(crate) use self::args::ResumeArgs;
pub(crate) use self::run::resume;
