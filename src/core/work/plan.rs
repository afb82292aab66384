//! The items of a file, checked, and the levels in which they run. Opens no file and starts nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Budget, Constraints, WorkItem, WorkPath};
use crate::contract::{
    SpecErrors, WorkFault, WorkFile, WorkItemEntry, circles, is_tool_name, suggest,
};

/// The items of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkPlan {
    /// The contract or `.ai` file of each agent, as the author wrote it.
    pub agents: BTreeMap<String, String>,
    /// The items, in the order of the file.
    pub items: Vec<WorkItem>,
    /// The folder that the items change, as the author wrote it; none for the file's folder.
    pub work_tree: Option<String>,
}

impl WorkPlan {
    /// Reads a file of one item or of a list of items. `is_registered` knows the agents that the file need not name, and `pattern_fault` the
    /// reason that a text is no pattern of paths.
    ///
    /// ```
    /// use monolith_core::work::WorkPlan;
    ///
    /// let text = "{id: w, agentId: agent-1, description: Write the page, constraints: {maxFiles: 5}}";
    /// let plan = WorkPlan::parse("item.yaml", text, &|agent| agent == "agent-1", &|_| None)?;
    /// assert_eq!(plan.items[0].constraints.max_files, 5);
    /// # Ok::<(), monolith_core::contract::SpecErrors>(())
    /// ```
    ///
    /// # Errors
    /// Every fault of the file at once, with its place.
    pub fn parse(
        file: &str,
        text: &str,
        is_registered: &dyn Fn(&str) -> bool,
        pattern_fault: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, SpecErrors> {
        WorkFile::parse(file, text, |read| {
            let judge = Judge {
                faults: Vec::new(),
                file: read,
                pattern_fault,
            };
            judge.plan(is_registered)
        })
    }

    /// The dependencies that no item of the file is.
    #[must_use]
    pub fn external(&self) -> BTreeSet<&str> {
        let own: BTreeSet<&str> = self.items.iter().map(|item| item.id.as_str()).collect();
        let named = self.items.iter().flat_map(|item| &item.dependencies);
        named
            .map(String::as_str)
            .filter(|id| !own.contains(id))
            .collect()
    }

    /// The indexes of the items, level by level: those of a level depend on items of earlier levels alone. Within a level the hardest
    /// begins first, of equally hard ones the longest, then the one with the least id.
    #[must_use]
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let needed = needed(
            self.items
                .iter()
                .map(|item| (item.id.as_str(), &*item.dependencies)),
        );
        let mut done: BTreeSet<usize> = BTreeSet::new();
        let mut levels = Vec::new();
        loop {
            let is_ready = |(item, needs): &(usize, &Vec<usize>)| {
                !done.contains(item) && needs.iter().all(|need| done.contains(need))
            };
            let ready = needed.iter().enumerate().filter(is_ready);
            let mut level: Vec<usize> = ready.map(|(item, _)| item).collect();
            if level.is_empty() {
                return levels;
            }
            level.sort_by_key(|item| self.items.get(*item).map(urgency));
            done.extend(level.iter().copied());
            levels.push(level);
        }
    }
}

/// The order of a level.
fn urgency(item: &WorkItem) -> impl Ord {
    let Budget {
        complexity,
        time_estimate_ms,
    } = item.budget;
    (Reverse(complexity), Reverse(time_estimate_ms), &item.id)
}

/// Of each item the indexes of those that it depends on; dependencies outside the file are left out.
fn needed<'i>(items: impl Iterator<Item = (&'i str, &'i [String])> + Clone) -> Vec<Vec<usize>> {
    let index: BTreeMap<&str, usize> = items.clone().map(|(id, _)| id).zip(0..).collect();
    let of_item = |(_, dependencies): (&str, &'i [String])| -> Vec<usize> {
        let known = dependencies.iter().filter_map(|id| index.get(id.as_str()));
        known.copied().collect()
    };
    items.map(of_item).collect()
}

/// Checks the items of a file.
struct Judge<'f> {
    faults: Vec<WorkFault>,
    file: &'f WorkFile,
    pattern_fault: &'f dyn Fn(&str) -> Option<String>,
}

