//! `monolith machine`: the state machine as a picture.

mod args;
mod run;

pub(crate) use self::args::MachineArgs;
pub(crate) use self::run::machine;
