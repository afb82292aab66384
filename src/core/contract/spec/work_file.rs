//! The file of work items (004): its keys, in snake_case or in camelCase, and their reader. Does not judge what an item refers to.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use super::declare::form;
use super::error::{Findings, Origin, SpecErrors};
use super::form::{DefaultText, Form, NEEDED, Read, Row, Schemas};
use super::parse::Whole;
use super::reporter::{Reporter, suggest};
use super::tree::{self, Kind, Node};
use super::words::{ComplexityWord, OnConflictWord, ToolErrorsWord};
use crate::contract::{AgentId, SandboxSpec};
use crate::message::{MAX_EXACT, without_bom};

form! {
    /// A file of work items.
    WORK_FILE: WorkFileKeys, "work-file", "monolith work" [pub(in crate::contract) struct WorkFileEntry];
    "work": {
        items: WorkItems as Vec<WorkItemEntry>, DefaultText = DefaultText("the file itself is one item"),
        "The items.";
        agents: BTreeMap<String, String> => or_empty, DefaultText = DefaultText("the registered agents"),
        "The contract or the `.ai` file of each agent; a path begins in the folder of this file.";
        work_tree: ItemText as String, DefaultText = DefaultText("the folder of this file"),
        "The folder that the items change; a path begins in the folder of this file.";
    }
}

form! {
    /// A work item.
    WORK_ITEM: WorkItemKeys, "work-item", "A work item" [#[derive(Clone, Debug)] pub(crate) struct WorkItemEntry];
    "items": {
        id: ItemId as String => needed, DefaultText = NEEDED,
        "Its name, which no other item of the file has.";
        agent_id: AgentId => needed, DefaultText = NEEDED,
        "The agent that does it, such as `agent-1`.";
        description: ItemText as String => needed, DefaultText = NEEDED,
        "The task.";
        dependencies: Vec<ItemId> as Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Ids of the items that must succeed first.";
        reconciles: bool, bool = false,
        "True: it begins once its dependencies have ended, and gets the changes of those that conflicted.";
        constraints: WorkLimits => or_empty, DefaultText = DefaultText("as below"),
        "What it may change and how long it may take.";
        budget: WorkBudget => or_empty, DefaultText = DefaultText("as below"),
        "The author's estimate.";
        input_files: Vec<TreePath> as Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Files that must exist before. A leading `/` is the root of the work tree.";
        output_files: Vec<TreePath> as Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Files that must exist afterwards.";
        test_command: ItemText as String, DefaultText = DefaultText("none"),
        "The command that must end with exit code 0 before anything is published.";
        excludes: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Patterns of paths that are not part of the tree, as in `.gitignore`.";
        include_ignored: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Patterns of ignored paths that are part of the tree nevertheless.";
        allow_external: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Patterns of tools that may act outside the work tree.";
        tool_errors: ToolErrorsWord as String, &'static str = "allow",
        "`fail`: a failed call of the agent fails the item. `allow`: the agent reads the error.";
        on_conflict: OnConflictWord as String, &'static str = "fail",
        "Where another item changed the same path: `fail`, or `serialize` to run again on the new tree.";
        max_copy_bytes: u64, u64 = 10 << 30,
        "Maximum size of the copied tree in bytes.";
        sandbox: SandboxValue as Value, DefaultText = DefaultText("that of the agent's contract"),
        "The confinement of the agent's tools and of the tests, as in a contract file.";
    }
}

form! {
    /// The limits of an item.
    WORK_LIMITS: WorkLimitKeys, "work-limits", "Limits of a work item" [#[derive(Clone, Debug, Default)] pub(crate) struct WorkLimits];
    "constraints": {
        max_files: u64, u64 = 10,
        "Maximum number of files touched.";
        max_tool_ops: u64, u64 = 50,
        "Maximum number of tool calls, those that were refused and those of sub-agents included.";
        max_delta_size: u64, u64 = 100,
        "Maximum number of state changes.";
        timeout_ms: u64, u64 = 300_000,
        "Time for agent and tests together, in milliseconds." => within((1, MAX_EXACT));
    }
}

form! {
    /// The author's estimate of an item.
    WORK_BUDGET: WorkBudgetKeys, "work-budget", "The estimate of a work item" [#[derive(Clone, Debug, Default)] pub(crate) struct WorkBudget];
    "budget": {
        time_estimate_ms: u64, u64 = 0,
        "Expected time in milliseconds. Orders a level.";
        complexity: ComplexityWord as String, &'static str = "medium",
        "`low`, `medium` or `high`. Orders a level.";
    }
}

/// The form of a file that is one item: the keys of the file, without its list, and those of the item.
pub(super) struct OneItem;

impl Form for OneItem {
    fn id(&self) -> &'static str {
        "work-item-file"
    }

    fn title(&self) -> &'static str {
        "A file of one work item"
    }

    fn names(&self) -> &'static [&'static str] {
        WorkItemKeys::every_name()
    }

    fn rows(&self) -> Vec<Row> {
        let of_file = WORK_FILE.rows().into_iter();
        let of_file = of_file.filter(|row| row.name != WORK_FILE.items.name);
        of_file.chain(WORK_ITEM.rows()).collect()
    }
}

