//! The terms of a tool server. Plain data; the factory decides them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compiled_schema::HexDigest;
use super::http_get_terms::HttpGetTerms;
use super::oauth_terms::{OAuthTerms, is_default};
use super::{AGENT_PREFIX, AGENTS, OpenapiTerms, RestTerms, SandboxTerms, tool_filter};
use crate::message::Digest;

/// The way to reach a tool server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// Agents: each call is a child run.
    Agents,
    /// Inside monolith.
    #[default]
    Builtin,
    /// The program that embeds monolith: its tools are closures.
    Host,
    /// A web service whose operations, as a description has them, are tools.
    Openapi,
    /// A web service, a request of which is one tool.
    Rest,
    /// A child process that speaks MCP over its standard streams.
    Stdio,
    /// MCP over streamable HTTP.
    Http,
    /// MCP over a stream of events and POSTs, as in protocol 2024-11-05.
    Sse,
    /// MCP over a websocket.
    Websocket,
}

/// The origin of tools inside monolith, and the name of their server.
pub(super) const BUILTIN: &str = "builtin";

/// The origin of tools of the program that embeds monolith, and the name of their server.
pub const HOST: &str = "host";

/// Prefix of the tools of web services (001 §6), and of their servers' names.
pub const REST_PREFIX: &str = "rest__";

impl ServerKind {
    /// Returns the origin of the tools of the server with that name.
    #[must_use]
    pub fn origin(self, server: &str) -> String {
        match self {
            Self::Agents => AGENTS.to_owned(),
            Self::Builtin => BUILTIN.to_owned(),
            Self::Host => HOST.to_owned(),
            Self::Openapi => format!("openapi:{}", own_name(server)),
            Self::Rest => format!("rest:{}", own_name(server)),
            Self::Stdio | Self::Http | Self::Sse | Self::Websocket => format!("mcp:{server}"),
        }
    }

    /// Returns the place in the author's file that defines that server.
    #[must_use]
    pub fn place(self, server: &str) -> String {
        match self {
            Self::Agents => "agents".to_owned(),
            Self::Builtin => "tools.builtin".to_owned(),
            Self::Host => "tools.host".to_owned(),
            Self::Openapi => format!("tools.openapi.{}", own_name(server)),
            Self::Rest => format!("tools.rest.{}", own_name(server)),
            Self::Stdio | Self::Http | Self::Sse | Self::Websocket => format!("tools.mcp.{server}"),
        }
    }

    /// The prefix of a tool's own name in the name that the model sees.
    #[must_use]
    pub fn prefix(self, server: &str) -> String {
        match self {
            Self::Agents => AGENT_PREFIX.to_owned(),
            Self::Builtin => String::new(),
            Self::Openapi => format!("{server}_"),
            Self::Rest => REST_PREFIX.to_owned(),
            Self::Host | Self::Stdio | Self::Http | Self::Sse | Self::Websocket => {
                format!("{server}__")
            }
        }
    }

    /// True if the author alone defines its tools: nothing else can change them, so there is nothing to pin.
    #[must_use]
    pub const fn is_of_author(self) -> bool {
        matches!(self, Self::Agents | Self::Builtin | Self::Rest)
    }
}

/// Returns the author's name for a web service.
pub fn own_name(server: &str) -> &str {
    server.strip_prefix(REST_PREFIX).unwrap_or(server)
}

/// The protocol of a remote tool server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remote {
    /// Streamable HTTP.
    Http,
    /// A stream of events and POSTs, as in protocol 2024-11-05.
    Sse,
    /// A websocket.
    Websocket,
}

impl Remote {
    /// Returns its kind in the contract.
    #[must_use]
    pub const fn kind(self) -> ServerKind {
        match self {
            Self::Http => ServerKind::Http,
            Self::Sse => ServerKind::Sse,
            Self::Websocket => ServerKind::Websocket,
        }
    }
}

/// The answer to a server that requests input during a call (MCP elicitation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Elicitation {
    /// A refusal.
    #[default]
    Denied,
    /// A person's input, requested like an approval.
    Ask,
    /// The default of every field that has one; a refusal where a field that it needs has none.
    Defaults,
}

/// Server features besides tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Its resources.
    Resources,
    /// Its prompts.
    Prompts,
}

/// The request that probes a server after a call to it timed out (001 §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthProbe {
    /// A ping, and where none comes back the question for its tools.
    #[default]
    Ping,
    /// The question for its tools: the server does not implement ping.
    ListTools,
}

/// The author's grants to a server and demands on it, apart from its transport.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct McpTerms {
    /// Answer to its input requests during a call.
    pub elicitation: Elicitation,
    /// Request that probes its health.
    pub health_probe: HealthProbe,
    /// Features it offers besides its tools.
    pub offers: Vec<Beside>,
    /// The folders that it is named where it asks for them (MCP roots).
    pub roots: Vec<String>,
    /// The model that it may have asked (MCP sampling).
    pub sampling: Option<String>,
}

