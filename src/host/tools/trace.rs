//! The messages to and from tool servers, for an operator who asks to see them (`--trace-mcp`). Secrets are removed.

use tracing::Level;

/// The target of these diagnostics.
pub const MCP_TRACE: &str = "monolith::trace::mcp";

/// True if someone asks to see the trace.
pub(super) fn is_on() -> bool {
    tracing::enabled!(target: MCP_TRACE, Level::TRACE)
}

/// Shows what is about to be sent to a server; secrets are out of it.
pub(super) fn sent(server: &str, text: &str) {
    tracing::trace!(target: MCP_TRACE, "[TRC] → {server}: {text}");
}

/// Shows what came back.
pub(super) fn received(server: &str, text: &str) {
    tracing::trace!(target: MCP_TRACE, "[TRC] ← {server}: {text}");
}
