//! The reasons why a layer or a definition in it cannot be used. Names files and keys, never values.

use std::path::PathBuf;

use super::merged::Merged;

/// The reason why a layer of the configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("configuration {}: {rule}", path.display())]
pub struct ConfigFault {
    /// The file.
    pub path: PathBuf,
    /// The error, and its place in the file.
    pub rule: String,
}

/// The rule that a key breaks which a contract does not know.
pub(super) const NO_PLACE: &str = "a contract has no place for it";
/// Maximum number of unknown keys of a definition that are named.
const MOST_UNKNOWN: usize = 50;

/// Makes a value from a definition, or returns its faults: every unknown key, and the first of the other faults.
pub(super) fn made<T>(
    merged: &Merged,
    make: impl Fn(&Merged) -> Result<T, DefinitionFault>,
) -> Result<T, Vec<DefinitionFault>> {
    let (mut faults, mut rest) = (Vec::new(), merged.clone());
    loop {
        match make(&rest) {
            Ok(definition) if faults.is_empty() => return Ok(definition),
            Ok(_) => return Err(faults),
            Err(fault) => {
                let goes_on = fault.rule == NO_PLACE && rest.remove(&fault.key);
                faults.push(fault);
                if !goes_on || faults.len() == MOST_UNKNOWN {
                    return Err(faults);
                }
            }
        }
    }
}

/// Faults of one definition in one text.
pub(super) fn rendered(
    faults: &[DefinitionFault],
    render: impl Fn(&DefinitionFault) -> String,
) -> String {
    let each: Vec<String> = faults.iter().map(render).collect();
    each.join("; ")
}

/// A fault in a definition: its key, its layer and the broken rule.
pub(super) struct DefinitionFault {
    /// The dotted path of the key; empty for the definition as a whole.
    pub(super) key: String,
    /// Index of the layer.
    pub(super) layer: usize,
    pub(super) rule: String,
    /// The variable that is set nowhere; none for any other fault.
    pub(super) variable: Option<String>,
}

impl DefinitionFault {
    /// A broken rule that no variable is missing for.
    pub(super) fn of(key: &str, layer: usize, rule: &str) -> Self {
        Self {
            key: key.to_owned(),
            layer,
            rule: rule.to_owned(),
            variable: None,
        }
    }

    /// The fault of what is called `id` in a section of the file `origin`; `at` is the dotted path of that (001 §4, §7).
    pub(super) fn render(&self, scope: &str, id: &str, at: &str, origin: &str) -> String {
        let at = match self.key.as_str() {
            "" => at.to_owned(),
            key => format!("{at}.{key}"),
        };
        match &self.variable {
            Some(name) => format!(
                "Unresolved variable ${{{name}}} for {scope} '{id}' at {origin}: {at} needs it; {}",
                self.rule
            ),
            None => format!("{at} in {origin}: {}", self.rule),
        }
    }
}
