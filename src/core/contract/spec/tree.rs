//! The file as a tree with positions. Knows YAML; does not know keys.

use std::collections::HashMap;

use serde_json::Value;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::error::{Findings, Origin, SourceRange};
use crate::contract::yaml::is_null;

/// Maximum nesting of a contract file.
pub(super) const MAX_DEPTH: usize = 32;

/// The most keys of one mapping.
const MAX_KEYS: usize = 4096;

/// A value of the file with its position.
#[derive(Clone, Debug)]
pub(in crate::contract) struct Node {
    pub(super) kind: Kind,
    pub(super) place: SourceRange,
}

/// The value of a node. A scalar stays text: the type that reads it decides what it is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// `plain` is false for quoted and block scalars, which are always text.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) place: SourceRange,
}

impl Node {
    /// The null at `place`.
    pub(super) fn null(place: SourceRange) -> Self {
        let kind = Kind::Scalar {
            text: String::new(),
            plain: true,
        };
        Self { kind, place }
    }

    /// The value one level down: of a key of a mapping, or at an index of a list.
    pub(super) fn below(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Scalar { .. } => None,
            Kind::List(items) => items.get(key.parse::<usize>().ok()?),
            Kind::Map(entries) => {
                let mut same = entries.iter().filter(|(known, _)| known.text == key);
                same.next().map(|(_, node)| node)
            }
        }
    }

    /// True for the YAML null: a plain `null`, `~` or nothing.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true } if is_null(text))
    }

    /// Describes it for a message about what was expected instead.
    pub(super) fn describe(&self) -> String {
        match &self.kind {
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a mapping".to_owned(),
            Kind::Scalar { .. } if self.is_null() => "null".to_owned(),
            Kind::Scalar { text, plain } => {
                let mut shown: String = text.chars().take(40).collect();
                if shown.len() < text.len() {
                    shown.push('…');
                }
                if *plain {
                    format!("`{shown}`")
                } else {
                    format!("the text {shown:?}")
                }
            }
        }
    }
}

/// An open collection while events arrive.
struct Open {
    node: Node,
    /// The key whose value comes next; mappings only.
    key: Option<Key>,
    /// The position of each key so far; mappings only.
    keys: HashMap<String, SourceRange>,
    /// Set once more entries arrive than it may have.
    full: bool,
}

/// Parses one YAML 1.2 document into a tree. JSON is YAML.
///
/// Findings are what a tree can still be built in spite of (a key that occurs twice, a tag); none is returned where
/// the text has no tree: a fault of syntax, an empty document, one that nests too deeply.
pub(super) fn parse(text: &str, origin: Origin, findings: &Findings<'_>) -> Option<Node> {
    let mut stack: Vec<Open> = Vec::new();
    let mut root: Option<Node> = None;
    let mut documents = 0;
    let place_of = |span: &Span| -> SourceRange {
        let range = span.byte_range().unwrap_or(0..0);
        origin.place(range.start, range.len())
    };
    let mut read = 0;
    for item in Parser::new_from_str(text) {
        let (event, span) = match item {
            Ok(item) => item,
            Err(error) => {
                let (offset, rule, help) = syntax_fault(&error, text, read);
                findings.add(&origin.place(offset, 1), "", rule, help);
                return None;
            }
        };
        let place = place_of(&span);
        read = span.byte_range().map_or(read, |range| read.max(range.end));
        let decorated = |anchor: usize, tag: bool| {
            let marks = [(anchor != 0, '&', "anchors"), (tag, '!', "tags")];
            for (_, sigil, what) in marks.into_iter().filter(|(is_there, ..)| *is_there) {
                let before = span.byte_range().and_then(|range| text.get(..range.start));
                let found = before.and_then(|before| mark_before(before, sigil));
                let at = found.map_or_else(|| place.clone(), |(at, len)| origin.place(at, len));
                let rule = format!("{what} are not allowed");
                findings.add(&at, "", rule, None);
            }
        };
        let (node, opens) = match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    findings.add(&place, "", "a file holds one document", None);
                    return root;
                }
                continue;
            }
            Event::Scalar(value, style, anchor, tag) => {
                decorated(anchor, tag.is_some());
                let plain = style == ScalarStyle::Plain;
                let kind = Kind::Scalar {
                    text: value.into_owned(),
                    plain,
                };
                (Node { kind, place }, false)
            }
            Event::SequenceStart(_, anchor, tag) => {
                decorated(anchor, tag.is_some());
                let kind = Kind::List(Vec::new());
                (Node { kind, place }, true)
            }
            Event::MappingStart(_, anchor, tag) => {
                decorated(anchor, tag.is_some());
                let kind = Kind::Map(Vec::new());
                (Node { kind, place }, true)
            }
            Event::Alias(_) => {
                let rule = "aliases are not allowed";
                findings.add(&place, "", rule, Some("write the value out".to_owned()));
                (Node::null(place), false)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = stack.pop() else { continue };
                (open.node, false)
            }
            _ => continue,
        };
        if opens {
            if stack.len() >= MAX_DEPTH {
                let rule = format!("nested deeper than {MAX_DEPTH} levels");
                findings.add(&node.place, "", rule, None);
                return None;
            }
            stack.push(Open {
                node,
                key: None,
                keys: HashMap::new(),
                full: false,
            });
        } else if let Some(parent) = stack.last_mut() {
            attach(parent, node, findings);
        } else {
            root = Some(node);
        }
    }
    if root.is_none() {
        let help = "monolith init writes a contract that works here".to_owned();
        findings.add(&origin.place(0, 0), "", "the file is empty", Some(help));
    }
    root
}

