use std::collections::BTreeMap;

use super::contract_spec::{McpSpec, McpTransport, ProviderSpec, ReasoningMap, ToolsSpec};
use super::foreign::ProviderOptions;
use super::reader::{Choice, Loose, Out, Read, Section, choose};
use super::tree::{Kind, Node};
use crate::contract::redaction::MAX_PATTERNS;
use crate::contract::{
    ProviderType, ReasoningValue, RedactionTerms, check_server_name, secret_pattern,
};

/// The tools inside monolith.
pub(crate) const BUILTIN_TOOLS: [&str; 4] = ["clock", "echo", "list_directory", "read_file"];

impl Choice for ProviderType {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("openai", Self::Openai),
        ("openai_responses", Self::OpenaiResponses),
        ("anthropic", Self::Anthropic),
        ("google", Self::Google),
        ("openrouter", Self::Openrouter),
        ("ollama", Self::Ollama),
        ("local", Self::Local),
        ("scripted", Self::Scripted),
    ];
}

/// The providers that are whole, and the names of all, so that a target is not blamed for a faulty provider.
pub(super) fn read_providers(
    node: &Node,
    out: &Out<'_>,
) -> (BTreeMap<String, ProviderSpec>, Vec<String>) {
    let names = match &node.kind {
        Kind::Map(entries) => entries.iter().map(|(key, _)| key.text.clone()).collect(),
        Kind::Scalar { .. } | Kind::List(_) => Vec::new(),
    };
    (Read::read(node, out).unwrap_or_default(), names)
}

impl Read for ProviderSpec {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        Section::read(node, out, |section| {
            let provider_type: Option<ProviderType> = section.required("type");
            let api_key_env: Option<String> = section.nullable("api_key_env");
            let base_url = section.nullable::<Url>("base_url").map(|url| url.0);
            let file: Option<String> = section.nullable("file");
            let headers = section.get::<Headers>("headers").unwrap_or_default().0;
            let models = section.get("models").unwrap_or_default();
            let overrides = section.get("overrides").unwrap_or_default();
            let options = section.nullable::<ProviderOptions>("provider_options");
            let reasoning = section.get("reasoning");
            if api_key_env
                .as_deref()
                .is_some_and(|name| !is_env_name(name))
            {
                let rule = "expected the name of an environment variable";
                let help = "the key itself never stands in a contract file".to_owned();
                section.refuse_key("api_key_env", rule, Some(help));
            }
            let provider_type = provider_type?;
            match provider_type {
                ProviderType::Scripted => {
                    if !section.has("file") {
                        section.refuse("a scripted provider needs its `file`", None);
                    }
                    for key in ["api_key_env", "base_url", "headers"] {
                        refuse_beside(section, key, provider_type);
                    }
                }
                ProviderType::Local => {
                    for key in ["api_key_env", "base_url", "headers", "provider_options"] {
                        refuse_beside(section, key, provider_type);
                    }
                }
                ProviderType::Openai
                | ProviderType::OpenaiResponses
                | ProviderType::Anthropic
                | ProviderType::Google
                | ProviderType::Openrouter
                | ProviderType::Ollama => refuse_beside(section, "file", provider_type),
            }
            let spec = Self {
                api_key_env,
                base_url,
                file,
                headers,
                models,
                overrides,
                provider_options: options.map(|ProviderOptions(text)| text),
                provider_type,
                reasoning,
            };
            refuse_token_counts(section, &spec);
            Some(spec)
        })?
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
        section.refuse_key("reasoning", rule(), None);
    }
    let mut models = spec.models.values();
    if models.any(|model| model.reasoning.as_ref().is_some_and(counts)) {
        section.refuse_key("models", rule(), None);
    }
}

fn refuse_beside(section: &Section<'_, '_>, key: &str, provider_type: ProviderType) {
    if section.has(key) {
        let rule = format!(
            "a provider of type {} has no `{key}`",
            provider_type.as_str()
        );
        section.refuse_key(key, rule, None);
    }
}

/// Reads the section `tools`.
pub(super) fn read_tools(section: &mut Section<'_, '_>) -> ToolsSpec {
    let builtin: Vec<Builtin> = section.get("builtin").unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for Builtin(name) in builtin {
        if names.iter().any(|known| known == name) {
            section.refuse_key("builtin", format!("`{name}` stands twice"), None);
        } else {
            names.push(name.to_owned());
        }
    }
    ToolsSpec {
        builtin: names,
        mcp: section.get::<Servers>("mcp").unwrap_or_default().0,
        workspace: section.nullable("workspace"),
    }
}

