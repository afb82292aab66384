//! A person's answer to the call that a run waits with. The process that drives the run takes it.
//!
//! [`pending::prepare`] decides if an answer is taken and forms it; [`pending::PendingAnswer::leave`] leaves it in the store. A surface that has to
//! ask its person does so in between.

mod answer;
pub mod pending;
