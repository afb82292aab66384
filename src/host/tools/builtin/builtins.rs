//! The list of built-in tools and their calls. Does not know other servers.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::change_log::ChangeLog;
use super::git_guard::GitGuard;
use super::http_get::HttpGet;
use super::workspace::{Refusal, Workspace};
use super::{
    apply_patch, edit_file, glob, grep, http_get, list_directory, read_file, shell, write_file,
};
use crate::tools::address_guard::SystemResolver;
use crate::tools::envelope::ToolResponse;
use crate::tools::offer::{Described, Offer};
use crate::tools::withheld::Withheld;
use crate::tools::{CallTerms, Clock, ShellSpec, ToolServerError};
use monolith_core::contract::{HttpGetTerms, ToolCapability};
use monolith_core::message::{ObjectText, rfc3339};

/// The built-in tools of one workspace.
#[derive(Debug)]
pub(in crate::tools) struct Builtins {
    git: Arc<GitGuard>,
    /// The `http_get` client, if the contract has terms for it.
    http_get: Option<HttpGet>,
    /// The settings for commands; `None` if the host cannot run any.
    shell: Option<ShellSpec>,
    tools: Vec<(Tool, ToolCapability)>,
    workspace: Workspace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    ApplyPatch,
    Clock,
    EditFile,
    Echo,
    Glob,
    Grep,
    HttpGet,
    ListDirectory,
    ReadFile,
    Shell,
    WriteFile,
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
        (http_get, shell): (Option<HttpGetTerms>, Option<ShellSpec>),
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
        let http_get = http_get.map(|terms| HttpGet::new(terms, Arc::new(SystemResolver)));
        let builtins = Self {
            git: GitGuard::of_process(),
            http_get,
            shell,
            tools,
            workspace,
        };
        Ok((builtins, offer.tools))
    }

    /// Performs one call. None if no chosen tool has that name.
    pub(in crate::tools) async fn call(
        &self,
        name: &str,
        arguments: &ObjectText,
        terms: &CallTerms<'_>,
    ) -> Option<ToolResponse> {
        let (tool, _) = self.tools.iter().find(|(tool, _)| tool.name() == name)?;
        let log = ChangeLog::new(terms.files.cloned());
        if *tool == Tool::Shell {
            let host = (self.shell.as_ref(), &self.workspace, &self.git);
            let done = match decode(arguments) {
                Ok(request) => shell::perform(host, request, terms, &log).await,
                Err(refusal) => Err(refusal),
            };
            let response = done.unwrap_or_else(Refusal::response);
            return Some(response.with_changes(log.take()));
        }
        let outcome = self.perform(*tool, arguments, terms.clock, &log).await;
        let response = match outcome {
            Ok(text) => ToolResponse::of_text(text),
            Err(refusal) => refusal.response(),
        };
        Some(response.with_changes(log.take()))
    }

    async fn perform(
        &self,
        tool: Tool,
        arguments: &ObjectText,
        clock: &dyn Clock,
        log: &ChangeLog,
    ) -> Result<String, Refusal> {
        let workspace = &self.workspace;
        match tool {
            Tool::ApplyPatch => apply_patch::perform(workspace, decode(arguments)?, log).await,
            Tool::Clock => decode(arguments).map(|NoArguments {}| rfc3339(clock.unix_ms())),
            Tool::Echo => decode(arguments).map(|EchoArguments { text }| text),
            Tool::EditFile => edit_file::perform(workspace, decode(arguments)?, log).await,
            Tool::Glob => glob::perform(workspace, decode(arguments)?).await,
            Tool::Grep => grep::perform(workspace, decode(arguments)?).await,
            Tool::HttpGet => match &self.http_get {
                Some(web) => web.perform(decode(arguments)?).await,
                None => Err(Refusal {
                    code: "URL_NOT_ALLOWED",
                    message: "the contract allows no host".to_owned(),
                }),
            },
            Tool::ListDirectory => list_directory::perform(workspace, decode(arguments)?).await,
            Tool::ReadFile => read_file::perform(workspace, decode(arguments)?).await,
            // `shell` builds its response elsewhere.
            Tool::Shell => Err(Refusal {
                code: "TOOL_UNKNOWN",
                message: "shell is not performed here".to_owned(),
            }),
            Tool::WriteFile => write_file::perform(workspace, decode(arguments)?, log).await,
        }
    }
}

impl Tool {
    const ALL: [Self; 11] = [
        Self::ApplyPatch,
        Self::Clock,
        Self::EditFile,
        Self::Echo,
        Self::Glob,
        Self::Grep,
        Self::HttpGet,
        Self::ListDirectory,
        Self::ReadFile,
        Self::Shell,
        Self::WriteFile,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::ApplyPatch => "apply_patch",
            Self::Clock => "clock",
            Self::EditFile => "edit_file",
            Self::Echo => "echo",
            Self::Glob => "glob",
            Self::Grep => "grep",
            Self::HttpGet => "http_get",
            Self::ListDirectory => "list_directory",
            Self::ReadFile => "read_file",
            Self::Shell => "shell",
            Self::WriteFile => "write_file",
        }
    }

    /// Returns the hints of the tool: if it writes and if it is idempotent.
    fn annotations(self) -> Value {
        let writes = matches!(
            self,
            Self::ApplyPatch | Self::EditFile | Self::Shell | Self::WriteFile
        );
        json!({
            "destructiveHint": writes,
            "idempotentHint": !matches!(self, Self::ApplyPatch | Self::EditFile | Self::Shell),
            "openWorldHint": self == Self::HttpGet,
            "readOnlyHint": !writes,
        })
    }

    /// Returns the pinned description. Changing a word here changes the hash of every contract that exposes the tool.
    fn describe(self) -> Described {
        let (description, properties, required) = match self {
            Self::ApplyPatch => (
                apply_patch::description(),
                apply_patch::properties(),
                json!(["patch"]),
            ),
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
            Self::EditFile => (
                edit_file::description(),
                edit_file::properties(),
                json!(["path", "edits"]),
            ),
            Self::Glob => (glob::description(), glob::properties(), json!(["pattern"])),
            Self::Grep => (grep::description(), grep::properties(), json!(["pattern"])),
            Self::HttpGet => (
                http_get::description(),
                http_get::properties(),
                json!(["url"]),
            ),
            Self::WriteFile => (
                write_file::description(),
                write_file::properties(),
                json!(["path", "content"]),
            ),
            Self::Shell => (
                shell::description(),
                shell::properties(),
                json!(["command"]),
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
            annotations: self.annotations(),
            description,
            input_schema: Described::only(&properties, &required),
            name: self.name().to_owned(),
        }
    }
}

fn decode<T: DeserializeOwned>(arguments: &ObjectText) -> Result<T, Refusal> {
    serde_json::from_str(arguments.as_str()).map_err(|error| Refusal {
        code: "INVALID_ARGUMENTS",
        message: format!("the arguments do not fit the tool: {error}"),
    })
}
