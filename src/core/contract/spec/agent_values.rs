//! The values of the section `agents`. Does not know its keys.

use serde_json::{Value, json};

use super::contract_spec::AgentSpec;
use super::form::{Read, Schemas};
use super::reporter::Reporter;
use super::tree::Node;

/// The most agents: the file of each is read.
const MOST_AGENTS: usize = 64;
/// The most patterns of one.
const MOST_PATTERNS: usize = 256;
/// The most characters of a path or of a pattern.
const MOST_CHARS: usize = 1_024;

/// The agents that a file names.
pub(in crate::contract) struct Agents;

/// The path of an agent's file.
pub(in crate::contract) struct AgentFile;

/// Patterns of exposed names of tools.
pub(in crate::contract) struct ToolPatterns;

impl Read for Agents {
    type Output = Vec<AgentSpec>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let agents = Vec::<AgentSpec>::read(node, reporter)?;
        if agents.len() > MOST_AGENTS {
            let rule = format!(
                "at most {MOST_AGENTS} agents are taken, got {}",
                agents.len()
            );
            reporter.refuse(node, rule, None);
            return None;
        }
        Some(agents)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let item = AgentSpec::schema(definitions);
        json!({"type": "array", "items": item, "maxItems": MOST_AGENTS})
    }
}

impl Read for AgentFile {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let path = String::read(node, reporter)?;
        if path.trim().is_empty() || path.chars().count() > MOST_CHARS {
            reporter.expected(node, "the path of an agent's file");
            return None;
        }
        Some(path)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": "\\S", "maxLength": MOST_CHARS})
    }
}

impl Read for ToolPatterns {
    type Output = Vec<String>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let patterns = Vec::<String>::read(node, reporter)?;
        if patterns.len() > MOST_PATTERNS {
            let rule = format!("at most {MOST_PATTERNS} patterns, got {}", patterns.len());
            reporter.refuse(node, rule, None);
            return None;
        }
        let long = |pattern: &&String| pattern.is_empty() || pattern.chars().count() > MOST_CHARS;
        if patterns.iter().any(|pattern| long(&pattern)) {
            let rule = format!("a pattern has 1 to {MOST_CHARS} characters");
            reporter.refuse(node, rule, None);
            return None;
        }
        Some(patterns)
    }

    fn schema(_: &mut Schemas) -> Value {
        let item = json!({"type": "string", "minLength": 1, "maxLength": MOST_CHARS});
        json!({"type": "array", "items": item, "maxItems": MOST_PATTERNS})
    }
}
