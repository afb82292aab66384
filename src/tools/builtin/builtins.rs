//! The list of built-in tools and their calls. Does not know other servers.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::workspace::Workspace;
use super::{list_directory, read_file};
use crate::contract::ToolCapability;
use crate::message::{ObjectText, rfc3339};
use crate::tools::envelope::ToolResponse;
use crate::tools::offer::{Described, Offer};
use crate::tools::withheld::Withheld;
use crate::tools::{Clock, ToolServerError};

/// The built-in tools of one workspace.
#[derive(Debug)]
pub(in crate::tools) struct Builtins {
    tools: Vec<(Tool, ToolCapability)>,
    workspace: Workspace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Clock,
    Echo,
    ListDirectory,
    ReadFile,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EchoArguments {
    text: String,
}

impl Builtins {
    /// Chooses tools by name. `root` is the workspace, already resolved.
    pub(in crate::tools) fn choose(
        names: &[String],
        root: PathBuf,
        withheld: Withheld,
    ) -> Result<(Self, Vec<ToolCapability>), ToolServerError> {
        let mut offer = Offer::default();
        let mut chosen = Vec::with_capacity(names.len());
        for name in names {
            let Some(tool) = Tool::ALL.into_iter().find(|tool| tool.name() == name) else {
                let known = Tool::ALL.map(Tool::name).join(", ");
                return Err(ToolServerError::UnknownBuiltin {
                    known,
                    name: name.clone(),
                });
            };
            if !chosen.contains(&tool) {
                chosen.push(tool);
                offer.add("", tool.describe());
            }
        }
        let tools = chosen
            .into_iter()
            .zip(offer.tools.iter().cloned())
            .collect();
        let workspace =
            Workspace::open(root, withheld).map_err(|fault| ToolServerError::Workspace {
                reason: fault.to_string(),
            })?;
        let builtins = Self { tools, workspace };
        Ok((builtins, offer.tools))
    }

    /// Performs one call. None if no chosen tool has that name.
    pub(in crate::tools) async fn call(
        &self,
        name: &str,
        arguments: &ObjectText,
        clock: &dyn Clock,
    ) -> Option<ToolResponse> {
        let (tool, _) = self.tools.iter().find(|(tool, _)| tool.name() == name)?;
        let outcome = match tool {
            Tool::Clock => decode(arguments).map(|NoArguments {}| rfc3339(clock.unix_ms())),
            Tool::Echo => decode(arguments).map(|EchoArguments { text }| text),
            Tool::ListDirectory => match decode(arguments) {
                Ok(request) => list_directory::perform(&self.workspace, request).await,
                Err(refusal) => Err(refusal),
            },
            Tool::ReadFile => match decode(arguments) {
                Ok(request) => read_file::perform(&self.workspace, request).await,
                Err(refusal) => Err(refusal),
            },
        };
        Some(match outcome {
            Ok(text) => ToolResponse::of_text(text),
            Err(refusal) => ToolResponse::failed(refusal.code, refusal.message),
        })
    }
}

impl Tool {
    const ALL: [Self; 4] = [Self::Clock, Self::Echo, Self::ListDirectory, Self::ReadFile];

    const fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Echo => "echo",
            Self::ListDirectory => "list_directory",
            Self::ReadFile => "read_file",
        }
    }

    /// What is pinned: changing a word here changes the hash of every contract that exposes the tool.
    fn describe(self) -> Described {
        let (description, properties, required) = match self {
            Self::Clock => (
                "Returns the current date and time in UTC, in RFC 3339 form.".to_owned(),
                json!({}),
                json!([]),
            ),
            Self::Echo => (
                "Returns the given text unchanged.".to_owned(),
                json!({"text": {"type": "string", "description": "The text to return."}}),
                json!(["text"]),
            ),
            Self::ListDirectory => (
                list_directory::description(),
                list_directory::properties(),
                json!(["path"]),
            ),
            Self::ReadFile => (
                read_file::description(),
                read_file::properties(),
                json!(["path"]),
            ),
        };
        Described {
            annotations: annotations(),
            description,
            input_schema: Described::only(&properties, &required),
            name: self.name().to_owned(),
        }
    }
}

fn annotations() -> Value {
    json!({
        "destructiveHint": false,
        "idempotentHint": true,
        "openWorldHint": false,
        "readOnlyHint": true,
    })
}

fn decode<T: DeserializeOwned>(arguments: &ObjectText) -> Result<T, Refusal> {
    serde_json::from_str(arguments.as_str()).map_err(|error| Refusal {
        code: "INVALID_ARGUMENTS",
        message: format!("the arguments do not fit the tool: {error}"),
    })
}
