//! Reads the section `agents`, and has the files read that it names. Opens none itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::agent_spec::{AgentSpec, tool_name_fault};
use super::contract_spec::ContractSpec;
use super::definitions::Definitions;
use super::error::Findings;
use super::form::{Read, Schemas};
use super::keys::{AGENT, FILE};
use super::reporter::Reporter;
use super::section::Section;
use super::tree::{Kind, Node};

/// The most agents: the file of each is read.
const MOST_AGENTS: usize = 64;
/// The most patterns of one.
const MOST_PATTERNS: usize = 256;
/// The most characters of a path or of a pattern.
const MOST_CHARS: usize = 1_024;

/// The agents that a file names.
#[derive(Debug, Default)]
pub(in crate::contract) struct Agents(pub(super) Vec<AgentSpec>);

/// The path of an agent's file.
pub(in crate::contract) struct AgentFile(String);

/// Patterns of exposed names of tools.
pub(in crate::contract) struct ToolPatterns(Vec<String>);

impl Read for Agents {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let agents = Vec::<AgentSpec>::read(node, reporter)?;
        if agents.len() > MOST_AGENTS {
            let rule = format!(
                "at most {MOST_AGENTS} agents are taken, got {}",
                agents.len()
            );
            reporter.refuse(node, rule, None);
            return None;
        }
        Some(Self(agents))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let item = AgentSpec::schema(definitions);
        json!({"type": "array", "items": item, "maxItems": MOST_AGENTS})
    }
}

impl Read for AgentSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if matches!(node.kind, Kind::Scalar { .. }) {
            let AgentFile(file) = AgentFile::read(node, reporter)?;
            return Some(Self {
                defined: None,
                file,
                grant: None,
            });
        }
        Section::read(node, reporter, &AGENT, |section| {
            let (file, grant) = (section.get(&AGENT.file), section.get(&AGENT.tools));
            let AgentFile(file) = file?;
            Some(Self {
                defined: None,
                file,
                grant: grant.map(|ToolPatterns(patterns)| patterns),
            })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [AgentFile::schema(definitions), definitions.form(&AGENT)]})
    }
}

impl Read for AgentFile {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let path = String::read(node, reporter)?;
        if path.trim().is_empty() || path.chars().count() > MOST_CHARS {
            reporter.expected(node, "the path of an agent's file");
            return None;
        }
        Some(Self(path))
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": "\\S", "maxLength": MOST_CHARS})
    }
}

impl Read for ToolPatterns {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
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
        Some(Self(patterns))
    }

    fn schema(_: &mut Schemas) -> Value {
        let item = json!({"type": "string", "minLength": 1, "maxLength": MOST_CHARS});
        json!({"type": "array", "items": item, "maxItems": MOST_PATTERNS})
    }
}

impl ContractSpec {
    /// Has the files of the agents read that `root` names, and refuses those that cannot be offered side by side.
    pub(super) fn read_agents(
        &mut self,
        root: &Node,
        known: &dyn Definitions,
        findings: &Findings<'_>,
    ) {
        let Some(node) = root.below(FILE.agents.name) else {
            return;
        };
        let reporter = Reporter {
            findings,
            path: FILE.agents.name.to_owned(),
        };
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for (n, agent) in self.agents.iter_mut().enumerate() {
            let index = n.to_string();
            let (reporter, item) = (reporter.below(&index), node.below(&index).unwrap_or(node));
            agent.defined = match known.agent(&agent.file) {
                Ok(defined) => defined,
                Err(faults) => {
                    for fault in faults {
                        reporter.refuse(item, fault, None);
                    }
                    continue;
                }
            };
            let Some(defined) = &agent.defined else {
                continue;
            };
            let name = &defined.tool_name;
            if let Some((rule, help)) = tool_name_fault(name) {
                reporter.refuse(item, format!("{}: {rule}", agent.file), Some(help));
            }
            let kind = defined.input_schema.get("type");
            if kind.is_some_and(|kind| kind != "object") {
                let rule = format!(
                    "{}: the `input` of an agent that is called is an object",
                    agent.file
                );
                reporter.refuse(item, rule, None);
            }
            if let Some(first) = names.insert(name.clone(), agent.file.clone()) {
                let tool = agent.tool().unwrap_or_default();
                let rule = format!(
                    "`{first}` and `{}` would both be called `{tool}`",
                    agent.file
                );
                let help = "give one of them another `toolName`".to_owned();
                reporter.refuse(item, rule, Some(help));
            }
        }
    }
}
