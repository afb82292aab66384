//! The text that replaces a placeholder, and the items of a loop, at one place of the workflow.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::interpreter::{Interpreter, Scope};
use super::memory::Items;
use super::step_input::MAX_INPUT_BYTES;
use crate::contract::{ForEach, Label, Part, Template};

impl Interpreter<'_> {
    /// The items of a list, as they stand in steps: a text as itself, anything else as it was written, for a number may have more digits
    /// than are calculated with. `None` if it is no list.
    pub(super) fn items(&self, held: &ForEach, scope: Scope<'_>) -> Option<Arc<Items>> {
        let template = Template::parse(&held.items).ok()?;
        let labels = RefCell::default();
        let text = template.filled(MAX_INPUT_BYTES, &|part| self.part(part, scope, &labels))?;
        let items: Vec<&RawValue> = serde_json::from_str(text.trim()).ok()?;
        let shown = |item: &RawValue| {
            let text = serde_json::from_str::<String>(item.get());
            text.unwrap_or_else(|_| item.get().to_owned())
        };
        let texts = items.into_iter().map(shown).collect();
        let labels = labels.into_inner();
        Some(Arc::new(Items { labels, texts }))
    }

    /// The text that replaces a placeholder; its labels are added to `labels`.
    pub(super) fn part(
        &self,
        part: &Part,
        scope: Scope<'_>,
        labels: &RefCell<BTreeSet<Label>>,
    ) -> String {
        match part {
            Part::Text(text) => text.clone(),
            Part::Input => self.input.to_owned(),
            Part::Index => scope.item.map_or_else(String::new, |(_, n)| n.to_string()),
            Part::Item => scope.item.map_or_else(String::new, |(items, n)| {
                labels.borrow_mut().extend(&items.labels);
                let item = usize::try_from(n).ok().and_then(|n| items.texts.get(n));
                item.cloned().unwrap_or_default()
            }),
            Part::Output(id) => self.memory.binding(id).map_or_else(String::new, |binding| {
                labels
                    .borrow_mut()
                    .extend(binding.value.labels(self.outputs));
                binding.value.text(self.outputs)
            }),
            Part::Compensated => String::new(),
        }
    }
}