/// Reads the section `redact`.
pub(super) fn read_redact(section: &mut Section<'_, '_>) -> RedactionTerms {
    let env: Vec<EnvName> = section.get("env").unwrap_or_default();
    let headers: Vec<HeaderName> = section.get("headers").unwrap_or_default();
    let patterns: Vec<Pattern> = section.get("patterns").unwrap_or_default();
    if patterns.len() > MAX_PATTERNS {
        let rule = format!("at most {MAX_PATTERNS} patterns");
        section.refuse_key("patterns", rule, None);
    }
    RedactionTerms {
        env: env.into_iter().map(|EnvName(name)| name).collect(),
        headers: headers.into_iter().map(|HeaderName(name)| name).collect(),
        patterns: patterns.into_iter().map(|Pattern(text)| text).collect(),
    }
}

struct EnvName(String);

impl Read for EnvName {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let name = String::read(node, out)?;
        if is_env_name(&name) {
            return Some(Self(name));
        }
        let rule = "expected the name of an environment variable";
        let help = "the value itself never stands in a contract file".to_owned();
        out.refuse(node, rule, Some(help));
        None
    }
}

struct HeaderName(String);

impl Read for HeaderName {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let name = String::read(node, out)?;
        if is_header_name(&name) {
            return Some(Self(name));
        }
        out.refuse(node, "not a header name", None);
        None
    }
}

struct Pattern(String);

impl Read for Pattern {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let text = String::read(node, out)?;
        match secret_pattern(&text) {
            Ok(_) => Some(Self(text)),
            Err(rule) => {
                out.refuse(node, rule, None);
                None
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Builtin(&'static str);

impl Read for Builtin {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let words = BUILTIN_TOOLS.map(|name| (name, name));
        choose(node, out, &words).map(Self)
    }
}

#[derive(Default)]
struct Servers(BTreeMap<String, McpSpec>);

impl Read for Servers {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        if let Kind::Map(entries) = &node.kind {
            for (key, _) in entries {
                let out = out.below(&key.text);
                if let Err(rule) = check_server_name(&key.text) {
                    out.findings.add(&key.place, &out.path, rule, None);
                }
            }
        }
        Read::read(node, out).map(Self)
    }
}

impl Read for McpSpec {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        Section::read(node, out, |section| {
            let command: Option<String> = section.get("command");
            let args: Vec<Loose> = section.get("args").unwrap_or_default();
            let env: BTreeMap<String, Loose> = section.get("env").unwrap_or_default();
            let url = section.get::<Url>("url").map(|url| url.0);
            let headers = section.get::<Headers>("headers").unwrap_or_default().0;
            let pin = section.nullable("pin");
            let queue = section.nullable("queue");
            if env.keys().any(|name| !is_env_name(name)) {
                let rule = "expected names of environment variables";
                section.refuse_key("env", rule, None);
            }
            let (stdio, http) = (section.has("command"), section.has("url"));
            if stdio == http {
                let rule = if stdio {
                    "a server has either a `command` or a `url`, not both"
                } else {
                    "a server needs a `command` or a `url`"
                };
                section.refuse(rule, None);
                return None;
            }
            for key in if http {
                ["args", "env"].as_slice()
            } else {
                &["headers"]
            } {
                if section.has(key) {
                    let kind = if http { "url" } else { "command" };
                    let rule = format!("a server with a `{kind}` has no `{key}`");
                    section.refuse_key(key, rule, None);
                }
            }
            let transport = if http {
                McpTransport::Http { headers, url: url? }
            } else {
                McpTransport::Stdio {
                    args: args.into_iter().map(|Loose(text)| text).collect(),
                    command: command?,
                    env: env
                        .into_iter()
                        .map(|(name, Loose(text))| (name, text))
                        .collect(),
                }
            };
            Some(Self {
                pin,
                queue,
                transport,
            })
        })?
    }
}

#[derive(Default)]
struct Headers(BTreeMap<String, String>);

impl Read for Headers {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        if let Kind::Map(entries) = &node.kind {
            for (key, _) in entries.iter().filter(|(key, _)| !is_header_name(&key.text)) {
                let rule = "not a header name";
                out.findings.add(&key.place, &out.path, rule, None);
            }
        }
        let map: BTreeMap<String, Loose> = Read::read(node, out)?;
        let plain = map.into_iter().map(|(name, Loose(text))| (name, text));
        Some(Self(plain.collect()))
    }
}

/// An address of the web that holds no user name and no password.
struct Url(String);

impl Read for Url {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let text = String::read(node, out)?;
        let rest = ["https://", "http://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme));
        let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
        let rule = match host {
            None | Some("") => "expected an address that begins with https:// or http://",
            Some(host) if host.contains('@') => {
                "an address in a contract holds no user name and no password"
            }
            Some(_) if text.chars().any(|c| c.is_whitespace() || c.is_control()) => {
                "an address holds no white space"
            }
            Some(_) => return Some(Self(text)),
        };
        out.refuse(node, rule, None);
        None
    }
}

pub(super) fn is_env_name(name: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(word)
}

/// RFC 9110 §5.6.2: a token.
fn is_header_name(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token)
}