/// The position of an anchor or tag directly before a value, and its length; `before` ends where the value
/// begins.
fn mark_before(before: &str, sigil: char) -> Option<(usize, usize)> {
    let mut rest = before.trim_end();
    // At most an anchor and a tag.
    for _ in 0..2 {
        let start = rest
            .rfind(|c: char| c.is_whitespace() || matches!(c, '[' | '{' | ','))
            .map_or(0, |at| at + 1);
        let word = rest.get(start..)?;
        if word.starts_with(sigil) {
            return Some((start, word.len()));
        }
        rest = rest.get(..start)?.trim_end();
    }
    None
}

/// Puts a value that is whole where it belongs.
fn attach(parent: &mut Open, node: Node, findings: &Findings<'_>) {
    match &mut parent.node.kind {
        Kind::List(items) => items.push(node),
        Kind::Map(entries) => match parent.key.take() {
            None => {
                let text = match node.kind {
                    Kind::Scalar { text, .. } => text,
                    Kind::List(_) | Kind::Map(_) => {
                        findings.add(&node.place, "", "a key must be text", None);
                        String::new()
                    }
                };
                let place = node.place;
                parent.key = Some(Key { text, place });
            }
            // The first that is too many is reported; the rest is not kept.
            Some(key) if entries.len() >= MAX_KEYS => {
                if !std::mem::replace(&mut parent.full, true) {
                    let rule = format!("a mapping has at most {MAX_KEYS} keys");
                    findings.add(&key.place, "", rule, None);
                }
            }
            Some(key) => {
                if let Some(first) = parent.keys.get(&key.text) {
                    let help = findings.matter().then(|| findings.locate(first));
                    let help = help.map(|place| format!("it is first used {place}"));
                    let rule = format!("the key `{}` occurs twice", key.text);
                    findings.add(&key.place, "", rule, help);
                } else {
                    parent.keys.insert(key.text.clone(), key.place.clone());
                    entries.push((key, node));
                }
            }
        },
        Kind::Scalar { .. } => {}
    }
}

/// A fault that the scanner found: where, the rule, what to do. Two faults are elsewhere than where it noticed them:
/// a tab, and a quote that is never closed. `read` is where the last thing ended that it did understand.
fn syntax_fault(error: &ScanError, text: &str, read: usize) -> (usize, String, Option<String>) {
    let offset = error.marker().byte_offset().unwrap_or(0).min(text.len());
    let info = error.info();
    let from = read.min(offset);
    let line = text
        .get(..offset)
        .and_then(|before| before.rsplit('\n').next());
    let indent = line.filter(|line| line.trim().is_empty()).unwrap_or("");
    let indented = indent.find('\t').map(|at| offset - indent.len() + at);
    if info.contains("tab") || indented.is_some() {
        let tab = text.get(from..).and_then(|rest| rest.find("\n\t"));
        let tab = tab.map(|tab| from + tab + 1).or(indented);
        let at = tab.unwrap_or(offset);
        let help = Some("write spaces".to_owned());
        return (at, "a tab cannot indent".to_owned(), help);
    }
    let rest = text.get(from..).unwrap_or_default();
    let open = info.contains("multiline quoted") || offset == text.len();
    if open
        && info.contains("quoted scalar")
        && let Some(quote) = rest.find(['"', '\''])
    {
        let rule = "the quote is not closed, or a line of its text is not indented";
        let help = "close it with the same quote, or indent the lines that belong to it";
        return (from + quote, rule.to_owned(), Some(help.to_owned()));
    }
    // The scanner notices it at the end of the key, or only on the next line.
    if info.contains("simple key") {
        let rule = "a key without `:` after it".to_owned();
        let help = "write `key: value`, with a space after the colon".to_owned();
        return (offset, rule, Some(help));
    }
    let help = "YAML: `key: value`, deeper levels indented by spaces, brackets and quotes closed";
    (offset, info.clone(), Some(help.to_owned()))
}

/// A value as a node of the tree, all of it at one place; none if it nests deeper than `depth` levels.
pub(super) fn node_of(value: Value, place: &SourceRange, depth: usize) -> Option<Node> {
    let plain = |text: String| Kind::Scalar { text, plain: true };
    let kind = match value {
        Value::Null => plain("null".to_owned()),
        Value::Bool(flag) => plain(flag.to_string()),
        Value::Number(number) => plain(number.to_string()),
        Value::String(text) => Kind::Scalar { text, plain: false },
        Value::Array(items) => {
            let below = depth.checked_sub(1)?;
            let items = items.into_iter();
            let items = items.map(|item| node_of(item, place, below));
            Kind::List(items.collect::<Option<_>>()?)
        }
        Value::Object(members) => {
            let below = depth.checked_sub(1)?;
            let entries = members.into_iter().map(|(text, value)| {
                let place = place.clone();
                let node = node_of(value, &place, below)?;
                Some((Key { text, place }, node))
            });
            Kind::Map(entries.collect::<Option<_>>()?)
        }
    };
    Some(Node {
        kind,
        place: place.clone(),
    })
}
