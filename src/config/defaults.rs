//! The section `defaults` of the layers, in the form of a contract file.

use serde_json::json;

use super::builder::Builder;
use super::fault::DefinitionFault;
use super::merged::Merged;
use super::names::DEFAULTS;
use crate::contract::Definition;

/// Keys of `defaults` that only other programs read: how they write their logs, and what they show where.
const OF_OTHERS: [&str; 7] = [
    "formats",
    "traceLLM",
    "traceMCP",
    "traceSdk",
    "traceSlack",
    "traceTools",
    "verbose",
];

/// The defaults in the form of a contract file.
pub(super) fn defaults(
    mut builder: Builder<'_>,
    merged: &Merged,
) -> Result<Definition, DefinitionFault> {
    for (key, value) in merged.members() {
        if OF_OTHERS.contains(&key.as_str()) {
            continue;
        }
        let refuse = |rule: &str| DefinitionFault {
            key: key.clone(),
            layer: value.layer(),
            rule: rule.to_owned(),
        };
        let known = DEFAULTS.iter().find(|(name, _)| name == key);
        let Some((_, path)) = known else {
            return Err(match key.as_str() {
                "format" | "outputFormat" => {
                    refuse("the form of a report is said by final_report.format of the contract")
                }
                _ => refuse("a contract has no place for it"),
            });
        };
        let (expanded, origin) = builder.expanded(key, value)?;
        if expanded.is_object() || expanded.is_array() {
            return Err(refuse("it is no single value"));
        }
        let (section, name) = path.split_once('.').unwrap_or(("", path));
        let place = match section {
            "" => &mut builder.members,
            section => {
                let section = builder.members.entry(section).or_insert_with(|| json!({}));
                let Some(section) = section.as_object_mut() else {
                    continue;
                };
                section
            }
        };
        if place.insert(name.to_owned(), expanded).is_some() {
            return Err(refuse("maxTurns and maxToolTurns are one and the same"));
        }
        builder.from(path, origin);
    }
    Ok(builder.finish())
}
