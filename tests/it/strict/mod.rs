//! Servers with the published rules of the providers: each refuses what the real one refuses, in its words, and else plays a script.
//! Every rule names the page or the report that shows it. Rules that a provider does not enforce are not here.

pub mod chat;
mod claude;
mod gemini;
pub mod provider;
mod responses;
pub mod script;
pub mod server;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod failover;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod rules;
