//! Parses one opening tag after its nonce. Knows attributes and quotes; does not know which slots a turn offers.

use std::collections::BTreeMap;

/// The most bytes of an opening or closing tag; what is longer is text.
pub(super) const MAX_TAG_BYTES: usize = 1024;

/// An opening tag after the nonce: its slot and its attributes.
#[derive(Debug)]
pub(super) struct Opening {
    /// None if they are not `name="value"`.
    pub attributes: Option<BTreeMap<String, String>>,
    pub slot: String,
}

/// Where a tag with a known beginning ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// It ends before this byte of `text`.
    To(usize),
    /// Its end has not arrived.
    Open,
    /// It would be longer than a tag may be.
    None,
}

/// Where the tag ends that `text` begins with: at the first `>` outside of quotes.
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
