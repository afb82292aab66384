//! How much of a text that still grows can be scrubbed now: what a later byte could make a part of a secret is held back.

use super::redactor::Redactor;
use super::view::{Escaping, View};

/// The most bytes that one byte of a value takes in a text: `\\u00e9` within a string within a string.
const MOST_ESCAPED: usize = 12;

impl Redactor {
    /// The length of the beginning that no later text changes, at a character boundary.
    pub(super) fn settled_length(&self, text: &str) -> usize {
        let held = self.shapes.may_grow(text).min(self.value_may_grow(text));
        (0..=held.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0)
    }

    /// Where a known value may have begun that is not whole yet, in any of its forms.
    fn value_may_grow(&self, text: &str) -> usize {
        let longest = self.beginnings.iter().map(|(form, ..)| form.len()).max();
        let Some(longest) = longest else {
            return text.len();
        };
        let from = text
            .len()
            .saturating_sub(longest.saturating_mul(MOST_ESCAPED));
        let tail = text.as_bytes().get(from..).unwrap_or_default();
        // An escape that is not whole yet.
        let near = tail.len().saturating_sub(MOST_ESCAPED);
        let escape = tail
            .iter()
            .skip(near)
            .position(|byte| matches!(byte, b'\\' | b'%'));
        let mut held = escape.map_or(tail.len(), |at| near + at);
        let mut look = |view: &View<'_>, outer: Option<&View<'_>>| {
            if let Some(at) = self.begins_at_the_end_of(view) {
                let at = view.origin(&(at..at)).start;
                let at = outer.map_or(at, |outer| outer.origin(&(at..at)).start);
                held = held.min(at);
            }
        };
        look(&View::plain(tail), None);
        if let Some(percent) = View::unescaped(tail, Escaping::Percent) {
            look(&percent, None);
        }
        if let Some(json) = View::unescaped(tail, Escaping::Json) {
            look(&json, None);
            for escaping in [Escaping::Json, Escaping::Percent] {
                if let Some(inner) = View::unescaped(json.bytes(), escaping) {
                    look(&inner, Some(&json));
                }
            }
        }
        from + held
    }

    /// Where in a view the beginning of a form stands that the view ends within; the form may be broken into lines.
    fn begins_at_the_end_of(&self, view: &View<'_>) -> Option<usize> {
        let unbroken = View::unbroken(view.bytes());
        let forms = self.beginnings.iter().map(|(form, ..)| form.as_slice());
        forms
            .flat_map(|form| {
                let plain = begins_at_the_end(view.bytes(), form);
                let broken = unbroken.as_ref().and_then(|unbroken| {
                    let at = begins_at_the_end(unbroken.bytes(), form)?;
                    Some(unbroken.origin(&(at..at)).start)
                });
                plain.into_iter().chain(broken)
            })
            .min()
    }
}

/// The first place from which the rest of `text` is the beginning of `form`, and not the whole of it.
fn begins_at_the_end(text: &[u8], form: &[u8]) -> Option<usize> {
    let from = text.len().saturating_sub(form.len().saturating_sub(1));
    (from..text.len()).find(|at| text.get(*at..).is_some_and(|rest| form.starts_with(rest)))
}
