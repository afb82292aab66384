//! The offers of tool servers when their pins were taken: the text of the file next to a contract. A pin is a hash and shows
//! only that an offer is another one; this shows the differences. Nothing in it is trusted: an offer that does not match the
//! pin is not used. Opens no file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::execution_contract::settled;
use super::manifest::ServerCapability;
use super::offer_difference::offer_difference;
use super::{CapabilityManifest, ExecutionContract, ServerKind, ToolCapability};
use crate::message::Digest;

/// The format of the file.
pub(super) const FORMAT: &str = "monolith-pins/1";
/// The most bytes that a difference has.
const DIFFERENCE_BYTES: usize = 2_000;

/// The offers of tool servers when their pins were taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinnedOffers {
    /// Reason that an existing file was not read.
    fault: Option<String>,
    servers: BTreeMap<String, ServerCapability>,
}

/// The file.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// The format of this file.
    format: String,
    /// The offer of each tool server of the contract, by its name there.
    servers: BTreeMap<String, Vec<PinnedTool>>,
}

/// A tool as its server described it.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinnedTool {
    /// The server's own hints, or null.
    annotations: Value,
    /// The tool's own description; empty if it has none.
    description: String,
    /// JSON Schema of its arguments.
    input_schema: Value,
    /// The name at its server.
    name: String,
}

impl PinnedOffers {
    /// Returns the offers of a contract's servers when it was made.
    pub fn of(contract: &ExecutionContract) -> Self {
        let servers = CapabilityManifest::recorded_in(contract).servers;
        let is_outside = |server: &ServerCapability| !server.kind.is_of_author();
        let servers = servers.into_iter();
        Self {
            fault: None,
            servers: servers
                .filter(|(_, server)| server.available && is_outside(server))
                .collect(),
        }
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let tools = |server: &ServerCapability| {
            let tools = server.tools.iter();
            let tools = tools.map(|tool| PinnedTool {
                annotations: tool.annotations.clone(),
                description: tool.description.clone(),
                input_schema: tool.input_schema.clone(),
                name: tool.name.clone(),
            });
            tools.collect()
        };
        let servers = self.servers.iter();
        let document = Document {
            format: FORMAT.to_owned(),
            servers: servers
                .map(|(name, server)| (name.clone(), tools(server)))
                .collect(),
        };
        // It serialises whatever is in it; without text nothing would be explained.
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text + "\n"
    }

    /// Parses the file; keeps the reason if it cannot be read.
    pub fn parse(text: &str) -> Self {
        let document = match serde_json::from_str::<Document>(text) {
            Ok(document) if document.format == FORMAT => document,
            Ok(_) => return Self::unreadable(format!("its format is not {FORMAT}")),
            Err(fault) => return Self::unreadable(fault.to_string()),
        };
        let servers = document.servers.into_iter().map(|(name, tools)| {
            let tools = tools.into_iter().map(|tool| ToolCapability {
                annotations: tool.annotations,
                description: tool.description,
                input_schema: tool.input_schema,
                name: tool.name,
                schema_tokens: 0,
            });
            let server = ServerCapability {
                available: true,
                kind: ServerKind::Stdio,
                tools: tools.collect(),
            };
            (name, server)
        });
        Self {
            fault: None,
            servers: servers.collect(),
        }
    }

    /// A file that there is and that says nothing.
    pub const fn unreadable(fault: String) -> Self {
        Self {
            fault: Some(fault),
            servers: BTreeMap::new(),
        }
    }

    /// Returns how the offer of each server whose pin is not the demanded one differs from its offer at that pin, sorted by
    /// server.
    pub fn differences(&self, contract: &ExecutionContract) -> Vec<(String, String)> {
        let now = Self::of(contract).servers;
        let differences = now.iter().filter_map(|(name, is)| {
            let expected = contract.servers.get(name)?.expected_pin?;
            let difference = self.difference(name, expected, is)?;
            Some((name.clone(), difference))
        });
        differences.collect()
    }

