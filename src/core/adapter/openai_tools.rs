//! The tools of a request in OpenAI's two protocols. Does not know the rest of the body.

use serde::Serialize;

use super::json::put;
use crate::contract::{Terms, ToolTerms};
use crate::kernel::ToolExposure;

/// The tools of a request in `OpenAI`'s two protocols: `,"tools":[…]` and what goes with them, each tool declared in the
/// form of the protocol.
#[derive(Debug)]
pub(super) struct OpenaiTools(Option<Vec<u8>>);

impl OpenaiTools {
    pub(super) fn of<T: Serialize>(declared: &[T], terms: &Terms) -> Self {
        if declared.is_empty() {
            return Self(None);
        }
        let mut out = b",\"tools\":".to_vec();
        put(&mut out, &declared);
        if !terms.parallel_tool_calls {
            out.extend_from_slice(b",\"parallel_tool_calls\":false");
        }
        Self(Some(out))
    }

    /// The tools and their choice, one after the other; nothing where none is exposed.
    pub(super) fn sent(&self, exposure: ToolExposure) -> [&[u8]; 2] {
        match (&self.0, exposure) {
            (Some(tools), ToolExposure::Auto) => [tools, b",\"tool_choice\":\"auto\""],
            (Some(tools), ToolExposure::Forced) => [tools, b",\"tool_choice\":\"required\""],
            (None, _) | (_, ToolExposure::Withheld) => [b"", b""],
        }
    }
}

/// A tool as the protocols and templates declare it that descend from `OpenAI`'s chat: a function below a type.
#[derive(Serialize)]
pub(super) struct FunctionTool<'a> {
    r#type: &'static str,
    function: Declaration<'a>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a serde_json::Value,
}

impl<'a> FunctionTool<'a> {
    fn of(tool: &'a ToolTerms) -> Self {
        Self {
            r#type: "function",
            function: Declaration {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.input_schema,
            },
        }
    }

    /// The tools that `terms` expose, in their order.
    pub(super) fn exposed(terms: &'a Terms) -> Vec<Self> {
        terms.exposed_tools().map(Self::of).collect()
    }
}