impl Judge<'_> {
    fn plan(mut self, is_registered: &dyn Fn(&str) -> bool) -> Result<WorkPlan, Vec<WorkFault>> {
        let file = self.file;
        let mut ids = BTreeSet::new();
        let mut items = Vec::with_capacity(file.items.len());
        for (n, entry) in file.items.iter().enumerate() {
            if !ids.insert(entry.id.as_str()) {
                let rule = format!("the item `{}` is defined twice", entry.id);
                self.refuse(file.path(n, "id"), rule, None);
            }
            let agent = entry.agent_id.as_str();
            if !file.agents.contains_key(agent) && !is_registered(agent) {
                self.refuse_agent(n, agent);
            }
            self.check_dependencies(n, entry);
            self.check_patterns(n, entry);
            items.push(self.item(n, entry));
        }
        self.check_circles();
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        Ok(WorkPlan {
            agents: file.agents.clone(),
            items,
            work_tree: file.work_tree.clone(),
        })
    }

    fn refuse(&mut self, path: String, rule: String, help: Option<String>) {
        self.faults.push(WorkFault { help, path, rule });
    }

    fn refuse_agent(&mut self, n: usize, agent: &str) {
        let file = self.file;
        let near = suggest(agent, file.agents.keys().map(String::as_str));
        let help = near.unwrap_or_else(|| format!("name its file: `agents: {{{agent}: FILE}}`"));
        let rule = format!("no agent `{agent}` is registered");
        self.refuse(file.path(n, "agent_id"), rule, Some(help));
    }

    fn check_dependencies(&mut self, n: usize, entry: &WorkItemEntry) {
        let mut seen = BTreeSet::new();
        for (at, id) in entry.dependencies.iter().enumerate() {
            if !seen.insert(id) {
                let path = self.file.path(n, &format!("dependencies.{at}"));
                self.refuse(path, format!("it depends on `{id}` twice"), None);
            }
        }
        if entry.reconciles == Some(true) && entry.dependencies.is_empty() {
            let help = "name the items that it merges in `dependencies`".to_owned();
            let rule = "an item that reconciles needs dependencies".to_owned();
            self.refuse(self.file.path(n, "reconciles"), rule, Some(help));
        }
    }

    fn check_patterns(&mut self, n: usize, entry: &WorkItemEntry) {
        let of_tools = |text: &str| {
            let is_name = is_tool_name(&text.replace('*', "x"));
            (!is_name).then(|| "no tool has such a name".to_owned())
        };
        let of_paths = self.pattern_fault;
        let lists = [
            ("allow_external", &entry.allow_external),
            ("excludes", &entry.excludes),
            ("include_ignored", &entry.include_ignored),
        ];
        for (key, patterns) in lists {
            for (at, pattern) in patterns.iter().enumerate() {
                let fault = if key == "allow_external" {
                    of_tools(pattern)
                } else {
                    of_paths(pattern)
                };
                if let Some(fault) = fault {
                    let path = self.file.path(n, &format!("{key}.{at}"));
                    self.refuse(path, format!("`{pattern}` is no pattern: {fault}"), None);
                }
            }
        }
    }

    fn check_circles(&mut self) {
        let file = self.file;
        let entries = file.items.iter();
        let needed = needed(entries.map(|entry| (entry.id.as_str(), &*entry.dependencies)));
        for circle in circles(&needed) {
            let ids = circle.iter().chain(circle.first());
            let ids = ids.filter_map(|item| Some(file.items.get(*item)?.id.as_str()));
            let names = ids.collect::<Vec<_>>().join(" → ");
            let first = circle.first().copied().unwrap_or_default();
            let help = "remove one of the dependencies".to_owned();
            let rule = format!("these items wait for each other: {names}");
            self.refuse(file.path(first, "dependencies"), rule, Some(help));
        }
    }

    fn item(&mut self, n: usize, entry: &WorkItemEntry) -> WorkItem {
        let usual = Constraints::default();
        let limits = &entry.constraints;
        WorkItem {
            agent_id: entry.agent_id.as_str().to_owned(),
            allow_external: entry.allow_external.clone(),
            budget: Budget {
                complexity: word(entry.budget.complexity.as_deref()),
                time_estimate_ms: entry.budget.time_estimate_ms.unwrap_or_default(),
            },
            constraints: Constraints {
                max_delta_size: limits.max_delta_size.unwrap_or(usual.max_delta_size),
                max_files: limits.max_files.unwrap_or(usual.max_files),
                max_tool_ops: limits.max_tool_ops.unwrap_or(usual.max_tool_ops),
                timeout_ms: limits.timeout_ms.unwrap_or(usual.timeout_ms),
            },
            dependencies: entry.dependencies.clone(),
            description: entry.description.clone(),
            excludes: entry.excludes.clone(),
            id: entry.id.clone(),
            include_ignored: entry.include_ignored.clone(),
            input_files: self.paths(n, "input_files", &entry.input_files),
            max_copy_bytes: entry.max_copy_bytes.unwrap_or(WorkItem::MAX_COPY_BYTES),
            on_conflict: word(entry.on_conflict.as_deref()),
            output_files: self.paths(n, "output_files", &entry.output_files),
            reconciles: entry.reconciles.unwrap_or_default(),
            sandbox: entry.sandbox.as_ref().map(in_order),
            test_command: entry.test_command.clone(),
            tool_errors: word(entry.tool_errors.as_deref()),
        }
    }

    fn paths(&mut self, n: usize, key: &str, texts: &[String]) -> Vec<WorkPath> {
        let mut paths = Vec::with_capacity(texts.len());
        for (at, text) in texts.iter().enumerate() {
            let rule = match WorkPath::from_item(text) {
                Ok(path) if path.is_never_in_a_tree() => {
                    "repositories and scratch trees are no part of the tree".to_owned()
                }
                Ok(path) => {
                    paths.push(path);
                    continue;
                }
                Err(error) => error.to_string(),
            };
            let path = self.file.path(n, &format!("{key}.{at}"));
            self.refuse(path, rule, None);
        }
        paths
    }
}

/// The value with its keys in canonical order, as it is recorded.
fn in_order(value: &Value) -> Value {
    let text = serde_json_canonicalizer::to_string(value).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The value of a word that the reader of the file knows; the default without one.
fn word<T: DeserializeOwned + Default>(word: Option<&str>) -> T {
    let value = word.map(|word| Value::String(word.to_owned()));
    value
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default()
}
