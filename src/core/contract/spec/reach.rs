//! Reads providers and tool servers. Reaches nothing.

use std::collections::BTreeSet;

use super::builtin_terms::refuse_unused_terms;
use super::contract_spec::{ProviderSpec, ReasoningMap, ToolsSpec};
use super::foreign::ProviderOptions;
use super::form::{Form as _, Read, Schemas};
use super::keys::{OAUTH, PROVIDER, REDACT, SERVER, TOOLS};
use super::reader::ScalarText;
use super::reporter::Reporter;
use super::section::Section;
use super::texts::{Env, EnvName, HeaderName, Headers, KeyEnv, SecretPattern, Servers, Url};
use super::transport::{McpSpec, McpTransport, OAuthSpec};
use super::tree::Node;
use super::web_tools::{OpenapiImports, RestTools};
use super::words::Builtin;
use crate::contract::redaction::{MAX_HEADER_BYTES, MAX_HEADERS, MAX_PATTERNS};
use crate::contract::{HOST, McpTerms, OAuthGrant, Remote, ToolFilter, masked_words, own_name};
use crate::contract::{ProviderType, ReasoningValue, RedactionTerms};
use serde_json::Value;

impl Read for ProviderSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &PROVIDER, |section| {
            let provider_type = section.get(&PROVIDER.provider_type);
            let api_key_env = section.get(&PROVIDER.api_key_env);
            let base_url = section.get(&PROVIDER.base_url);
            let base_url_env = section.get(&PROVIDER.base_url_env);
            let buffer = section.get(&PROVIDER.buffer);
            let context_window = section.get(&PROVIDER.context_window);
            let file = section.get(&PROVIDER.file);
            let headers = section.get(&PROVIDER.headers).unwrap_or_default();
            let models = section.get(&PROVIDER.models).unwrap_or_default();
            let overrides = section.get(&PROVIDER.overrides).unwrap_or_default();
            let options = section.get(&PROVIDER.provider_options);
            let reasoning = section.get(&PROVIDER.reasoning);
            let tokenizer = section.or_off(&PROVIDER.tokenizer);
            let tools = ToolFilter {
                allowed: section.get(&PROVIDER.tools_allowed),
                denied: section.get(&PROVIDER.tools_denied).unwrap_or_default(),
            };
            let provider_type = provider_type?;
            refuse_misplaced(section, provider_type);
            let spec = Self {
                api_key_env: api_key_env.map(|KeyEnv(name)| name),
                base_url: base_url.map(|Url(url)| url),
                base_url_env: base_url_env.map(|EnvName(name)| name),
                buffer,
                context_window,
                file,
                headers: headers.0,
                models,
                overrides,
                provider_options: options.map(|ProviderOptions(text)| text),
                provider_type,
                reasoning,
                tokenizer,
                tools,
            };
            refuse_token_counts(section, &spec);
            Some(spec)
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form_or_elsewhere(&PROVIDER)
    }
}

/// A provider has what its type needs, and nothing that its type has no use for.
fn refuse_misplaced(section: &Section<'_, '_>, provider_type: ProviderType) {
    let known = provider_type.as_str();
    for row in PROVIDER.rows() {
        let is_there = section.has(row.name);
        if row.needed_for.contains(&provider_type) && !is_there {
            section.refuse(format!("a {known} provider needs its `{}`", row.name), None);
        }
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

impl Read for ToolsSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &TOOLS, |section| {
            let builtin = section.get(&TOOLS.builtin).unwrap_or_default();
            let mut names: Vec<String> = Vec::new();
            for Builtin(name) in builtin {
                if names.iter().any(|known| known == name) {
                    let rule = format!("`{name}` occurs twice");
                    section.refuse_key(TOOLS.builtin.name, rule, None);
                } else {
                    names.push(name.to_owned());
                }
            }
            let host = section.get(&TOOLS.host).unwrap_or_default();
            let mut known = BTreeSet::new();
            if let Some(name) = host.iter().find(|name| !known.insert(*name)) {
                let rule = format!("`{name}` occurs twice");
                section.refuse_key(TOOLS.host.name, rule, None);
            }
            let Servers(mut servers) = section.get(&TOOLS.mcp).unwrap_or_default();
            let RestTools(rest) = section.get(&TOOLS.rest).unwrap_or_default();
            let OpenapiImports(imports) = section.get(&TOOLS.openapi).unwrap_or_default();
            if let Some(name) = imports.keys().find(|name| rest.contains_key(*name)) {
                let rule = format!("`{}` is the name of a REST tool, too", own_name(name));
                section.refuse_key(TOOLS.openapi.name, rule, None);
            }
            if !host.is_empty() && servers.contains_key(HOST) {
                let rule = "a tool server has the name `host`, too; call that otherwise";
                section.refuse_key(TOOLS.host.name, rule, None);
            }
            servers.extend(rest);
            servers.extend(imports);
            let sandbox = section.get(&TOOLS.sandbox);
            if sandbox.is_some() && !names.iter().any(|name| name == Self::SHELL) {
                let rule = "`sandbox` confines `shell`, which is not one of `builtin`";
                section.refuse_key(TOOLS.sandbox.name, rule, None);
            }
            let Env(env) = section.get(&TOOLS.env).unwrap_or_default();
            if !env.is_empty() && !names.iter().any(|name| name == Self::SHELL) {
                let rule = "`env` is for `shell`, which is not one of `builtin`; a server has an `env` of its own";
                section.refuse_key(TOOLS.env.name, rule, None);
            }
            let http_get = section.get(&TOOLS.http_get);
            refuse_unused_terms(section, &names);
            Self {
                builtin: names,
                env,
                host,
                http_get,
                sandbox,
                servers,
                workspace: section.get(&TOOLS.workspace),
            }
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&TOOLS)
    }
}

