//! A public key, its id and its text form. Does not decide whom to trust.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest as _, Sha256};

/// The first four bytes of SHA-256 over a key's name, a line feed, its algorithm and its public bytes. In text: 8
/// digits of lower-case hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(pub(super) [u8; 4]);

/// The signed content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// Ed25519 over the text of the note.
    Ed25519 = 1,
    /// Ed25519 over a time and the text, as witnesses sign (<https://c2sp.org/tlog-cosignature>).
    Cosignature = 4,
}

/// A public key with its name. In text: `NAME+ID+BASE64`, the form that C2SP calls a vkey.
///
/// ```
/// use monolith_core::transcript::{PublicKey, SecretKey};
///
/// let text = SecretKey::from_seed("ours", &[1; 32])?.public().to_string();
/// let key: PublicKey = text.parse()?;
/// assert_eq!(key.name(), "ours");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: Algorithm,
    key: VerifyingKey,
    name: String,
}

/// A text that is not a key. It never holds the text itself, which may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no key: {rule}")]
pub struct KeyError {
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// True if a key may have that name: not empty, without white space and `+`.
pub(super) fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '+' || c < ' ')
}

impl PublicKey {
    /// The public half of a key that signs notes.
    pub(super) fn of_signer(name: &str, key: VerifyingKey) -> Self {
        Self {
            algorithm: Algorithm::Ed25519,
            key,
            name: name.to_owned(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the id that tells keys of its name apart.
    #[must_use]
    pub fn id(&self) -> KeyId {
        key_id(&self.name, &self.typed())
    }

    /// True if both are halves of one secret, whatever their names and whatever they sign.
    pub(super) fn is_same_key(&self, other: &Self) -> bool {
        self.key == other.key
    }

    /// True if it signs as witnesses do.
    pub(super) fn cosigns(&self) -> bool {
        self.algorithm == Algorithm::Cosignature
    }

    /// Its algorithm and its bytes.
    fn typed(&self) -> [u8; 33] {
        typed(self.algorithm, self.key.as_bytes())
    }

    /// True if the signature is one of this key over the text, strictly by RFC 8032 and without weak keys.
    pub(super) fn accepts(&self, text: &str, signature: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::Ed25519 => self.holds(text.as_bytes(), signature),
            Algorithm::Cosignature => {
                signature
                    .split_first_chunk()
                    .is_some_and(|(time, signature)| {
                        let time = u64::from_be_bytes(*time);
                        let message = format!("cosignature/v1\ntime {time}\n{text}");
                        self.holds(message.as_bytes(), signature)
                    })
            }
        }
    }

    /// Like [`Self::accepts`], for the bytes of an envelope, which witnesses do not sign.
    pub(super) fn accepts_bytes(&self, message: &[u8], signature: &[u8]) -> bool {
        self.algorithm == Algorithm::Ed25519 && self.holds(message, signature)
    }

    fn holds(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.key.verify_strict(message, &signature).is_ok())
    }
}

impl PublicKey {
    /// The time in a cosignature of this key over the text, in seconds since 1970-01-01 UTC.
    pub(super) fn time_of(&self, text: &str, signature: &[u8]) -> Option<u64> {
        let (time, _) = signature.split_first_chunk()?;
        let cosigns = self.algorithm == Algorithm::Cosignature && self.accepts(text, signature);
        cosigns.then_some(u64::from_be_bytes(*time))
    }
}

pub(super) fn typed(algorithm: Algorithm, bytes: &[u8; 32]) -> [u8; 33] {
    let mut typed = [algorithm as u8; 33];
    if let Some((_, rest)) = typed.split_first_mut() {
        rest.copy_from_slice(bytes);
    }
    typed
}

fn key_id(name: &str, typed: &[u8]) -> KeyId {
    let mut hasher = Sha256::new();
    hasher.update(name);
    hasher.update(b"\n");
    hasher.update(typed);
    let [a, b, c, d, ..] = <[u8; 32]>::from(hasher.finalize());
    KeyId([a, b, c, d])
}

/// `NAME+ID+BASE64`: the name, the id as written, the algorithm and the bytes.
pub(super) fn parse(text: &str) -> Result<(&str, &str, Algorithm, [u8; 32]), KeyError> {
    let refuse = |rule| KeyError { rule };
    let form = refuse("it is `NAME+ID+BASE64`");
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(id), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(form);
    };
    if !is_key_name(name) {
        return Err(form);
    }
    let bytes = BASE64.decode(encoded).map_err(|_| form)?;
    let (algorithm, bytes) = bytes.split_first().ok_or(form)?;
    let algorithm = match algorithm {
        1 => Algorithm::Ed25519,
        4 => Algorithm::Cosignature,
        _ => return Err(refuse("its algorithm is 1 (ed25519) or 4 (cosignature)")),
    };
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| refuse("it holds 32 bytes"))?;
    Ok((name, id, algorithm, bytes))
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, id, algorithm, bytes) = parse(text)?;
        let refuse = |rule| KeyError { rule };
        let key = VerifyingKey::from_bytes(&bytes)
            .ok()
            .filter(|key| !key.is_weak())
            .ok_or(refuse("it is a point of the curve, and not a weak one"))?;
        let name = name.to_owned();
        let key = Self {
            algorithm,
            key,
            name,
        };
        if key.id().to_string() == id {
            Ok(key)
        } else {
            Err(refuse("its id is that of its name and bytes"))
        }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = BASE64.encode(self.typed());
        write!(f, "{}+{}+{bytes}", self.name, self.id())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({}+{})", self.name, self.id())
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;

    #[test]
    fn a_cosignature_covers_its_time_and_the_text() {
        let secret = SigningKey::from_bytes(&[7; 32]);
        let signer = PublicKey::of_signer("w.example/1", secret.verifying_key());
        let witness = PublicKey {
            algorithm: Algorithm::Cosignature,
            ..signer.clone()
        };
        let witness: PublicKey = witness.to_string().parse().unwrap();
        let cosign = |text: &str, time: u64| {
            let message = format!("cosignature/v1\ntime {time}\n{text}");
            let signature = secret.sign(message.as_bytes());
            [&time.to_be_bytes()[..], &signature.to_bytes()].concat()
        };
        let bytes = cosign("origin\n5\nroot\n", 1_700_000_000);
        assert!(witness.accepts("origin\n5\nroot\n", &bytes));
        assert!(!witness.accepts("origin\n6\nroot\n", &bytes));
        let mut later = bytes.clone();
        later[7] ^= 1;
        assert!(!witness.accepts("origin\n5\nroot\n", &later));
        assert!(!signer.accepts("origin\n5\nroot\n", &bytes));
        assert_ne!(witness.id(), signer.id());
    }
}
