//! Reads tools that are requests to web services. Sends nothing.

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::keys::{OPENAPI, OpenapiEntry, REST_TOOL, RestEntry};
use super::reporter::Reporter;
use super::section::{Judge, Section};
use super::transport::{McpSpec, McpTransport};
use super::tree::Node;
use crate::contract::{
    DefinitionFault, HttpMethod, MOST_NETWORKS, McpTerms, OpenapiTerms, PrivateNetwork, RestTool,
    ToolFilter, WebLimits, check_address, placeholders,
};

/// Prefix of the placeholders that represent arguments.
const ARGUMENTS: &str = "parameters.";

impl Judge for RestEntry {
    type Output = McpSpec;

    fn judge(self, section: &Section<'_, '_>) -> Option<McpSpec> {
        refuse_networks(section, &self.networks);
        for (name, text) in &self.headers {
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
            body_template: self.body_template,
            description: self.description?,
            method: self.method?,
            parameters_schema: self.parameters_schema.unwrap_or_else(no_arguments),
            streaming: self.streaming,
            url: self.url?,
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
            headers: self.headers,
            limits: WebLimits {
                loopback: self.loopback,
                max_bytes: self.max_bytes,
                max_redirects: self.max_redirects,
                networks: self.networks,
            },
            tool: Box::new(tool),
        };
        Some(service(self.queue, transport))
    }
}

impl Judge for OpenapiEntry {
    type Output = McpSpec;

    fn judge(self, section: &Section<'_, '_>) -> Option<McpSpec> {
        refuse_networks(section, &self.networks);
        let base_url = self.base_url.as_deref();
        if !self.headers.is_empty() && base_url.is_none() {
            let rule = "`headers` need a `base_url`: else the description decides where they go";
            section.refuse_key(OPENAPI.headers.name, rule, None);
        }
        if base_url.is_some_and(|url| url.contains(['?', '#'])) {
            let rule = "paths come behind it, so it has neither a query nor a fragment";
            section.refuse_key(OPENAPI.base_url.name, rule, None);
        }
        let terms = OpenapiTerms {
            base_url: self.base_url,
            include_methods: self.include_methods,
            limits: WebLimits {
                loopback: self.loopback,
                max_bytes: self.max_bytes,
                max_redirects: self.max_redirects,
                networks: self.networks,
            },
            spec: self.spec?,
            tags: self.tags,
        };
        if terms.is_at_address()
            && let Err(rule) = check_address(&terms.spec)
        {
            section.refuse_key(OPENAPI.spec.name, rule, None);
        }
        let transport = McpTransport::Openapi {
            headers: self.headers,
            terms: Box::new(terms),
        };
        Some(McpSpec {
            pin: self.pin,
            tools: ToolFilter {
                allowed: self.tools_allowed,
                denied: self.tools_denied,
            },
            ..service(self.queue, transport)
        })
    }
}

fn refuse_networks(section: &Section<'_, '_>, networks: &[PrivateNetwork]) {
    if networks.len() > MOST_NETWORKS {
        let rule = format!("at most {MOST_NETWORKS} networks");
        section.refuse_key(REST_TOOL.networks.name, rule, None);
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

impl Read for HttpMethod {
    type Output = Self;

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
