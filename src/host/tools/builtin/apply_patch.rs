//! The tool `apply_patch`. Does not see outside of the workspace.

mod hunks;
mod patch;

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use self::hunks::{HunkFault, patched};
use self::patch::{Wanted, read};
use super::change::{FileStep, change};
use super::change_log::ChangeLog;
use super::file_text::listed;
use super::read_file::whole_text;
use super::workspace::{Refusal, Workspace};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplyPatch {
    patch: String,
}

pub(super) fn description() -> String {
    "Changes several text files of the workspace at once. The patch is one text: `*** Begin Patch`, then for each file `*** Add File: PATH` with lines \
     that begin with `+`, `*** Delete File: PATH`, or `*** Update File: PATH`, where `*** Move to: PATH` may follow, with hunks; then `*** End Patch`. \
     A hunk is lines that stand in the file one after the other: ` ` before a line that stays, `-` before one that goes, `+` before a new one; give three \
     that stay before and after. They must stand in the file once, or `@@ LINE` before the hunk names a line above them. Everything is judged first: where \
     one part does not fit, no file is changed. Nothing in .git is written."
        .to_owned()
}

pub(super) fn properties() -> Value {
    json!({"patch": {"type": "string", "description": "The whole patch, from `*** Begin Patch` to `*** End Patch`."}})
}

/// The effect of a patch on one file.
pub(super) struct Planned {
    pub(super) path: String,
    /// Its present content, if the patch was checked against it.
    pub(super) before: Option<String>,
    /// Its new content; `None` if it will not be there.
    pub(super) after: Option<String>,
    /// True if the file must not exist yet.
    pub(super) is_new: bool,
    /// True if another text of it gets a new name.
    pub(super) is_rewritten: bool,
    /// The file that it was before, if it has another name now.
    moved_from: Option<String>,
}

pub(super) async fn perform(
    workspace: &Workspace,
    request: ApplyPatch,
    log: &ChangeLog,
) -> Result<String, Refusal> {
    let planned = planned(workspace, &request).await?;
    let steps = planned.into_iter().map(|file| match file.after {
        Some(text) => FileStep::Put {
            is_new: file.is_new,
            like: file.moved_from,
            path: file.path,
            text: text.into_bytes(),
        },
        None => FileStep::Remove {
            is_rewritten: file.is_rewritten,
            path: file.path,
        },
    });
    change(workspace, steps.collect(), log).await
}

/// Returns the result of the patch for each file, in patch order. Changes nothing.
pub(super) async fn planned(
    workspace: &Workspace,
    request: &ApplyPatch,
) -> Result<Vec<Planned>, Refusal> {
    let mut wanted = read(&request.patch).map_err(|fault| Refusal {
        code: "INVALID_PATCH",
        message: format!("line {} of the patch: {}", fault.line, fault.rule),
    })?;
    settle_paths(workspace, &mut wanted)?;
    let mut planned = Vec::with_capacity(wanted.len());
    for file in wanted {
        match file {
            Wanted::Add { path, text } => planned.push(Planned {
                path,
                before: None,
                after: Some(text),
                is_new: true,
                is_rewritten: false,
                moved_from: None,
            }),
            Wanted::Delete { path } => planned.push(Planned {
                path,
                before: None,
                after: None,
                is_new: false,
                is_rewritten: false,
                moved_from: None,
            }),
            Wanted::Update {
                hunks,
                moved_to,
                path,
            } => {
                let text = whole_text(workspace, &path).await?;
                let after =
                    patched(&text, &hunks).map_err(|(n, fault)| no_fit(&path, n, &fault))?;
                let Some(new_path) = moved_to else {
                    planned.push(Planned {
                        path,
                        before: Some(text),
                        after: Some(after),
                        is_new: false,
                        is_rewritten: false,
                        moved_from: None,
                    });
                    continue;
                };
                let is_rewritten = after != text;
                planned.push(Planned {
                    path: new_path,
                    before: None,
                    after: Some(after),
                    is_new: true,
                    is_rewritten: false,
                    moved_from: Some(path.clone()),
                });
                planned.push(Planned {
                    path,
                    before: Some(text),
                    after: None,
                    is_new: false,
                    is_rewritten,
                    moved_from: None,
                });
            }
        }
    }
    Ok(planned)
}

/// Gives every path from the workspace. A patch that has a file twice does not say which part comes first, and is
/// refused; so is one that has a path as a file and as the folder of another file.
fn settle_paths(workspace: &Workspace, wanted: &mut [Wanted]) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    for path in wanted.iter_mut().flat_map(Wanted::paths) {
        *path = workspace.inside(path);
        let plain = Path::new(path.as_str()).components();
        let plain: PathBuf = plain.filter(|part| *part != Component::CurDir).collect();
        if !seen.insert(plain) {
            return Err(Refusal {
                code: "INVALID_PATCH",
                message: format!("the patch has {path:?} twice; no file was changed"),
            });
        }
    }
    let mut folders = seen.iter().flat_map(|path| path.ancestors().skip(1));
    if let Some(both) = folders.find(|folder| seen.contains(*folder)) {
        return Err(Refusal {
            code: "INVALID_PATCH",
            message: format!(
                "the patch has {:?} as a file and as a folder; use two patches; no file was changed",
                both.to_string_lossy()
            ),
        });
    }
    Ok(())
}

fn no_fit(path: &str, number: usize, fault: &HunkFault) -> Refusal {
    let (code, words) = match fault {
        HunkFault::Anchor(line) => (
            "NO_MATCH",
            format!("no line is {line:?}, which its @@ names"),
        ),
        HunkFault::Anchors { anchor, lines } => (
            "MANY_MATCHES",
            format!(
                "its @@ line {anchor:?} occurs in lines {}: put an @@ with an earlier line before it, or give more lines",
                listed(lines)
            ),
        ),
        HunkFault::Many(lines) => (
            "MANY_MATCHES",
            format!(
                "its lines occur {} times in the file, from lines {} on: give more of them, or a line above with @@",
                lines.len(),
                listed(lines)
            ),
        ),
        HunkFault::Missing { behind: 0 } => (
            "NO_MATCH",
            "its unchanged and removed lines are not in the file, one after the other".to_owned(),
        ),
        HunkFault::Missing { behind } => (
            "NO_MATCH",
            format!(
                "its unchanged and removed lines are not in the file, one after the other, from line {} on",
                behind + 1
            ),
        ),
        HunkFault::Unchanging => ("INVALID_PATCH", "it changes nothing".to_owned()),
    };
    Refusal {
        code,
        message: format!("hunk {number} of {path:?}: {words}; no file was changed"),
    }
}
