//! From the text of a contract file, with `--set` arguments, to its spec. Opens no file.

use std::collections::BTreeMap;

use super::contract_spec::OfferedAs;
use super::definitions::{Definitions, NoDefinitions};
use super::error::{Findings, Origin, SourceRange, SpecErrors};
use super::fill::fill;
use super::form::Read as _;
use super::keys::ContractSpec;
use super::origin::ValueOrigin;
use super::reporter::Reporter;
use super::tree::{Key, Kind, Node};
use super::{secrets, tree};
use crate::contract::AgentLink;
use crate::message::{Digest, estimate_tokens, without_bom};

/// The largest contract file in bytes.
const MAX_BYTES: usize = 1 << 20;

impl ContractSpec {
    /// Reads the author's file. `file` is its name for messages; `sets` are `--set` arguments, each `a.b=value`.
    ///
    /// # Errors
    /// Every fault of the file at once, except that a fault of syntax hides everything after it.
    pub fn parse(file: &str, text: &str, sets: &[String]) -> Result<Self, SpecErrors> {
        Self::parse_with(file, text, sets, &NoDefinitions)
    }

    /// As [`Self::parse`], where `known` has the definitions of what the file names and does not define.
    ///
    /// # Errors
    /// As [`Self::parse`]; a fault of a definition is reported where the file names it.
    pub fn parse_with(
        file: &str,
        text: &str,
        sets: &[String],
        known: &dyn Definitions,
    ) -> Result<Self, SpecErrors> {
        let text = without_bom(text);
        let findings = Findings::new(text, sets);
        let whole = Whole { file, text, sets };
        if let Some(errors) = whole.too_long(&findings) {
            return Err(errors);
        }
        let (mut root, secret) = settled(text, sets, &findings);
        let origins = root.as_mut().map(|root| fill(root, known, &findings));
        let read = (root.as_ref(), secret.as_slice());
        let spec = whole.spec(&findings, read, known, origins.unwrap_or_default())?;
        let own = AgentLink {
            digest: Digest::of(text.as_bytes()),
            id: None,
            name: file_stem(file).to_owned(),
        };
        let prompt = spec.system.as_deref().unwrap_or_default();
        let offered_as = OfferedAs {
            prompt_tokens: estimate_tokens(prompt),
            ..OfferedAs::default()
        };
        Ok(Self {
            offered_as,
            own: Some(own),
            ..spec
        })
    }

    /// A fault of the value that the file, with `sets`, has at a dotted path; none if it has no such value.
    #[must_use]
    pub fn fault_at(
        (file, text): (&str, &str),
        sets: &[String],
        path: &str,
        (rule, help): (String, Option<String>),
    ) -> Option<SpecErrors> {
        let text = without_bom(text);
        let findings = Findings::new(text, sets);
        let (root, secret) = settled(text, sets, &findings);
        let node = path.split('.').try_fold(root.as_ref()?, Node::below)?;
        findings.add(&node.place, path, rule, help);
        let (text, sets) = secrets::masked(&secret, text, sets);
        Some(findings.errors(file, &text, &sets))
    }
}

/// The name of a file, without folders and what it ends in.
pub(super) fn file_stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// A file that is being read, as messages show it.
pub(super) struct Whole<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) sets: &'a [String],
}

impl Whole<'_> {
    /// The fault of a file, or of an override, with too many bytes.
    pub(super) fn too_long(&self, findings: &Findings<'_>) -> Option<SpecErrors> {
        let lengths = self.sets.iter().map(String::len);
        let longest = lengths.chain([self.text.len()]).max();
        if longest.unwrap_or_default() <= MAX_BYTES {
            return None;
        }
        let rule = format!("a contract file holds at most {MAX_BYTES} bytes");
        findings.add(&Origin::File.place(0, 0), "", rule, None);
        Some(findings.errors(self.file, self.text, self.sets))
    }

    /// The spec in the tree, which comes with the places of its secrets; `None` if the syntax is broken. Files of agents are asked of
    /// `known`.
    pub(super) fn spec(
        &self,
        findings: &Findings<'_>,
        (root, secret): (Option<&Node>, &[SourceRange]),
        known: &dyn Definitions,
        origins: BTreeMap<String, ValueOrigin>,
    ) -> Result<ContractSpec, SpecErrors> {
        let spec = root.and_then(|root| {
            let reporter = Reporter {
                findings,
                path: String::new(),
            };
            let mut spec = ContractSpec::read(root, &reporter)?;
            spec.read_agents(root, known, findings);
            Some(spec)
        });
        match spec {
            Some(spec) if findings.is_empty() => Ok(ContractSpec {
                clamped: findings.take_clamped(),
                origins,
                ..spec
            }),
            _ => {
                let (mut text, sets) = secrets::masked(secret, self.text, self.sets);
                if root.is_none() {
                    text = secrets::masked_blindly(&text);
                }
                Err(findings.errors(self.file, &text, &sets))
            }
        }
    }
}

/// The tree of a file under its overrides, `None` if its syntax is broken, and where it holds secrets.
fn settled(
    text: &str,
    sets: &[String],
    findings: &Findings<'_>,
) -> (Option<Node>, Vec<SourceRange>) {
    let mut root = tree::parse(text, Origin::File, findings);
    let mut secret = root.as_ref().map(secrets::places).unwrap_or_default();
    if let Some(root) = &mut root {
        apply(root, sets, findings);
        // The file still holds what an override replaced.
        secret.extend(secrets::places(root));
    }
    (root, secret)
}

/// Applies `--set` arguments, each `a.b=value`, in their order: the value replaces the one at the dotted key, and
/// mappings on the way are made where there are none. A number is the index of a list.
///
/// A value that begins with `[`, `{` or a quote is YAML; any other is one scalar, taken whole.
fn apply(root: &mut Node, sets: &[String], findings: &Findings<'_>) {
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
