//! What a call of a tool that writes files would change, found as the tool itself would find it. Changes nothing.

use std::path::PathBuf;

use super::edit_file::{self, EditFile};
use super::read_file::whole_text;
use super::refusal::Refusal;
use super::workspace::Workspace;
use super::write_file::WriteFile;
use crate::message::ObjectText;
use crate::tools::withheld::Withheld;

/// What a call would make of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    /// The path that the call gives.
    pub(crate) path: String,
    /// What it holds now; none where it is not there.
    pub(crate) before: Option<String>,
    /// What it would hold.
    pub(crate) after: String,
}

impl FileChange {
    /// What a call of a built-in tool would make of its file in that folder, or why it would fail; none of a tool that writes none.
    ///
    /// The file is opened as the tool opens it: nothing outside the folder is read, and nothing of monolith's own state.
    pub(crate) async fn of_call(
        root: PathBuf,
        withheld: Withheld,
        tool: &str,
        arguments: &ObjectText,
    ) -> Option<Result<Self, String>> {
        let call = match tool {
            "edit_file" => serde_json::from_str(arguments.as_str()).map(Call::Edit),
            "write_file" => serde_json::from_str(arguments.as_str()).map(Call::Write),
            _ => return None,
        };
        let call = match call {
            Ok(call) => call,
            Err(fault) => return Some(Err(fault.to_string())),
        };
        let workspace = match Workspace::open(root, withheld) {
            Ok(workspace) => workspace,
            Err(fault) => return Some(Err(format!("the workspace cannot be opened: {fault}"))),
        };
        let found = match call {
            Call::Edit(request) => edit(&workspace, request).await,
            Call::Write(request) => write(&workspace, request).await,
        };
        Some(found.map_err(|refusal| refusal.message))
    }
}

enum Call {
    Edit(EditFile),
    Write(WriteFile),
}

async fn edit(workspace: &Workspace, request: EditFile) -> Result<FileChange, Refusal> {
    let path = request.path.clone();
    let before = whole_text(workspace, &path).await?;
    let after = edit_file::edited(&path, before.clone(), &request.edits)?;
    Ok(FileChange {
        path,
        before: Some(before),
        after,
    })
}

async fn write(workspace: &Workspace, request: WriteFile) -> Result<FileChange, Refusal> {
    let WriteFile { content, path } = request;
    let before = match whole_text(workspace, &path).await {
        Ok(text) => Some(text),
        Err(Refusal {
            code: "NOT_FOUND", ..
        }) => None,
        Err(refusal) => return Err(refusal),
    };
    Ok(FileChange {
        path,
        before,
        after: content,
    })
}
