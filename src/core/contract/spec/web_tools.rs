//! Reads tools that are requests to web services. Sends nothing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::keys::{OPENAPI, REST_TOOL, STREAMING};
use super::reporter::Reporter;
use super::section::Section;
use super::texts::{Headers, Url};
use super::transport::{McpSpec, McpTransport};
use super::tree::{Kind, Node};
use crate::contract::{
    DefinitionFault, HttpMethod, MOST_BODY_BYTES, MOST_NETWORKS, MOST_REDIRECTS, McpTerms,
    OpenapiTerms, PrivateNetwork, REST_PREFIX, RestTool, StreamTerms, ToolFilter, WebLimits,
    check_address, placeholders,
};

/// Names of tools of web services, as a pattern: with their prefix they have 64 characters at most.
const NAME: &str = "^[A-Za-z0-9_-]{1,58}$";
const MOST_NAME_BYTES: usize = 58;
/// Names of services with operations: those have names of their own behind them.
const IMPORT_NAME: &str = "^[A-Za-z0-9_-]{1,32}$";
const MOST_IMPORT_BYTES: usize = 32;

/// What names of placeholders begin with that stand for arguments.
const ARGUMENTS: &str = "parameters.";

/// Tools of web services, as servers of one tool each, by the name that their tools have in the contract.
#[derive(Default)]
pub(in crate::contract) struct RestTools(pub(super) BTreeMap<String, McpSpec>);

impl Read for RestTools {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        refuse_names(node, reporter, MOST_NAME_BYTES);
        let tools: BTreeMap<String, RestEntry> = Read::read(node, reporter)?;
        let tools = tools.into_iter();
        let tools = tools.map(|(name, RestEntry(spec))| (format!("{REST_PREFIX}{name}"), spec));
        Some(Self(tools.collect()))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({
            "type": "object",
            "patternProperties": {NAME: RestEntry::schema(definitions)},
            "additionalProperties": false,
        })
    }
}

fn refuse_names(node: &Node, reporter: &Reporter<'_>, most: usize) {
    let Kind::Map(entries) = &node.kind else {
        return;
    };
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    for (key, _) in entries {
        let length = 1..=most;
        if !length.contains(&key.text.len()) || !key.text.bytes().all(word) {
            let rule = format!("such a name is 1 to {most} characters of A–Z a–z 0–9 _ -");
            let reporter = reporter.below(&key.text);
            let findings = reporter.findings;
            findings.add(&key.place, &reporter.path, rule, None);
        }
    }
}

/// One entry of `tools.rest`.
struct RestEntry(McpSpec);

impl Read for RestEntry {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &REST_TOOL, |section| {
            let body_template = section.get(&REST_TOOL.body_template);
            let description = section.get(&REST_TOOL.description);
            let Headers(headers) = section.get(&REST_TOOL.headers).unwrap_or_default();
            let method = section.get(&REST_TOOL.method);
            let parameters_schema = section.get(&REST_TOOL.parameters_schema);
            let queue = section.get(&REST_TOOL.queue);
            let streaming = section.get(&REST_TOOL.streaming);
            let url = section.get(&REST_TOOL.url);
            let loopback = section.get(&REST_TOOL.loopback);
            let max_bytes = section.get(&REST_TOOL.max_bytes);
            let max_redirects = section.get(&REST_TOOL.max_redirects);
            let networks = section.get(&REST_TOOL.networks).unwrap_or_default();
            let limits = limits(section, (loopback, networks), (max_bytes, max_redirects));
            for (name, text) in &headers {
                if placeholders(text).any(|name| name.starts_with(ARGUMENTS)) {
                    let rule = format!(
                        "{name} holds a placeholder of an argument; a header takes variables alone"
                    );
                    section.refuse_key(REST_TOOL.headers.name, rule, None);
                }
            }
            let no_arguments =
                || json!({"type": "object", "properties": {}, "additionalProperties": false});
            let tool = RestTool {
                body_template,
                description: description?,
                method: method?,
                parameters_schema: parameters_schema.unwrap_or_else(no_arguments),
                streaming,
                url: url?,
            };
            if let Err(fault) = tool.check() {
                let (key, rule) = match fault {
                    DefinitionFault::Body(rule) => (REST_TOOL.body_template.name, rule),
                    DefinitionFault::Schema(rule) => (REST_TOOL.parameters_schema.name, rule),
                    DefinitionFault::Url(rule) => (REST_TOOL.url.name, rule),
                };
                section.refuse_key(key, rule, None);
            }
            let transport = McpTransport::Rest {
                headers,
                limits,
                tool: Box::new(tool),
            };
            Some(Self(service(queue, transport)))
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form_or_elsewhere(&REST_TOOL)
    }
}

/// The operations of web services, as servers, by what the names of their tools begin with.
#[derive(Default)]
pub(in crate::contract) struct OpenapiImports(pub(super) BTreeMap<String, McpSpec>);

impl Read for OpenapiImports {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        refuse_names(node, reporter, MOST_IMPORT_BYTES);
        let imports: BTreeMap<String, OpenapiEntry> = Read::read(node, reporter)?;
        let imports = imports.into_iter();
        let imports =
            imports.map(|(name, OpenapiEntry(spec))| (format!("{REST_PREFIX}{name}"), spec));
        Some(Self(imports.collect()))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({
            "type": "object",
            "patternProperties": {IMPORT_NAME: OpenapiEntry::schema(definitions)},
            "additionalProperties": false,
        })
    }
}

/// One entry of `tools.openapi`.
struct OpenapiEntry(McpSpec);

