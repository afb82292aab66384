//! The changes that a file-writing tool call would make, computed the way the tool does it. Changes nothing.

use std::path::PathBuf;

use serde::de::DeserializeOwned;

use super::apply_patch::{self, ApplyPatch, Planned};
use super::edit_file::{self, EditFile};
use super::read_file::whole_text;
use super::workspace::{Refusal, Workspace};
use super::write_file::WriteFile;
use crate::tools::withheld::Withheld;
use monolith_core::message::ObjectText;

/// The change that a call would make to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path that the call gives.
    pub path: String,
    /// The current content; `None` if the file does not exist.
    pub before: Option<String>,
    /// The content after the call; `None` if the file would not exist.
    pub after: Option<String>,
}

impl FileChange {
    /// Returns the file changes that a built-in tool call would make in that folder, or why it would fail; `None` if the tool
    /// writes no files.
    ///
    /// A file is opened as the tool opens it: nothing outside the folder is read, and nothing of monolith's own state.
    pub async fn of_call(
        root: PathBuf,
        withheld: Withheld,
        tool: &str,
        arguments: &ObjectText,
    ) -> Option<Result<Vec<Self>, String>> {
        let call = match tool {
            "apply_patch" => read(arguments).map(Call::Patch),
            "edit_file" => read(arguments).map(Call::Edit),
            "write_file" => read(arguments).map(Call::Write),
            _ => return None,
        };
        let call = match call {
            Ok(call) => call,
            Err(fault) => return Some(Err(fault)),
        };
        let workspace = match Workspace::open(root, withheld) {
            Ok(workspace) => workspace,
            Err(fault) => return Some(Err(format!("the workspace cannot be opened: {fault}"))),
        };
        let found = match call {
            Call::Edit(request) => edit(&workspace, request).await.map(|one| vec![one]),
            Call::Patch(request) => patch(&workspace, &request).await,
            Call::Write(request) => write(&workspace, request).await.map(|one| vec![one]),
        };
        Some(found.map_err(|refusal| refusal.message))
    }
}

enum Call {
    Edit(EditFile),
    Patch(ApplyPatch),
    Write(WriteFile),
}

fn read<C: DeserializeOwned>(arguments: &ObjectText) -> Result<C, String> {
    serde_json::from_str(arguments.as_str()).map_err(|fault| fault.to_string())
}

async fn edit(workspace: &Workspace, request: EditFile) -> Result<FileChange, Refusal> {
    let path = request.path.clone();
    let before = whole_text(workspace, &path).await?;
    let after = edit_file::edited(&path, &before, &request.edits)?;
    may_put(workspace, &path).await?;
    Ok(FileChange {
        path,
        before: Some(before),
        after: Some(after),
    })
}

async fn write(workspace: &Workspace, request: WriteFile) -> Result<FileChange, Refusal> {
    let WriteFile { content, path } = request;
    let before = text_there(workspace, &path).await?;
    may_put(workspace, &path).await?;
    Ok(FileChange {
        before,
        path,
        after: Some(content),
    })
}

async fn patch(workspace: &Workspace, request: &ApplyPatch) -> Result<Vec<FileChange>, Refusal> {
    let mut changes = Vec::new();
    for file in apply_patch::planned(workspace, request).await? {
        let Planned {
            path,
            before,
            after,
            is_new,
            is_rewritten,
            ..
        } = file;
        let before = match before {
            Some(before) => Some(before),
            None if is_new => text_there(workspace, &path).await?,
            None => Some(whole_text(workspace, &path).await?),
        };
        if is_new && before.is_some() {
            return Err(Refusal {
                code: "ALREADY_EXISTS",
                message: format!("{path:?} is there already"),
            });
        }
        if after.is_some() || is_rewritten {
            may_put(workspace, &path).await?;
        }
        changes.push(FileChange {
            path,
            before,
            after,
        });
    }
    Ok(changes)
}

/// Checks that a file can be written at that path.
async fn may_put(workspace: &Workspace, path: &str) -> Result<(), Refusal> {
    let look = workspace.look(path, |beneath, path| beneath.is_writable(path).map(drop));
    look.await
}

/// The text of a file; `None` if it is not there.
async fn text_there(workspace: &Workspace, path: &str) -> Result<Option<String>, Refusal> {
    match whole_text(workspace, path).await {
        Ok(text) => Ok(Some(text)),
        Err(Refusal {
            code: "NOT_FOUND", ..
        }) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}
