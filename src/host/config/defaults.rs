//! The section `defaults` of the layers, in the form of a contract file.

use serde_json::json;

use super::builder::Builder;
use super::fault::{DefinitionFault, NO_PLACE};
use super::merged::Merged;
use monolith_core::contract::{Definition, KNOBS, ReportFormat};

/// The key of forms by where results are shown, and this program's place in it.
const FORMATS: (&str, &str) = ("formats", "cli");
/// The keys of the form of reports.
const FORMAT: [&str; 2] = ["outputFormat", "format"];

/// Keys of `defaults` that only other programs read: how they write their logs.
const OF_OTHERS: [&str; 6] = [
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
        // The form of a report is a default of agents alone: a contract file has a report only where it says so.
        let is_form = key == FORMATS.0 || FORMAT.contains(&key.as_str());
        if is_form || OF_OTHERS.contains(&key.as_str()) {
            continue;
        }
        let refuse = |rule: &str| DefinitionFault {
            variable: None,
            key: key.clone(),
            layer: value.layer(),
            rule: rule.to_owned(),
        };
        let known = KNOBS.iter().find(|(name, _)| name == key);
        let Some((_, path)) = known else {
            return Err(refuse(NO_PLACE));
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

/// The form of an agent's report: that of the command line, else the one for every place.
///
/// # Errors
/// A form that is no word.
pub(super) fn report_format(
    builder: &Builder<'_>,
    merged: &Merged,
) -> Result<Option<String>, DefinitionFault> {
    let by_place = merged.member(FORMATS.0);
    let by_place = by_place.and_then(|formats| formats.member(FORMATS.1));
    let by_place = by_place.map(|value| (FORMATS.0, value));
    let everywhere = FORMAT.into_iter();
    let mut everywhere = everywhere.filter_map(|key| Some((key, merged.member(key)?)));
    let Some((key, value)) = by_place.or_else(|| everywhere.next()) else {
        return Ok(None);
    };
    let (expanded, _) = builder.expanded(key, value)?;
    let known = expanded.as_str().filter(|word| {
        let mut all = ReportFormat::ALL.into_iter();
        all.any(|format| format.as_str() == *word)
    });
    match known {
        Some(word) => Ok(Some(word.to_owned())),
        None => Err(DefinitionFault {
            variable: None,
            key: key.to_owned(),
            layer: value.layer(),
            rule: format!(
                "it is none of {}",
                ReportFormat::ALL.map(ReportFormat::as_str).join(", ")
            ),
        }),
    }
}
