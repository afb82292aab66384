//! `monolith doctor`: what is here, what is missing, and how to get it.

mod args;
mod checkup;
mod render;
mod run;

pub(in crate::cli) use self::args::DoctorArgs;
pub(in crate::cli) use self::run::doctor;
