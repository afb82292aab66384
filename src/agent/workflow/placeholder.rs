//! The text that replaces a placeholder, and the items of a loop, at one place of the workflow.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::interpreter::{Interpreter, Scope};
use super::step_input::MAX_INPUT_BYTES;
use crate::contract::{ForEach, Part, Template};

impl Interpreter<'_> {
    /// The items of a list, as they stand in steps: a text as itself, anything else as it was written, for a number may have more digits
    /// than are calculated with. `None` if it is no list.
    pub(super) fn items(&self, held: &ForEach, scope: Scope<'_>) -> Option<Arc<[String]>> {
        let template = Template::parse(&held.items).ok()?;
        let text = template.filled(MAX_INPUT_BYTES, &|part| self.part(part, scope))?;
        let items: Vec<&RawValue> = serde_json::from_str(text.trim()).ok()?;
        let shown = |item: &RawValue| {
            let text = serde_json::from_str::<String>(item.get());
            text.unwrap_or_else(|_| item.get().to_owned())
        };
        Some(items.into_iter().map(shown).collect())
    }

    /// The text that replaces a placeholder.
    pub(super) fn part(&self, part: &Part, scope: Scope<'_>) -> String {
        match part {
            Part::Text(text) => text.clone(),
            Part::Input => self.input.to_owned(),
            Part::Index => scope.item.map_or_else(String::new, |(_, n)| n.to_string()),
            Part::Item => scope.item.map_or_else(String::new, |(items, n)| {
                let item = usize::try_from(n).ok().and_then(|n| items.get(n));
                item.cloned().unwrap_or_default()
            }),
            Part::Output(id) => {
                let binding = self.memory.binding(id);
                binding.map_or_else(String::new, |binding| binding.value.text(self.outputs))
            }
            Part::Compensated => String::new(),
        }
    }
}