    /// The same of one server; none if it offers what it offered at that pin.
    fn difference(&self, name: &str, expected: Digest, is: &ServerCapability) -> Option<String> {
        let origin = is.kind.origin(name);
        if is.pin(&origin) == expected {
            return None;
        }
        let was = self.servers.get(name);
        if let Some(was) = was.filter(|was| was.pin(&origin) == expected) {
            let difference = offer_difference(&was.tools, &is.tools, DIFFERENCE_BYTES);
            return Some(difference);
        }
        let missing = if was.is_some() {
            "the file of pins holds another offer"
        } else {
            "no file of pins holds it"
        };
        let why = self.fault.as_deref().unwrap_or(missing);
        Some(format!(
            "what differs from the pinned offer is not known: {why}"
        ))
    }
}

/// Returns how the offer of each server of the tools named `changed` differs from the contract's record; sorted by server.
pub fn changed_offers(
    contract: &ExecutionContract,
    offered: &BTreeMap<String, ServerCapability>,
    changed: &[String],
) -> Vec<(String, String)> {
    let held = PinnedOffers::of(contract).servers;
    let differences = held.iter().filter_map(|(name, was)| {
        let (terms, is) = contract.servers.get(name).zip(offered.get(name))?;
        let origin = terms.kind.origin(name);
        let mut own = contract.tools.iter().filter(|tool| tool.origin == origin);
        if !own.any(|tool| changed.contains(&tool.name)) {
            return None;
        }
        let taken = is.tools.iter().filter(|tool| terms.takes_tool(&tool.name));
        // A contract holds values in the form that they are stored in.
        let taken = taken.map(|tool| ToolCapability {
            annotations: settled(&tool.annotations),
            input_schema: settled(&tool.input_schema),
            ..tool.clone()
        });
        let taken: Vec<ToolCapability> = taken.collect();
        let difference = offer_difference(&was.tools, &taken, DIFFERENCE_BYTES);
        Some((name.clone(), difference))
    });
    differences.collect()
}