/// A tool server as the contract sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTerms {
    /// Arguments as the author wrote them.
    pub args: Vec<String>,
    /// True if bring-up reached it.
    pub available: bool,
    /// Names of the variables whose values replace `${NAME}` in its arguments when it starts; omitted if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arg_variables: Vec<String>,
    /// The command as the author wrote it.
    pub command: Option<String>,
    /// Answer to its input requests during a call; omitted if they are refused.
    #[serde(default, skip_serializing_if = "is_default")]
    pub elicitation: Elicitation,
    /// Names of environment variables handed to it; of tools inside monolith, to the commands of the shell.
    pub env_names: Vec<String>,
    /// Variables of monolith's own environment that feed each of them; omitted if none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_variables: BTreeMap<String, Vec<String>>,
    /// Features it offers besides its tools; omitted if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Beside>,
    /// Selection from the description of a web service; omitted elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openapi: Option<Box<OpenapiTerms>>,
    /// The pin that the author demands, where one is given.
    #[schemars(with = "Option<HexDigest>")]
    pub expected_pin: Option<Digest>,
    /// Names of headers sent to it.
    pub header_names: Vec<String>,
    /// Variables that feed each header; omitted if none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub header_variables: BTreeMap<String, Vec<String>>,
    /// Request that probes its health; omitted for a ping.
    #[serde(default, skip_serializing_if = "is_default")]
    pub health_probe: HealthProbe,
    /// Terms for the requests of the built-in tool `http_get`; omitted if the contract has no such tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetTerms>,
    /// Kind of connection.
    pub kind: ServerKind,
    /// As what monolith comes to its authorization server; left out where nothing is said of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<Box<OAuthTerms>>,
    /// BLAKE3 over the sorted pins of what it offers; null where it was not reached.
    #[schemars(with = "Option<HexDigest>")]
    pub pin: Option<Digest>,
    /// The queue that its calls wait in; left out where the contract has no queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The request, if it is a request to a web service; omitted elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Box<RestTerms>>,
    /// The folders that it is named where it asks for them, as the author wrote them; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    /// The model that it may have asked (MCP sampling), as `provider/model` or by its name alone; left out where it may have none asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<String>,
    /// Sandbox of the built-in shell's commands, or of the server if its author configures one; omitted elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxTerms>,
    /// True if runs in one process share it when they reach it the same way; omitted if true.
    #[serde(default = "shared_by_default", skip_serializing_if = "Clone::clone")]
    pub shared: bool,
    /// Tools that the contract takes, by the server's own names; omitted if it takes all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_allowed: Option<Vec<String>>,
    /// Tools to exclude, even if allowed; omitted if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_denied: Vec<String>,
    /// Its address; of a query the names alone, and which of its values are arguments.
    pub url: Option<String>,
}

impl ServerTerms {
    /// The agents that may be delegated to, before it is known what they offer.
    pub fn agents() -> Self {
        Self {
            kind: ServerKind::Agents,
            ..Self::builtin()
        }
    }

    /// The tools inside monolith, none of which is known to be there.
    pub fn builtin() -> Self {
        Self {
            shared: true,
            ..Self::default()
        }
    }

    /// True if the contract takes every tool of it.
    pub(super) const fn takes_all_tools(&self) -> bool {
        self.tools_allowed.is_none() && self.tools_denied.is_empty()
    }

    /// True if the contract takes the tool with that name on the server.
    pub(super) fn takes_tool(&self, tool: &str) -> bool {
        tool_filter::takes(self.tools_allowed.as_deref(), &self.tools_denied, tool)
    }
}

const fn shared_by_default() -> bool {
    true
}

/// The longest name of a tool server in bytes: exposed names have 64 for it, `__` and the tool's own name.
const MAX_BYTES: usize = 32;

/// Judges the name that an author gives to a tool server, the one rule for file and bring-up.
///
/// # Errors
/// The rule that it breaks.
pub fn check_server_name(name: &str) -> Result<(), &'static str> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !(1..=MAX_BYTES).contains(&name.len()) || !name.bytes().all(word) {
        return Err("a server's name is 1 to 32 characters of A–Z a–z 0–9 _ -");
    }
    if name == "builtin" {
        return Err("`builtin` names the tools inside monolith; call the server otherwise");
    }
    if name.starts_with(REST_PREFIX) {
        return Err(
            "names that begin with rest__ are those of web services; call the server otherwise",
        );
    }
    if format!("{name}__").starts_with("agent__") {
        return Err("tools that begin with agent__ are monolith's own; call the server otherwise");
    }
    Ok(())
}
