//! BLAKE3 digests and their text form. Does not know what is hashed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A BLAKE3 digest. In JSON and in text: lower-case hex, 64 characters.
///
/// ```
/// use monolith::Digest;
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

    /// Extends a rolling digest: `D_n = H(D_(n-1), item)`, both length-framed.
    ///
    /// The cost depends on `item` alone, never on what came before.
    #[must_use]
    pub fn rolled(&self, context: &str, item: &[u8]) -> Self {
        framed(context, &[&self.0, item])
    }

    /// The first `digits` hex digits, for people.
    #[must_use]
    pub fn short(&self, digits: usize) -> String {
        self.to_string().chars().take(digits).collect()
    }
}

/// BLAKE3 in derive-key mode under `context`, over the fields, each prefixed by its length in bytes
/// as an unsigned 64-bit little-endian integer. The framing makes `("ab", "c")` and `("a", "bc")`
/// different inputs.
#[must_use]
pub(crate) fn framed(context: &str, fields: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for field in fields {
        let len = u64::try_from(field.len()).unwrap_or(u64::MAX);
        hasher.update(&len.to_le_bytes());
        hasher.update(field);
    }
    Digest(*hasher.finalize().as_bytes())
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
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(refuse());
        }
        blake3::Hash::from_hex(text)
            .map(|hash| Self(*hash.as_bytes()))
            .map_err(|_| refuse())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_keeps_neighbouring_fields_apart() {
        assert_ne!(framed("t", &[b"ab", b"c"]), framed("t", &[b"a", b"bc"]));
        assert_ne!(framed("t", &[b"ab"]), framed("t", &[b"ab", b""]));
        assert_ne!(framed("t", &[b"ab"]), framed("u", &[b"ab"]));
    }

    #[test]
    fn text_form_round_trips_and_upper_case_is_refused() {
        let digest = Digest::of(b"monolith");
        assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
        assert!("abc".parse::<Digest>().is_err());
    }
}
