//! Reads the section `agents`, and has the files read that it names. Opens none itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::agent_values::AgentFile;
use super::contract_spec::{AgentSpec, tool_name_fault};
use super::definitions::Definitions;
use super::error::Findings;
use super::form::{Read, Schemas};
use super::keys::{AGENT, AgentEntry, ContractSpec, FILE};
use super::reporter::Reporter;
use super::section::Section;
use super::tree::{Kind, Node};

impl Read for AgentSpec {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if matches!(node.kind, Kind::Scalar { .. }) {
            return Some(Self {
                defined: None,
                file: AgentFile::read(node, reporter)?,
                grant: None,
            });
        }
        let AgentEntry { file, tools } = Section::of(node, reporter, &AGENT)?;
        Some(Self {
            defined: None,
            file,
            grant: tools,
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [AgentFile::schema(definitions), definitions.form(&AGENT)]})
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
