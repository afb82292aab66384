//! From front matter to the tree of a contract file. Fills in no default of a contract.

use super::include::AgentFiles;
use super::knobs::{KNOBS, OF_OTHERS, OWN, contract_path};
use super::profile::{AGENT_PROFILE, AgentForm, AgentProfileKeys, read_profile};
use crate::contract::spec::contract_spec::{InputSpec, OfferedAs, tool_name_fault};
use crate::contract::spec::definitions::{DefinitionKind, Definitions};
use crate::contract::spec::error::{Findings, SourceRange};
use crate::contract::spec::fill::{child, target};
use crate::contract::spec::form::Read as _;
use crate::contract::spec::keys::{FILE, SERVER, TARGET, TOOLS};
use crate::contract::spec::reporter::{Reporter, suggest};
use crate::contract::spec::tree::{Key, Kind, Node};
use crate::contract::yaml::is_number;
use crate::contract::{AGENT_PREFIX, AgentId, AgentProfile, REST_PREFIX, tool_filter};
use crate::message::Digest;

/// Prefix of an entry of `tools` that takes every operation of a web service.
const WHOLE_SERVICE: &str = "openapi:";
/// The report's own tool, which every agent has.
const ALWAYS_THERE: &str = "agent__final_report";

/// Front matter values that have no contract file key.
#[derive(Clone, Debug, Default)]
pub(in crate::contract::spec) struct Front {
    /// The id that the file states.
    pub(in crate::contract::spec) id: Option<AgentId>,
    /// Form of the task.
    pub(in crate::contract::spec) input: Option<InputSpec>,
    /// Notes about keys that count for nothing.
    pub(in crate::contract::spec) notes: Vec<String>,
    /// The tool that it is for agents that may call it.
    pub(in crate::contract::spec) offered_as: OfferedAs,
    /// The agent's abilities and intended tasks.
    pub(in crate::contract::spec) profile: Option<AgentProfile>,
    /// The prompt of a profile.
    pub(in crate::contract::spec) system: Option<String>,
    /// Single tools of servers: server, tool, and where they are named.
    pub(in crate::contract::spec) single: Vec<(String, String, SourceRange)>,
    /// Servers of which every tool is taken.
    whole: Vec<String>,
}

/// The context of a front matter translation.
pub(in crate::contract::spec) struct Translator<'t, 'f> {
    /// The files that the agent refers to, and what reads a schema of one.
    pub(in crate::contract::spec) beside: &'t dyn AgentFiles,
    /// BLAKE3 of the file's text.
    pub(in crate::contract::spec) digest: Digest,
    /// As messages call the file.
    pub(in crate::contract::spec) file: &'t str,
    pub(in crate::contract::spec) form: AgentForm,
    pub(in crate::contract::spec) known: &'t dyn Definitions,
    pub(in crate::contract::spec) reporter: &'t Reporter<'f>,
}

/// The tree of the contract file that the front matter is.
pub(in crate::contract::spec) fn translated(
    front: Option<Node>,
    begin: SourceRange,
    translator: &Translator<'_, '_>,
) -> (Node, Front) {
    let mut said = Front::default();
    let mut root = Node {
        kind: Kind::Map(Vec::new()),
        place: begin,
    };
    let Some(front) = front.filter(|front| !front.is_null()) else {
        return (root, said);
    };
    root.place = front.place.clone();
    let Kind::Map(entries) = front.kind else {
        translator.reporter.expected(&front, "a mapping");
        return (root, said);
    };
    if translator.form == AgentForm::Profile {
        let whole = Node {
            kind: Kind::Map(entries.clone()),
            place: front.place.clone(),
        };
        said.profile = read_profile(&whole, translator.reporter, translator.digest);
        said.id = said.profile.as_ref().map(|profile| profile.id.clone());
        translator.take_profile(&mut root, &mut said, entries);
        return (root, said);
    }
    let of_profile = |key: &Key| AgentProfileKeys::in_front_matter().any(|name| name == key.text);
    let (own, rest): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(key, _)| of_profile(key));
    let states_id = own.iter().any(|(key, _)| key.text == AGENT_PROFILE.id.name);
    said.profile = translator.in_front_matter(own, &front.place);
    let profile = said.profile.as_ref().filter(|_| states_id);
    said.id = profile.map(|profile| profile.id.clone());
    for (key, value) in rest {
        translator.take(&mut root, &mut said, &key, value);
    }
    (root, said)
}

