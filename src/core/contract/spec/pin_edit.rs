//! Writes pins into the text of a contract file, and leaves everything else as its author wrote it. Opens no file.

use std::collections::BTreeMap;

use super::error::{Findings, Origin};
use super::keys::{FILE, SERVER, TOOLS};
use super::tree::{self, Key, Kind, Node};
use crate::contract::REST_PREFIX;
use crate::message::Digest;

/// Writes server pins into the text of a contract file: each replaces the server's pin or becomes its first key. Returns `None`
/// if a server's place is unknown here. The caller parses the result again and uses it only if nothing except the pins changed.
pub fn with_pins(text: &str, pins: &BTreeMap<String, Digest>) -> Option<String> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let findings = Findings::new(text, &[]);
    let root = tree::parse(text, Origin::File, &findings)?;
    let tools = root.below(FILE.tools.name)?;
    let mut edits = Vec::new();
    for (name, pin) in pins {
        let (section, name) = match name.strip_prefix(REST_PREFIX) {
            Some(own) => (TOOLS.openapi.name, own),
            None => (TOOLS.mcp.name, name.as_str()),
        };
        let Kind::Map(servers) = &tools.below(section)?.kind else {
            return None;
        };
        let mut found = servers.iter().filter(|(key, _)| key.text == name);
        let (key, server) = found.next()?;
        edits.push(edit(text, key, server, *pin)?);
    }
    // From the end on, so that every place stays where it is.
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.from));
    let mut edited = text.to_owned();
    for Edit { from, to, text } in edits {
        edited.get(from..to)?;
        edited.replace_range(from..to, &text);
    }
    Some(format!("{mark}{edited}"))
}

/// A stretch of the file and what takes its place.
struct Edit {
    from: usize,
    to: usize,
    text: String,
}

fn edit(text: &str, key: &Key, server: &Node, pin: Digest) -> Option<Edit> {
    let name = SERVER.pin.name;
    if server.is_null() {
        // It is defined elsewhere, and this lies over it.
        return value_edit(text, key, server, format!("{{{name}: \"{pin}\"}}"));
    }
    let Kind::Map(entries) = &server.kind else {
        return None;
    };
    if let Some((key, old)) = entries.iter().find(|(key, _)| key.text == name) {
        return value_edit(text, key, old, format!("\"{pin}\""));
    }
    let insert = |at: usize, text: String| Edit {
        from: at,
        to: at,
        text,
    };
    let (first, _) = entries.first()?;
    if text.get(server.place.offset..)?.starts_with('{') {
        let is_json = text.get(first.place.offset..)?.starts_with('"');
        let quote = if is_json { "\"" } else { "" };
        let at = server.place.offset + 1;
        return Some(insert(at, format!("{quote}{name}{quote}: \"{pin}\", ")));
    }
    // A separate line below that of the server's name.
    let line_end = key.place.offset + text.get(key.place.offset..)?.find('\n')?;
    let line_start = text.get(..first.place.offset)?.rfind('\n')? + 1;
    let indent = text.get(line_start..first.place.offset)?;
    let is_own_line = indent.bytes().all(|b| b == b' ') && line_start > line_end;
    let is_dos = text.get(..line_end)?.ends_with('\r');
    let end = if is_dos { "\r\n" } else { "\n" };
    is_own_line.then(|| insert(line_end + 1, format!("{indent}{name}: \"{pin}\"{end}")))
}

/// Replaces a key's scalar value with a text, or inserts it after the colon if there is no value.
fn value_edit(text: &str, key: &Key, value: &Node, new: String) -> Option<Edit> {
    if !matches!(value.kind, Kind::Scalar { .. }) {
        return None;
    }
    if value.place.len > 0 {
        return Some(Edit {
            from: value.place.offset,
            to: value.place.offset + value.place.len,
            text: new,
        });
    }
    let after = key.place.offset + key.place.len;
    let at = after + text.get(after..)?.find(':')? + 1;
    Some(Edit {
        from: at,
        to: at,
        text: format!(" {new}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the edited file; `P` is the pin.
    #[track_caller]
    fn check(text: &str, servers: &[&str], expect: Option<&str>) {
        let pin = Digest::of(b"new");
        let pins = servers.iter().map(|name| ((*name).to_owned(), pin));
        let edited = with_pins(text, &pins.collect());
        let shown = edited.map(|text| text.replace(&format!("\"{pin}\""), "P"));
        assert_eq!(shown.as_deref(), expect, "{text}");
    }

    #[test]
    fn a_pin_of_a_service_is_written_where_the_file_has_it() {
        check(
            "tools:\n  openapi:\n    shop:\n      spec: s.yaml\n",
            &["rest__shop"],
            Some("tools:\n  openapi:\n    shop:\n      pin: P\n      spec: s.yaml\n"),
        );
    }

    #[test]
    fn a_pin_is_written_into_every_form_of_a_server_and_nothing_else_changes() {
        check(
            "# mine\ntools: # here\n  mcp:\n    fs:   # files\n      # what is started\n      command: npx # from npm\n      args: [a]\nsystem: x\n",
            &["fs"],
            Some(
                "# mine\ntools: # here\n  mcp:\n    fs:   # files\n      pin: P\n      # what is started\n      command: npx # from npm\n      args: [a]\nsystem: x\n",
            ),
        );
        check(
            "tools:\r\n  mcp:\r\n    fs:\r\n        command: x\r\n",
            &["fs"],
            Some("tools:\r\n  mcp:\r\n    fs:\r\n        pin: P\r\n        command: x\r\n"),
        );
        check(
            "\u{feff}tools: {mcp: {a: {command: x, args: []}, 'b': {url: 'http://h'}}} # end",
            &["a", "b"],
            Some(
                "\u{feff}tools: {mcp: {a: {pin: P, command: x, args: []}, 'b': {pin: P, url: 'http://h'}}} # end",
            ),
        );
        check(
            "{\"tools\": {\"mcp\": {\"a\": {\"command\": \"x\"}}}}\n",
            &["a"],
            Some("{\"tools\": {\"mcp\": {\"a\": {\"pin\": P, \"command\": \"x\"}}}}\n"),
        );
        check(
            "tools: {mcp: {a: , b: ~, c: null}}\n",
            &["a", "b", "c"],
            Some("tools: {mcp: {a: {pin: P} , b: {pin: P}, c: {pin: P}}}\n"),
        );
        check(
            "tools:\n  mcp:\n    a:\n    b: ~ # elsewhere\n",
            &["a", "b"],
            Some("tools:\n  mcp:\n    a: {pin: P}\n    b: {pin: P} # elsewhere\n"),
        );
    }

    #[test]
    fn an_older_pin_gives_way_to_the_new_one() {
        for old in ["'0000'", "\"0000\"", "0000"] {
            check(
                &format!("tools:\n  mcp:\n    a:\n      command: x\n      pin: {old} # mine\n"),
                &["a"],
                Some("tools:\n  mcp:\n    a:\n      command: x\n      pin: P # mine\n"),
            );
        }
        check(
            "tools: {mcp: {a: {pin: null, command: x}}}",
            &["a"],
            Some("tools: {mcp: {a: {pin: P, command: x}}}"),
        );
    }

    #[test]
    fn a_server_without_a_place_in_the_file_gets_no_pin() {
        check("task: x\n", &["a"], None);
        check("tools: {mcp: {a: {command: x}}}", &["b"], None);
        check("tools: {mcp: {a: [x]}}", &["a"], None);
        check("tools: {mcp: {a: {}}}", &["a"], None);
        check("tools: [", &["a"], None);
    }
}