/// The most items of a file.
const MAX_ITEMS: usize = 1_000;

/// The items of a file.
pub(in crate::contract) struct WorkItems;

impl Read for WorkItems {
    type Output = Vec<WorkItemEntry>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let items = Vec::<WorkItemEntry>::read(node, reporter)?;
        if items.is_empty() || items.len() > MAX_ITEMS {
            let rule = format!("expected 1 to {MAX_ITEMS} items, got {}", items.len());
            reporter.refuse(node, rule, None);
        }
        Some(items)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let item = WorkItemEntry::schema(definitions);
        json!({"type": "array", "items": item, "minItems": 1, "maxItems": MAX_ITEMS})
    }
}

/// The most characters of an item's id.
const MAX_ID_CHARS: usize = 64;

/// The id of an item, which names files and folders.
pub(in crate::contract) struct ItemId;

impl Read for ItemId {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let id = String::read(node, reporter)?;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let starts_well = id.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !starts_well || id.len() > MAX_ID_CHARS || !id.chars().all(is_allowed) {
            let rule = format!(
                "expected 1 to {MAX_ID_CHARS} letters, digits, `-`, `_` and `.`, first a letter or digit"
            );
            reporter.refuse(node, rule, None);
        }
        Some(id)
    }

    fn schema(_: &mut Schemas) -> Value {
        let pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
        json!({"type": "string", "pattern": pattern, "maxLength": MAX_ID_CHARS})
    }
}

/// A text that is not blank.
pub(in crate::contract) struct ItemText;

impl Read for ItemText {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let text = String::read(node, reporter)?;
        if text.trim().is_empty() {
            reporter.refuse(node, "expected a text that is not blank", None);
        }
        Some(text)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": "\\S"})
    }
}

/// The path of a file below the work tree, which [`WorkFile::parse`] leaves to `judge`.
pub(in crate::contract) struct TreePath;

impl Read for TreePath {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        String::read(node, reporter)
    }

    fn schema(_: &mut Schemas) -> Value {
        let no_tree_has = r"\.([gG][iI][tT]|monolith-scratch)";
        let name = format!(r"(?!(\.{{1,2}}|{no_tree_has})(/|$))[^/\x00]+");
        json!({"type": "string", "pattern": format!(r"^/?(\./)?{name}(/{name})*$")})
    }
}

/// The `sandbox` of a contract file, kept as it is written.
pub(in crate::contract) struct SandboxValue;

impl Read for SandboxValue {
    type Output = Value;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        <SandboxSpec as Read>::read(node, reporter)?;
        <Value as Read>::read(node, reporter)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        <SandboxSpec as Read>::schema(definitions)
    }
}

/// A file of work items as it is written.
#[derive(Clone, Debug)]
pub(crate) struct WorkFile {
    /// The file of each agent.
    pub agents: BTreeMap<String, String>,
    /// True if the file has a list of items, false if it is one item.
    is_list: bool,
    /// The items.
    pub items: Vec<WorkItemEntry>,
    /// The folder that the items change.
    pub work_tree: Option<String>,
}

/// A rule that an item breaks, and where.
#[derive(Clone, Debug)]
pub(crate) struct WorkFault {
    /// Suggested fix.
    pub help: Option<String>,
    /// The dotted path of the value.
    pub path: String,
    /// The broken rule.
    pub rule: String,
}

impl WorkFile {
    /// Reads a file, and lets `judge` make a value of it.
    ///
    /// # Errors
    /// Every fault of the file at once, except that a fault of syntax hides everything after it. Those of `judge` are shown where the
    /// file has what they are about.
    pub(crate) fn parse<T>(
        file: &str,
        text: &str,
        judge: impl FnOnce(&Self) -> Result<T, Vec<WorkFault>>,
    ) -> Result<T, SpecErrors> {
        let text = without_bom(text);
        let findings = Findings::new(text, &[]);
        let whole = Whole {
            file,
            text,
            sets: &[],
        };
        if let Some(errors) = whole.too_long(&findings) {
            return Err(errors);
        }
        let mut lines = text.lines().map(str::trim_start);
        if lines.all(|line| line.is_empty() || line.starts_with('#')) {
            let help = "an item has at least `id`, `agent_id` and `description`".to_owned();
            let place = Origin::File.place(0, 0);
            findings.add(&place, "", "the file is empty", Some(help));
            return Err(findings.errors(file, text, &[]));
        }
        let Some(mut root) = tree::parse(text, Origin::File, &findings) else {
            return Err(findings.errors(file, text, &[]));
        };
        let reporter = Reporter {
            findings: &findings,
            path: String::new(),
        };
        write_in_snake_case(&mut root, &reporter);
        let judged = Self::read(&root, &reporter).map(|read| judge(&read));
        match judged {
            Some(Ok(value)) if findings.is_empty() => return Ok(value),
            Some(Err(faults)) => {
                for fault in faults {
                    refuse(&root, fault, &findings);
                }
            }
            Some(Ok(_)) | None => {}
        }
        Err(findings.errors(file, text, &[]))
    }

