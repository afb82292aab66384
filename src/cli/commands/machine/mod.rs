//! `monolith machine`: the state machine as a picture.

mod args;
mod run;

pub(in crate::cli) use self::args::MachineArgs;
pub(in crate::cli) use self::run::machine;
