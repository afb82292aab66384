//! Reads providers and tool servers. Reaches nothing.

use std::collections::BTreeSet;
use std::fmt;

use super::builtin_terms::refuse_unused_terms;
use super::form::Form as _;
use super::keys::{OAUTH, PROVIDER, ProviderSpec, REDACT, SERVER, ServerEntry, TOOLS, ToolsEntry};
use super::reasoning::ReasoningMap;
use super::section::{Judge, Section};
use super::transport::{McpSpec, McpTransport, Names, ToolsSpec};
use crate::contract::redaction::{MAX_HEADER_BYTES, MAX_HEADERS, MAX_PATTERNS};
use crate::contract::{
    HOST, McpTerms, OAuthGrant, OAuthTerms, ProviderType, REST_PREFIX, ReasoningValue,
    RedactionTerms, Remote, ToolFilter, masked_words,
};

impl Judge for ProviderSpec {
    type Output = Self;

    fn judge(self, section: &Section<'_, '_>) -> Option<Self> {
        refuse_misplaced(section, self.provider_type);
        refuse_token_counts(section, &self);
        Some(self)
    }
}

impl fmt::Debug for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSpec")
            .field("api_key_env", &self.api_key_env)
            .field("base_url", &self.base_url)
            .field("base_url_env", &self.base_url_env)
            .field("buffer", &self.buffer)
            .field("context_window", &self.context_window)
            .field("file", &self.file)
            .field("headers", &Names(&self.headers))
            .field("models", &self.models)
            .field("overrides", &self.overrides)
            .field("provider_options", &self.provider_options)
            .field("provider_type", &self.provider_type)
            .field("reasoning", &self.reasoning)
            .field("tokenizer", &self.tokenizer)
            .field("tools_allowed", &self.tools_allowed)
            .field("tools_denied", &self.tools_denied)
            .finish()
    }
}

/// A provider has nothing that its type has no use for.
fn refuse_misplaced(section: &Section<'_, '_>, provider_type: ProviderType) {
    let known = provider_type.as_str();
    for row in PROVIDER.rows() {
        let is_there = section.has(row.name);
        let has_it = row.only_for.is_empty() || row.only_for.contains(&provider_type);
        if is_there && !has_it {
            let rule = format!("a provider of type {known} has no `{}`", row.name);
            section.refuse_key(row.name, rule, None);
        }
        let beside = row.not_with.iter().find(|other| section.has(other));
        if let Some(other) = beside.filter(|_| is_there) {
            let rule = format!("a provider with a `{other}` has no `{}`", row.name);
            section.refuse_key(row.name, rule, None);
        }
    }
}

/// Protocols that know levels of reasoning by words alone cannot be sent a number of tokens.
fn refuse_token_counts(section: &Section<'_, '_>, spec: &ProviderSpec) {
    let words_alone = matches!(
        spec.provider_type,
        ProviderType::Openai
            | ProviderType::OpenaiResponses
            | ProviderType::Ollama
            | ProviderType::Scripted
    );
    let counts = |map: &ReasoningMap| {
        let tokens =
            |value: &Option<ReasoningValue>| matches!(value, Some(ReasoningValue::Tokens(_)));
        map.0.iter().any(tokens)
    };
    let rule = || {
        format!(
            "a provider of type {} takes words for `reasoning`, no numbers of tokens",
            spec.provider_type.as_str()
        )
    };
    if !words_alone {
        return;
    }
    if spec.reasoning.as_ref().is_some_and(counts) {
        section.refuse_key(PROVIDER.reasoning.name, rule(), None);
    }
    let mut models = spec.models.values();
    if models.any(|model| model.reasoning.as_ref().is_some_and(counts)) {
        section.refuse_key(PROVIDER.models.name, rule(), None);
    }
}

impl Judge for ToolsEntry {
    type Output = ToolsSpec;

