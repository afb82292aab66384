//! The tool `edit_file`. Does not see outside of the workspace.

use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{FileStep, change};
use super::change_log::ChangeLog;
use super::read_file::whole_text;
use super::workspace::{Refusal, Workspace};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    pub(super) edits: Vec<Edit>,
    pub(super) path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    #[serde(default)]
    all: bool,
    new: String,
    old: String,
}

pub(super) fn description() -> String {
    "Replaces parts of a text file of the workspace. Each edit's old text must stand in the file exactly once, or all is true and each place is \
     replaced. Edits are made in their order; where one cannot be made, the file stays as it was."
        .to_owned()
}

pub(super) fn properties() -> Value {
    json!({
        "path": {"type": "string", "description": "Path of the file, relative to the workspace."},
        "edits": {"type": "array", "minItems": 1, "items": {
            "type": "object",
            "properties": {
                "old": {"type": "string", "minLength": 1, "description": "The text to replace, exactly as it stands."},
                "new": {"type": "string", "description": "The text to put in its place."},
                "all": {"type": "boolean", "description": "Whether to replace each place where it stands. Default false."},
            },
            "required": ["old", "new"],
            "additionalProperties": false,
        }},
    })
}

pub(super) async fn perform(
    workspace: &Workspace,
    request: EditFile,
    log: &ChangeLog,
) -> Result<String, Refusal> {
    let EditFile { edits, path } = request;
    let text = whole_text(workspace, &path).await?;
    let edited = edited(&path, text, &edits)?;
    let step = FileStep::Put {
        is_new: false,
        path,
        text: edited.into_bytes(),
    };
    change(workspace, vec![step], log).await
}

pub(super) fn edited(path: &str, mut text: String, edits: &[Edit]) -> Result<String, Refusal> {
    for (at, Edit { all, new, old }) in edits.iter().enumerate() {
        let refuse = |code, words: String| {
            let message = format!("edit {}: {words}; {path:?} stays as it was", at + 1);
            Err(Refusal { code, message })
        };
        let places = if old.is_empty() {
            0
        } else {
            text.matches(old.as_str()).count()
        };
        match places {
            0 => {
                return refuse(
                    "NO_MATCH",
                    "its old text does not stand in the file".to_owned(),
                );
            }
            1 => text = text.replacen(old.as_str(), new, 1),
            _ if *all => text = text.replace(old.as_str(), new),
            n => {
                return refuse(
                    "MANY_MATCHES",
                    format!("its old text stands {n} times in the file: give more of it, or all"),
                );
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit {
            all,
            new: new.to_owned(),
            old: old.to_owned(),
        }
    }

    #[test]
    fn edits_are_made_in_order_and_all_or_none() {
        let check = |text: &str, edits: &[Edit], expect: Result<&str, &str>| {
            let got = edited("f", text.to_owned(), edits);
            assert_eq!(got.as_deref().map_err(|r| r.code), expect);
        };
        check(
            "a b",
            &[edit("a", "b", false), edit("b b", "c", false)],
            Ok("c"),
        );
        check("a a", &[edit("a", "b", false)], Err("MANY_MATCHES"));
        check("a a", &[edit("a", "b", true)], Ok("b b"));
        check(
            "a",
            &[edit("a", "b", false), edit("x", "y", true)],
            Err("NO_MATCH"),
        );
        check("a", &[edit("", "b", true)], Err("NO_MATCH"));
    }
}
