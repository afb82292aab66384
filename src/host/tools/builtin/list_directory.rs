//! The tool `list_directory`. Does not see outside of the workspace.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use serde::Deserialize;
use serde_json::{Value, json};

use super::entry::EntryKind;
use super::workspace::{Refusal, Workspace};
use monolith_core::message::is_invisible;

/// Most entries that one call returns.
const ENTRIES: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListDirectory {
    path: String,
}

pub(super) fn description() -> String {
    format!(
        "Lists the entries of a directory of the workspace, one a line, sorted by name, directories with a trailing \
         slash. At most {ENTRIES} entries; a last line in brackets says when there are more. Names with unusual \
         characters are quoted."
    )
}

pub(super) fn properties() -> Value {
    json!({
        "path": {"type": "string", "description": "Path of the directory, relative to the workspace; \".\" is the workspace itself."},
    })
}

/// Lists the directory. Memory is bounded by the entries returned, not by the entries there are.
pub(super) async fn perform(
    workspace: &Workspace,
    request: ListDirectory,
) -> Result<String, Refusal> {
    let gathered = workspace.entries(&request.path, |entries| {
        let mut first = BTreeMap::new();
        let mut total = 0_u64;
        for entry in entries {
            let entry = entry?;
            total += 1;
            first.insert(entry.name, entry.kind == EntryKind::Folder);
            if first.len() > ENTRIES {
                first.pop_last();
            }
        }
        Ok((first, total))
    });
    let (first, total) = gathered.await?;
    let mut lines: Vec<String> = first
        .iter()
        .map(|(name, directory)| format!("{}{}", shown(name), if *directory { "/" } else { "" }))
        .collect();
    if total > ENTRIES as u64 {
        lines.push(format!("[the first {ENTRIES} of {total} entries]"));
    }
    Ok(lines.join("\n"))
}

/// A name that is not UTF-8.
#[expect(
    clippy::unnecessary_debug_formatting,
    reason = "the quotes and escapes are what is wanted"
)]
fn quoted_bytes(name: &OsStr) -> String {
    format!("{name:?}")
}

/// The name as it is, or quoted with escapes where a line could not hold it, where not all of it would be seen, or where it is not
/// UTF-8. One that could be taken for a quoted name or a note follows `./`, so it can be given to a tool as it is listed.
pub(super) fn shown(name: &OsStr) -> String {
    let Some(plain) = name.to_str() else {
        return quoted_bytes(name);
    };
    if !plain.contains(is_invisible) {
        let lead = if plain.starts_with(['"', '[']) {
            "./"
        } else {
            ""
        };
        return format!("{lead}{plain}");
    }
    let mut quoted = String::from("\"");
    for c in plain.chars() {
        match c {
            '"' | '\\' | '\n' | '\r' | '\t' => quoted.extend(c.escape_default()),
            c if is_invisible(c) => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_seen_whole_is_quoted() {
        let check = |name: &str, expect: &str| assert_eq!(shown(OsStr::new(name)), expect);
        check("plain name.txt", "plain name.txt");
        check("\"quoted\"", "./\"quoted\"");
        check("[id].tsx", "./[id].tsx");
        check("[a\nb]", "\"[a\\nb]\"");
        check("a\nb", "\"a\\nb\"");
        check("a\u{202e}txt.exe", "\"a\\u{202e}txt.exe\"");
        check("a\u{a0}b\u{2800}", "\"a\\u{a0}b\\u{2800}\"");
        check("é 漢", "é 漢");
    }
}
