//! The keys of an agent's profile, and its reader. Does not know where a profile stands, nor what its contract says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::contract::spec::declare::form;
use crate::contract::spec::form::{DefaultText, NEEDED, Read, Schemas};
use crate::contract::spec::keys::FILE;
use crate::contract::spec::reporter::Reporter;
use crate::contract::spec::section::Section;
use crate::contract::spec::tree::{Kind, Node};
use crate::contract::spec::words::Text;
use crate::contract::{AgentId, AgentProfile};
use crate::message::Digest;

/// In which form an agent stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentForm {
    /// Front matter and a prompt: a `.ai` file.
    FrontMatter,
    /// A mapping.
    Profile,
    /// A prompt and nothing else: one of the command line.
    Text,
}

/// The most items of a list of a profile.
const MOST_ITEMS: usize = 256;

form! {
    /// A profile.
    AGENT_PROFILE: AgentProfileKeys, "agent-profile", "monolith agent profile";
    "profile": {
        id: AgentId, DefaultText = NEEDED,
        "What the agent is called: lower-case letters and digits, with hyphens between them." => needed;
        version: Line, DefaultText = NEEDED,
        "The version of the profile, such as 1.2.0." => needed;
        description: Text, DefaultText = DefaultText("none"),
        "What it does, for people.";
        enabled: bool, bool = true,
        "Whether it may be selected and run.";
        capabilities: Names, DefaultText = DefaultText("none"),
        "What it can do: names such as `code-review`. One that a task names speaks for the agent.";
        example_tasks as "exampleTasks": Tasks, DefaultText = DefaultText("none"),
        "Tasks that it is for. A task that is one of them, or contains one, is this agent's.";
        not_for_tasks as "notForTasks": Tasks, DefaultText = DefaultText("none"),
        "Tasks that it is not for.";
        core_abilities as "coreAbilities": Names, DefaultText = DefaultText("none"),
        "Abilities that are always in its system prompt: `abilities/NAME.md` beside the profile.";
        abilities: Names, DefaultText = DefaultText("none"),
        "Abilities that are there where the task names one of their keywords.";
        ability_tokens as "abilityTokens": u64, u64 = AgentProfile::ABILITY_TOKENS,
        "What abilities may take of the system prompt, in tokens of four bytes.";
        workflow: Text, DefaultText = DefaultText("none"),
        "How its work goes, step by step, in words for the model.";
        system: String, DefaultText = DefaultText("empty"),
        "Its prompt.";
        models: Vec<String>, DefaultText = DefaultText("those of `contract`, or of `--models`"),
        "Models as provider/model, in the order of attempts.";
        tools: Vec<String>, DefaultText = DefaultText("none"),
        "Tool servers by name, and single tools as SERVER__TOOL.";
        contract: ContractDefaults, DefaultText = DefaultText("the defaults of agents"),
        "Any keys of a contract file.";
    }
}

impl AgentProfileKeys {
    /// The keys that front matter has for the same.
    pub(super) fn in_front_matter() -> impl Iterator<Item = &'static str> {
        let keys = &AGENT_PROFILE;
        let elsewhere = [
            keys.contract.name,
            keys.models.name,
            keys.system.name,
            keys.tools.name,
        ];
        let all = Self::every_name().iter().copied();
        all.filter(move |name| !elsewhere.contains(name))
    }
}

/// Reads a profile. Its `models`, `tools`, `system` and `contract` are read where they become a contract.
pub(super) fn read_profile(
    node: &Node,
    reporter: &Reporter<'_>,
    digest: Digest,
) -> Option<AgentProfile> {
    let keys = &AGENT_PROFILE;
    let profile = Section::read(node, reporter, keys, |section| {
        let _ = (section.node(&keys.models), section.node(&keys.tools));
        let _ = (section.node(&keys.system), section.node(&keys.contract));
        let (id, version) = (section.get(&keys.id), section.get(&keys.version));
        let (enabled, tokens) = (
            section.get(&keys.enabled),
            section.get(&keys.ability_tokens),
        );
        // Every key is read before one that is missing ends it, so that every fault is found.
        let read = AgentProfile {
            abilities: section.get(&keys.abilities).unwrap_or_default(),
            ability_tokens: tokens.unwrap_or(keys.ability_tokens.default_value),
            capabilities: section.get(&keys.capabilities).unwrap_or_default(),
            core_abilities: section.get(&keys.core_abilities).unwrap_or_default(),
            description: section.get(&keys.description),
            digest,
            enabled: enabled.unwrap_or(keys.enabled.default_value),
            example_tasks: section.get(&keys.example_tasks).unwrap_or_default(),
            not_for_tasks: section.get(&keys.not_for_tasks).unwrap_or_default(),
            workflow: section.get(&keys.workflow),
            id: id?,
            version: version?,
        };
        judge(&read, section);
        Some(read)
    });
    profile.flatten()
}

