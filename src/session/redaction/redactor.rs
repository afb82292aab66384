//! Finds secrets in texts and bytes and replaces them by markers. Does not know where values come from.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

use super::forms::{base64_forms, can_be_matched, forms, with_lines};
use super::salt::{RedactionKey, Salt};
use super::shapes::{Shapes, is_spent, secret_of};
use super::view::{Escaping, UnescapedView, View};
use crate::contract::{ExecutionContract, RedactionTerms, SECRET_MARKER};
use crate::message::{Digest, RunId, Scrubber};

/// How often a text is gone through: what a replacement brings together is looked at again. One that still holds a known value
/// then goes as a whole.
const MAX_ROUNDS: usize = 8;
/// Bytes of a value that give it away where a text is cut.
const MIN_PART: usize = 6;
/// As many of them in base64.
const MIN_BASE64_PART: usize = 8;
/// How a marker begins; 32 hex digits and `]` follow.
const MARKER_HEAD: &[u8] = b"[REDACTED:";
/// Length of a marker.
const MARKER_BYTES: usize = 43;

/// Takes secrets out of texts. The same text always gives the same text, and what was taken out once is left alone.
#[derive(Clone, Debug)]
pub(crate) struct Redactor {
    pub(super) secrets: Arc<KnownSecrets>,
    marking: MarkerKind,
}

/// What is secret, in every form in which a text may hold it; runs under the same secrets share it.
#[derive(Clone, Debug)]
pub(crate) struct KnownSecrets {
    /// Finds every form of every value.
    finder: Finder,
    /// Finds their forms in base64, in a text without its line breaks.
    unbroken: Finder,
    /// The forms that a text may end with a part of: each form, how much of it is enough, and its value.
    pub(super) beginnings: Vec<(Vec<u8>, usize, usize)>,
    pub(super) shapes: Shapes,
    values: Vec<String>,
}

/// Finds forms of values.
#[derive(Clone, Debug)]
struct Finder {
    automaton: Option<AhoCorasick>,
    /// Which value each form is one of.
    owners: Vec<usize>,
}

/// The kind of marker that replaces a secret.
#[derive(Clone, Debug)]
enum MarkerKind {
    /// A commitment under the run's salt.
    Salted(Salt),
    /// The same for all: for contracts, which have no run, and for people.
    Fixed,
}

/// A range of a text that is replaced, and the secret in it.
pub(super) struct Match {
    pub(super) at: Range<usize>,
    value: SecretSource,
}

enum SecretSource {
    /// A known value, by its index.
    Known(usize),
    /// The text itself.
    Itself,
}

impl RedactionKey {
    /// What takes secrets out of a run as monolith does (docs/redaction.md): `values` in every form, the contract's `redact`, and
    /// credentials by their shape. A host hands it to its [`Session`](crate::Session), and scrubs with it what it words itself.
    ///
    /// ```
    /// use monolith::{RedactionKey, RunId};
    /// # use monolith::{CapabilityManifest, ContractFactory, ContractSpec, TargetCapability};
    ///
    /// # let spec = ContractSpec::parse("c.yaml", "
    /// # task: How late is it?
    /// # tool_policy: forbidden
    /// # targets: [{provider: demo, model: canned, context_window: 8192}]
    /// # providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
    /// # ", &[])?;
    /// # let targets = vec![TargetCapability::default()];
    /// # let manifest = CapabilityManifest { targets, ..CapabilityManifest::default() };
    /// # let contract = ContractFactory.make(&spec, &manifest, None)?;
    /// let run_id = RunId::try_from("example".to_owned())?;
    /// let key = RedactionKey::new([7; 32]);
    /// let scrubber = key.scrubber(&contract, &run_id, ["correct horse battery"]);
    /// let text = scrubber.text("it is correct horse battery");
    /// assert!(text.starts_with("it is [REDACTED:"));
    /// assert_eq!(scrubber.text(&text), text, "once is enough");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn scrubber<'v>(
        &self,
        contract: &ExecutionContract,
        run_id: &RunId,
        values: impl IntoIterator<Item = &'v str>,
    ) -> Arc<dyn Scrubber> {
        // With the key, trying values shows what a marker stands for.
        let known = values.into_iter().map(str::to_owned).chain(self.texts());
        let known: Vec<String> = known.filter(|value| can_be_matched(value)).collect();
        let secrets = KnownSecrets::of(known.iter().map(String::as_str), &contract.redact);
        Arc::new(Redactor::salted(Arc::new(secrets), self.salt(run_id)))
    }
}

