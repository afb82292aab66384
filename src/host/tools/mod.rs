//! Tools: started, listed, called and stopped. Every call ends in one [`ToolOutcome`](monolith_core::message::ToolOutcome).
//!
//! Knows the built-in tools, MCP servers over standard streams and over HTTP, which exposed name leads to which
//! server, what each tool was pinned as, and how a tool's answer becomes an envelope within the output budget. It does
//! not know contracts' files, policies, limits on calls or approvals: an order that arrives here was authorised by the
//! machine. Time, blobs and cancellation are handed in by the driver; nothing here retries.
//!
//! ```text
//! ServerSpec ─▶ bring_up ─▶ capabilities + faults ─▶ (driver: manifest, contract)
//!                  │  ServerPool: one server for all runs of the process that reach it in the same way
//! CallOrder ─▶ ToolServers::call ─▶ builtin │ mcp ─▶ raw answer ─▶ envelope ─▶ ToolOutcome
//!                                                        └─▶ BlobSink (whole text, images, malformed answers)
//! ```
//!
//! The built-ins confine themselves to the workspace: they open each step of a path beneath a folder that is held; what they ask on the web goes
//! through the address guard. What the shell runs, and
//! what a server is, is confined by the kernel, in `sandbox`.

mod address_guard;
mod builtin;
mod call_terms;
mod command;
mod envelope;
mod error;
mod host_tools;
mod http_client;
mod kept_server;
mod mcp;
mod mcp_login;
mod named_files;
mod oauth;
mod offer;
mod pool;
mod process;
mod registry;
mod restart_loop;
mod restarts;
mod running;
mod sandbox;
mod server_spec;
mod supervisor;
#[cfg(test)]
mod tests;
mod trace;
mod web;
mod web_answer;
mod withheld;
#[cfg(unix)]
mod withheld_files;

pub use builtin::{FileChange, Restored, RestoredFolder, judged_commands};
pub(crate) use builtin::{FileKeeper, KeptContent, RunFiles};
#[cfg(unix)]
pub(crate) use builtin::{Rules, is_settled, set_mode};
pub(crate) use call_terms::{
    AwaitedInput, BlobSink, CallTerms, CallWatch, Clock, ExchangeLog, ModelPrompt,
};
pub use command::CommandEnd;
pub(crate) use command::run_command;
pub use envelope::Delegated;
pub(crate) use envelope::delegated_envelope;
pub(crate) use error::ToolServerError;
pub use host_tools::HostTool;
pub(crate) use host_tools::HostTools;
pub use mcp_login::LoginFault;
pub(crate) use mcp_login::begin_login;
pub(crate) use named_files::{
    FileKind, FoundName, NamedFile, PathState, StartFiles, named_paths, paths_at_home,
};
pub(crate) use oauth::{ClientTerms, Exchange, LoginTerms, TokenKeeper, TokenStore};
pub use oauth::{Login, OAuthFault, ReturnedCode, StoredAuthorization, server_address};
pub use pool::ServerKeeper;
pub(crate) use pool::{ServerHost, ServerPool};
pub(crate) use registry::{BringUp, ServerWatch, ToolServers};
pub(crate) use sandbox::{
    CHECKED, CREDENTIALS, Confined, FolderId, GrantedFolders, HeldFolder, Installs, Limits,
    SETTINGS, SYSTEM_CREDENTIALS, SYSTEM_SETTINGS, SandboxProbe, SandboxProfile, SearchFolder, Way,
    is_in,
};
pub use sandbox::{PartStatus, ProbeFault, ProbeReport, SANDBOX_COMMAND, SandboxKind, confine};
pub(crate) use server_spec::{ServerSpec, ShellSpec};
pub use supervisor::{SUPERVISE_COMMAND, supervise};
pub use trace::MCP_TRACE;
pub(crate) use web::{is_out_of_reach, is_unreadable, web_header_holds};
pub use withheld::Withheld;
