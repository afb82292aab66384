//! Remedies for tool servers that did not come up. Starts no server.

use super::commands::Commands;
use crate::text::escape::line;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{BringUpCause, BringUpFault};

/// The prefix of web service tool names.
const WEB_SERVICE: &str = "rest__";

/// A remedy for a tool server that did not come up; `server` is its name in the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`words` documents each")]
pub enum ServerRemedy {
    Correct { server: String },
    CorrectCommand { server: String },
    CorrectWebService { key: &'static str, service: String },
    GrantPath { server: String },
    Install { server: String },
    Login { scopes: Vec<String>, server: String },
    MoreTime { server: String },
    StartAddress { server: String },
    StoreFirst { server: String },
    Unconfine { server: String },
    WholePath { server: String },
}

impl ServerRemedy {
    /// Returns what helps by the cause of a fault. A web service has no command.
    #[must_use]
    pub fn of_fault(contract: &ExecutionContract, fault: &BringUpFault) -> Self {
        let server = fault.server.clone();
        let terms = contract.servers.get(&server);
        if let Some(service) = server.strip_prefix(WEB_SERVICE) {
            let is_described = terms.is_some_and(|terms| terms.openapi.is_some());
            return Self::CorrectWebService {
                key: if is_described { "openapi" } else { "rest" },
                service: service.to_owned(),
            };
        }
        let command = terms.and_then(|terms| terms.command.as_deref());
        match fault.cause {
            Some(BringUpCause::Login) => Self::Login {
                scopes: fault.scopes.clone(),
                server,
            },
            _ if terms.is_some_and(|terms| terms.url.is_some()) => Self::StartAddress { server },
            Some(BringUpCause::NotConfined) => Self::Unconfine { server },
            Some(BringUpCause::MissingPath) => Self::GrantPath { server },
            Some(BringUpCause::Ended) => Self::CorrectCommand { server },
            Some(BringUpCause::Late) => Self::MoreTime { server },
            Some(BringUpCause::LateAtLimit) => Self::StoreFirst { server },
            Some(BringUpCause::NotStarted)
                if command.is_some_and(|command| command.starts_with('~')) =>
            {
                Self::WholePath { server }
            }
            Some(BringUpCause::NotStarted) => Self::Install { server },
            Some(BringUpCause::LeftOut) | None => Self::Correct { server },
        }
    }

    /// Returns the text, with the command that logs in.
    #[must_use]
    pub fn words(&self, run: &Commands<'_>) -> String {
        let late = |server: &str, more: &str| {
            format!(
                "`command` of tools.mcp.{} starts and does not answer as a tool server: correct it or its `args`{more}",
                line(server)
            )
        };
        match self {
            Self::Correct { server } => {
                format!("correct what was wrong with tools.mcp.{}", line(server))
            }
            Self::CorrectCommand { server } => format!(
                "`command` of tools.mcp.{} starts and ends: correct it, its `args` or its `env`, or mend the program",
                line(server)
            ),
            Self::CorrectWebService { key, service } => {
                format!("correct what was wrong with tools.{key}.{}", line(service))
            }
            Self::GrantPath { server } => format!(
                "give tools.mcp.{} the `sandbox` line that the error names, or correct its `args`",
                line(server)
            ),
            Self::Install { server } => format!(
                "install what `command` of tools.mcp.{} names, or correct it",
                line(server)
            ),
            Self::Login { scopes, server } => format!(
                "{} gets a token for tools.mcp.{}",
                run.login(server, scopes),
                line(server)
            ),
            Self::MoreTime { server } => {
                late(server, ", or give it more time with `total_timeout_ms`")
            }
            Self::StartAddress { server } => format!(
                "start the server of tools.mcp.{}, or correct its `url`",
                line(server)
            ),
            Self::StoreFirst { server } => late(
                server,
                "; where it fetches a package first (npx, uvx), start it once by hand, and the package is stored",
            ),
            Self::Unconfine { server } => format!(
                "correct what the error names, or start tools.mcp.{} with all your rights by `sandbox: off`",
                line(server)
            ),
            Self::WholePath { server } => format!(
                "`~` is not expanded in `command` of tools.mcp.{}: write the whole path",
                line(server)
            ),
        }
    }
}