impl KnownSecrets {
    /// Values in every form, the headers and patterns that the author names, and credentials by their shape.
    #[must_use]
    pub(crate) fn of<'v>(
        values: impl IntoIterator<Item = &'v str>,
        terms: &RedactionTerms,
    ) -> Self {
        Self::with_shapes(values, Shapes::new(terms))
    }

    /// Values alone, no headers and no shapes.
    #[must_use]
    pub(crate) fn values_only<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        Self::with_shapes(values, Shapes::default())
    }

    fn with_shapes<'v>(values: impl IntoIterator<Item = &'v str>, shapes: Shapes) -> Self {
        let values = with_lines(values);
        Self {
            finder: Finder::new(&values, forms),
            unbroken: Finder::new(&values, base64_forms),
            beginnings: beginnings(&values),
            shapes,
            values,
        }
    }
}

impl Redactor {
    /// Replaces secrets by commitments under the salt of a run.
    #[must_use]
    pub(crate) const fn salted(secrets: Arc<KnownSecrets>, salt: Salt) -> Self {
        let marking = MarkerKind::Salted(salt);
        Self { secrets, marking }
    }

    /// Replaces secrets by `[SECRET]`: where no run is recorded.
    #[must_use]
    pub(crate) const fn fixed(secrets: Arc<KnownSecrets>) -> Self {
        let marking = MarkerKind::Fixed;
        Self { secrets, marking }
    }

    /// The longest beginning of a value at the end of a text, and of which value.
    fn cut_off(&self, text: &[u8]) -> Option<(usize, &str)> {
        let last = text.last();
        let parts = self.secrets.beginnings.iter();
        let parts = parts.filter_map(|(form, least, owner)| {
            let longest = form.len().saturating_sub(1).min(text.len());
            let found = (*least..=longest).rev().find(|length| {
                let part = form.get(..*length);
                // Few beginnings end with the text's last byte: most need no comparison.
                part.is_some_and(|part| part.last() == last && text.ends_with(part))
                    && form.get(*length).is_some_and(|next| next & 0xc0 != 0x80)
            });
            let value = self.secrets.values.get(*owner)?;
            found.map(|length| (text.len() - length, value.as_str()))
        });
        let escaped = self.cut_off_behind_escapes(text).and_then(|(at, owner)| {
            let value = self.secrets.values.get(owner)?;
            Some((at, value.as_str()))
        });
        parts.chain(escaped).min_by_key(|(keep, _)| *keep)
    }

