//! BLAKE3 digests and their text form. Does not know what is hashed.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::RunId;

/// A BLAKE3 digest. In JSON and in text: lower-case hex, 64 characters.
///
/// ```
/// use monolith_core::message::Digest;
///
/// let digest = Digest::of(b"some bytes");
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that is not 64 characters of lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 lower-case hex digits, got {got:?}")]
pub struct DigestParseError {
    /// The text as given, cut to 80 characters.
    pub got: String,
}

impl Digest {
    /// 32 zero bytes, the digest of nothing known: what a rolling digest starts from.
    pub const ZERO: Self = Self([0; 32]);

    /// Plain BLAKE3 over `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        hashed::count(bytes);
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Wraps 32 bytes that already are a digest.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first `digits` hex digits, for people.
    #[must_use]
    pub fn short(&self, digits: usize) -> String {
        self.to_string().chars().take(digits).collect()
    }
}

/// Plain BLAKE3 over bytes that come in parts.
#[derive(Clone, Debug, Default)]
pub struct DigestBuilder(blake3::Hasher);

impl DigestBuilder {
    /// Creates a hasher without input.
    #[must_use]
    pub fn new() -> Self {
        Self(blake3::Hasher::new())
    }

    /// Adds bytes to the input.
    pub fn update(&mut self, part: &[u8]) {
        hashed::count(part);
        self.0.update(part);
    }

    /// The digest of all parts so far.
    pub fn digest(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// A counter of hashed bytes, for tests that limit the cost of a turn.
pub(crate) mod hashed {
    #[cfg(test)]
    thread_local! {
        static BYTES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    #[cfg(test)]
    pub(super) fn count(bytes: &[u8]) {
        BYTES.set(BYTES.get() + bytes.len() as u64);
    }

    #[cfg(not(test))]
    pub(super) const fn count(_: &[u8]) {}

    /// So many bytes this thread has hashed so far, those of a digest's framing left out.
    #[cfg(test)]
    pub(crate) fn bytes() -> u64 {
        BYTES.get()
    }
}

/// The derivation context of one kind of digest: no other kind has the same digest of the same fields. The key is derived from
/// the text once per process, because that costs as much as hashing a short entry.
#[derive(Debug)]
pub struct DigestContext {
    key: OnceLock<ContextKey>,
    text: &'static str,
}

impl DigestContext {
    /// Creates a context for derived digests.
    pub const fn new(text: &'static str) -> Self {
        let key = OnceLock::new();
        Self { key, text }
    }

    /// The context as the documents name it.
    #[cfg(test)]
    pub const fn text(&self) -> &'static str {
        self.text
    }

    /// BLAKE3 in derive-key mode over the fields, each prefixed by its length in bytes as an unsigned 64-bit little-endian
    /// integer. The framing makes `("ab", "c")` and `("a", "bc")` different inputs.
    #[must_use]
    pub fn framed(&self, fields: &[&[u8]]) -> Digest {
        let key = self.key.get_or_init(|| hash_derive_key_context(self.text));
        let mut hasher = blake3::Hasher::new_from_context_key(key);
        for field in fields {
            let len = u64::try_from(field.len()).unwrap_or(u64::MAX);
            hashed::count(field);
            hasher.update(&len.to_le_bytes());
            hasher.update(field);
        }
        Digest(*hasher.finalize().as_bytes())
    }

    /// Extends a rolling digest: `D_n = H(D_(n-1), item)`, both length-framed. The cost depends on `item` alone.
    #[must_use]
    pub fn rolled(&self, before: Digest, item: &[u8]) -> Digest {
        self.framed(&[&before.0, item])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short(12))
    }
}

impl FromStr for Digest {
    type Err = DigestParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || DigestParseError {
            got: text.chars().take(80).collect(),
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let pairs: &[[u8; 2]; 32] = pairs.try_into().map_err(|_| refuse())?;
        // Not given up at the first wrong digit: nearly all are right, and without a way out the loop is a fast one.
        let mut wrong = !rest.is_empty();
        let bytes = pairs.map(|[high, low]| {
            let (high, low) = (value_of(high), value_of(low));
            wrong |= (high | low) > 0xf;
            high << 4 | low
        });
        if wrong {
            Err(refuse())
        } else {
            Ok(Self(bytes))
        }
    }
}

/// The value of a lower-case hex digit; more than 15 for any other byte.
const fn value_of(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => u8::MAX,
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText)
    }
}

/// Reads a digest from a text, without keeping the text.
struct FromText;

impl Visitor<'_> for FromText {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
        text.parse().map_err(E::custom)
    }
}

/// The derivation context of a run's genesis hash.
pub(crate) static GENESIS_CONTEXT: DigestContext =
    DigestContext::new("monolith transcript v1 genesis");

/// `H_0` of a run (semantics §9): what its chain begins with, and what its tags are named after.
#[must_use]
pub fn genesis(contract_hash: Digest, run_id: &RunId) -> Digest {
    GENESIS_CONTEXT.framed(&[contract_hash.as_bytes(), run_id.as_str().as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_keeps_neighbouring_fields_apart() {
        let [t, u] = ["t", "u"].map(DigestContext::new);
        assert_ne!(t.framed(&[b"ab", b"c"]), t.framed(&[b"a", b"bc"]));
        assert_ne!(t.framed(&[b"ab"]), t.framed(&[b"ab", b""]));
        assert_ne!(t.framed(&[b"ab"]), u.framed(&[b"ab"]));
    }

    #[test]
    fn a_framed_digest_is_the_derive_key_mode_of_blake3() {
        let mut hasher = blake3::Hasher::new_derive_key("t");
        hasher.update(&[2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b']);
        let expect = Digest::from_bytes(*hasher.finalize().as_bytes());
        let context = DigestContext::new("t");
        assert_eq!(context.framed(&[b"ab"]), expect);
        assert_eq!(
            context.framed(&[b"ab"]),
            expect,
            "under the key that is kept"
        );
    }

    #[test]
    fn text_form_round_trips_and_upper_case_is_refused() {
        let digest = Digest::of(b"monolith");
        assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
        assert!("abc".parse::<Digest>().is_err());
    }
}
