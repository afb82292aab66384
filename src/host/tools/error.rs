//! Errors from starting a tool server or listing its tools. Call failures are outcomes.

use std::path::PathBuf;

use monolith_core::kernel::{BringUpCause, BringUpFault};
use monolith_core::message::{Scrubber, char_prefix};

/// Bytes of a fault's detail that are recorded.
const DETAIL_BYTES: usize = 2_048;

/// An error from starting a tool server, or from querying it again.
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
    #[error("initialise: the server ended before it answered: {status}{grants}{output}")]
    Exited {
        /// Clauses that grant the paths which its sandbox does not show.
        grants: String,
        /// Its exit status, as far as it is known.
        status: String,
        /// Its output other than messages, as clauses that follow the reason.
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
        "{step}: no answer within {timeout_ms} ms (total_timeout_ms allows it, at most {longest_ms}){grants}{output}"
    )]
    TimedOut {
        /// Clauses that grant the paths which its sandbox does not show.
        grants: String,
        /// The longest that is waited, whatever the contract allows.
        longest_ms: u64,
        /// Its output other than messages, as clauses that follow the reason.
        output: String,
        /// The request it got.
        step: &'static str,
        /// The time waited.
        timeout_ms: u64,
    },
    /// The operator: nothing that speaks to us is at its address.
    #[error("initialise: {address}: {reason}")]
    Unreached {
        /// Its address, without secret parts.
        address: String,
        /// The response or failure instead of a connection.
        reason: &'static str,
    },
    /// The operator: it wants authorization, and there is none that it takes.
    #[error("use the server: {reason}")]
    Unauthorized {
        /// The problem and its remedy.
        reason: String,
        /// Scopes that a login has to ask for; none if a login does not help.
        scopes: Option<Vec<String>>,
    },
    /// The tool: what it answered is not the protocol.
    #[error("{step}: {reason}{output}")]
    Protocol {
        /// The problem.
        reason: String,
        /// Its output other than messages, as clauses that follow the reason.
        output: String,
        /// The request it got.
        step: &'static str,
    },
    /// The tool: it offers more than is read.
    #[error("list its tools: more than {limit} {what}")]
    TooMany {
        /// The maximum number.
        limit: usize,
        /// The items that exceed the limit: tools or pages.
        what: &'static str,
    },
    /// The author: an address or a header that cannot be used.
    #[error("connect to {url:?}: {reason}")]
    Address {
        /// The problem with it.
        reason: String,
        /// The address as given.
        url: String,
    },
    /// The author: a web service stands where no tool may reach it, or it was not found.
    #[error("reach {place}: {reason}")]
    Forbidden {
        /// Its place in the file.
        place: String,
        /// The reason, and the key that allows it.
        reason: String,
    },
    /// The author of a description, or the network: a web service has no tools.
    #[error("take over the operations of a web service: {reason}")]
    Description {
        /// The problem and its remedy.
        reason: String,
    },
    /// The author: no built-in tool has that name.
    #[error("find the built-in tool {name:?}; there are {known}")]
    UnknownBuiltin {
        /// The known names.
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
        /// The reason why it is missing.
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

impl ToolServerError {
    /// Returns the fault to record of the server of that name, without secrets.
    pub(super) fn fault(&self, server: &str, scrub: &dyn Scrubber) -> BringUpFault {
        let detail = scrub.owned_text(format!("failed to {self}"));
        let scopes = match self {
            Self::Unauthorized { scopes, .. } => scopes.as_deref(),
            _ => None,
        };
        let scopes = scopes.unwrap_or_default().iter();
        BringUpFault {
            cause: self.cause(),
            scopes: scopes.map(|one| scrub.text(one).into_owned()).collect(),
            ..fault_of(server, &detail)
        }
    }

    fn cause(&self) -> Option<BringUpCause> {
        Some(match self {
            Self::ChangedFile { .. } | Self::CommandNotFound { .. } | Self::Spawn { .. } => {
                BringUpCause::NotStarted
            }
            Self::Exited { grants, .. } | Self::TimedOut { grants, .. } if !grants.is_empty() => {
                BringUpCause::MissingPath
            }
            Self::Exited { .. } => BringUpCause::Ended,
            Self::NotConfined { .. } => BringUpCause::NotConfined,
            Self::TimedOut {
                longest_ms,
                timeout_ms,
                ..
            } if timeout_ms >= longest_ms => BringUpCause::LateAtLimit,
            Self::TimedOut { .. } => BringUpCause::Late,
            Self::Unauthorized {
                scopes: Some(_), ..
            } => BringUpCause::Login,
            _ => return None,
        })
    }
}

/// Returns a fault without a known cause. Its text is cut.
pub(super) fn fault_of(server: &str, detail: &str) -> BringUpFault {
    let detail = char_prefix(detail, DETAIL_BYTES).to_owned();
    BringUpFault::new(server.to_owned(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_late_has_the_cause_that_more_time_or_less_depends_on() {
        let late = |timeout_ms: u64, grants: &str| ToolServerError::TimedOut {
            grants: grants.to_owned(),
            longest_ms: 60_000,
            output: "; it wrote \"at most 1\"".to_owned(),
            step: "initialise",
            timeout_ms,
        };
        let check = |error: &ToolServerError, expect: BringUpCause| {
            assert_eq!(error.cause(), Some(expect), "{error}");
        };
        check(&late(600, ""), BringUpCause::Late);
        check(&late(60_000, ""), BringUpCause::LateAtLimit);
        check(&late(600, "; the sandbox …"), BringUpCause::MissingPath);
    }
}