    /// As many rounds as change something.
    fn rounds<'t>(
        &self,
        bytes: &'t [u8],
        once: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Cow<'t, [u8]> {
        let mut text = Cow::Borrowed(bytes);
        for _ in 0..MAX_ROUNDS {
            match once(&text) {
                Some(changed) => text = Cow::Owned(changed),
                None => return text,
            }
        }
        // Only values that look like parts of markers come here. What is left holds none: such a value is not looked for.
        if self.known(&text).is_empty() {
            text
        } else {
            Cow::Owned(SECRET_MARKER.as_bytes().to_vec())
        }
    }

    /// One round: known values, then headers, then credentials; none if nothing was found.
    fn once(&self, text: &[u8]) -> Option<Vec<u8>> {
        let known = self.replaced(text, self.known(text));
        let text = known.as_deref().unwrap_or(text);
        let headers = self.replaced(text, self.headers(text));
        let text = headers.as_deref().unwrap_or(text);
        let credentials = self.replaced(text, self.credentials(text));
        credentials.or(headers).or(known)
    }

    /// Every known value in every form, behind escapes too.
    pub(super) fn known(&self, text: &[u8]) -> Vec<Match> {
        if self.secrets.finder.automaton.is_none() {
            return Vec::new();
        }
        let mut found = Vec::new();
        UnescapedView::each(text, &mut |undone, inner| {
            let view = &undone.view;
            let is_plain = view.is_plain();
            let mut hits: Vec<_> = self.secrets.finder.hits(view.bytes()).collect();
            if let Some(unbroken) = View::unescaped(view.bytes(), Escaping::Lines) {
                let broken = self.secrets.unbroken.hits(unbroken.bytes());
                hits.extend(broken.map(|(at, owner)| (unbroken.origin(&at), owner)));
            }
            for (bare, owner) in hits {
                let mut at = undone.origin(&bare);
                if let Some(inner) = inner {
                    let wide = undone.origin(&inner.widened(bare));
                    // What looks like an escape of a string in the string may be the end of the string.
                    let ends = text
                        .get(at.end..wide.end)
                        .is_some_and(|b| b.starts_with(b"\""));
                    at = wide.start..if ends && !is_plain { at.end } else { wide.end };
                }
                found.push(Match {
                    at,
                    value: SecretSource::Known(owner),
                });
            }
        });
        found
    }

    fn headers(&self, text: &[u8]) -> Vec<Match> {
        let mut found = Vec::new();
        for shape in self.secrets.shapes.headers(text) {
            for hit in shape.captures_iter(text) {
                let Some(at) = secret_of(&hit) else { continue };
                let value = text.get(at.clone()).unwrap_or_default();
                if !is_spent(&self.without_markers(value)) {
                    let value = SecretSource::Itself;
                    found.push(Match { at, value });
                }
            }
        }
        found
    }

    pub(super) fn credentials(&self, text: &[u8]) -> Vec<Match> {
        let mut found = Vec::new();
        let markers = self.markers(text);
        let ends = markers.iter().map(|marker| marker.start);
        let ends = ends.chain([text.len()]);
        let starts = [0].into_iter().chain(markers.iter().map(|m| m.end));
        let shapes = self.secrets.shapes.credentials(text);
        for (start, end) in starts.zip(ends) {
            let part = text.get(start..end).unwrap_or_default();
            for shape in &shapes {
                for hit in shape.captures_iter(part) {
                    if let Some(at) = secret_of(&hit) {
                        found.push(Match {
                            at: start + at.start..start + at.end,
                            value: SecretSource::Itself,
                        });
                    }
                }
            }
        }
        found
    }

    /// Puts a marker in place of each stretch; stretches that overlap are one. A marker that is touched goes as a whole.
    fn replaced(&self, text: &[u8], mut found: Vec<Match>) -> Option<Vec<u8>> {
        if found.is_empty() {
            return None;
        }
        // Markers are in order and apart, so those that a range touches are neighbours.
        let markers = self.markers(text);
        for one in &mut found {
            let first = markers.partition_point(|marker| marker.end <= one.at.start);
            let behind = markers.partition_point(|marker| marker.start < one.at.end);
            let touched = markers.get(first..behind).unwrap_or_default();
            if let (Some(first), Some(last)) = (touched.first(), touched.last()) {
                one.at = one.at.start.min(first.start)..one.at.end.max(last.end);
            }
        }
        found.sort_by_key(|one| one.at.start);
        let mut out = Vec::with_capacity(text.len());
        let mut done = 0;
        let mut rest = found.into_iter().peekable();
        while let Some(first) = rest.next() {
            let mut at = first.at.clone();
            let mut widest = first;
            while let Some(next) = rest.next_if(|next| next.at.start < at.end) {
                at.end = at.end.max(next.at.end);
                if self.length(&next) > self.length(&widest) {
                    widest = next;
                }
            }
            out.extend_from_slice(text.get(done..at.start).unwrap_or_default());
            let hidden = match widest.value {
                SecretSource::Known(owner) => self.secrets.values.get(owner).map(String::as_bytes),
                SecretSource::Itself => text.get(widest.at),
            };
            out.extend_from_slice(self.marker(hidden.unwrap_or_default()).as_bytes());
            done = at.end;
        }
        out.extend_from_slice(text.get(done..).unwrap_or_default());
        (out != text).then_some(out)
    }

    fn length(&self, found: &Match) -> usize {
        match found.value {
            SecretSource::Known(owner) => self.secrets.values.get(owner).map_or(0, String::len),
            SecretSource::Itself => found.at.len(),
        }
    }

    /// The ranges of markers.
    fn markers(&self, text: &[u8]) -> Vec<Range<usize>> {
        let head = match self.marking {
            MarkerKind::Salted(_) => MARKER_HEAD,
            MarkerKind::Fixed => SECRET_MARKER.as_bytes(),
        };
        let mut markers = Vec::new();
        let mut at = 0;
        while let Some(rest) = text.get(at..) {
            let Some(next) = rest.iter().position(|byte| *byte == b'[') else {
                break;
            };
            let start = at + next;
            let end = match self.marking {
                MarkerKind::Fixed => start + head.len(),
                MarkerKind::Salted(_) => start + MARKER_BYTES,
            };
            let there = text.get(start..end);
            if there.is_some_and(|there| there.starts_with(head) && self.is_marker(there)) {
                markers.push(start..end);
                at = end;
            } else {
                at = start + 1;
            }
        }
        markers
    }

    fn is_marker(&self, text: &[u8]) -> bool {
        let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        match self.marking {
            MarkerKind::Fixed => true,
            MarkerKind::Salted(_) => text
                .strip_prefix(MARKER_HEAD)
                .and_then(|rest| rest.strip_suffix(b"]"))
                .is_some_and(|digits| digits.iter().all(hex)),
        }
    }

    fn without_markers(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut done = 0;
        for marker in self.markers(text) {
            out.extend_from_slice(text.get(done..marker.start).unwrap_or_default());
            done = marker.end;
        }
        out.extend_from_slice(text.get(done..).unwrap_or_default());
        out
    }
}

