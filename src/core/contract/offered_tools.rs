//! The tools of a contract, gathered from the offers of its servers and checked. Starts no server.

use std::collections::BTreeMap;

use super::execution_contract::canonical;
use super::manifest::definition;
use super::server_terms::BUILTIN;
use super::session_tools::weight_of_session_tool;
use super::settled::settled;
use super::{
    AGENTS, BATCH, ExecutionContract, FINAL_REPORT, FactoryError, PROGRESS_REPORT,
    ServerCapability, ServerKind, ToolCapability, ToolPin, ToolTerms,
};
use crate::message::{MAX_EXACT, TokenCounter};

/// The most bytes that the definitions of all tools have together: they are part of the contract, each is compiled, and
/// the exposed ones are in every request.
const MAX_DEFINITION_BYTES: usize = 4 << 20;

/// The tools of what bring-up found, under the names that they are exposed by; definitions counted by `counter`, where there is one.
/// `builtin` names those of the built-in ones that the author wants, `outside` every other server.
pub(super) fn tools<'s>(
    builtin: &[String],
    outside: impl Iterator<Item = (&'s str, ServerKind)>,
    servers: &BTreeMap<String, ServerCapability>,
    counter: Option<&dyn TokenCounter>,
) -> Result<Vec<ToolTerms>, FactoryError> {
    let mut tools: BTreeMap<String, ToolTerms> = BTreeMap::new();
    let mut bytes: usize = 0;
    let mut add = |origin: &str, name: String, tool: &ToolCapability| {
        if !is_tool_name(&name, origin) {
            return Err(FactoryError::ToolNameIllegal {
                name: name.chars().take(100).collect(),
                origin: origin.to_owned(),
            });
        }
        bytes += canonical(&tool.annotations).len()
            + tool.description.len()
            + canonical(&tool.input_schema).len();
        if bytes > MAX_DEFINITION_BYTES {
            return Err(FactoryError::DefinitionsTooLarge {
                max: MAX_DEFINITION_BYTES,
                name,
            });
        }
        let terms = ToolTerms {
            annotations: settled(&tool.annotations),
            description: tool.description.clone(),
            input_schema: settled(&tool.input_schema),
            name: name.clone(),
            origin: origin.to_owned(),
            pin: ToolPin::of(origin, tool).0,
            schema_tokens: MAX_EXACT.min(counter.map_or(tool.schema_tokens, |counter| {
                counter.count(&tool.definition())
            })),
        };
        if [BATCH, FINAL_REPORT, PROGRESS_REPORT].contains(&name.as_str()) {
            return Err(FactoryError::ToolNameTwice {
                first: "session".to_owned(),
                name,
                second: origin.to_owned(),
            });
        }
        match tools.insert(name.clone(), terms) {
            None => Ok(()),
            Some(first) => Err(FactoryError::ToolNameTwice {
                first: first.origin,
                name,
                second: origin.to_owned(),
            }),
        }
    };
    let offered = |server: &str| -> &[ToolCapability] {
        let found = servers.get(server).filter(|s| s.available);
        found.map_or(&[], |server: &ServerCapability| &server.tools)
    };
    for tool in offered(BUILTIN) {
        if builtin.contains(&tool.name) {
            add(BUILTIN, tool.name.clone(), tool)?;
        }
    }
    for (server, kind) in outside {
        let (origin, prefix) = (kind.origin(server), kind.prefix(server));
        for tool in offered(server) {
            add(&origin, format!("{prefix}{}", tool.name), tool)?;
        }
    }
    Ok(tools.into_values().collect())
}

impl ExecutionContract {
    /// What `counter` counts the definitions of tools at, those of the session included, each with the place of its count: what the
    /// factory wrote there, where it counted with that.
    pub(crate) fn definitions_counted(
        &self,
        counter: &dyn TokenCounter,
    ) -> Vec<(String, &ToolTerms, u64)> {
        let offered = self.tools.iter().enumerate().map(|(index, tool)| {
            let own = self.own_name_of(tool);
            let text = definition(own, &tool.description, &tool.input_schema);
            let pointer = format!("/contract/tools/{index}/schema_tokens");
            (pointer, tool, MAX_EXACT.min(counter.count(&text)))
        });
        let session = self.session_tools.iter().enumerate().map(|(index, tool)| {
            let pointer = format!("/contract/session_tools/{index}/schema_tokens");
            let schema = canonical(&tool.input_schema);
            (
                pointer,
                tool,
                weight_of_session_tool(&tool.name, &tool.description, &schema, counter),
            )
        });
        offered.chain(session).collect()
    }
}

/// What every provider accepts as a function's name; of an agent a `.`, too (001 §2).
fn is_tool_name(name: &str, origin: &str) -> bool {
    let word = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-') || (b == b'.' && origin == AGENTS)
    };
    (1..=64).contains(&name.len()) && name.bytes().all(word)
}
