//! The part of a growing text that can be scrubbed now: text that a later byte could make part of a secret is withheld.

use super::redactor::Redactor;
use super::view::{Escaping, UnescapedView, View};

/// The most bytes that one byte of a value takes in a text: an escape of which each byte is escaped in turn, and those again.
const MOST_ESCAPED: usize = 216;
/// The most bytes of an escape behind the last one that begins an escape, however deep it is: `u00e9`.
const LONGEST_TAIL: usize = 5;
/// The most bytes of an escape that was cut which are looked at.
const MOST_CUT: usize = 24;

impl Redactor {
    /// The length of the beginning that no later text changes, at a character boundary and at the end of a word.
    pub(super) fn settled_length(&self, text: &str) -> usize {
        let mut held = self
            .secrets
            .shapes
            .may_grow(text)
            .min(self.value_may_grow(text));
        // Nothing that is found is cut in two: whole values may hold white space.
        let mut found = self.known(text.as_bytes());
        found.extend(self.credentials(text.as_bytes()));
        loop {
            let cut = found.iter().map(|found| &found.at);
            let cut = cut.filter(|at| at.start < held && held < at.end);
            let whole = cut.map(|at| at.start).min().unwrap_or(held);
            let settled = (0..=whole.min(text.len()))
                .rev()
                .find_map(|at| text.get(..at))
                .unwrap_or_default();
            let at = settled.trim_end_matches(|c: char| !c.is_whitespace()).len();
            if at == held {
                return held;
            }
            held = at;
        }
    }

    /// Returns where an incomplete known value may have begun, in any of its forms.
    fn value_may_grow(&self, text: &str) -> usize {
        let Some(from) = self.reach(text.as_bytes()) else {
            return text.len();
        };
        let tail = text.as_bytes().get(from..).unwrap_or_default();
        let whole = tail.get(..whole_escapes(tail)).unwrap_or_default();
        // What begins behind that is held back in any case, so what begins before it is cut off there at the latest.
        let mut held = whole.len();
        UnescapedView::each(whole, &mut |undone, _| {
            if let Some(at) = self.begins_at_the_end_of(&undone.view) {
                held = held.min(undone.origin(&(at..at)).start);
            }
        });
        from + held
    }

    /// Returns the earliest place where a form that the text ends within can begin; `None` if no value is known.
    fn reach(&self, text: &[u8]) -> Option<usize> {
        let longest = self.secrets.values.beginnings.longest()?;
        // White space between the lines of a form takes any number of bytes.
        let mut left = longest.saturating_mul(MOST_ESCAPED);
        let from = text.iter().rposition(|byte| {
            left = left.saturating_sub(usize::from(!byte.is_ascii_whitespace()));
            left == 0
        });
        Some(from.unwrap_or(0))
    }

    /// Finds the beginning of a value behind escapes at the end of a cut text, perhaps within an escape; returns its place and
    /// its value.
    pub(super) fn cut_off_behind_escapes(&self, text: &[u8]) -> Option<(usize, usize)> {
        let from = self.reach(text)?;
        let tail = text.get(from..)?;
        let is_lead = |byte: &u8| matches!(byte, b'\\' | b'%');
        if !tail.iter().any(is_lead) {
            return None;
        }
        let near = tail.len().saturating_sub(MOST_CUT);
        let in_escape = |byte: &u8| is_lead(byte) || *byte == b'u' || byte.is_ascii_hexdigit();
        let ends = tail.iter().enumerate().skip(near);
        let ends = ends.filter(|(_, byte)| is_lead(byte)).map(|(at, _)| at);
        let ends = ends.filter(|at| {
            tail.get(*at..)
                .is_some_and(|rest| rest.iter().all(in_escape))
        });
        let mut found: Option<(usize, usize)> = None;
        for end in ends.chain([tail.len()]) {
            UnescapedView::each(tail.get(..end).unwrap_or_default(), &mut |undone, _| {
                let beginnings = &self.secrets.values.beginnings;
                let parts = beginnings.parts_at_the_end_of(undone.view.bytes());
                let first = parts.min_by_key(|(at, form)| (*at, form.number));
                if let Some((at, form)) = first {
                    let at = from + undone.origin(&(at..at)).start;
                    found = found
                        .filter(|(first, _)| *first <= at)
                        .or(Some((at, form.owner)));
                }
            });
        }
        found
    }

    /// The offset at which a form begins that the view ends within; the form may be broken into lines.
    fn begins_at_the_end_of(&self, view: &View<'_>) -> Option<usize> {
        let unbroken = View::unescaped(view.bytes(), Escaping::Lines);
        let forms = self.secrets.values.beginnings.all();
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

/// The length of a beginning that ends in no escape, however deep it is, behind which one may not be whole yet.
fn whole_escapes(text: &[u8]) -> usize {
    let is_lead = |byte: &u8| matches!(byte, b'\\' | b'%');
    let near = text.len().saturating_sub(MOST_ESCAPED);
    let leads = text.iter().enumerate().skip(near);
    let mut leads = leads.filter(|(_, byte)| is_lead(byte));
    let Some((mut first, _)) = leads.next() else {
        return text.len();
    };
    // The escape that the first of them belongs to may have begun before.
    loop {
        let before = first.saturating_sub(LONGEST_TAIL + 1)..first;
        let before = text.get(before).unwrap_or_default();
        match before.iter().rposition(is_lead) {
            Some(at) => first -= before.len() - at,
            None => return first,
        }
    }
}

/// The first place from which the rest of `text` is the beginning of `form`, and not the whole of it.
fn begins_at_the_end(text: &[u8], form: &[u8]) -> Option<usize> {
    let from = text.len().saturating_sub(form.len().saturating_sub(1));
    // Few bytes are the form's first: most places need no comparison.
    let begins = |at: &usize| {
        let rest = text.get(*at..);
        rest.is_some_and(|rest| rest.first() == form.first() && form.starts_with(rest))
    };
    (from..text.len()).find(begins)
}
