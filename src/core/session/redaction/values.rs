//! Finds known values in bytes: whole in every form, and cut off at the end. Does not know what replaces them.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

use super::forms::{base64_forms, forms, with_lines};

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
    /// Which value each form is one of.
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
    /// How much of it is enough.
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

/// What finds those texts; `None` if there are none. One that cannot be built has nothing to find: it grows with the values, which are
/// few and short.
fn automaton<T: AsRef<[u8]>>(texts: &[T]) -> Option<AhoCorasick> {
    let builder = (!texts.is_empty()).then(AhoCorasickBuilder::new);
    let mut builder = builder?;
    builder.kind(Some(AhoCorasickKind::ContiguousNFA));
    builder.build(texts).ok()
}
