//! Finds known values in bytes: whole in every form, and cut off at the end. Does not know what replaces them.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Bytes of a value that give it away where a text is cut.
const MIN_PART: usize = 6;
/// As many of them in base64.
const MIN_BASE64_PART: usize = 8;

/// Values, in every form in which a text may hold them. They take a while to prepare: all who look for the same ones share them.
#[derive(Debug)]
pub struct KnownValues {
    pub(super) beginnings: Beginnings,
    /// Finds every form of every value.
    pub(super) finder: Finder,
    /// The values themselves; owners are places in this list.
    pub(super) texts: Vec<String>,
    /// Finds their forms in base64, in a text without its line breaks.
    pub(super) unbroken: Finder,
}

/// Finds forms of values.
#[derive(Debug)]
pub(super) struct Finder {
    automaton: Option<AhoCorasick>,
    /// Index of each form's value.
    owners: Vec<usize>,
}

/// The forms that a text may end with a part of: the values as they are, and in base64.
#[derive(Debug)]
pub(super) struct Beginnings {
    forms: Vec<Form>,
    /// Finds the part of each form that is enough to give it away.
    heads: Option<AhoCorasick>,
    /// The form of each head.
    headed: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Form {
    pub(super) bytes: Vec<u8>,
    /// Length of it that is enough.
    least: usize,
    /// Its place among all forms.
    pub(super) number: usize,
    pub(super) owner: usize,
}

impl KnownValues {
    /// Creates the set of known secret values.
    #[must_use]
    pub fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        let texts = with_lines(values);
        Self {
            beginnings: Beginnings::of(&texts),
            finder: Finder::of(&texts, forms),
            unbroken: Finder::of(&texts, base64_forms),
            texts,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

impl Finder {
    fn of(values: &[String], forms_of: fn(&str) -> Vec<Vec<u8>>) -> Self {
        let forms = values.iter().enumerate();
        let forms = forms.flat_map(|(owner, value)| {
            let forms = forms_of(value).into_iter();
            forms.map(move |form| (owner, form))
        });
        let (owners, forms): (Vec<usize>, Vec<Vec<u8>>) = forms.unzip();
        let automaton = automaton(&forms);
        Self { automaton, owners }
    }

    /// The range of a form, and its value.
    pub(super) fn hits(&self, text: &[u8]) -> impl Iterator<Item = (Range<usize>, usize)> {
        let hits = self.automaton.iter();
        let hits = hits.flat_map(move |automaton| automaton.find_overlapping_iter(text));
        hits.filter_map(|hit| {
            let owner = self.owners.get(hit.pattern().as_usize())?;
            Some((hit.start()..hit.end(), *owner))
        })
    }
}

impl Beginnings {
    fn of(values: &[String]) -> Self {
        let each = values.iter().enumerate().flat_map(|(owner, value)| {
            let plain = (value.as_bytes().to_vec(), MIN_PART, owner);
            let encoded = base64_forms(value).into_iter();
            [plain]
                .into_iter()
                .chain(encoded.map(move |form| (form, MIN_BASE64_PART, owner)))
        });
        let each = each.enumerate();
        let forms: Vec<Form> = each
            .map(|(number, (bytes, least, owner))| Form {
                bytes,
                least,
                number,
                owner,
            })
            .collect();
        // A form that is no longer than that is found as a whole.
        let heads = forms.iter().filter(|form| form.least < form.bytes.len());
        let heads = heads.filter_map(|form| Some((form.number, form.bytes.get(..form.least)?)));
        let (headed, heads): (Vec<usize>, Vec<&[u8]>) = heads.unzip();
        let heads = automaton(&heads);
        Self {
            forms,
            heads,
            headed,
        }
    }

    /// All forms.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.forms.iter().map(|form| form.bytes.as_slice())
    }

    /// The length of the longest form.
    pub(super) fn longest(&self) -> Option<usize> {
        self.all().map(<[u8]>::len).max()
    }

    /// The places from which the rest of a text is a part of a form, and not the whole of it; long enough to give the form away.
    pub(super) fn parts_at_the_end_of(&self, text: &[u8]) -> impl Iterator<Item = (usize, &Form)> {
        let reach = self.longest().unwrap_or(0).saturating_sub(1);
        let from = text.len().saturating_sub(reach);
        let tail = text.get(from..).unwrap_or_default();
        let heads = self.heads.iter();
        let heads = heads.flat_map(move |heads| heads.find_overlapping_iter(tail));
        heads.filter_map(move |head| {
            let number = self.headed.get(head.pattern().as_usize())?;
            let form = self.forms.get(*number)?;
            let part = tail.get(head.start()..)?;
            let is_part = part.len() < form.bytes.len() && form.bytes.starts_with(part);
            is_part.then_some((from + head.start(), form))
        })
    }
}

/// Builds the finder of those texts; `None` if there are none. One that cannot be built has nothing to find: it grows with the
/// values, which are few and short.
fn automaton<T: AsRef<[u8]>>(texts: &[T]) -> Option<AhoCorasick> {
    let builder = (!texts.is_empty()).then(AhoCorasickBuilder::new);
    let mut builder = builder?;
    builder.kind(Some(AhoCorasickKind::ContiguousNFA));
    builder.build(texts).ok()
}

/// The shortest value that is looked for: a shorter one would eat ordinary text.
const MIN_BYTES: usize = 6;
/// The most lines of values that are looked for by themselves.
const MAX_LINES: usize = 1_024;
/// Minimum length of a line that is a separate secret in a multi-line value.
const MIN_LINE_BYTES: usize = 16;
/// Start and end of the first and the last line of PEM.
const PEM_BOUNDARY: &str = "-----";
/// The fewest characters of base64 that are looked for.
const MIN_BASE64: usize = 7;
/// Words of the marker itself, which must not be looked for in it.
const MARKERS: [&str; 2] = ["[REDACTED:", "[SECRET]"];

/// True if a text contains a marker: something was taken out of it.
pub fn is_marked(text: &str) -> bool {
    MARKERS.iter().any(|marker| text.contains(marker))
}

/// True if a value can be distinguished from ordinary text.
pub fn can_be_matched(value: &str) -> bool {
    let first = value.chars().next();
    value.len() >= MIN_BYTES
        && !value.chars().all(|c| Some(c) == first)
        && !MARKERS.iter().any(|marker| marker.contains(value))
}

/// The values, and after them the long lines of those that have several: a value that was printed over lines is indented, or has
/// other line ends.
pub(super) fn with_lines<'v>(values: impl IntoIterator<Item = &'v str>) -> Vec<String> {
    let mut all: Vec<String> = values.into_iter().map(str::to_owned).collect();
    let mut lines: Vec<String> = Vec::new();
    for value in &all {
        for line in lines_of(value) {
            if lines.len() < MAX_LINES && !lines.iter().chain(&all).any(|known| known == line) {
                lines.push(line.to_owned());
            }
        }
    }
    all.append(&mut lines);
    all
}

/// Returns the lines of a multi-line value that are secrets themselves, trimmed: long ones, except PEM's first and last line,
/// which every key has. From a line with quotes, as in JSON, it takes the texts between them: the quotes occur in texts that
/// hold no secret.
fn lines_of(value: &str) -> impl Iterator<Item = &str> {
    let has_several = value.trim().contains(['\n', '\r']);
    let lines = value.split(['\n', '\r']).flat_map(|line| line.split('"'));
    lines.map(str::trim).filter(move |line| {
        has_several
            && line.len() >= MIN_LINE_BYTES
            && can_be_matched(line)
            && !(line.starts_with(PEM_BOUNDARY) && line.ends_with(PEM_BOUNDARY))
    })
}

/// Returns the literal forms of a value, itself first. Escapes of JSON and of addresses are undone before a text is searched,
/// so they are not separate forms.
pub(super) fn forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![value.as_bytes().to_vec()];
    let mut add = |form: Vec<u8>| {
        if !forms.contains(&form) {
            forms.push(form);
        }
    };
    if value.contains(' ') {
        add(value.replace(' ', "+").into_bytes());
    }
    for form in base64_forms(value) {
        add(form);
    }
    forms
}

