//! Fills in what a file names and does not define: providers, tool servers, queues (000 §7). Does not know where definitions come from.

use std::collections::BTreeMap;

use serde_json::Value;

use super::definitions::{Definition, DefinitionKind, Definitions};
use super::error::{Findings, Origin, SourceRange};
use super::keys::{
    FILE, OPENAPI, PRICES, PROVIDER, REST_TOOL, SERVER, TARGET, TOOL_OUTPUT_BUDGET, TOOLS,
};
use super::origin::ValueOrigin;
use super::tree::{Key, Kind, MAX_DEPTH, Node, node_of};
use crate::contract::QueueTerms;

/// Fills in what the tree names and does not define, and returns the origin of each value. A value of the file stays where both
/// have one.
pub(super) fn fill(
    root: &mut Node,
    known: &dyn Definitions,
    findings: &Findings<'_>,
) -> BTreeMap<String, ValueOrigin> {
    let mut filler = Filler {
        findings,
        known,
        origins: BTreeMap::new(),
    };
    for (name, place) in named_providers(root) {
        filler.take(root, DefinitionKind::Provider, &name, &place);
    }
    for (name, place) in unreached_servers(root) {
        filler.take(root, DefinitionKind::Server, &name, &place);
    }
    for (name, place) in unreached_below(root, TOOLS.rest.name, &[REST_TOOL.url.name]) {
        filler.take(root, DefinitionKind::RestTool, &name, &place);
    }
    for (name, place) in unreached_below(root, TOOLS.openapi.name, &[OPENAPI.spec.name]) {
        filler.take(root, DefinitionKind::Openapi, &name, &place);
    }
    for (name, place) in named_queues(root) {
        filler.take(root, DefinitionKind::Queue, &name, &place);
    }
    // The queue of whatever names none. A file whose servers are all its own says itself how many places it has.
    let of_tools = format!("{}.", FILE.tools.name);
    let takes_tools = filler
        .origins
        .keys()
        .any(|path| path.starts_with(&of_tools));
    let queues = child(root, FILE.queues.name);
    let is_defined = queues.is_some_and(|queues| child(queues, QueueTerms::DEFAULT).is_some());
    if takes_tools && !is_defined {
        let place = Origin::File.place(0, 0);
        filler.take(root, DefinitionKind::Queue, QueueTerms::DEFAULT, &place);
    }
    for (provider, model, place) in targets(root) {
        // Other providers are as the file says, prices too.
        if filler.is_from_outside(&provider) {
            filler.take_price(root, (&provider, &model), &place);
        }
    }
    filler.defaults(root);
    if !filler.origins.is_empty() {
        filler.judge_whole(root);
    }
    if known.models_elsewhere() {
        findings.waive("", no_targets());
    }
    filler.origins
}

/// The rule that a contract without a model breaks.
pub(super) fn no_targets() -> String {
    format!("the key `{}` is missing", FILE.targets.name)
}

/// The name of a table of prices that is not the file's own.
const OF_LAYERS: &str = "layers";

/// True if an undefined name of that kind is reported by the keys that the file lacks.
const fn is_reported_whole(wanted: DefinitionKind) -> bool {
    matches!(
        wanted,
        DefinitionKind::Openapi | DefinitionKind::RestTool | DefinitionKind::Server
    )
}

struct Filler<'f> {
    findings: &'f Findings<'f>,
    known: &'f dyn Definitions,
    origins: BTreeMap<String, ValueOrigin>,
}