    fn judge(self, section: &Section<'_, '_>) -> Option<ToolsSpec> {
        let mut builtin: Vec<String> = Vec::new();
        for name in self.builtin {
            if builtin.contains(&name) {
                let rule = format!("`{name}` occurs twice");
                section.refuse_key(TOOLS.builtin.name, rule, None);
            } else {
                builtin.push(name);
            }
        }
        if let Some(name) = self
            .openapi
            .keys()
            .find(|name| self.rest.contains_key(*name))
        {
            let rule = format!("`{name}` is the name of a REST tool, too");
            section.refuse_key(TOOLS.openapi.name, rule, None);
        }
        let mut known = BTreeSet::new();
        if let Some(name) = self.host.iter().find(|name| !known.insert(*name)) {
            let rule = format!("`{name}` occurs twice");
            section.refuse_key(TOOLS.host.name, rule, None);
        }
        if !self.host.is_empty() && self.mcp.contains_key(HOST) {
            let rule = "a tool server has the name `host`, too; call that otherwise";
            section.refuse_key(TOOLS.host.name, rule, None);
        }
        let services = self.rest.into_iter().chain(self.openapi);
        let services = services.map(|(name, spec)| (format!("{REST_PREFIX}{name}"), spec));
        let servers = self.mcp.into_iter().filter(|(_, server)| server.enabled);
        let has_shell = builtin.iter().any(|name| name == ToolsSpec::SHELL);
        if self.sandbox.is_some() && !has_shell {
            let rule = "`sandbox` confines `shell`, which is not in `builtin`";
            section.refuse_key(TOOLS.sandbox.name, rule, None);
        }
        if !self.env.is_empty() && !has_shell {
            let rule = "`env` is for `shell`, which is not in `builtin`; for a server, use the server's `env`";
            section.refuse_key(TOOLS.env.name, rule, None);
        }
        refuse_unused_terms(section, &builtin);
        Some(ToolsSpec {
            builtin,
            env: self.env,
            host: self.host,
            http_get: self.http_get,
            sandbox: self.sandbox,
            servers: servers.chain(services).collect(),
            workspace: self.workspace,
        })
    }
}

impl Judge for RedactionTerms {
    type Output = Self;

    fn judge(self, section: &Section<'_, '_>) -> Option<Self> {
        let is_long = |name: &String| name.len() > MAX_HEADER_BYTES;
        if self.headers.len() > MAX_HEADERS || self.headers.iter().any(is_long) {
            let rule = format!("at most {MAX_HEADERS} headers of at most {MAX_HEADER_BYTES} bytes");
            section.refuse_key(REDACT.headers.name, rule, None);
        }
        if self.patterns.len() > MAX_PATTERNS {
            let rule = format!("at most {MAX_PATTERNS} patterns");
            section.refuse_key(REDACT.patterns.name, rule, None);
        }
        Some(self)
    }
}

/// A command is a program, not a line for a shell. A path may hold spaces, but hardly what looks like an option.
fn refuse_command_line(section: &Section<'_, '_>, command: &str) {
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    let words: Vec<String> = words.map(str::to_owned).collect();
    let is_path = first.contains(['/', '\\']);
    if words.is_empty() || (is_path && !words.iter().any(|word| word.starts_with('-'))) {
        return;
    }
    let rule = "a `command` is one program, and what it is started with is in `args`";
    let shown = serde_json::json!(masked_words(&words));
    let help = format!("command: {first}, args: {shown}");
    let help = format!("{help}; a program with a space in its name: args: []");
    section.refuse_key(SERVER.command.name, rule, Some(help));
}

impl Judge for OAuthTerms {
    type Output = Self;

    fn judge(self, section: &Section<'_, '_>) -> Option<Self> {
        self.refuse_what_does_not_fit(section);
        Some(self)
    }
}

