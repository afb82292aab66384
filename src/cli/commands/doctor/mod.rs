//! `monolith doctor`: what is here, what is missing, and how to get it.

mod args;
mod checkup;
mod render;
mod run;

pub(crate) use self::args::DoctorArgs;
pub(crate) use self::run::doctor;
