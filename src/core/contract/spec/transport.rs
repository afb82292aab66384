//! The tool servers in the author's file: the transport of each and the selection of its tools. Decides nothing.

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
    /// True if it counts: only enabled servers are servers of the file.
    pub(super) enabled: bool,
    /// The server pin that the author demands.
    pub pin: Option<Digest>,
    /// The queue that its calls wait in, where the author names one.
    pub queue: Option<String>,
    /// Its sandbox, if the author states one.
    pub sandbox: Option<SandboxSpec>,
    /// True if the runs of one process share it.
    pub shared: bool,
    /// Grants to it, and demands on it.
    pub terms: McpTerms,
    /// Selection of its tools.
    pub tools: ToolFilter,
    /// Its transport.
    pub transport: McpTransport,
}

impl McpSpec {
    /// Returns the place in the file that defines the server with this contract name.
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

/// The transport of a tool server.
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
        /// Protocol of the server.
        remote: Remote,
        /// Its address.
        url: String,
    },
    /// The operations of a web service.
    Openapi {
        /// Headers with their values, unexpanded.
        headers: BTreeMap<String, String>,
        /// The description and the selection from it.
        terms: Box<OpenapiTerms>,
    },
    /// A tool that is one request to a web service.
    Rest {
        /// Headers with their values, unexpanded.
        headers: BTreeMap<String, String>,
        /// Limits on its requests.
        limits: WebLimits,
        /// The request.
        tool: Box<RestTool>,
    },
}

impl McpTransport {
    /// Returns its kind in the contract.
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
