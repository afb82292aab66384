//! What a contract holds of tools that are web requests. Plain data; the factory decides it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HttpMethod;
use crate::contract::{PrivateNetwork, recorded_url};

/// What bounds the requests of a tool, whatever it asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebLimits {
    /// Whether the service may be on this machine.
    pub loopback: bool,
    /// Bytes of a body that are returned; the rest is left out.
    pub max_bytes: u64,
    /// Redirects that are followed, within the service.
    pub max_redirects: u32,
    /// Networks that are not public and that the service may be in; left out where it may be in none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<PrivateNetwork>,
}

/// A tool that is one request, as the contract sees it. Its description and its schema are those of its tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestTerms {
    /// The body with places for arguments; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_template: Option<Value>,
    /// What bounds its requests.
    pub limits: WebLimits,
    /// Its method.
    pub method: HttpMethod,
    /// How its answer is read where it comes as a stream of events; left out where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<StreamTerms>,
}

/// The tools of a description of a service, as the contract sees them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenapiTerms {
    /// The address of the service, where its author says; else the description does.
    pub base_url: Option<String>,
    /// The methods that are taken; empty: all.
    pub include_methods: Vec<HttpMethod>,
    /// What bounds requests.
    pub limits: WebLimits,
    /// The file or the address of the description, as its author wrote it.
    pub spec: String,
    /// The tags one of which an operation has; empty: any.
    pub tags: Vec<String>,
}

impl OpenapiTerms {
    /// Whether the description is at an address.
    #[must_use]
    pub fn is_at_address(&self) -> bool {
        self.spec.contains("://")
    }

    /// Where the description is, as a contract or a message may say it.
    #[must_use]
    pub fn recorded_spec(&self) -> String {
        if self.is_at_address() {
            recorded_url(&self.spec)
        } else {
            self.spec.clone()
        }
    }
}

/// How the events of a stream lead to an answer: each is a line with a JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamTerms {
    /// The member of the last event that is the whole answer.
    pub answer_field: String,
    /// The member that says which kind of event it is.
    pub discriminator_field: String,
    /// The kind of the last event.
    pub done_value: String,
    /// What lines with events begin with; other lines are passed over.
    pub line_prefix: String,
    /// The member of an event that is a piece of the answer.
    pub token_field: String,
    /// The kind of events with pieces.
    pub token_value: String,
}

impl Default for StreamTerms {
    fn default() -> Self {
        Self {
            answer_field: "answer".to_owned(),
            discriminator_field: "type".to_owned(),
            done_value: "done".to_owned(),
            line_prefix: String::new(),
            token_field: "content".to_owned(),
            token_value: "token".to_owned(),
        }
    }
}