impl Filler<'_> {
    fn take(&mut self, root: &mut Node, wanted: DefinitionKind, name: &str, place: &SourceRange) {
        let path = match wanted {
            DefinitionKind::Provider => vec![FILE.providers.name, name],
            DefinitionKind::Openapi => vec![FILE.tools.name, TOOLS.openapi.name, name],
            DefinitionKind::RestTool => vec![FILE.tools.name, TOOLS.rest.name, name],
            DefinitionKind::Server => vec![FILE.tools.name, TOOLS.mcp.name, name],
            DefinitionKind::Price => {
                let (provider, model) = name.split_once('/').unwrap_or((name, ""));
                vec![FILE.prices.name, PRICES.models.name, provider, model]
            }
            DefinitionKind::Queue => vec![FILE.queues.name, name],
        };
        let dotted = path.join(".");
        let mut found = match self.known.find(wanted, name) {
            Ok(Some(found)) => found,
            Ok(None) => {
                // A key that it lacks is reported as for any other server.
                if is_reported_whole(wanted)
                    && let Some(target) = target(root, &path, place)
                {
                    let (kind, place) = (Kind::Map(Vec::new()), place.clone());
                    lay_under(target, Node { kind, place });
                }
                return;
            }
            Err(rule) => {
                self.findings.add(place, &dotted, rule, None);
                leave_out(root, &path);
                return;
            }
        };
        let origins = std::mem::take(&mut found.origins);
        let files = std::mem::take(&mut found.files).join(" and ");
        let Some(node) = found.node(place) else {
            let rule = "the definition outside the file cannot be read";
            self.findings.add(place, &dotted, rule, None);
            return;
        };
        let is_whole = match target(root, &path, place) {
            Some(target) => {
                let is_whole = entries(target).is_empty();
                lay_under(target, node);
                is_whole
            }
            None => return,
        };
        for (key, origin) in origins {
            let path = if key.is_empty() {
                dotted.clone()
            } else {
                format!("{dotted}.{key}")
            };
            self.from(path, origin);
        }
        // A key that it lacks is in no file. After the others: the first that is known counts.
        if is_whole && !files.is_empty() {
            self.findings.defined_outside(&dotted, &files);
        }
    }

    /// True if any part of a provider's definition comes from outside the file.
    fn is_from_outside(&self, provider: &str) -> bool {
        let below = format!("{}.{provider}.", FILE.providers.name);
        self.origins.keys().any(|path| path.starts_with(&below))
    }

    /// Fills in what a model costs. A table that the file does not have gets a name, which a table needs.
    fn take_price(
        &mut self,
        root: &mut Node,
        (provider, model): (&str, &str),
        place: &SourceRange,
    ) {
        let had = self.origins.len();
        let name = format!("{provider}/{model}");
        self.take(root, DefinitionKind::Price, &name, place);
        let version = [FILE.prices.name, PRICES.version.name];
        let prices = child(root, FILE.prices.name);
        let is_named = prices.is_some_and(|prices| child(prices, PRICES.version.name).is_some());
        if self.origins.len() > had
            && !is_named
            && let Some(target) = target(root, &version, place)
        {
            *target = Node {
                kind: Kind::Scalar {
                    text: OF_LAYERS.to_owned(),
                    plain: false,
                },
                place: place.clone(),
            };
        }
    }

    /// Notes where the value at that path is from: what is wrong with it names the file, and what may be secret is not shown.
    fn from(&mut self, path: String, origin: ValueOrigin) {
        self.findings.defined_outside(&path, &origin.to_string());
        if origin.is_expanded() {
            self.findings.hide(&path);
        }
        self.origins.insert(path, origin);
    }
}