/// The forms of a value in base64: these are also looked for where lines are broken within them.
pub(super) fn base64_forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for offset in 0..3 {
        for text in [
            base64_inner(&STANDARD_NO_PAD, value.as_bytes(), offset),
            base64_inner(&URL_SAFE_NO_PAD, value.as_bytes(), offset),
        ]
        .into_iter()
        .flatten()
        {
            let form = text.into_bytes();
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

/// Returns the written forms of a key's bytes: hex in both cases, and base64 at every alignment.
#[must_use]
pub fn key_texts(key: &[u8]) -> Vec<String> {
    let digits = |upper: bool| {
        let digit = move |byte: &u8| {
            if upper {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            }
        };
        key.iter().map(digit).collect::<String>()
    };
    let mut texts = vec![digits(false), digits(true)];
    for offset in 0..3 {
        texts.extend(base64_inner(&STANDARD_NO_PAD, key, offset));
        texts.extend(base64_inner(&URL_SAFE_NO_PAD, key, offset));
    }
    texts
}

/// The characters of base64 that do not depend on the neighbours of the value, if it begins at that byte of a group.
fn base64_inner(engine: &impl base64::Engine, value: &[u8], offset: usize) -> Option<String> {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(value);
    let text = engine.encode(&bytes);
    // A character holds six bits; the first `offset` bytes and the last, open character belong to others too.
    let (from, to) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    let inner = text.get(from..to)?;
    (inner.len() >= MIN_BASE64).then(|| inner.to_owned())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn a_value_is_found_in_base64_wherever_it_begins() {
        let value = "pa55/word+x?";
        let forms = forms(value);
        for before in ["", "u", "us", "use", "user:"] {
            for after in ["", "1", "12", "123"] {
                let text = format!("{before}{value}{after}");
                let encoded = STANDARD.encode(&text);
                let found = forms.iter().any(|form| {
                    let mut windows = encoded.as_bytes().windows(form.len());
                    windows.any(|window| window == form.as_slice())
                });
                assert!(found, "{text}: {encoded}");
            }
        }
    }

    #[test]
    fn what_would_eat_ordinary_text_is_not_looked_for() {
        let check = |value: &str, expect| assert_eq!(can_be_matched(value), expect, "{value}");
        check("s3cret", true);
        check("12345", false);
        check("", false);
        check("000000000000", false);
        check("REDACTED", false);
        check("SECRET", false);
        check("é3crét", true);
    }
}
