//! Tools of ours for the resources and prompts of a server. Sends nothing.

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, InputResponses, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, PaginatedRequestParams,
    ReadResourceRequest, ReadResourceRequestParams, ServerCapabilities,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call_result::{self, Block, CallResult};
use crate::tools::envelope::ToolResponse;
use crate::tools::offer::Described;
use monolith_core::contract::Beside;

/// A tool of ours that makes a request of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BesideTool {
    GetPrompt,
    ListPrompts,
    ListResourceTemplates,
    ListResources,
    ReadResource,
}

#[derive(Deserialize)]
struct PromptMessage<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    role: String,
}

impl BesideTool {
    /// The tools that the contract wants and the server can serve.
    pub(super) fn of(wanted: &[Beside], server: Option<&ServerCapabilities>) -> Vec<Self> {
        let mut tools = Vec::new();
        let has = |beside| wanted.contains(&beside);
        if has(Beside::Resources) && server.is_some_and(|server| server.resources.is_some()) {
            tools.extend([
                Self::ListResources,
                Self::ListResourceTemplates,
                Self::ReadResource,
            ]);
        }
        if has(Beside::Prompts) && server.is_some_and(|server| server.prompts.is_some()) {
            tools.extend([Self::ListPrompts, Self::GetPrompt]);
        }
        tools
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::GetPrompt => "get_prompt",
            Self::ListPrompts => "list_prompts",
            Self::ListResourceTemplates => "list_resource_templates",
            Self::ListResources => "list_resources",
            Self::ReadResource => "read_resource",
        }
    }

    pub(super) fn described(self) -> Described {
        let text = |description: &str| json!({"type": "string", "description": description});
        let cursor = json!({"cursor": text("`nextCursor` of the page before, for the next page.")});
        let (description, properties, required) = match self {
            Self::GetPrompt => (
                "Returns the messages of a prompt of this server.",
                json!({
                    "name": text("Its name, from list_prompts."),
                    "arguments": {
                        "type": "object",
                        "description": "Its arguments.",
                        "additionalProperties": {"type": "string"},
                    },
                }),
                json!(["name"]),
            ),
            Self::ListPrompts => ("Lists the prompts of this server.", cursor, json!([])),
            Self::ListResourceTemplates => (
                "Lists templates of addresses of resources of this server (RFC 6570).",
                cursor,
                json!([]),
            ),
            Self::ListResources => ("Lists the resources of this server.", cursor, json!([])),
            Self::ReadResource => (
                "Returns a resource of this server.",
                json!({"uri": text("Its address, from list_resources or made from a template.")}),
                json!(["uri"]),
            ),
        };
        Described {
            annotations: json!({"readOnlyHint": true}),
            description: description.to_owned(),
            input_schema: Described::only(&properties, &required),
            name: self.name().to_owned(),
        }
    }

    /// The request, with the input that the server asked for in the round before. The arguments fit the schema above.
    pub(super) fn request(
        self,
        arguments: &Value,
        input: Option<(InputResponses, Option<String>)>,
    ) -> ClientRequest {
        let text = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let page = || PaginatedRequestParams::default().with_cursor(text("cursor"));
        let (answers, state) =
            input.map_or((None, None), |(answers, state)| (Some(answers), state));
        match self {
            Self::GetPrompt => {
                let mut params = GetPromptRequestParams::new(text("name").unwrap_or_default());
                params.arguments = arguments
                    .get("arguments")
                    .and_then(Value::as_object)
                    .cloned();
                params.input_responses = answers;
                params.request_state = state;
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
            Self::ListPrompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page()))
            }
            Self::ListResourceTemplates => ClientRequest::ListResourceTemplatesRequest(
                ListResourceTemplatesRequest::with_param(page()),
            ),
            Self::ListResources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page()))
            }
            Self::ReadResource => {
                let mut params = ReadResourceRequestParams::new(text("uri").unwrap_or_default());
                params.input_responses = answers;
                params.request_state = state;
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
        }
    }

    /// Decodes the result: a list as its JSON, the texts and bytes of a resource, the messages of a prompt after their roles. Any
    /// other form becomes its JSON.
    pub(super) fn decode(self, result: &RawValue) -> Result<CallResult, String> {
        call_result::decode_with(result, |result| {
            let items = match self {
                Self::ListPrompts | Self::ListResourceTemplates | Self::ListResources => None,
                Self::ReadResource => result.items("contents")?,
                Self::GetPrompt => result.items("messages")?,
            };
            let Some(items) = items else {
                return Ok(ToolResponse::of_text(result.text()));
            };
            let mut response = ToolResponse::default();
            for item in items {
                if self == Self::ReadResource {
                    Block::of_resource(item).push_to(&mut response);
                    continue;
                }
                match serde_json::from_str(item.get()) {
                    Ok(PromptMessage { content, role }) => {
                        response.push_text(format!("{role}:"));
                        Block::of(content).push_to(&mut response);
                    }
                    Err(_) => response.push_text(item.get().to_owned()),
                }
            }
            Ok(response)
        })
    }
}