impl Translator<'_, '_> {
    pub(super) fn take(&self, root: &mut Node, said: &mut Front, key: &Key, value: Node) {
        let reporter = self.reporter.below(&key.text);
        match key.text.as_str() {
            "agents" => put(root, &[FILE.agents.name], value),
            "toolName" => said.offered_as.tool_name = tool_name(&value, &reporter),
            "usage" => put(root, &[FILE.usage.name], value),
            "input" => said.input = self.input(&value, &reporter),
            "models" => models(root, value, &reporter),
            "output" => self.output(root, &value, &reporter),
            "tools" => self.tools(root, said, &value, &reporter),
            other => match contract_path(other) {
                Some(path) => {
                    let path: Vec<&str> = path.split('.').collect();
                    let is_there = path.iter().try_fold(&*root, |node, key| child(node, key));
                    if is_there.is_some() {
                        let rule = "maxTurns and maxToolTurns are one and the same";
                        reporter.refuse(&value, rule, None);
                    } else {
                        put(root, &path, unquoted(value));
                    }
                }
                None => match OF_OTHERS.iter().find(|(name, _)| *name == other) {
                    Some((_, instead)) => {
                        let note = format!("{other} is ignored: {instead}");
                        said.notes.push(note);
                    }
                    None => self.unknown(key),
                },
            },
        }
    }

    fn unknown(&self, key: &Key) {
        let known = || {
            let of_contract = KNOBS.iter().map(|(name, _)| *name);
            let own = OWN.into_iter().chain(of_contract);
            own.chain(AgentProfileKeys::in_front_matter())
        };
        let help = suggest(&key.text, known()).unwrap_or_else(|| {
            let mut known: Vec<&str> = known().collect();
            known.sort_unstable();
            format!("known keys: {}", known.join(", "))
        });
        let rule = format!("unknown key `{}`", key.text);
        let findings = self.reporter.findings;
        findings.add(&key.place, &self.reporter.join(&key.text), rule, Some(help));
    }

    /// Servers by name, and single tools by id.
    fn tools(&self, root: &mut Node, said: &mut Front, value: &Node, reporter: &Reporter<'_>) {
        let one = std::slice::from_ref(value);
        let items = match &value.kind {
            Kind::List(items) => items.as_slice(),
            Kind::Scalar { .. } if value.is_null() => &[],
            Kind::Scalar { .. } => one,
            Kind::Map(_) => {
                reporter.expected(value, "a list of tool servers and tools");
                return;
            }
        };
        for (n, item) in items.iter().enumerate() {
            let reporter = reporter.below(&n.to_string());
            if let Some(name) = String::read(item, &reporter) {
                self.tool(root, said, &name, item, &reporter);
            }
        }
    }

    fn tool(
        &self,
        root: &mut Node,
        said: &mut Front,
        name: &str,
        item: &Node,
        reporter: &Reporter<'_>,
    ) {
        let session_tool = match name {
            ALWAYS_THERE => return,
            "agent__batch" | "batch" => Some(FILE.batch.name),
            "agent__progress_report" => Some(FILE.progress_report.name),
            _ => None,
        };
        if let Some(key) = session_tool {
            let kind = Kind::Scalar {
                text: "true".to_owned(),
                plain: true,
            };
            let place = item.place.clone();
            put(root, &[key], Node { kind, place });
            return;
        }
        // A definition that cannot be used is one: what is wrong with it is reported where it is filled in.
        let is_defined = |kind, name: &str| !matches!(self.known.find(kind, name), Ok(None));
        let is_server = |name: &str| is_defined(DefinitionKind::Server, name);
        // A REST tool has its bare name where no server has it.
        let bare = Some(name).filter(|name| !is_server(name));
        let own = name.strip_prefix(REST_PREFIX).or(bare);
        if let Some(own) = own.filter(|own| is_defined(DefinitionKind::RestTool, own)) {
            let path = [FILE.tools.name, TOOLS.rest.name, own];
            let _ = target(root, &path, &item.place);
            return;
        }
        let service = name.strip_prefix(WHOLE_SERVICE);
        if let Some(import) = service.filter(|name| is_defined(DefinitionKind::Openapi, name)) {
            said.whole.push(format!("{REST_PREFIX}{import}"));
            let path = [FILE.tools.name, TOOLS.openapi.name, import];
            let _ = target(root, &path, &item.place);
            return;
        }
        if let Some((import, operation)) = imported(name, &is_defined) {
            let server = format!("{REST_PREFIX}{import}");
            let path = [FILE.tools.name, TOOLS.openapi.name, import];
            let _ = target(root, &path, &item.place);
            said.single
                .push((server, operation.to_owned(), item.place.clone()));
            return;
        }
        let server = if is_server(name) {
            said.whole.push(name.to_owned());
            name
        } else {
            let splits = name.match_indices("__").map(|(at, _)| at);
            let found = splits.filter_map(|at| Some((name.get(..at)?, name.get(at + 2..)?)));
            let mut found = found.filter(|(server, tool)| !tool.is_empty() && is_server(server));
            let Some((server, tool)) = found.next() else {
                let (rule, help) = no_such_tool(name);
                reporter.refuse(item, rule, Some(help));
                return;
            };
            let single = (server.to_owned(), tool.to_owned(), item.place.clone());
            said.single.push(single);
            server
        };
        let path = [FILE.tools.name, TOOLS.mcp.name, server];
        let _ = target(root, &path, &item.place);
    }
}