impl Filler<'_> {
    /// Judges what is defined outside the file and the file does not name (000 §7).
    fn judge_whole(&self, root: &Node) {
        let queues = child(root, FILE.queues.name).map(entries);
        let queues = queues.unwrap_or_default().iter();
        let queues: Vec<&str> = queues.map(|(key, _)| key.text.as_str()).collect();
        let is_named = |kind, name: &str| {
            let section = match kind {
                DefinitionKind::Openapi => TOOLS.openapi.name,
                DefinitionKind::RestTool => TOOLS.rest.name,
                _ => TOOLS.mcp.name,
            };
            let mut named = below_tools(root, section).iter();
            named.any(|(key, _)| key.text == name)
        };
        let place = Origin::File.place(0, 0);
        for rule in self.known.unbound_queues(&queues, &is_named) {
            self.findings.add(&place, "", rule, None);
        }
        for note in self.known.notes() {
            self.findings.note(note);
        }
    }

    /// Fills in what the file leaves out. A value of the file always counts, null too: it switches a
    /// parameter off.
    fn defaults(&mut self, root: &mut Node) {
        let place = Origin::File.place(0, 0);
        let mut found = match self.known.defaults(!self.origins.is_empty()) {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(rule) => {
                self.findings.add(&place, "", rule, None);
                return;
            }
        };
        let mut origins = std::mem::take(&mut found.origins);
        let Some(Kind::Map(sections)) = found.node(&place).map(|node| node.kind) else {
            return;
        };
        for (key, value) in sections {
            match value.kind {
                Kind::Map(entries) => {
                    for (below, value) in entries {
                        self.default(root, &[&key.text, &below.text], value, &mut origins);
                    }
                }
                Kind::Scalar { .. } | Kind::List(_) => {
                    self.default(root, &[&key.text], value, &mut origins);
                }
            }
        }
    }

    fn default(
        &mut self,
        root: &mut Node,
        path: &[&str],
        value: Node,
        origins: &mut BTreeMap<String, ValueOrigin>,
    ) {
        let own_value = path.iter().try_fold(&*root, |node, key| child(node, key));
        if own_value.is_some() {
            return;
        }
        let place = value.place.clone();
        let Some(target) = target(root, path, &place) else {
            return;
        };
        *target = value;
        let dotted = path.join(".");
        if let Some(origin) = origins.remove(&dotted) {
            self.from(dotted, origin);
        }
    }
}

impl Definition {
    /// The definition as a part of the file's tree. What is wrong with it is shown at `place`, where the file names it; none if
    /// it nests too deeply.
    fn node(self, place: &SourceRange) -> Option<Node> {
        node_of(Value::Object(self.members), place, MAX_DEPTH)
    }
}

/// Leaves out the entry there that has no value: that it cannot be filled in was reported.
fn leave_out(root: &mut Node, path: &[&str]) {
    let Some((last, above)) = path.split_last() else {
        return;
    };
    let mut parent = root;
    for name in above {
        let Kind::Map(entries) = &mut parent.kind else {
            return;
        };
        match entries.iter_mut().find(|(key, _)| key.text == *name) {
            Some((_, node)) => parent = node,
            None => return,
        }
    }
    if let Kind::Map(entries) = &mut parent.kind {
        entries.retain(|(key, node)| key.text != *last || !node.is_null());
    }
}

/// Lays a definition under the file's own values: mappings are merged key by key, any other value of the file stays.
fn lay_under(over: &mut Node, under: Node) {
    if over.is_null() {
        *over = under;
        return;
    }
    if let (Kind::Map(over), Kind::Map(under)) = (&mut over.kind, under.kind) {
        for (key, value) in under {
            match over.iter_mut().find(|(known, _)| known.text == key.text) {
                // Its null is a value: no tokenizer.
                Some((known, _)) if known.text == FILE.tokenizer.name => {}
                Some((_, known)) => lay_under(known, value),
                None => over.push((key, value)),
            }
        }
    }
}

/// The node at that path, made where it is missing; none if the file has something else there, which its reader refuses.
pub(super) fn target<'n>(
    root: &'n mut Node,
    path: &[&str],
    place: &SourceRange,
) -> Option<&'n mut Node> {
    let mut target = root;
    for name in path {
        if target.is_null() {
            target.kind = Kind::Map(Vec::new());
        }
        let Kind::Map(entries) = &mut target.kind else {
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
        target = found.next().map(|(_, node)| node)?;
    }
    Some(target)
}

pub(super) fn child<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
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

/// Providers that targets name, or that the file defines, without a `type`; each once, with where the file names it.
/// The targets of a file: provider, model, and where it names them.
fn targets(root: &Node) -> Vec<(String, String, SourceRange)> {
    let targets = child(root, FILE.targets.name).map(|targets| match &targets.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Scalar { .. } | Kind::Map(_) => &[],
    });
    let targets = targets.unwrap_or_default().iter();
    let targets = targets.filter_map(|target| {
        let named = |key: &str| word(child(target, key)?).map(str::to_owned);
        let place = child(target, TARGET.provider.name)?.place.clone();
        Some((
            named(TARGET.provider.name)?,
            named(TARGET.model.name)?,
            place,
        ))
    });
    targets.collect()
}

