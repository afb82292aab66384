//! What a file names and does not define, taken from whoever knows it: providers, tool servers, queues (000 §7).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::error::{Findings, Origin, Place};
use super::tree::{self, Key, Kind, Node};
use crate::contract::QueueTerms;

/// A kind of thing that a file may name without defining it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wanted {
    /// A provider of models.
    Provider,
    /// A tool server.
    Server,
    /// A queue of calls.
    Queue,
}

/// A definition from outside the file, in the file's own form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definition {
    /// Dotted paths in the definition below which a value holds that of a variable: it may be a secret, and is never shown.
    pub(crate) expanded: BTreeSet<String>,
    /// Where each value is from, by its dotted path in the definition.
    pub(crate) origins: BTreeMap<String, String>,
    /// For values that are expanded where they are used, what their variables are, by the same paths.
    pub(crate) scopes: BTreeMap<String, VariableScope>,
    /// The definition: the JSON text of an object with the keys of the file's form.
    pub(crate) text: String,
}

/// The variables that one value sees before those of the process, and where it is from.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct VariableScope {
    /// The file that the value stands in.
    pub(crate) origin: String,
    pub(crate) variables: Arc<BTreeMap<String, String>>,
}

impl fmt::Debug for VariableScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VariableScope")
            .field("origin", &self.origin)
            .field("variables", &self.variables.keys())
            .finish()
    }
}

/// Who knows definitions. Pure: whatever it knows was read before.
pub(crate) trait Definitions {
    /// The definition of that name; none where nobody knows it.
    ///
    /// # Errors
    /// Why the definition that there is cannot be used: where, and which rule.
    fn find(&self, wanted: Wanted, name: &str) -> Result<Option<Definition>, String>;

    /// What stands where the file says nothing: keys of the file's own form. `asked` is whether the file took a definition from
    /// here; none where nothing is to be filled in.
    ///
    /// # Errors
    /// Why what there is cannot be used: where, and which rule.
    fn defaults(&self, asked: bool) -> Result<Option<Definition>, String>;
}

/// Nobody knows anything: the file stands alone.
pub(super) struct Nothing;

impl Definitions for Nothing {
    fn find(&self, _: Wanted, _: &str) -> Result<Option<Definition>, String> {
        Ok(None)
    }

    fn defaults(&self, _: bool) -> Result<Option<Definition>, String> {
        Ok(None)
    }
}

/// What was filled in.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) origins: BTreeMap<String, String>,
    pub(super) scopes: BTreeMap<String, VariableScope>,
}

/// Fills in what the tree names and does not define. A value of the file stays where both have one.
pub(super) fn fill(root: &mut Node, known: &dyn Definitions, findings: &Findings<'_>) -> Filled {
    let mut filling = Filling {
        filled: Filled::default(),
        findings,
        known,
    };
    for (name, place) in named_providers(root) {
        filling.take(root, Wanted::Provider, &name, &place);
    }
    for (name, place) in unreached_servers(root) {
        filling.take(root, Wanted::Server, &name, &place);
    }
    for (name, place) in named_queues(root) {
        filling.take(root, Wanted::Queue, &name, &place);
    }
    filling.defaults(root);
    filling.filled
}

struct Filling<'f> {
    filled: Filled,
    findings: &'f Findings<'f>,
    known: &'f dyn Definitions,
}

