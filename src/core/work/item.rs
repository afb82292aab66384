//! One work item: its task, its limits and its files (004 "Input: WorkItem").

use serde::{Deserialize, Serialize};

use super::WorkPath;
use crate::contract::pattern_takes;
use crate::message::Digest;

/// A work item, its defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkItem {
    /// The agent of the item: `agent-0` to `agent-9`, or any registered name.
    pub agent_id: String,
    /// Patterns of tools that may act outside the work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_external: Vec<String>,
    /// The author's estimate. Orders the items of a level.
    #[serde(default)]
    pub budget: Budget,
    /// Limits.
    #[serde(default)]
    pub constraints: Constraints,
    /// Ids of the items that must succeed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// The task.
    pub description: String,
    /// Patterns of paths that are no part of the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// The item's id, unique in its file.
    pub id: String,
    /// Patterns of ignored paths that are part of the tree nevertheless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_ignored: Vec<String>,
    /// Files that must exist before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_files: Vec<WorkPath>,
    /// The most bytes that a scratch tree may copy.
    #[serde(default = "WorkItem::max_copy_bytes")]
    pub max_copy_bytes: u64,
    /// The answer to a conflict with another item.
    #[serde(default)]
    pub on_conflict: OnConflict,
    /// Files that must exist afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_files: Vec<WorkPath>,
    /// True if it begins once its dependencies have ended, whatever their ends, and gets the changes of those that conflicted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reconciles: bool,
    /// The confinement of the agent's tools and of the tests, in the form of a contract's `sandbox`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<serde_json::Value>,
    /// The command that must end with exit code 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_command: Option<String>,
    /// The answer to a failed call of the agent.
    #[serde(default)]
    pub tool_errors: ToolErrors,
}

/// The limits of an item. A value equal to its limit passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Constraints {
    /// The most state changes.
    pub max_delta_size: u64,
    /// The most files touched.
    pub max_files: u64,
    /// The most tool calls, refused ones and those of child runs included.
    pub max_tool_ops: u64,
    /// The time of agent and tests together, in milliseconds.
    pub timeout_ms: u64,
}

/// The author's estimate of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Difficulty of the item.
    pub complexity: Complexity,
    /// Expected time, in milliseconds.
    pub time_estimate_ms: u64,
}

/// The complexity of an item, the simplest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// A small change.
    Low,
    /// The usual change.
    #[default]
    Medium,
    /// A large change.
    High,
}

/// The answer to a conflict with another item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The later item fails.
    #[default]
    Fail,
    /// The later item runs again on the new tree.
    Serialize,
}

/// The answer to a failed call of the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolErrors {
    /// The agent reads the error and may try another call.
    #[default]
    Allow,
    /// The item fails (004 "Tool error").
    Fail,
}

impl Default for Constraints {
    fn default() -> Self {
        Self {
            max_delta_size: 100,
            max_files: 10,
            max_tool_ops: 50,
            timeout_ms: 300_000,
        }
    }
}

impl WorkItem {
    /// Default of `max_copy_bytes`: 10 GiB.
    pub const MAX_COPY_BYTES: u64 = 10 << 30;

    const fn max_copy_bytes() -> u64 {
        Self::MAX_COPY_BYTES
    }

    /// True if `allow_external` names a tool.
    #[must_use]
    pub fn allows_external(&self, tool: &str) -> bool {
        let mut patterns = self.allow_external.iter();
        patterns.any(|pattern| pattern_takes(pattern, tool))
    }

    /// BLAKE3 over the canonical JSON of the item.
    #[must_use]
    pub fn hash(&self) -> Digest {
        Digest::of(&serde_json_canonicalizer::to_vec(self).unwrap_or_default())
    }

    /// The key under which an equal earlier item is found (rule 4): the item without its id, and the agent's contract.
    #[must_use]
    pub fn duplicate_key(&self, contract_hash: Digest) -> Digest {
        let unnamed = Self {
            id: String::new(),
            ..self.clone()
        };
        let parts = (unnamed, contract_hash);
        Digest::of(&serde_json_canonicalizer::to_vec(&parts).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> WorkItem {
        serde_json::from_str(text).expect("an item")
    }

    const LEAST: &str = r#"{"id":"w","agent_id":"agent-1","description":"Write the page"}"#;

    /// 004/2.constraints.2, 004/2.constraints.3, 004/2.constraints.4, 004/2.constraints.5
    #[test]
    fn the_defaults_are_those_of_004() {
        let limits = item(LEAST).constraints;
        assert_eq!(limits.max_files, 10);
        assert_eq!(limits.max_tool_ops, 50);
        assert_eq!(limits.max_delta_size, 100);
        assert_eq!(limits.timeout_ms, 300_000);
    }

    /// 004/2.constraints.1
    #[test]
    fn one_limit_alone_leaves_the_others_at_their_defaults() {
        let text = LEAST.replace('}', r#","constraints":{"max_files":1}}"#);
        assert_eq!(
            item(&text).constraints,
            Constraints {
                max_files: 1,
                ..Constraints::default()
            }
        );
    }

    #[test]
    fn an_item_under_another_id_has_the_same_key() {
        let (one, contract) = (item(LEAST), Digest::of(b"contract"));
        let other = item(&LEAST.replace("\"w\"", "\"v\""));
        assert_eq!(one.duplicate_key(contract), other.duplicate_key(contract));
        assert_ne!(
            one.duplicate_key(contract),
            one.duplicate_key(Digest::of(b"other"))
        );
        let changed = item(&LEAST.replace("page", "book"));
        assert_ne!(one.duplicate_key(contract), changed.duplicate_key(contract));
    }

    #[test]
    fn a_tool_outside_the_tree_is_allowed_by_a_pattern_that_takes_its_name() {
        let mut one = item(LEAST);
        assert!(!one.allows_external("http_get"));
        one.allow_external = vec!["gh__*".to_owned()];
        assert!(one.allows_external("gh__open_issue") && !one.allows_external("http_get"));
    }

    #[test]
    fn a_read_item_is_written_as_it_was() {
        let one = item(LEAST);
        let text = serde_json::to_string(&one).expect("JSON");
        assert_eq!(item(&text), one);
    }
}
