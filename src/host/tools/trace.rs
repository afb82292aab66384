//! What is sent to tool servers and what comes back, for an operator who asks to see it (`--trace-mcp`). Secrets are out.

use tracing::Level;

/// The target of these diagnostics.
pub const MCP_TRACE: &str = "monolith::trace::mcp";

/// Whether someone asks to see it.
pub(super) fn is_on() -> bool {
    tracing::enabled!(target: MCP_TRACE, Level::TRACE)
}

/// Shows what is about to be sent to a server; secrets are out of it.
pub(super) fn sent(server: &str, text: &str) {
    tracing::trace!(target: MCP_TRACE, "→ {server}: {text}");
}

/// Shows what came back.
pub(super) fn received(server: &str, text: &str) {
    tracing::trace!(target: MCP_TRACE, "← {server}: {text}");
}