/// Values as they are and in base64, for [`Redactor::cut_off`].
fn beginnings(values: &[String]) -> Vec<(Vec<u8>, usize, usize)> {
    let each = values.iter().enumerate().flat_map(|(owner, value)| {
        let encoded = base64_forms(value).into_iter();
        let encoded = encoded.map(move |form| (form, MIN_BASE64_PART, owner));
        [(value.as_bytes().to_vec(), MIN_PART, owner)]
            .into_iter()
            .chain(encoded)
    });
    each.collect()
}

impl Finder {
    fn new(values: &[String], forms_of: fn(&str) -> Vec<Vec<u8>>) -> Self {
        let forms = values.iter().enumerate();
        let forms = forms.flat_map(|(owner, value)| {
            let forms = forms_of(value).into_iter();
            forms.map(move |form| (owner, form))
        });
        let (owners, forms): (Vec<usize>, Vec<Vec<u8>>) = forms.unzip();
        if forms.is_empty() {
            let automaton = None;
            return Self { automaton, owners };
        }
        // The automaton grows with the values, which are few and short; one that cannot be built has nothing to find.
        let automaton = (AhoCorasickBuilder::new().kind(Some(AhoCorasickKind::ContiguousNFA)))
            .build(&forms)
            .ok();
        Self { automaton, owners }
    }

    /// The range of a form, and its value.
    fn hits(&self, text: &[u8]) -> impl Iterator<Item = (Range<usize>, usize)> {
        let hits = self.automaton.iter();
        let hits = hits.flat_map(move |automaton| automaton.find_overlapping_iter(text));
        hits.filter_map(|hit| {
            let owner = self.owners.get(hit.pattern().as_usize())?;
            Some((hit.start()..hit.end(), *owner))
        })
    }
}

impl Scrubber for Redactor {
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                // Values are replaced at boundaries of characters, shapes are of ASCII.
                Err(fault) => String::from_utf8_lossy(fault.as_bytes()).into_owned(),
            }),
        }
    }

    /// The bytes without their secrets.
    fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        self.rounds(bytes, |text| self.once(text))
    }

    /// As [`Redactor::bytes`], for what may have been cut: six bytes or more of a value at its end go too.
    fn cut_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let whole = self.bytes(bytes);
        let Some((keep, value)) = self.cut_off(&whole) else {
            return whole;
        };
        let mut out = whole.get(..keep).unwrap_or_default().to_vec();
        out.extend_from_slice(self.marker(value.as_bytes()).as_bytes());
        // The marker may complete a value with the text before it.
        Cow::Owned(self.bytes(&out).into_owned())
    }

    /// As [`Redactor::text`], for what may have been cut.
    fn cut_text(&self, text: &str) -> String {
        let whole = self.text(text);
        match self.cut_off(whole.as_bytes()) {
            None => whole.into_owned(),
            Some((keep, value)) => {
                let kept = whole.get(..keep).unwrap_or_default();
                let marked = format!("{kept}{}", self.marker(value.as_bytes()));
                self.text(&marked).into_owned()
            }
        }
    }

    fn without_known<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        self.rounds(bytes, |text| self.replaced(text, self.known(text)))
    }

    fn settled(&self, text: &str) -> usize {
        self.settled_length(text)
    }

    /// The name of bytes that are not kept: no plain hash, because trying values would reveal it.
    fn name_of_dropped(&self, bytes: &[u8]) -> Digest {
        match &self.marking {
            MarkerKind::Salted(salt) => salt.digest(bytes),
            MarkerKind::Fixed => Digest::ZERO,
        }
    }

    fn marker(&self, value: &[u8]) -> String {
        match &self.marking {
            MarkerKind::Salted(salt) => salt.marker(value),
            MarkerKind::Fixed => SECRET_MARKER.to_owned(),
        }
    }
}