impl Filling<'_> {
    fn take(&mut self, root: &mut Node, wanted: Wanted, name: &str, place: &Place) {
        let path = match wanted {
            Wanted::Provider => vec!["providers", name],
            Wanted::Server => vec!["tools", "mcp", name],
            Wanted::Queue => vec!["queues", name],
        };
        let dotted = path.join(".");
        let found = match self.known.find(wanted, name) {
            Ok(Some(found)) => found,
            Ok(None) => {
                // What it lacks is said of it as of any other server.
                if wanted == Wanted::Server
                    && let Some(slot) = slot(root, &path, place)
                {
                    let (kind, place) = (Kind::Map(Vec::new()), place.clone());
                    lay_under(slot, Node { kind, place });
                }
                return;
            }
            Err(rule) => {
                self.findings.add(place, &dotted, rule, None);
                return;
            }
        };
        let aside = Findings::new(&found.text, &[]);
        let Some(mut node) = tree::parse(&found.text, Origin::File, &aside) else {
            let rule = "the definition outside the file cannot be read";
            self.findings.add(place, &dotted, rule, None);
            return;
        };
        // What is wrong with it is shown where the file names it.
        put_at(&mut node, place);
        match slot(root, &path, place) {
            Some(slot) => lay_under(slot, node),
            None => return,
        }
        let below = |key: &str| {
            if key.is_empty() {
                dotted.clone()
            } else {
                format!("{dotted}.{key}")
            }
        };
        for (key, origin) in found.origins {
            self.findings.defined_outside(&below(&key), &origin);
            self.filled.origins.insert(below(&key), origin);
        }
        for key in &found.expanded {
            self.findings.hide(&below(key));
        }
        for (key, scope) in found.scopes {
            self.filled.scopes.insert(below(&key), scope);
        }
    }
}

impl Filling<'_> {
    /// Fills in what the file says nothing of. Whatever stands in the file counts, also where it is null: that switches a
    /// parameter off.
    fn defaults(&mut self, root: &mut Node) {
        let place = Origin::File.place(0, 0);
        let found = match self.known.defaults(!self.filled.origins.is_empty()) {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(rule) => {
                self.findings.add(&place, "", rule, None);
                return;
            }
        };
        let aside = Findings::new(&found.text, &[]);
        let Some(mut node) = tree::parse(&found.text, Origin::File, &aside) else {
            return;
        };
        put_at(&mut node, &place);
        let Kind::Map(sections) = node.kind else {
            return;
        };
        for (key, value) in sections {
            match value.kind {
                Kind::Map(entries) => {
                    for (below, value) in entries {
                        self.default(root, &[&key.text, &below.text], value, &found);
                    }
                }
                Kind::Scalar { .. } | Kind::List(_) => {
                    self.default(root, &[&key.text], value, &found);
                }
            }
        }
    }

    fn default(&mut self, root: &mut Node, path: &[&str], value: Node, found: &Definition) {
        let said = path.iter().try_fold(&*root, |node, key| child(node, key));
        if said.is_some() {
            return;
        }
        let place = value.place.clone();
        let Some(slot) = slot(root, path, &place) else {
            return;
        };
        *slot = value;
        let dotted = path.join(".");
        if let Some(origin) = found.origins.get(&dotted) {
            self.findings.defined_outside(&dotted, origin);
            self.filled.origins.insert(dotted.clone(), origin.clone());
        }
        if found.expanded.contains(&dotted) {
            self.findings.hide(&dotted);
        }
    }
}

fn put_at(node: &mut Node, place: &Place) {
    node.place = place.clone();
    match &mut node.kind {
        Kind::Scalar { .. } => {}
        Kind::List(items) => items.iter_mut().for_each(|item| put_at(item, place)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                key.place = place.clone();
                put_at(value, place);
            }
        }
    }
}

/// The key whose null is a value of its own: no tokenizer.
const TOKENIZER: &str = "tokenizer";

/// Lays a definition under what the file says: mappings key by key, and else the file's value stands.
fn lay_under(over: &mut Node, under: Node) {
    if over.is_null() {
        *over = under;
        return;
    }
    if let (Kind::Map(over), Kind::Map(under)) = (&mut over.kind, under.kind) {
        for (key, value) in under {
            match over.iter_mut().find(|(known, _)| known.text == key.text) {
                Some((known, _)) if known.text == TOKENIZER => {}
                Some((_, known)) => lay_under(known, value),
                None => over.push((key, value)),
            }
        }
    }
}

