//! How a system prompt describes the model's tools, by profile. Does not know when tools are exposed.

use std::fmt::Write as _;

use crate::adapter::function_tool::FunctionTool;
use crate::adapter::marks::{LLAMA3, TAGGED};
use crate::contract::{Terms, TextProfile};

/// The part of a system prompt about the tools and how to call them; none if no tool is exposed.
pub(super) fn tools(profile: TextProfile, terms: &Terms) -> Option<String> {
    let marks = match profile {
        TextProfile::Hermes | TextProfile::Qwen => TAGGED,
        TextProfile::Llama3 => LLAMA3,
    };
    let offers: Vec<String> = FunctionTool::exposed(terms)
        .iter()
        .map(|tool| {
            let json = serde_json::to_string(tool);
            debug_assert!(json.is_ok(), "a tool's definition did not serialise");
            marks.in_json(&json.unwrap_or_default())
        })
        .collect();
    if offers.is_empty() {
        return None;
    }
    let listed = offers.join("\n");
    Some(match profile {
        TextProfile::Hermes => hermes(&listed),
        TextProfile::Qwen => qwen(&listed),
        TextProfile::Llama3 => llama3(&listed),
    })
}

fn hermes(tools: &str) -> String {
    let mut text = String::from(
        "You are a function calling AI model. You are provided with function signatures within <tools></tools> XML tags. \
         You may call one or more functions to assist with the user query. Don't make assumptions about what values to \
         plug into functions. Here are the available tools:\n",
    );
    let _ = write!(
        text,
        "<tools>\n{tools}\n</tools>\n\
         For each function call return a JSON object with the function name and its arguments within \
         <tool_call></tool_call> XML tags as follows:\n\
         <tool_call>\n{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call>"
    );
    text
}

fn qwen(tools: &str) -> String {
    format!(
        "# Tools\n\n\
         You may call one or more functions to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n\
         <tools>\n{tools}\n</tools>\n\n\
         For each function call, return a json object with function name and arguments within <tool_call></tool_call> \
         XML tags:\n\
         <tool_call>\n{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call>"
    )
}

fn llama3(tools: &str) -> String {
    format!(
        "You have access to the following functions. To call a function, respond with a JSON object for a function call \
         with its proper arguments and nothing else.\n\
         Respond in the format {{\"name\": function name, \"parameters\": dictionary of argument name and its value}}. \
         Do not use variables.\n\n{tools}"
    )
}
