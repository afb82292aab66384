//! The keys of front matter (001 §2), and which key of a contract file each of them is.

use std::sync::LazyLock;

use super::profile::AgentForm;
use crate::contract::spec::form::Form;
use crate::contract::spec::keys::{
    CONTEXT_BUDGET, FILE, FINAL_REPORT, SAMPLING, TOOL_OUTPUT_BUDGET,
};

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

/// What an agent's file calls the value at a path of a contract file: `temperature` for `sampling.temperature` in front matter.
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

/// Which of the keys that are that one of a contract file stands before a value.
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
