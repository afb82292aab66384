//! How an author leaves out tools whose input schema cannot be used. Judges no schema itself.

use std::collections::BTreeMap;

use super::server_terms::{ServerKind, own_name};
use super::terms::Terms;
use super::validators::Validators;

/// What an author writes, so that tools whose input schema cannot be used are left out and the others of their servers stay; `None` if
/// every schema can be used, or it is the author's own.
pub fn way_without_tools(terms: &Terms) -> Option<String> {
    let validators = Validators::default();
    let exposed = terms.exposed_tools();
    let unusable = exposed.filter(|tool| validators.fault(tool).is_some());
    let mut by_server: BTreeMap<&String, (ServerKind, Vec<&str>)> = BTreeMap::new();
    for tool in unusable {
        let mut servers = terms.servers.iter();
        let found = servers.find(|(name, server)| server.kind.origin(name) == tool.origin);
        let Some((name, server)) = found else {
            continue;
        };
        let own = tool.name.strip_prefix(&server.kind.prefix(name));
        let (_, tools) = by_server
            .entry(name)
            .or_insert_with(|| (server.kind, Vec::new()));
        tools.push(own.unwrap_or(&tool.name));
    }
    let ways = by_server.into_iter().filter_map(|(name, (kind, tools))| {
        let section = match kind {
            ServerKind::Openapi => "openapiSpecs",
            ServerKind::Stdio | ServerKind::Http | ServerKind::Sse | ServerKind::Websocket => {
                "mcpServers"
            }
            ServerKind::Agents | ServerKind::Builtin | ServerKind::Host | ServerKind::Rest => {
                return None;
            }
        };
        let quoted = serde_json::json!(tools);
        let (own, place) = (own_name(name), kind.place(name));
        Some(format!(
            "`\"toolsDenied\": {quoted}` of {section}.{own} in .ai-agent.json, `tools_denied: {quoted}` of {place} in a contract file"
        ))
    });
    let ways = ways.collect::<Vec<_>>();
    (!ways.is_empty()).then(|| format!("to go without it: {}", ways.join("; ")))
}