/// A number between quotes as the number that it is: front matter has always taken both (001 §2).
fn unquoted(mut node: Node) -> Node {
    if let Kind::Scalar { text, plain } = &mut node.kind
        && is_number(text)
    {
        *plain = true;
    }
    node
}

/// Reads the name of this agent's tool.
fn tool_name(value: &Node, reporter: &Reporter<'_>) -> Option<String> {
    let name = String::read(value, reporter)?;
    match tool_name_fault(&name) {
        None => Some(name),
        Some((rule, help)) => {
            reporter.refuse(
                value,
                format!("{rule}, got {}", reporter.describe(value)),
                Some(help),
            );
            None
        }
    }
}

/// `provider/model`, in the order of attempts.
fn models(root: &mut Node, value: Node, reporter: &Reporter<'_>) {
    let place = value.place.clone();
    let items = match value.kind {
        Kind::List(items) => items,
        Kind::Scalar { .. } if !value.is_null() => vec![value],
        Kind::Scalar { .. } | Kind::Map(_) => {
            reporter.expected(&value, "a list of provider/model");
            return;
        }
    };
    let has_items = !items.is_empty();
    let mut targets = Vec::new();
    for (n, item) in items.into_iter().enumerate() {
        let reporter = reporter.below(&n.to_string());
        let Some(text) = String::read(&item, &reporter) else {
            continue;
        };
        let several: Vec<&str> = text.split(',').map(str::trim).collect();
        if several.len() > 1 && several.iter().all(|one| one.contains('/')) {
            let rule = format!(
                "expected one provider/model, got {}",
                reporter.describe(&item)
            );
            let help = format!("write a list: [{}]", several.join(", "));
            reporter.refuse(&item, rule, Some(help));
            continue;
        }
        let parts = text.split_once('/');
        let parts = parts.filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
        let Some((provider, model)) = parts else {
            let rule = format!("expected provider/model, got {}", reporter.describe(&item));
            let help = "such as openai/gpt-4o-mini: the provider is one of .ai-agent.json";
            reporter.refuse(&item, rule, Some(help.to_owned()));
            continue;
        };
        let entry = |name: &str, text: &str| (key(name, &item.place), scalar(text, &item.place));
        let entries = vec![
            entry(TARGET.provider.name, provider),
            entry(TARGET.model.name, model),
        ];
        targets.push(Node {
            kind: Kind::Map(entries),
            place: item.place.clone(),
        });
    }
    // What is wrong with each of them was said.
    if targets.is_empty() && has_items {
        return;
    }
    let kind = Kind::List(targets);
    put(root, &[FILE.targets.name], Node { kind, place });
}

