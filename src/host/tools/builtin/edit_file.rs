//! The tool `edit_file`. Does not see outside of the workspace.

use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{FileStep, change};
use super::change_log::{ChangeLog, FILE_BYTES};
use super::file_text::{FileText, listed, with_plain_ends};
use super::read_file::whole_text;
use super::workspace::{Refusal, Workspace};

/// Most places of an edit that are counted.
const MOST_PLACES: usize = 10;

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
     replaced. Edits are made in their order; where one cannot be made, the file stays as it was. Line ends need no care: \\n matches \\r\\n, and new \
     lines end as those that they replace."
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
    let edited = edited(&path, &text, &edits)?;
    let step = FileStep::Put {
        is_new: false,
        like: None,
        path,
        text: edited.into_bytes(),
    };
    change(workspace, vec![step], log).await
}

/// The text of the file after every edit, each made in the text that the one before left.
pub(super) fn edited(path: &str, text: &str, edits: &[Edit]) -> Result<String, Refusal> {
    let mut file = FileText::of(text);
    for (at, edit) in edits.iter().enumerate() {
        edit.make(&mut file).map_err(|(code, words)| {
            let message = format!("edit {}: {words}; {path:?} stays as it was", at + 1);
            Refusal { code, message }
        })?;
    }
    Ok(file.whole())
}

impl Edit {
    fn make(&self, file: &mut FileText) -> Result<(), (&'static str, String)> {
        let Self { all, new, old } = self;
        if old == new {
            let words = "its old and its new text are the same";
            return Err(("NO_CHANGE", words.to_owned()));
        }
        let (old, mut new) = (file.without_mark(old), file.without_mark(new));
        let (mut plain, _) = with_plain_ends(old);
        // An edit that is about the ends of lines is made as it is written.
        let as_written =
            with_plain_ends(new).0 == plain || new.contains("\r\n") && !old.contains("\r\n");
        let mut places: Vec<usize> = if plain.is_empty() {
            Vec::new()
        } else if *all {
            let places = file.text().match_indices(&plain);
            places.map(|(at, _)| at).collect()
        } else {
            first_places(file.text(), &plain)
        };
        if places.is_empty()
            && let Some(at) = at_open_end(file.text(), &plain)
        {
            // The last line of the file has no end, and gets none.
            plain.pop();
            let open = new.strip_suffix("\r\n").or(new.strip_suffix('\n'));
            new = open.unwrap_or(new);
            places.push(at);
        }
        if places.is_empty() {
            let words = "its old text is not in the file";
            return Err(("NO_MATCH", words.to_owned()));
        }
        if !all && places.len() > 1 {
            let lines: Vec<usize> = places.iter().map(|at| file.line_of(*at)).collect();
            let (times, lines) = (places.len(), listed(&lines));
            let more = if times == MOST_PLACES { " or more" } else { "" };
            let words = format!(
                "its old text occurs {times} times{more} in the file, in lines {lines}: give more of it, or all"
            );
            return Err(("MANY_MATCHES", words));
        }
        let added = places.len().saturating_mul(new.len());
        if file.text().len().saturating_add(added) > 2 * FILE_BYTES {
            let words = format!("the file would have more than {FILE_BYTES} bytes");
            return Err(("TOO_LARGE", words));
        }
        file.replace(&places, plain.len(), new, as_written);
        Ok(())
    }
}

/// The first places of a text in another one. They may overlap: it is not clear then which one is meant.
fn first_places(text: &str, old: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    let step = old.chars().next().map_or(1, char::len_utf8);
    while places.len() < MOST_PLACES
        && let Some(at) = text.get(from..).and_then(|rest| rest.find(old))
    {
        places.push(from + at);
        from += at + step;
    }
    places
}

/// The place of a text whose last line ends, where the file ends without that end.
fn at_open_end(text: &str, old: &str) -> Option<usize> {
    let open = old.strip_suffix('\n').filter(|open| !open.is_empty())?;
    text.strip_suffix(open).map(str::len)
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
            let got = edited("f", text, edits);
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
        check("a", &[edit("", "b", false)], Err("NO_MATCH"));
        check("a", &[edit("a", "a", false)], Err("NO_CHANGE"));
        check("a", &[edit("a", "a", true)], Err("NO_CHANGE"));
        check("aaa", &[edit("aa", "b", false)], Err("MANY_MATCHES"));
    }

    #[test]
    fn an_old_text_that_stands_twice_is_refused_with_both_lines() {
        let check = |text: &str, old: &str, expect: &str| {
            let refusal = edited("f", text, &[edit(old, "x", false)]).unwrap_err();
            assert_eq!(refusal.code, "MANY_MATCHES");
            assert!(refusal.message.contains(expect), "{}", refusal.message);
        };
        check(
            "a\nb\na\n",
            "a",
            "occurs 2 times in the file, in lines 1 and 3: ",
        );
        // With either end of a line it is the same text.
        check(
            "a\nb\r\na\r\nb\n",
            "a\nb",
            "2 times in the file, in lines 1 and 3: ",
        );
        check("}\n}\n}\n", "}\n}\n", "in lines 1 and 2: ");
        check(&"a\n".repeat(20), "a", "10 times or more");
    }

    #[test]
    fn line_ends_a_mark_and_an_open_end_stay() {
        let check = |text: &str, (old, new): (&str, &str), expect: &str| {
            let got = edited("f", text, &[edit(old, new, false)]);
            assert_eq!(got.as_deref().map_err(|r| r.code), Ok(expect));
        };
        check(
            "a\r\nb\r\nc\r\n",
            ("a\nb", "x\ny\nz"),
            "x\r\ny\r\nz\r\nc\r\n",
        );
        check("a\r\nb\r\n", ("a\r\nb", "x\r\ny\r\nz"), "x\r\ny\r\nz\r\n");
        check("a\r\nb\nc\n", ("b\nc", "b\nC\nd"), "a\r\nb\nC\nd\n");
        check("a\r\nb\n", ("a", "a\nx"), "a\r\nx\r\nb\n");
        check("a\nb\n", ("a\r\nb\r\n", "a\r\nx\r\n"), "a\nx\n");
        // These ends are the point of the edit.
        check("a\r\nb\n", ("a\r\nb", "a\nb"), "a\nb\n");
        check("a\nb\n", ("a", "a\r\nx"), "a\r\nx\nb\n");
        check("\u{feff}a\r\nb", ("a\n", "x\ny\n"), "\u{feff}x\r\ny\r\nb");
        check("\u{feff}a\nb\n", ("\u{feff}a", "c"), "\u{feff}c\nb\n");
        check("\u{feff}a\n", ("a", "\u{feff}c"), "\u{feff}c\n");
        check("a\nb", ("b\n", "x\n"), "a\nx");
        check("a\r\nb", ("b\r\n", "x\r\ny\r\n"), "a\r\nx\r\ny");
        check("a\nb", ("b", "x\n"), "a\nx\n");
        check("a\nb\n", ("b\n", "x\n"), "a\nx\n");
    }

    #[test]
    fn an_edit_that_would_fill_the_memory_is_refused() {
        let (text, new) = ("a".repeat(1 << 20), "b".repeat(1 << 10));
        let refusal = edited("f", &text, &[edit("a", &new, true)]).unwrap_err();
        assert_eq!(refusal.code, "TOO_LARGE");
    }
}