/// The JSON Schema of a file of pins. `contracts/pins.schema.json` holds it.
#[must_use]
pub fn pins_schema() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<Document>().to_value();
    if let Some(format) = schema.pointer_mut("/properties/format") {
        *format = json!({"description": "The format of this file.", "const": FORMAT});
    }
    if let Value::Object(root) = &mut schema {
        root.insert("title".to_owned(), json!("monolith pins, format 1"));
        root.insert(
            "description".to_owned(),
            json!(
                "What tool servers offered when their pins were taken. monolith contract pin writes it."
            ),
        );
    }
    schema.sort_all_objects();
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::tests::{manifest, spec};
    use crate::contract::tests_document_schema::is_shipped;
    use crate::contract::{ContractFactory, PinnedOffers};

    fn contract(pin: Option<Digest>, description: &str) -> ExecutionContract {
        let pin = pin.map_or_else(String::new, |pin| format!(", pin: '{pin}'"));
        let mut found = manifest();
        let web = found.servers.get_mut("web").unwrap();
        web.tools[0].description = description.to_owned();
        let spec = spec(&[&format!("tools.mcp.web={{url: 'http://h/'{pin}}}")]);
        ContractFactory.make(&spec, &found, None).unwrap()
    }

    #[test]
    fn a_pinned_offer_comes_back_from_its_text_and_explains_a_change() {
        let was = contract(None, "Searches.");
        let pin = was.servers["web"].pin.unwrap();
        let kept = PinnedOffers::parse(&PinnedOffers::of(&was).text());
        let web = &kept.servers["web"];
        assert_eq!(web.pin("mcp:web"), pin);
        assert_eq!(kept.servers.len(), 1);
        assert_eq!(kept.differences(&contract(Some(pin), "Searches.")), []);
        // Nothing is demanded, so nothing differs from it.
        assert_eq!(kept.differences(&contract(None, "Sends.")), []);
        let differs = kept.differences(&contract(Some(pin), "Sends."));
        let text = "`search` has changed: description: \"Searches.\" → \"Sends.\"";
        assert_eq!(differs, [("web".to_owned(), text.to_owned())]);
    }

    #[test]
    fn a_recorded_offer_is_compared_with_what_the_contract_takes_of_the_one_now() {
        let was = contract(None, "Searches.");
        let check = |edit: &dyn Fn(&mut Vec<ToolCapability>), changed: &[&str], expect: &[&str]| {
            let mut offered = manifest().servers;
            let web = offered.get_mut("web").unwrap();
            web.tools[0].description = "Searches.".to_owned();
            edit(&mut web.tools);
            let changed: Vec<String> = changed.iter().map(|&name| name.to_owned()).collect();
            let found = changed_offers(&was, &offered, &changed);
            let found: Vec<String> = found
                .into_iter()
                .map(|(server, text)| format!("{server}: {text}"))
                .collect();
            assert_eq!(found, expect);
        };
        let sends = |tools: &mut Vec<ToolCapability>| tools[0].description = "Sends.".to_owned();
        let differs = "web: `search` has changed: description: \"Searches.\" → \"Sends.\"";
        check(&sends, &["web__search"], &[differs]);
        check(&sends, &[], &[]);
        check(&Vec::clear, &["web__search"], &["web: `search` is gone"]);
    }

    /// A changed file explains nothing away: it must come to the pin.
    #[test]
    fn what_does_not_come_to_the_pin_is_not_used() {
        let was = contract(None, "Searches.");
        let pin = was.servers["web"].pin.unwrap();
        let now = contract(Some(pin), "Sends.");
        let check = |file: PinnedOffers, why: &str| {
            let [(_, text)] = file.differences(&now).try_into().unwrap();
            let expect = format!("what differs from the pinned offer is not known: {why}");
            assert_eq!(text, expect);
        };
        let text = PinnedOffers::of(&was).text();
        check(
            PinnedOffers::parse(&text.replace("Searches.", "Sends.")),
            "the file of pins holds another offer",
        );
        check(PinnedOffers::default(), "no file of pins holds it");
        check(
            PinnedOffers::parse(&text.replace("pins/1", "pins/2")),
            "its format is not monolith-pins/1",
        );
        check(
            PinnedOffers::parse("{}"),
            "missing field `format` at line 1 column 2",
        );
    }

    #[test]
    fn the_shipped_schema_is_the_one_the_types_give() {
        is_shipped("contracts/pins.schema.json", &pins_schema());
    }

    #[test]
    fn what_is_written_fits_the_schema_and_what_is_not_read_does_not() {
        let validator = jsonschema::options()
            .offline()
            .build(&pins_schema())
            .unwrap();
        let spec = spec(&["tools.mcp.web={url: 'http://h/'}"]);
        let contract = ContractFactory.make(&spec, &manifest(), None).unwrap();
        let written: Value = serde_json::from_str(&PinnedOffers::of(&contract).text()).unwrap();
        let server = written["servers"].as_object().unwrap().values().next();
        assert!(server.is_some_and(|tools| !tools.as_array().unwrap().is_empty()));
        assert!(validator.is_valid(&written));
        let damaged = |pointer: &str, value: Value| {
            let mut damaged = written.clone();
            *damaged.pointer_mut(pointer).unwrap() = value;
            damaged
        };
        for wrong in [
            damaged("/format", json!("monolith-pins/2")),
            damaged("/servers", json!([])),
            damaged("", json!({"format": FORMAT})),
            damaged("", json!({"format": FORMAT, "more": 1, "servers": {}})),
            damaged("/servers", json!({"web": [{"name": "search"}]})),
        ] {
            assert!(!validator.is_valid(&wrong), "{wrong}");
        }
    }
}
