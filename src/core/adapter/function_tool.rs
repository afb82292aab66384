//! One tool as OpenAI's chat form declares it. Does not know which requests carry it.

use serde::Serialize;

use crate::contract::{Terms, ToolTerms};

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