impl Read for RedactionTerms {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &REDACT, |section| {
            let env = section.get(&REDACT.env).unwrap_or_default();
            let headers = section.get(&REDACT.headers).unwrap_or_default();
            if headers.len() > MAX_HEADERS
                || headers
                    .iter()
                    .any(|HeaderName(name)| name.len() > MAX_HEADER_BYTES)
            {
                let rule =
                    format!("at most {MAX_HEADERS} headers of at most {MAX_HEADER_BYTES} bytes");
                section.refuse_key(REDACT.headers.name, rule, None);
            }
            let patterns = section.get(&REDACT.patterns).unwrap_or_default();
            if patterns.len() > MAX_PATTERNS {
                let rule = format!("at most {MAX_PATTERNS} patterns");
                section.refuse_key(REDACT.patterns.name, rule, None);
            }
            Self {
                env: env.into_iter().map(|EnvName(name)| name).collect(),
                headers: headers.into_iter().map(|HeaderName(name)| name).collect(),
                patterns: patterns
                    .into_iter()
                    .map(|SecretPattern(text)| text)
                    .collect(),
            }
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&REDACT)
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

impl Read for OAuthSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &OAUTH, |section| {
            let variable = |EnvName(name)| name;
            let address = |Url(address)| address;
            let read = Self {
                client_id: section.get(&OAUTH.client_id),
                client_secret_env: section.get(&OAUTH.client_secret_env).map(variable),
                grant: section.get(&OAUTH.grant).unwrap_or_default(),
                id_token_env: section.get(&OAUTH.id_token_env).map(variable),
                idp_client_id: section.get(&OAUTH.idp_client_id),
                idp_token_endpoint: section.get(&OAUTH.idp_token_endpoint).map(address),
                issuer: section.get(&OAUTH.issuer).map(address),
                private_key_env: section.get(&OAUTH.private_key_env).map(variable),
                scopes: section.get(&OAUTH.scopes).unwrap_or_default(),
            };
            read.refuse_what_does_not_fit(section);
            read
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&OAUTH)
    }
}

impl OAuthSpec {
    /// What a grant needs, and what belongs to another one.
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

impl Read for McpSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &SERVER, |section| {
            let command = section.get(&SERVER.command);
            let args = section.get(&SERVER.args).unwrap_or_default();
            let arg_variables = section.get(&SERVER.arg_variables).unwrap_or_default();
            let Env(env) = section.get(&SERVER.env).unwrap_or_default();
            let url = section.get(&SERVER.url);
            let Headers(headers) = section.get(&SERVER.headers).unwrap_or_default();
            let oauth = section.get(&SERVER.oauth).map(Box::new);
            let terms = McpTerms {
                elicitation: section.get(&SERVER.elicitation).unwrap_or_default(),
                health_probe: section.get(&SERVER.health_probe).unwrap_or_default(),
                offers: section.get(&SERVER.offers).unwrap_or_default(),
                roots: section.get(&SERVER.roots).unwrap_or_default(),
                sampling: section.get(&SERVER.sampling),
            };
            let enabled = section.get(&SERVER.enabled).unwrap_or(true);
            let pin = section.get(&SERVER.pin);
            let queue = section.get(&SERVER.queue);
            let sandbox = section.get(&SERVER.sandbox);
            let shared = section.get(&SERVER.shared).unwrap_or(true);
            let remote = section.get(&SERVER.server_type);
            let tools = ToolFilter {
                allowed: section.get(&SERVER.tools_allowed),
                denied: section.get(&SERVER.tools_denied).unwrap_or_default(),
            };
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
            if let Some(command) = command.as_ref().filter(|_| !section.has(SERVER.args.name)) {
                refuse_command_line(section, command);
            }
            let transport = if http {
                let url = url?.0;
                let socket = url.starts_with("ws");
                let remote = remote.unwrap_or(if socket {
                    Remote::Websocket
                } else {
                    Remote::Http
                });
                if socket != (remote == Remote::Websocket) {
                    let rule =
                        "a websocket has an address with `ws` or `wss`, and no other server has";
                    section.refuse_key(SERVER.server_type.name, rule.to_owned(), None);
                }
                if oauth.is_some() && socket {
                    let rule = "a server behind a websocket has no `oauth`";
                    section.refuse_key(SERVER.oauth.name, rule, None);
                }
                McpTransport::Remote {
                    headers,
                    oauth,
                    remote,
                    url,
                }
            } else {
                McpTransport::Stdio {
                    arg_variables: arg_variables
                        .into_iter()
                        .map(|EnvName(name)| name)
                        .collect(),
                    args: args.into_iter().map(|ScalarText(text)| text).collect(),
                    command: command?,
                    env,
                }
            };
            Some(Self {
                enabled,
                pin,
                queue,
                sandbox,
                shared,
                terms,
                tools,
                transport,
            })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form_or_elsewhere(&SERVER)
    }
}