impl Read for OpenapiEntry {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &OPENAPI, |section| {
            let base_url = section.get(&OPENAPI.base_url).map(|Url(url)| url);
            let Headers(headers) = section.get(&OPENAPI.headers).unwrap_or_default();
            let include_methods = section.get(&OPENAPI.include_methods).unwrap_or_default();
            let pin = section.get(&OPENAPI.pin);
            let queue = section.get(&OPENAPI.queue);
            let spec: Option<String> = section.get(&OPENAPI.spec);
            let tags = section.get(&OPENAPI.tags).unwrap_or_default();
            let tools = ToolFilter {
                allowed: section.get(&OPENAPI.tools_allowed),
                denied: section.get(&OPENAPI.tools_denied).unwrap_or_default(),
            };
            let loopback = section.get(&OPENAPI.loopback);
            let max_bytes = section.get(&OPENAPI.max_bytes);
            let max_redirects = section.get(&OPENAPI.max_redirects);
            let networks = section.get(&OPENAPI.networks).unwrap_or_default();
            let limits = limits(section, (loopback, networks), (max_bytes, max_redirects));
            if !headers.is_empty() && base_url.is_none() {
                let rule =
                    "`headers` need a `base_url`: else the description decides where they go";
                section.refuse_key(OPENAPI.headers.name, rule, None);
            }
            if base_url
                .as_ref()
                .is_some_and(|url| url.contains(['?', '#']))
            {
                let rule = "paths come behind it, so it has neither a query nor a fragment";
                section.refuse_key(OPENAPI.base_url.name, rule, None);
            }
            let spec = spec?;
            let terms = OpenapiTerms {
                base_url,
                include_methods,
                limits,
                spec,
                tags,
            };
            if terms.is_at_address()
                && let Err(rule) = check_address(&terms.spec)
            {
                section.refuse_key(OPENAPI.spec.name, rule, None);
            }
            let transport = McpTransport::Openapi {
                headers,
                terms: Box::new(terms),
            };
            Some(Self(McpSpec {
                pin,
                tools,
                ..service(queue, transport)
            }))
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form_or_elsewhere(&OPENAPI)
    }
}

/// A web service as a server: the author's own words, in reach of every run.
fn service(queue: Option<String>, transport: McpTransport) -> McpSpec {
    McpSpec {
        enabled: true,
        pin: None,
        queue,
        sandbox: None,
        shared: true,
        terms: McpTerms::default(),
        tools: ToolFilter::default(),
        transport,
    }
}

/// What bounds requests, with defaults; out of range it is refused.
fn limits(
    section: &Section<'_, '_>,
    (loopback, networks): (Option<bool>, Vec<PrivateNetwork>),
    (max_bytes, max_redirects): (Option<u64>, Option<u32>),
) -> WebLimits {
    if max_bytes.is_some_and(|bytes| !(1..=MOST_BODY_BYTES).contains(&bytes)) {
        let rule = format!("out of range: expected 1 to {MOST_BODY_BYTES}");
        section.refuse_key(REST_TOOL.max_bytes.name, rule, None);
    }
    if max_redirects.is_some_and(|most| most > MOST_REDIRECTS) {
        let rule = format!("out of range: expected 0 to {MOST_REDIRECTS}");
        section.refuse_key(REST_TOOL.max_redirects.name, rule, None);
    }
    if networks.len() > MOST_NETWORKS {
        let rule = format!("at most {MOST_NETWORKS} networks");
        section.refuse_key(REST_TOOL.networks.name, rule, None);
    }
    WebLimits {
        loopback: loopback.unwrap_or(REST_TOOL.loopback.default_value),
        max_bytes: max_bytes.unwrap_or(REST_TOOL.max_bytes.default_value),
        max_redirects: max_redirects.unwrap_or(REST_TOOL.max_redirects.default_value),
        networks,
    }
}

impl Read for PrivateNetwork {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let text = String::read(node, reporter)?;
        match Self::parse(&text) {
            Ok(network) => Some(network),
            Err(rule) => {
                reporter.refuse(node, rule, None);
                None
            }
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": r"^[0-9a-f:.]+/[0-9]{1,3}$"})
    }
}

impl Read for HttpMethod {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let word = String::read(node, reporter)?;
        let method = Self::named(&word);
        if method.is_none() {
            let known = Self::ALL.map(Self::as_str).join(", ");
            reporter.refuse(node, format!("expected one of {known}"), None);
        }
        method
    }

    fn schema(_: &mut Schemas) -> Value {
        let upper = Self::ALL.map(|method| method.as_str().to_owned());
        let lower = Self::ALL.map(|method| method.as_str().to_ascii_lowercase());
        let words = [upper, lower].concat();
        json!({"enum": words})
    }
}

impl Read for StreamTerms {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &STREAMING, |section| {
            let known = Self::default();
            Self {
                answer_field: section
                    .get(&STREAMING.answer_field)
                    .unwrap_or(known.answer_field),
                discriminator_field: section
                    .get(&STREAMING.discriminator_field)
                    .unwrap_or(known.discriminator_field),
                done_value: section
                    .get(&STREAMING.done_value)
                    .unwrap_or(known.done_value),
                line_prefix: section
                    .get(&STREAMING.line_prefix)
                    .unwrap_or(known.line_prefix),
                token_field: section
                    .get(&STREAMING.token_field)
                    .unwrap_or(known.token_field),
                token_value: section
                    .get(&STREAMING.token_value)
                    .unwrap_or(known.token_value),
            }
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&STREAMING)
    }
}
