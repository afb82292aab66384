//! Nonces and slot ids of the XML transport. Knows their form; does not know what a model puts into a slot.

use std::collections::BTreeMap;
use std::fmt;

pub(super) use crate::kernel::tags::{FINAL, PROGRESS, numbered, placeholder};
use crate::message::Digest;

/// The value that only the tags of one session share: 8 lower-case hex digits, the same in every turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// The nonce of the run whose chain begins with that hash: its first 8 digits.
    #[must_use]
    pub fn of(genesis: &Digest) -> Self {
        Self(genesis.short(8))
    }

    /// The id of a numbered slot, such as `0a1b2c3d-0001`.
    #[must_use]
    pub(crate) fn slot(&self, number: u32) -> String {
        format!("{self}-{}", numbered(number))
    }

    /// The id of the final report's slot, such as `0a1b2c3d-FINAL`.
    #[must_use]
    pub(crate) fn final_slot(&self) -> String {
        format!("{self}-{FINAL}")
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The numbered slots that one turn offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRange {
    /// Number of slots.
    pub count: u32,
    /// The number of the first one.
    pub first: u32,
}

impl SlotRange {
    /// The slots of a session's first turn.
    #[cfg(test)]
    pub(crate) const fn first_turn(count: u32) -> Self {
        Self { count, first: 1 }
    }

    /// The slots of the turn after this one: numbers are never used again.
    #[cfg(test)]
    pub(crate) const fn next_turn(self, count: u32) -> Self {
        Self {
            count,
            first: self.first.saturating_add(self.count),
        }
    }

    /// The numbers, in order.
    #[must_use]
    pub(crate) fn numbers(self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }
}

/// The tags that a turn reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlTerms {
    /// The session's nonce.
    pub nonce: Nonce,
    /// True if progress has a tag: in mode `xml`, not in `xml-final`.
    pub progress: bool,
    /// The slots of calls; none in mode `xml-final` and in a closing turn.
    pub slots: SlotRange,
}

/// The most bytes of an opening or closing tag; what is longer is text.
pub(super) const MAX_TAG_BYTES: usize = 1024;

/// An opening tag after the nonce: its slot and its attributes.
#[derive(Debug)]
pub(super) struct Opening {
    /// Attributes; none if not `name="value"`.
    pub attributes: Option<BTreeMap<String, String>>,
    pub slot: String,
}

/// The end of a tag with a known beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// It ends before this byte of `text`.
    To(usize),
    /// Its end has not arrived.
    Open,
    /// It would be longer than a tag may be.
    None,
}

/// Finds the end of the tag that `text` begins with: the first `>` outside of quotes.
pub(super) fn extent(text: &str) -> Extent {
    let mut quoted = false;
    for (at, byte) in text.bytes().enumerate().take(MAX_TAG_BYTES) {
        match byte {
            b'"' => quoted = !quoted,
            b'>' if !quoted => return Extent::To(at + 1),
            _ => {}
        }
    }
    if text.len() < MAX_TAG_BYTES {
        Extent::Open
    } else {
        Extent::None
    }
}

impl Opening {
    /// Reads the text between the nonce's hyphen and the `>`.
    pub(super) fn parse(inside: &str) -> Self {
        let end = inside.find(char::is_whitespace).unwrap_or(inside.len());
        let (slot, rest) = inside.split_at(end);
        Self {
            attributes: attributes(rest),
            slot: slot.to_owned(),
        }
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.as_ref()?.get(name).map(String::as_str)
    }
}

fn attributes(mut rest: &str) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    loop {
        let trimmed = rest.trim_start();
        if trimmed.is_empty() {
            return Some(found);
        }
        // White space separates an attribute from what is before it.
        if trimmed.len() == rest.len() {
            return None;
        }
        let (name, after) = trimmed.split_once('=')?;
        let (value, after) = after.strip_prefix('"')?.split_once('"')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        if found.insert(name.to_owned(), value.to_owned()).is_some() {
            return None;
        }
        rest = after;
    }
}