    /// The dotted path of a key of an item.
    pub(crate) fn path(&self, item: usize, key: &str) -> String {
        if self.is_list {
            format!("items.{item}.{key}")
        } else {
            key.to_owned()
        }
    }

    fn read(root: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let (file, item) = split(root, reporter);
        let entry = WorkFileEntry::read(&file, reporter);
        let is_list = item.is_none();
        let items = match item {
            None => entry.as_ref()?.items.clone()?,
            Some(item) => vec![WorkItemEntry::read(&item, reporter)?],
        };
        let entry = entry?;
        Some(Self {
            agents: entry.agents,
            is_list,
            items,
            work_tree: entry.work_tree,
        })
    }
}

/// The keys of the file, and those of the one item that it is; no item where it has a list of them. Of one item it refuses the keys that
/// neither has.
fn split(root: &Node, reporter: &Reporter<'_>) -> (Node, Option<Node>) {
    let Kind::Map(entries) = &root.kind else {
        return (root.clone(), None);
    };
    if root.below(WORK_FILE.items.name).is_some() {
        return (root.clone(), None);
    }
    let names = WorkFileKeys::every_name();
    let is_files = |(key, _): &(tree::Key, Node)| names.contains(&key.text.as_str());
    let (file, mut item): (Vec<_>, Vec<_>) = entries.iter().cloned().partition(is_files);
    item.retain(|(key, _)| {
        let is_known = WorkItemKeys::every_name().contains(&key.text.as_str());
        if !is_known {
            refuse_unknown(key, reporter);
        }
        is_known
    });
    let node = |entries| Node {
        kind: Kind::Map(entries),
        place: root.place.clone(),
    };
    (node(file), Some(node(item)))
}

/// Refuses a key that a file of one item does not have.
fn refuse_unknown(key: &tree::Key, reporter: &Reporter<'_>) {
    let mut known: Vec<&str> = OneItem.rows().iter().map(|row| row.name).collect();
    known.sort_unstable();
    let help = suggest(&key.text, known.iter().copied());
    let help = help.unwrap_or_else(|| format!("known keys: {}", known.join(", ")));
    let rule = format!("unknown key `{}`", key.text);
    let path = reporter.join(&key.text);
    reporter.findings.add(&key.place, &path, rule, Some(help));
}

/// Renames camelCase keys, except in mappings whose keys are not ours.
fn write_in_snake_case(node: &mut Node, reporter: &Reporter<'_>) {
    match &mut node.kind {
        Kind::Scalar { .. } => {}
        Kind::List(items) => {
            for (n, item) in items.iter_mut().enumerate() {
                write_in_snake_case(item, &reporter.below(&n.to_string()));
            }
        }
        Kind::Map(entries) => {
            let mut seen = HashSet::new();
            for (key, value) in entries {
                key.text = snake_case(&key.text);
                let below = reporter.below(&key.text);
                if !seen.insert(key.text.clone()) {
                    let rule = format!("the key `{}` occurs twice", key.text);
                    let help = "camelCase and snake_case are the same key".to_owned();
                    let path = &below.path;
                    below.findings.add(&key.place, path, rule, Some(help));
                }
                if key.text != WORK_FILE.agents.name && key.text != WORK_ITEM.sandbox.name {
                    write_in_snake_case(value, &below);
                }
            }
        }
    }
}

/// `maxFiles` of `max_files`.
pub(super) fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at_checked(1).unwrap_or_default();
        camel.push_str(&first.to_ascii_uppercase());
        camel.push_str(rest);
    }
    camel
}

/// `max_files` of `maxFiles`; any other key stays as it is.
fn snake_case(key: &str) -> String {
    if key.contains('_') || !key.starts_with(|c: char| c.is_ascii_lowercase()) {
        return key.to_owned();
    }
    let mut snake = String::with_capacity(key.len());
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Reports a fault at the node of the file that it concerns.
fn refuse(root: &Node, fault: WorkFault, findings: &Findings<'_>) {
    let mut node = root;
    for key in fault.path.split('.') {
        match node.below(key) {
            Some(below) => node = below,
            None => break,
        }
    }
    findings.add(&node.place, &fault.path, fault.rule, fault.help);
}
