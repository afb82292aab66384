//! Finds secrets in texts and bytes and replaces them by markers. Does not know where values come from.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::shapes::{Shapes, is_spent, secret_of};
use super::values::{KnownValues, can_be_matched, key_texts};
use super::view::{Escaping, UnescapedView, View};
use crate::contract::{ExecutionContract, RedactionTerms, SECRET_MARKER};
use crate::message::{Digest, DigestContext, RunId, Scrubber};

/// Maximum number of passes over a text: text that a replacement joins is searched again. A text that then still holds a known
/// value is removed as a whole.
const MAX_ROUNDS: usize = 8;
/// Prefix of a marker; 32 hex digits and `]` follow.
pub(super) const MARKER_HEAD: &[u8] = b"[REDACTED:";
/// Length of a marker.
pub(super) const MARKER_BYTES: usize = 43;

/// Takes secrets out of texts. The same text always gives the same text, and what was taken out once is left alone.
#[derive(Clone, Debug)]
pub struct Redactor {
    pub(super) secrets: Arc<KnownSecrets>,
    marking: MarkerKind,
}

/// The secrets to find: known values, and the shapes of credentials.
#[derive(Clone, Debug)]
pub struct KnownSecrets {
    pub(super) values: Arc<KnownValues>,
    pub(super) shapes: Shapes,
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
    /// Returns the scrubber that takes secrets out of a run as monolith does (docs/redaction.md): `values` in every form, the
    /// contract's `redact`, and credentials by their shape. A host hands it to its [`Session`](crate::session::Session), and
    /// scrubs its own texts with it.
    ///
    /// ```
    /// use monolith_core::message::RunId;
    /// use monolith_core::session::RedactionKey;
    /// # use monolith_core::contract::{CapabilityManifest, ContractFactory, ContractSpec, TargetCapability};
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
    pub fn of<'v>(values: impl IntoIterator<Item = &'v str>, terms: &RedactionTerms) -> Self {
        Self::of_values(Arc::new(KnownValues::new(values)), terms)
    }

    /// [`Self::of`] values that are known already.
    #[must_use]
    pub fn of_values(values: Arc<KnownValues>, terms: &RedactionTerms) -> Self {
        let shapes = Shapes::new(terms);
        Self { values, shapes }
    }

    /// Values alone, no headers and no shapes.
    #[must_use]
    pub fn values_only(values: Arc<KnownValues>) -> Self {
        let shapes = Shapes::default();
        Self { values, shapes }
    }
}

impl Redactor {
    /// Replaces secrets by commitments under the salt of a run.
    #[must_use]
    pub const fn salted(secrets: Arc<KnownSecrets>, salt: Salt) -> Self {
        let marking = MarkerKind::Salted(salt);
        Self { secrets, marking }
    }

    /// Replaces secrets by `[SECRET]`: where no run is recorded.
    #[must_use]
    pub const fn fixed(secrets: Arc<KnownSecrets>) -> Self {
        let marking = MarkerKind::Fixed;
        Self { secrets, marking }
    }

    /// The longest beginning of a value at the end of a text, and of which value.
    fn cut_off(&self, text: &[u8]) -> Option<(usize, &str)> {
        let values = &self.secrets.values;
        let plain = values.beginnings.parts_at_the_end_of(text);
        let plain = plain.filter(|(at, form)| {
            let next = form.bytes.get(text.len() - at);
            next.is_some_and(|next| next & 0xc0 != 0x80)
        });
        let plain = plain.min_by_key(|(at, form)| (*at, form.number));
        let plain = plain.map(|(at, form)| (at, form.owner));
        let escaped = self.cut_off_behind_escapes(text);
        let first = plain.into_iter().chain(escaped).min_by_key(|(at, _)| *at);
        first.and_then(|(at, owner)| Some((at, values.texts.get(owner)?.as_str())))
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
        if !self.secrets.shapes.may_be_in(text) {
            return known;
        }
        let headers = self.replaced(text, self.headers(text));
        let text = headers.as_deref().unwrap_or(text);
        let credentials = self.replaced(text, self.credentials(text));
        credentials.or(headers).or(known)
    }

    /// Every known value in every form, behind escapes too.
    pub(super) fn known(&self, text: &[u8]) -> Vec<Match> {
        let values = &self.secrets.values;
        if values.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        UnescapedView::each(text, &mut |undone, inner| {
            let view = &undone.view;
            let is_plain = view.is_plain();
            let mut hits: Vec<_> = values.finder.hits(view.bytes()).collect();
            if let Some(unbroken) = View::unescaped(view.bytes(), Escaping::Lines) {
                let broken = values.unbroken.hits(unbroken.bytes());
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
                SecretSource::Known(owner) => {
                    self.secrets.values.texts.get(owner).map(String::as_bytes)
                }
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
            SecretSource::Known(owner) => {
                self.secrets.values.texts.get(owner).map_or(0, String::len)
            }
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

/// The derivation context of a run's salt.
static SALT_CONTEXT: DigestContext = DigestContext::new("monolith redaction v1 salt");
/// Bytes of a commitment.
const COMMITMENT_BYTES: usize = 16;

/// The secret that the salts of all runs of this machine are derived from. It is kept outside every store.
///
/// ```
/// use monolith_core::session::RedactionKey;
///
/// let random = [7; 32]; // 32 bytes of a good random source, kept for as long as the runs
/// let key = RedactionKey::new(random);
/// assert!(!format!("{key:?}").contains('7'));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RedactionKey([u8; 32]);

/// The salt of one run. With it, trying values shows which value a marker stands for.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt([u8; 32]);

impl RedactionKey {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The texts that give it away.
    pub fn texts(&self) -> Vec<String> {
        key_texts(&self.0)
    }

    /// The salt of that run.
    #[must_use]
    pub fn salt(&self, run_id: &RunId) -> Salt {
        let salt = SALT_CONTEXT.framed(&[&self.0, run_id.as_str().as_bytes()]);
        Salt(*salt.as_bytes())
    }
}

impl Salt {
    /// The text that replaces `value` in a transcript of the run: `[REDACTED:` and 32 hex digits of a commitment to it.
    #[must_use]
    pub fn marker(&self, value: &[u8]) -> String {
        let whole = self.digest(value).to_string();
        let hex = whole.get(..2 * COMMITMENT_BYTES).unwrap_or(&whole);
        format!("[REDACTED:{hex}]")
    }

    /// BLAKE3 over `bytes`, keyed with the salt: the name of bytes that are not kept.
    #[must_use]
    pub fn digest(&self, bytes: &[u8]) -> Digest {
        Digest::from_bytes(*blake3::keyed_hash(&self.0, bytes).as_bytes())
    }
}

impl fmt::Debug for RedactionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedactionKey(…)")
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(…)")
    }
}
