//! The tools of a contract, gathered from the offers of its servers and checked. Starts no server.

use std::collections::BTreeMap;

use super::execution_contract::{canonical, settled};
use super::manifest::definition;
use super::server_terms::BUILTIN;
use super::session_tools::weight_of_session_tool;
use super::{
    BATCH, ExecutionContract, FINAL_REPORT, FactoryError, PROGRESS_REPORT, ServerCapability,
    ServerKind, Terms, ToolCapability, ToolPin, ToolTerms,
};
use crate::message::{MAX_EXACT, TokenCounter, invisible_code_points};

/// The most bytes of a tool's exposed name.
const MAX_NAME_BYTES: usize = 256;

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
        if !is_tool_name(&name) {
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
    /// Counts the definitions of tools with `counter`, including those of the session, each with the place of its count. The
    /// factory wrote these counts there, if it used that counter.
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

/// True if a contract may hold a tool of that name. Requests carry it by its wire name.
#[must_use]
pub fn is_tool_name(name: &str) -> bool {
    let is_kept = |c: char| !c.is_control() && c != '*';
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.trim() == name
        && name.chars().all(is_kept)
        && invisible_code_points(name, |_| false).is_none()
}

/// The offered tool that is nearest to a name: the one of that name of any server, else one whose name is spelt nearly so.
pub(super) fn meant_tool<'o>(
    name: &str,
    offered: impl Iterator<Item = &'o str> + Clone,
) -> Option<&'o str> {
    let own = |one: &&str| one.split_once("__").is_some_and(|(_, own)| own == name);
    offered.clone().find(own).or_else(|| {
        let limit = (name.chars().take(128).count() / 3).max(1);
        let short = |text: &str| text.chars().take(128).collect::<String>();
        let ranked = offered.map(|one| (strsim::osa_distance(&short(name), &short(one)), one));
        ranked
            .filter(|(distance, _)| *distance <= limit)
            .min()
            .map(|(_, one)| one)
    })
}

/// A name that no server offers, with the tool that is meant.
pub(super) fn not_offered(terms: &Terms, name: &str) -> String {
    let meant = meant_tool(name, terms.tools.iter().map(|tool| tool.name.as_str()));
    let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    format!("`{name}`, which no server offers{meant}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_suggested_by_its_own_name_and_by_its_spelling() {
        let offered = [
            "fs__read_file",
            "git__git_log",
            "git__git_status",
            "read_file",
        ];
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(meant_tool(name, offered.iter().copied()), expect, "{name}");
        };
        check("git_log", Some("git__git_log"));
        check("git__gitlog", Some("git__git_log"));
        check("raed_file", Some("read_file"));
        check("weather", None);
    }
}