fn named_providers(root: &Node) -> Vec<(String, SourceRange)> {
    let defined = child(root, FILE.providers.name);
    let is_whole = |name: &str| {
        let entry = defined.and_then(|providers| child(providers, name));
        entry.is_some_and(|provider| {
            child(provider, PROVIDER.provider_type.name).is_some() || !can_be_filled(provider)
        })
    };
    let targets = child(root, FILE.targets.name).map(|targets| match &targets.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Scalar { .. } | Kind::Map(_) => &[],
    });
    let named = targets.unwrap_or_default().iter();
    let named = named.filter_map(|target| child(target, TARGET.provider.name));
    let named = named.filter_map(|node| Some((word(node)?.to_owned(), node.place.clone())));
    let budget = child(root, FILE.tool_output_budget.name);
    let summarizer =
        budget.and_then(|budget| child(budget, TOOL_OUTPUT_BUDGET.summarizer_model.name));
    let summarizer = summarizer.and_then(|node| {
        let (provider, _) = word(node)?.split_once('/')?;
        Some((provider.to_owned(), node.place.clone()))
    });
    let samplers = below_tools(root, TOOLS.mcp.name)
        .iter()
        .filter_map(|(_, server)| {
            let node = child(server, SERVER.sampling.name)?;
            let (provider, _) = word(node)?.split_once('/')?;
            Some((provider.to_owned(), node.place.clone()))
        });
    let bare = defined.map(entries).unwrap_or_default().iter();
    let bare = bare.map(|(key, _)| (key.text.clone(), key.place.clone()));
    let all = named.chain(summarizer).chain(samplers).chain(bare);
    once(all.filter(|(name, _)| !is_whole(name)))
}

/// True if the value is missing or a mapping.
fn can_be_filled(node: &Node) -> bool {
    node.is_null() || matches!(node.kind, Kind::Map(_))
}

/// The entries of a section of `tools`.
fn below_tools<'n>(root: &'n Node, section: &str) -> &'n [(Key, Node)] {
    let tools = child(root, FILE.tools.name);
    let servers = tools.and_then(|tools| child(tools, section));
    servers.map(entries).unwrap_or_default()
}

/// Tool servers of the file with neither `command` nor `url`.
fn unreached_servers(root: &Node) -> Vec<(String, SourceRange)> {
    unreached_below(
        root,
        TOOLS.mcp.name,
        &[SERVER.command.name, SERVER.url.name],
    )
}

/// Entries of a section of `tools` that have none of these keys.
fn unreached_below(root: &Node, section: &str, ways: &[&str]) -> Vec<(String, SourceRange)> {
    let entries = below_tools(root, section).iter();
    let unreached = entries.filter(|(_, entry)| {
        can_be_filled(entry) && ways.iter().all(|way| child(entry, way).is_none())
    });
    once(unreached.map(|(key, _)| (key.text.clone(), key.place.clone())))
}

/// Queues that servers wait in and that the file does not define.
fn named_queues(root: &Node) -> Vec<(String, SourceRange)> {
    let defined = child(root, FILE.queues.name);
    let is_there = |name: &str| defined.is_some_and(|queues| child(queues, name).is_some());
    let sections = [TOOLS.mcp.name, TOOLS.openapi.name, TOOLS.rest.name];
    let servers = sections.map(|section| below_tools(root, section));
    let servers = servers.into_iter().flatten();
    let named = servers.filter_map(|(_, server)| child(server, SERVER.queue.name));
    let named = named.filter_map(|node| Some((word(node)?.to_owned(), node.place.clone())));
    once(named.filter(|(name, _)| !is_there(name) && name != QueueTerms::DEFAULT))
}

fn once(all: impl Iterator<Item = (String, SourceRange)>) -> Vec<(String, SourceRange)> {
    let mut found: Vec<(String, SourceRange)> = Vec::new();
    for (name, place) in all {
        if !found.iter().any(|(known, _)| *known == name) {
            found.push((name, place));
        }
    }
    found
}
