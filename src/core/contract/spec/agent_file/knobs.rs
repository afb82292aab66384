//! The keys of front matter that are keys of a contract file, and their names in messages. Reads no value.

use std::sync::LazyLock;

use super::profile::AgentForm;
use crate::contract::spec::form::Form;
use crate::contract::spec::keys::{
    CONTEXT_BUDGET, FILE, FINAL_REPORT, SAMPLING, TOOL_OUTPUT_BUDGET,
};

/// Keys that agents of ai-agent have and that count for nothing, each with what does.
pub(super) const OF_OTHERS: [(&str, &str); 3] = [
    ("cache", "no answer of a model is taken from a cache"),
    (
        "maxConcurrentTools",
        "`queues` in .ai-agent.json limits the calls that run at once",
    ),
    (
        "toolOutput",
        "`toolResponseMaxBytes` limits what a model is shown of an output",
    ),
];

/// Keys of front matter, and of `defaults` in a layer of configuration, with their paths in a contract file. Sorted by name.
pub static KNOBS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let sections: [(&str, &dyn Form); 4] = [
        ("", &FILE),
        (FILE.context_budget.name, &CONTEXT_BUDGET),
        (FILE.sampling.name, &SAMPLING),
        (FILE.tool_output_budget.name, &TOOL_OUTPUT_BUDGET),
    ];
    let mut knobs = Vec::new();
    for (section, form) in sections {
        for row in form.rows() {
            let path: &str = match section {
                "" => row.name,
                // Once in a process.
                section => format!("{section}.{}", row.name).leak(),
            };
            knobs.extend(row.front.iter().map(|name| (*name, path)));
        }
    }
    knobs.sort_unstable();
    knobs
});

/// The other keys of front matter.
pub(super) const OWN: [&str; 7] = [
    "agents", "input", "models", "output", "toolName", "tools", "usage",
];

/// The path in a contract file of a key that is one there.
pub(super) fn contract_path(key: &str) -> Option<&'static str> {
    let known = KNOBS.iter().find(|(name, _)| *name == key);
    known.map(|(_, path)| *path)
}

/// Returns an agent file's name for the value at a contract file path: `temperature` for `sampling.temperature` in front
/// matter.
pub(in crate::contract::spec) fn shown_path(path: &str, form: AgentForm) -> String {
    if form == AgentForm::Profile {
        return path.to_owned();
    }
    let mut parts = path.split('.');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    if first == FILE.targets.name {
        return match second {
            Some(index) => format!("models.{index}"),
            None => "models".to_owned(),
        };
    }
    if first == FILE.final_report.name && second.is_none_or(|key| key == FINAL_REPORT.format.name) {
        return "output.format".to_owned();
    }
    if first == FILE.final_report.name {
        return path.replacen(first, "output", 1);
    }
    let known = KNOBS.iter().find(|(_, known)| *known == path);
    known.map_or(path, |(name, _)| name).to_owned()
}

/// Returns the front matter key in front of a value, if it maps to that contract path.
pub(in crate::contract::spec) fn knob_before(
    text: &str,
    offset: usize,
    path: &str,
) -> Option<&'static str> {
    let before = text.get(..offset)?.lines().next_back()?;
    let key = before.trim_end().strip_suffix(':')?.trim();
    let key = key.trim_matches(['"', '\'']);
    let mut knobs = KNOBS.iter();
    let found = knobs.find(|(name, known)| *known == path && *name == key);
    found.map(|(name, _)| *name)
}