impl OAuthTerms {
    /// Refuses a grant that lacks a key or has a key of another grant.
    fn refuse_what_does_not_fit(&self, section: &Section<'_, '_>) {
        let has_proof = self.client_secret_env.is_some() || self.private_key_env.is_some();
        if self.client_secret_env.is_some() && self.private_key_env.is_some() {
            let rule = "a client has either a `client_secret_env` or a `private_key_env`";
            section.refuse_key(OAUTH.private_key_env.name, rule, None);
        }
        if has_proof && self.client_id.is_none() {
            section.refuse("a client with a secret or a key needs a `client_id`", None);
        }
        if self.grant == OAuthGrant::ClientCredentials && !has_proof {
            let rule = "`client_credentials` needs a `client_secret_env` or a `private_key_env`";
            section.refuse(rule, None);
        }
        let identity = [
            (OAUTH.id_token_env.name, self.id_token_env.is_some()),
            (OAUTH.idp_client_id.name, self.idp_client_id.is_some()),
            (
                OAUTH.idp_token_endpoint.name,
                self.idp_token_endpoint.is_some(),
            ),
        ];
        let crosses = self.grant == OAuthGrant::CrossAppAccess;
        for (key, is_there) in identity {
            if crosses && !is_there {
                section.refuse(format!("`cross_app_access` needs the key `{key}`"), None);
            } else if is_there && !crosses {
                let rule = format!("`{key}` belongs to `grant: cross_app_access`");
                section.refuse_key(key, rule, None);
            }
        }
        if crosses && self.client_id.is_none() {
            section.refuse("`cross_app_access` needs a `client_id`", None);
        }
    }
}

impl Judge for ServerEntry {
    type Output = McpSpec;

    fn judge(self, section: &Section<'_, '_>) -> Option<McpSpec> {
        let (stdio, http) = (
            section.has(SERVER.command.name),
            section.has(SERVER.url.name),
        );
        if stdio == http {
            let rule = if stdio {
                "a server has either a `command` or a `url`, not both"
            } else {
                "a server needs a `command` or a `url`"
            };
            section.refuse(rule, None);
            return None;
        }
        for row in SERVER.rows() {
            let beside = row.not_with.iter().find(|other| section.has(other));
            if let Some(other) = beside.filter(|_| section.has(row.name)) {
                let rule = format!("a server with a `{other}` has no `{}`", row.name);
                section.refuse_key(row.name, rule, None);
            }
        }
        let command = self.command.as_ref();
        if let Some(command) = command.filter(|_| !section.has(SERVER.args.name)) {
            refuse_command_line(section, command);
        }
        let transport = if http {
            let url = self.url?;
            let socket = url.starts_with("ws");
            let remote = self.server_type.unwrap_or(if socket {
                Remote::Websocket
            } else {
                Remote::Http
            });
            if socket != (remote == Remote::Websocket) {
                let rule = "a websocket has an address with `ws` or `wss`, and no other server has";
                section.refuse_key(SERVER.server_type.name, rule, None);
            }
            if self.oauth.is_some() && socket {
                let rule = "a server behind a websocket has no `oauth`";
                section.refuse_key(SERVER.oauth.name, rule, None);
            }
            McpTransport::Remote {
                headers: self.headers,
                oauth: self.oauth.map(Box::new),
                remote,
                url,
            }
        } else {
            McpTransport::Stdio {
                arg_variables: self.arg_variables,
                args: self.args,
                command: self.command?,
                env: self.env,
            }
        };
        Some(McpSpec {
            enabled: self.enabled,
            pin: self.pin,
            queue: self.queue,
            sandbox: self.sandbox,
            shared: self.shared,
            terms: McpTerms {
                elicitation: self.elicitation,
                health_probe: self.health_probe,
                offers: self.offers,
                roots: self.roots,
                sampling: self.sampling,
            },
            tools: ToolFilter {
                allowed: self.tools_allowed,
                denied: self.tools_denied,
            },
            transport,
        })
    }
}
