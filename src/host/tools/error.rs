//! Why a tool server did not come up or list its tools. Faults of calls are outcomes.

use std::path::PathBuf;

/// Why a tool server did not come up, or could not be asked again.
#[derive(Debug, thiserror::Error)]
pub enum ToolServerError {
    /// The author: no such program in `PATH` or at that path.
    #[error("find the command {command:?}")]
    CommandNotFound {
        /// The command as given.
        command: String,
    },
    /// The operator: the system refused to start the program.
    #[error("start the command {command:?}: {reason}")]
    Spawn {
        /// The command as given.
        command: String,
        /// The system's error.
        reason: String,
    },
    /// The operator: a file that the command names differs from the one that this process first found.
    #[error(
        "start the command {command:?}: {} changed since this process first read it; restore it, or end this process and run monolith again to use it as it is now", path.display()
    )]
    ChangedFile {
        /// The command as given.
        command: String,
        path: PathBuf,
    },
    /// The tool: it ended before it had introduced itself.
    #[error("initialise: the server ended before it answered: {status}{output}")]
    Exited {
        /// How it ended, as far as that is known.
        status: String,
        /// What it wrote that is no message, as clauses that go on after the reason.
        output: String,
    },
    /// The operator: the sandbox that the server is to run in cannot be set up for it.
    #[error("start: the sandbox cannot be set up: {reason}")]
    NotConfined {
        /// The failure of the sandbox and its remedy.
        reason: String,
    },
    /// The tool: it did not answer in time.
    #[error(
        "{step}: no answer within {timeout_ms} ms (total_timeout_ms allows it, at most {longest_ms}){output}"
    )]
    TimedOut {
        /// The longest that is waited, whatever the contract allows.
        longest_ms: u64,
        /// What it wrote that is no message, as clauses that go on after the reason.
        output: String,
        /// What was asked of it.
        step: &'static str,
        /// How long was waited.
        timeout_ms: u64,
    },
    /// The operator: nothing that speaks to us is at its address.
    #[error("initialise: {address}: {reason}")]
    Unreached {
        /// Where, without what may be secret.
        address: String,
        /// What came back in place of a connection.
        reason: &'static str,
    },
    /// The operator: it wants authorization, and there is none that it takes.
    #[error("use the server: {reason}")]
    Unauthorized {
        /// What is missing, and what to do.
        reason: String,
    },
    /// The tool: what it answered is not the protocol.
    #[error("{step}: {reason}{output}")]
    Protocol {
        /// What is wrong.
        reason: String,
        /// What it wrote that is no message, as clauses that go on after the reason.
        output: String,
        /// What was asked of it.
        step: &'static str,
    },
    /// The tool: it offers more than is read.
    #[error("list its tools: more than {limit} {what}")]
    TooMany {
        /// How many are read.
        limit: usize,
        /// What there are too many of: tools or pages.
        what: &'static str,
    },
    /// The author: an address or a header that cannot be used.
    #[error("connect to {url:?}: {reason}")]
    Address {
        /// What is wrong with it.
        reason: String,
        /// The address as given.
        url: String,
    },
    /// The author: a web service stands where no tool may reach it, or it was not found.
    #[error("reach {place}: {reason}")]
    Forbidden {
        /// Where the file defines it.
        place: String,
        /// Why, and which key allows it.
        reason: String,
    },
    /// The author of a description, or the network: a web service has no tools.
    #[error("take over the operations of a web service: {reason}")]
    Description {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The author: no built-in tool has that name.
    #[error("find the built-in tool {name:?}; there are {known}")]
    UnknownBuiltin {
        /// Those there are.
        known: String,
        /// The name as given.
        name: String,
    },
    /// The operator: the kernel lacks a part of the sandbox.
    #[error(
        "set up the sandbox of `shell`: this system lacks {part}: {reason}; with tools.sandbox: off commands run without it"
    )]
    Sandbox {
        /// The part.
        part: String,
        /// Why it is not to be had.
        reason: String,
    },
    /// The operator: the workspace cannot be resolved.
    #[error("open the workspace: {reason}")]
    Workspace {
        /// The system's error.
        reason: String,
    },
    /// The author: a server may not be called that.
    #[error("use the server name: {reason}")]
    ServerName {
        /// The rule it breaks.
        reason: &'static str,
    },
    /// The operator: bring-up was cancelled.
    #[error("start: cancelled")]
    Cancelled,
}