/// The node at that path, made where it is missing; none where the file has something else there, which its reader refuses.
fn slot<'n>(root: &'n mut Node, path: &[&str], place: &Place) -> Option<&'n mut Node> {
    let mut slot = root;
    for name in path {
        if slot.is_null() {
            slot.kind = Kind::Map(Vec::new());
        }
        let Kind::Map(entries) = &mut slot.kind else {
            return None;
        };
        if !entries.iter().any(|(key, _)| key.text == **name) {
            let key = Key {
                text: (*name).to_owned(),
                place: place.clone(),
            };
            entries.push((key, Node::null(place.clone())));
        }
        let mut found = entries.iter_mut().filter(|(key, _)| key.text == **name);
        slot = found.next().map(|(_, node)| node)?;
    }
    Some(slot)
}

fn child<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    entries(node)
        .iter()
        .find(|(known, _)| known.text == key)
        .map(|(_, node)| node)
}

fn entries(node: &Node) -> &[(Key, Node)] {
    match &node.kind {
        Kind::Map(entries) => entries,
        Kind::Scalar { .. } | Kind::List(_) => &[],
    }
}

fn word(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Scalar { text, .. } if !node.is_null() => Some(text),
        Kind::Scalar { .. } | Kind::List(_) | Kind::Map(_) => None,
    }
}

/// Providers that targets name, or that stand in the file, without a `type`; each once, with where the file names it.
fn named_providers(root: &Node) -> Vec<(String, Place)> {
    let defined = child(root, "providers");
    let is_whole = |name: &str| {
        let entry = defined.and_then(|providers| child(providers, name));
        entry.is_some_and(|provider| child(provider, "type").is_some() || !can_be_filled(provider))
    };
    let targets = child(root, "targets").map(|targets| match &targets.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Scalar { .. } | Kind::Map(_) => &[],
    });
    let named = targets.unwrap_or_default().iter();
    let named = named.filter_map(|target| child(target, "provider"));
    let named = named.filter_map(|node| Some((word(node)?.to_owned(), node.place.clone())));
    let budget = child(root, "tool_output_budget");
    let summarizer = budget.and_then(|budget| child(budget, "summarizer_model"));
    let summarizer = summarizer.and_then(|node| {
        let (provider, _) = word(node)?.split_once('/')?;
        Some((provider.to_owned(), node.place.clone()))
    });
    let bare = defined.map(entries).unwrap_or_default().iter();
    let bare = bare.map(|(key, _)| (key.text.clone(), key.place.clone()));
    let all = named.chain(summarizer).chain(bare);
    once(all.filter(|(name, _)| !is_whole(name)))
}

/// Whether nothing, or a mapping, stands there.
fn can_be_filled(node: &Node) -> bool {
    node.is_null() || matches!(node.kind, Kind::Map(_))
}

/// Tool servers of the file that say neither `command` nor `url`.
fn unreached_servers(root: &Node) -> Vec<(String, Place)> {
    let servers = child(root, "tools").and_then(|tools| child(tools, "mcp"));
    let servers = servers.map(entries).unwrap_or_default().iter();
    let unreached = servers.filter(|(_, server)| {
        can_be_filled(server)
            && child(server, "command").is_none()
            && child(server, "url").is_none()
    });
    once(unreached.map(|(key, _)| (key.text.clone(), key.place.clone())))
}

/// Queues that servers wait in and that the file does not define.
fn named_queues(root: &Node) -> Vec<(String, Place)> {
    let defined = child(root, "queues");
    let is_there = |name: &str| defined.is_some_and(|queues| child(queues, name).is_some());
    let servers = child(root, "tools").and_then(|tools| child(tools, "mcp"));
    let servers = servers.map(entries).unwrap_or_default().iter();
    let named = servers.filter_map(|(_, server)| child(server, "queue"));
    let named = named.filter_map(|node| Some((word(node)?.to_owned(), node.place.clone())));
    once(named.filter(|(name, _)| !is_there(name) && name != QueueTerms::DEFAULT))
}

fn once(all: impl Iterator<Item = (String, Place)>) -> Vec<(String, Place)> {
    let mut found: Vec<(String, Place)> = Vec::new();
    for (name, place) in all {
        if !found.iter().any(|(known, _)| *known == name) {
            found.push((name, place));
        }
    }
    found
}
