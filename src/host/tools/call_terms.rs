//! The terms of one call beside its order. Plain data.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{BlobSink, Clock, ExchangeLog, RunFiles};
use monolith_core::message::Scrubber;

/// What a call is made under, beside its order.
#[derive(Clone, Copy)]
pub(crate) struct CallTerms<'a> {
    /// Takes what does not go into the envelope.
    pub blobs: &'a dyn BlobSink,
    /// Ends the call as `Cancelled`.
    pub cancel: &'a CancellationToken,
    /// Stamps the envelope.
    pub clock: &'a dyn Clock,
    /// Takes what the server asks for meanwhile, and what it gets.
    pub exchanges: &'a Arc<ExchangeLog>,
    /// `<run_id>:<call seq>`; sent to MCP servers in `_meta`.
    pub idempotency_key: &'a str,
    /// What the run knows of the files of its workspace, and where it keeps what they held before the call changed them; `None` if nothing is kept.
    pub files: Option<&'a Arc<RunFiles>>,
    /// Bytes of text that the envelope may hold; the rest goes to `blobs`.
    pub output_limit_bytes: u64,
    /// Receives what the tool reports while it runs, where someone wants to know.
    pub reports: Option<&'a CallWatch>,
    /// Scrubs the tool's output before any of it is cut.
    pub scrub: &'a dyn Scrubber,
    /// After so long the call ends as `TimedOut`.
    pub timeout_ms: u64,
}

/// Receives the exposed name of a tool that runs, and what it reports of that, such as `3 of 10`.
pub(crate) type CallWatch = dyn Fn(&str, &str) + Send + Sync;

impl CallTerms<'_> {
    /// Hands over what a tool reports, without secrets.
    pub(super) fn report(&self, tool: &str, report: &str) {
        if let Some(watch) = self.reports {
            watch(tool, &self.scrub.cut_text(report));
        }
    }
}
