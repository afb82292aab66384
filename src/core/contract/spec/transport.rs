//! What the author's file states of tool servers: how each is reached, and what of it is taken. Decides nothing.

use std::collections::BTreeMap;
use std::fmt;

use crate::contract::{
    HttpGetTerms, McpTerms, OAuthTerms, OpenapiTerms, Remote, RestTool, SandboxSpec, ServerKind,
    ToolFilter, WebLimits,
};
use crate::message::Digest;

/// One entry of `tools.mcp`, `tools.rest` or `tools.openapi`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSpec {
    /// Whether it counts: a file's servers are those for which it is true.
    pub(super) enabled: bool,
    /// The server pin that the author demands.
    pub pin: Option<Digest>,
    /// The queue that its calls wait in, where the author names one.
    pub queue: Option<String>,
    /// What confines it, where the author says.
    pub sandbox: Option<SandboxSpec>,
    /// Whether the runs of one process share it.
    pub shared: bool,
    /// What it is granted, and what is wanted of it.
    pub terms: McpTerms,
    /// Which of its tools the contract takes.
    pub tools: ToolFilter,
    /// How it is reached.
    pub transport: McpTransport,
}

impl McpSpec {
    /// Where the file defines the server that has this name in the contract.
    #[must_use]
    pub fn place(&self, name: &str) -> String {
        self.transport.kind().place(name)
    }
}

/// The section `tools`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolsSpec {
    /// Built-in tools by name.
    pub builtin: Vec<String>,
    /// Variables of commands of the shell, as written.
    pub env: BTreeMap<String, String>,
    /// Tools of the program that embeds monolith, by the names that it registers them under.
    pub host: Vec<String>,
    /// Terms of `http_get`; there exactly when that is one of them.
    pub http_get: Option<HttpGetTerms>,
    /// Tool servers by name: those that speak MCP, and web services under the name that their tools begin with.
    pub servers: BTreeMap<String, McpSpec>,
    /// The sandbox of the shell's commands, where the author states one.
    pub sandbox: Option<SandboxSpec>,
    /// The folder that file tools see, as written.
    pub workspace: Option<String>,
}

impl ToolsSpec {
    /// The built-in tool that runs commands.
    pub const SHELL: &str = "shell";

    /// True if commands may be run.
    #[must_use]
    pub fn has_shell(&self) -> bool {
        self.builtin.iter().any(|name| name == Self::SHELL)
    }
}

/// How a tool server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A child process.
    Stdio {
        /// Names of the variables that stand in `args` as `${NAME}`.
        arg_variables: Vec<String>,
        /// Arguments as written.
        args: Vec<String>,
        /// The command as written.
        command: String,
        /// Environment variables with their values, unexpanded.
        env: BTreeMap<String, String>,
    },
    /// An address.
    Remote {
        /// Headers with their values, unexpanded.
        headers: BTreeMap<String, String>,
        /// As what monolith comes to its authorization server, where the author says.
        oauth: Option<Box<OAuthTerms>>,
        /// What is spoken there.
        remote: Remote,
        /// Its address.
        url: String,
    },
    /// The operations of a web service.
    Openapi {
        /// Headers with their values, unexpanded.
        headers: BTreeMap<String, String>,
        /// What is taken, and from which description.
        terms: Box<OpenapiTerms>,
    },
    /// A tool that is one request to a web service.
    Rest {
        /// Headers with their values, unexpanded.
        headers: BTreeMap<String, String>,
        /// What bounds its requests.
        limits: WebLimits,
        /// What is asked.
        tool: Box<RestTool>,
    },
}

impl McpTransport {
    /// How the contract names it.
    #[must_use]
    pub const fn kind(&self) -> ServerKind {
        match self {
            Self::Stdio { .. } => ServerKind::Stdio,
            Self::Remote { remote, .. } => remote.kind(),
            Self::Openapi { .. } => ServerKind::Openapi,
            Self::Rest { .. } => ServerKind::Rest,
        }
    }
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio {
                arg_variables,
                args,
                command,
                env,
            } => f
                .debug_struct("Stdio")
                .field("arg_variables", arg_variables)
                .field("args", args)
                .field("command", command)
                .field("env", &Names(env))
                .finish(),
            Self::Remote {
                headers,
                oauth,
                remote,
                url,
            } => f
                .debug_struct("Remote")
                .field("remote", remote)
                .field("headers", &Names(headers))
                .field("oauth", oauth)
                .field("url", url)
                .finish(),
            Self::Openapi { headers, terms } => f
                .debug_struct("Openapi")
                .field("headers", &Names(headers))
                .field("terms", terms)
                .finish(),
            Self::Rest {
                headers,
                limits,
                tool,
            } => f
                .debug_struct("Rest")
                .field("headers", &Names(headers))
                .field("limits", limits)
                .field("tool", tool)
                .finish(),
        }
    }
}

/// Prints the names of a map whose values are secret.
pub(super) struct Names<'a>(pub(super) &'a BTreeMap<String, String>);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