/// Checks rules across several keys.
fn judge(profile: &AgentProfile, section: &Section<'_, '_>) {
    let keys = &AGENT_PROFILE;
    if !profile.enabled && profile.id.as_str() == AgentProfile::STANDARD {
        let rule =
            "the agent `standard` is what is left where no other fits: it cannot be disabled";
        section.refuse_key(keys.enabled.name, rule, None);
    }
    let mut twice = profile.abilities.iter();
    if let Some(twice) = twice.find(|name| profile.core_abilities.contains(name)) {
        let rule = format!("`{twice}` is one of `coreAbilities`, which are always there");
        section.refuse_key(keys.abilities.name, rule, None);
    }
}

/// The same, of one line.
pub(in crate::contract) struct Line;

/// Ids, none of them twice.
pub(in crate::contract) struct Names;

/// Tasks, none of them twice as tasks are compared.
pub(in crate::contract) struct Tasks;

/// The keys of a contract file. What they say is read where they become one.
pub(in crate::contract) struct ContractDefaults;

impl Read for AgentId {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let Kind::Scalar { text, .. } = &node.kind else {
            reporter.expected(node, "a name");
            return None;
        };
        match Self::try_from(text.clone()) {
            Ok(id) if !node.is_null() => Some(id),
            Ok(_) => {
                reporter.expected(node, "a name");
                None
            }
            Err(fault) => {
                let help = format!("such as `{}`", Self::sanitized(text));
                let rule = format!("{fault}, got {}", reporter.describe(node));
                reporter.refuse(node, rule, Some(help));
                None
            }
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": Self::PATTERN, "maxLength": Self::MOST_CHARS})
    }
}

impl Read for Line {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let text = Text::read(node, reporter)?;
        if text.len() > AgentId::MOST_CHARS || text.contains(|c: char| !c.is_ascii_graphic()) {
            let most = AgentId::MOST_CHARS;
            let rule = format!("expected up to {most} printable ASCII characters without a space");
            reporter.refuse(node, rule, Some("such as 1.2.0".to_owned()));
            return None;
        }
        Some(text)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": "^[!-~]+$", "maxLength": AgentId::MOST_CHARS})
    }
}

impl Read for Names {
    type Output = Vec<AgentId>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let names = Vec::<AgentId>::read(node, reporter)?;
        judge_list(names.iter().map(AgentId::as_str), node, reporter)?;
        Some(names)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let item = AgentId::schema(definitions);
        json!({"type": "array", "items": item, "maxItems": MOST_ITEMS, "uniqueItems": true})
    }
}

impl Read for Tasks {
    type Output = Vec<String>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let tasks = Vec::<Text>::read(node, reporter)?;
        let normalized = tasks.iter().map(|task| AgentProfile::normalized(task));
        let normalized: Vec<String> = normalized.collect();
        if normalized.iter().any(String::is_empty) {
            reporter.refuse(node, "a task has words", None);
            return None;
        }
        judge_list(normalized.iter().map(String::as_str), node, reporter)?;
        Some(tasks)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let item = Text::schema(definitions);
        json!({"type": "array", "items": item, "maxItems": MOST_ITEMS})
    }
}

impl Read for ContractDefaults {
    type Output = ();

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        if matches!(node.kind, Kind::Map(_)) {
            return Some(());
        }
        reporter.expected(node, "a mapping");
        None
    }

    fn schema(definitions: &mut Schemas) -> Value {
        // What a run needs may come from a layer or from the command line, and steps that are no prompts need no model.
        let mut file = definitions.object(&FILE);
        file.shift_remove("required");
        Value::Object(file)
    }
}

fn judge_list<'i>(
    items: impl ExactSizeIterator<Item = &'i str>,
    node: &Node,
    reporter: &Reporter<'_>,
) -> Option<()> {
    if items.len() > MOST_ITEMS {
        let rule = format!("at most {MOST_ITEMS} are taken, got {}", items.len());
        reporter.refuse(node, rule, None);
        return None;
    }
    let mut known = BTreeSet::new();
    for item in items {
        if !known.insert(item) {
            reporter.refuse(node, format!("`{item}` occurs twice"), None);
            return None;
        }
    }
    Some(())
}
