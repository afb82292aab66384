//! Takes tokens that were got while a run is under way out of what their server sends: the run's own redaction was made before them.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use monolith_core::message::{Digest, Scrubber};
use monolith_core::session::{KnownSecrets, KnownValues, Redactor};

/// The tokens that one connection got or found, and what finds them.
#[derive(Clone, Debug, Default)]
pub(in crate::tools) struct Minted(Arc<RwLock<Found>>);

#[derive(Debug, Default)]
struct Found {
    finder: Option<Redactor>,
    tokens: Vec<String>,
}

impl Minted {
    /// From now on, nothing that passes here holds that token.
    pub(super) fn add<'t>(&self, tokens: impl IntoIterator<Item = &'t str>) {
        let mut found = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = found.tokens.len();
        for token in tokens {
            if !found.tokens.iter().any(|known| known == token) {
                found.tokens.push(token.to_owned());
            }
        }
        if found.tokens.len() > before {
            let tokens = found.tokens.iter().map(String::as_str);
            let values = Arc::new(KnownValues::new(tokens));
            let known = KnownSecrets::values_only(values);
            found.finder = Some(Redactor::fixed(Arc::new(known)));
        }
    }

    /// A scrubber that takes these out, too, of what that one leaves.
    pub(super) fn behind<I: Inner>(&self, inner: I) -> MintedScrubber<I> {
        let minted = self.clone();
        MintedScrubber { inner, minted }
    }

    /// A text without them.
    pub(super) fn without(&self, text: &str) -> String {
        let finder = self.finder();
        finder.map_or_else(|| text.to_owned(), |finder| finder.text(text).into_owned())
    }

    /// Returns the finder of these tokens; `None` if there are none.
    fn finder(&self) -> Option<Redactor> {
        let found = self.0.read().unwrap_or_else(PoisonError::into_inner);
        found.finder.clone()
    }
}

/// A scrubber, lent or shared.
pub(in crate::tools) trait Inner: fmt::Debug + Send + Sync {
    fn inner(&self) -> &dyn Scrubber;
}

impl Inner for Arc<dyn Scrubber> {
    fn inner(&self) -> &dyn Scrubber {
        self.as_ref()
    }
}

impl Inner for &dyn Scrubber {
    fn inner(&self) -> &dyn Scrubber {
        *self
    }
}

/// A scrubber, and tokens behind it.
#[derive(Debug)]
pub(in crate::tools) struct MintedScrubber<I> {
    inner: I,
    minted: Minted,
}

impl<I: Inner> Scrubber for MintedScrubber<I> {
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = self.inner.inner().text(text);
        let Some(finder) = self.minted.finder() else {
            return text;
        };
        let without = match finder.text(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(without) => Some(without),
        };
        without.map_or(text, Cow::Owned)
    }

    fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let bytes = self.inner.inner().bytes(bytes);
        self.without_minted(bytes)
    }

    fn cut_text(&self, text: &str) -> String {
        let text = self.inner.inner().cut_text(text);
        match self.minted.finder() {
            Some(finder) => finder.cut_text(&text),
            None => text,
        }
    }

    fn cut_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let bytes = self.inner.inner().cut_bytes(bytes);
        match self.minted.finder() {
            Some(finder) => Cow::Owned(finder.cut_bytes(&bytes).into_owned()),
            None => bytes,
        }
    }

    fn without_known<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let bytes = self.inner.inner().without_known(bytes);
        self.without_minted(bytes)
    }

    fn marker(&self, secret: &[u8]) -> String {
        self.inner.inner().marker(secret)
    }

    fn name_of_dropped(&self, bytes: &[u8]) -> Digest {
        self.inner.inner().name_of_dropped(bytes)
    }

    fn settled(&self, text: &str) -> usize {
        let settled = self.inner.inner().settled(text);
        let finder = self.minted.finder();
        finder.map_or(settled, |finder| finder.settled(text).min(settled))
    }
}

impl<I: Inner> MintedScrubber<I> {
    /// Borrowed where nothing was found: a caller takes what is owned for a find.
    fn without_minted<'t>(&self, bytes: Cow<'t, [u8]>) -> Cow<'t, [u8]> {
        let Some(finder) = self.minted.finder() else {
            return bytes;
        };
        let without = match finder.bytes(&bytes) {
            Cow::Borrowed(_) => None,
            Cow::Owned(without) => Some(without),
        };
        without.map_or(bytes, Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::contract::RedactionTerms;

    #[test]
    fn a_token_that_came_later_is_taken_out_in_every_form() {
        use base64::Engine as _;
        let run = Redactor::fixed(Arc::new(KnownSecrets::of(
            ["first-token-0001"],
            &RedactionTerms::default(),
        )));
        let minted = Minted::default();
        let scrub = minted.behind(&run as &dyn Scrubber);
        let text = "first-token-0001 later-token-000002";
        assert_eq!(scrub.text(text), "[SECRET] later-token-000002");
        minted.add(["later-token-000002", "later-token-000002"]);
        assert_eq!(scrub.text(text), "[SECRET] [SECRET]");
        let encoded = base64::engine::general_purpose::STANDARD.encode("later-token-000002");
        let bytes = format!("x {encoded} y");
        assert_eq!(scrub.bytes(bytes.as_bytes()).as_ref(), b"x [SECRET] y");
        assert_eq!(scrub.without_known(b"nothing").as_ref(), b"nothing");
    }
}
