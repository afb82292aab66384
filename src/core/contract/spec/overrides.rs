//! Applies `--set` arguments to the tree. Does not know keys.

use super::error::{Findings, Origin, SourceRange};
use super::tree::{self, Key, Kind, Node};

/// Applies `--set` arguments, each `a.b=value`, in their order: the value replaces the one at the dotted key, and
/// mappings on the way are made where there are none. A number is the index of a list.
///
/// A value that begins with `[`, `{` or a quote is YAML; any other is one scalar, taken whole.
pub(super) fn apply(root: &mut Node, sets: &[String], findings: &Findings<'_>) {
    apply_some(root, sets, findings, Some);
}

/// The same of those overrides of which `own` gives a part: the key and its value, at the end of the override.
pub(super) fn apply_some<'s>(
    root: &mut Node,
    sets: &'s [String],
    findings: &Findings<'_>,
    own: impl Fn(&'s str) -> Option<&'s str>,
) {
    for (index, whole_set) in sets.iter().enumerate() {
        let Some(set) = own(whole_set) else {
            continue;
        };
        let base = whole_set.len() - set.len();
        let whole = Origin::Set { index, base };
        let Some((key, value)) = set.split_once('=') else {
            let help = "write key=value".to_owned();
            findings.add(&whole.place(0, set.len()), "", "no `=` in it", Some(help));
            continue;
        };
        let origin = Origin::Set {
            index,
            base: base + key.len() + 1,
        };
        let Some(value) = read_value(value, origin, findings) else {
            continue;
        };
        put(root, key, whole, value, findings);
    }
}

fn read_value(text: &str, origin: Origin, findings: &Findings<'_>) -> Option<Node> {
    if text.trim_start().starts_with(['[', '{', '"', '\'']) {
        return tree::parse(text, origin, findings);
    }
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    Some(Node {
        kind: Kind::Scalar {
            text: trimmed.to_owned(),
            plain: true,
        },
        place: origin.place(start, trimmed.len()),
    })
}

fn put(root: &mut Node, key: &str, origin: Origin, value: Node, findings: &Findings<'_>) {
    let mut target = root;
    let mut start = 0;
    for segment in key.split('.') {
        let place = origin.place(start, segment.len());
        start += segment.len() + 1;
        if segment.is_empty() {
            findings.add(&place, "", "a part of the key is empty", None);
            return;
        }
        match step(target, segment, &place) {
            Ok(next) => target = next,
            Err(rule) => {
                findings.add(&place, "", rule, None);
                return;
            }
        }
    }
    *target = value;
}

/// The node one level below `target`, made where it is missing.
fn step<'n>(
    target: &'n mut Node,
    segment: &str,
    place: &SourceRange,
) -> Result<&'n mut Node, String> {
    if target.is_null() {
        target.kind = Kind::Map(Vec::new());
        target.place = place.clone();
    }
    match &mut target.kind {
        Kind::Scalar { .. } => Err(format!(
            "it can have no key below it: `{segment}` is one too many"
        )),
        Kind::List(items) => {
            let len = items.len();
            let index = segment.parse::<usize>().ok();
            let item = index.and_then(|index| items.get_mut(index));
            item.ok_or_else(|| format!("`{segment}` is no index of a list of {len}"))
        }
        Kind::Map(entries) => {
            let known = entries.iter().position(|(key, _)| key.text == segment);
            let at = known.unwrap_or(entries.len());
            if known.is_none() {
                let key = Key {
                    text: segment.to_owned(),
                    place: place.clone(),
                };
                entries.push((key, Node::null(place.clone())));
            }
            let found = entries.get_mut(at).map(|(_, node)| node);
            found.ok_or_else(|| format!("no `{segment}`"))
        }
    }
}