/// The web service and its operation that an id names: the longest name of a service that is defined.
fn imported<'n>(
    id: &'n str,
    is_defined: &impl Fn(DefinitionKind, &str) -> bool,
) -> Option<(&'n str, &'n str)> {
    let own = id.strip_prefix(REST_PREFIX)?;
    let splits = own.match_indices('_').map(|(at, _)| at);
    let mut splits = splits
        .filter_map(|at| Some((own.get(..at)?, own.get(at + 1..)?)))
        .rev();
    splits.find(|(import, operation)| {
        let named = !import.is_empty() && !operation.is_empty();
        named && is_defined(DefinitionKind::Openapi, import)
    })
}

/// Takes of a server only the tools that are named one by one. What a layer of configuration does not allow stays away.
pub(in crate::contract::spec) fn narrowed(root: &mut Node, front: &Front, findings: &Findings<'_>) {
    let mut done: Vec<&str> = Vec::new();
    for (server, _, place) in &front.single {
        if front.whole.contains(server) || done.contains(&server.as_str()) {
            continue;
        }
        done.push(server);
        let path = match server.strip_prefix(REST_PREFIX) {
            Some(import) => [FILE.tools.name, TOOLS.openapi.name, import],
            None => [FILE.tools.name, TOOLS.mcp.name, server],
        };
        let Some(node) = target(root, &path, place) else {
            continue;
        };
        let allowed = child(node, SERVER.tools_allowed.name).and_then(words);
        let denied = child(node, SERVER.tools_denied.name).and_then(words);
        let denied = denied.unwrap_or_default();
        let of_server = front.single.iter().filter(|(of, ..)| of == server);
        let mut taken = Vec::new();
        for (_, tool, place) in of_server {
            let is_allowed = tool_filter::takes(allowed.as_deref(), &[], tool);
            let is_kept = tool_filter::takes(None, &denied, tool);
            let rule = match (is_allowed, is_kept) {
                (true, true) => {
                    taken.push(scalar(tool, place));
                    continue;
                }
                (false, _) => {
                    format!("`toolsAllowed` of the tool server `{server}` does not name `{tool}`")
                }
                (true, false) => {
                    format!("`toolsDenied` of the tool server `{server}` denies `{tool}`")
                }
            };
            findings.add(place, FILE.tools.name, rule, None);
        }
        let kind = Kind::List(taken);
        let place = place.clone();
        if let Some(place_of) = target(node, &[SERVER.tools_allowed.name], &place) {
            *place_of = Node { kind, place };
        }
    }
}

/// The texts of a list; none of what is no list of texts, which its reader refuses.
fn words(node: &Node) -> Option<Vec<String>> {
    let Kind::List(items) = &node.kind else {
        return None;
    };
    let words = items.iter().map(|item| match &item.kind {
        Kind::Scalar { text, .. } => Some(text.clone()),
        Kind::List(_) | Kind::Map(_) => None,
    });
    words.collect()
}

/// Returns the broken rule and the help.
fn no_such_tool(name: &str) -> (String, String) {
    if let Some(own) = name.strip_prefix(REST_PREFIX) {
        let rule = format!("no REST tool `{own}` is configured");
        let help = "define it under `restTools`, or its service under `openapiSpecs`, in .ai-agent.json, beside the agent or where you stand";
        return (rule, help.to_owned());
    }
    if let Some(service) = name.strip_prefix(WHOLE_SERVICE) {
        let rule = format!("no web service `{service}` is configured");
        let help =
            "define it under `openapiSpecs` in .ai-agent.json, beside the agent or where you stand";
        return (rule, help.to_owned());
    }
    if name.starts_with(AGENT_PREFIX) {
        let rule = format!("`{name}` is an agent, not a tool server");
        return (rule, "agents are named under `agents`".to_owned());
    }
    let rule = format!("no tool server `{name}` is configured");
    let help =
        "define it under `mcpServers` in .ai-agent.json, beside the agent or where you stand";
    (rule, help.to_owned())
}

pub(super) fn put(root: &mut Node, path: &[&str], value: Node) {
    let place = value.place.clone();
    if let Some(target) = target(root, path, &place) {
        *target = value;
    }
}

pub(super) fn key(text: &str, place: &SourceRange) -> Key {
    Key {
        text: text.to_owned(),
        place: place.clone(),
    }
}

pub(super) fn scalar(text: &str, place: &SourceRange) -> Node {
    let kind = Kind::Scalar {
        text: text.to_owned(),
        plain: false,
    };
    Node {
        kind,
        place: place.clone(),
    }
}
