use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};

use super::note::{Note, NoteError, NoteSignature};

const PRIVATE: &str = "PRIVATE+KEY+";

/// The first four bytes of SHA-256 over a key's name, a line feed, its algorithm and its public bytes. In text: 8
/// digits of lower-case hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(pub(super) [u8; 4]);

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    /// Ed25519 over the text of the note.
    Ed25519 = 1,
    /// Ed25519 over a time and the text, as witnesses sign (<https://c2sp.org/tlog-cosignature>).
    Cosignature = 4,
}

/// A public key with its name. In text: `NAME+ID+BASE64`, the form that C2SP calls a vkey.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: Algorithm,
    key: VerifyingKey,
    name: String,
}

/// A key that signs, with its name. In text: `PRIVATE+KEY+NAME+ID+BASE64`; never shown by `Debug`.
#[derive(Clone)]
pub struct SecretKey {
    key: SigningKey,
    name: String,
}

/// A text that is not a key. It never holds the text itself, which may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no key: {rule}")]
pub struct KeyError {
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// Whether a key may be called that: not empty, without white space and `+`.
pub(super) fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '+' || c < ' ')
}

impl PublicKey {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What tells it from other keys of its name.
    #[must_use]
    pub fn id(&self) -> KeyId {
        key_id(&self.name, &self.typed())
    }

    /// Its algorithm and its bytes.
    fn typed(&self) -> [u8; 33] {
        typed(self.algorithm, self.key.as_bytes())
    }

    /// Whether the signature is one of this key over the text, strictly by RFC 8032 and without weak keys.
    pub(super) fn accepts(&self, text: &str, signature: &[u8]) -> bool {
        let holds = |message: &[u8], signature: &[u8]| {
            Signature::from_slice(signature)
                .is_ok_and(|signature| self.key.verify_strict(message, &signature).is_ok())
        };
        match self.algorithm {
            Algorithm::Ed25519 => holds(text.as_bytes(), signature),
            Algorithm::Cosignature => {
                signature
                    .split_first_chunk()
                    .is_some_and(|(time, signature)| {
                        let time = u64::from_be_bytes(*time);
                        let message = format!("cosignature/v1\ntime {time}\n{text}");
                        holds(message.as_bytes(), signature)
                    })
            }
        }
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

impl SecretKey {
    /// The key of these 32 random bytes.
    ///
    /// # Errors
    /// [`KeyError`] where the name is none for a key.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<Self, KeyError> {
        if !is_key_name(name) {
            let rule = "its name is not empty and holds no white space and no `+`";
            return Err(KeyError { rule });
        }
        Ok(Self {
            key: SigningKey::from_bytes(seed),
            name: name.to_owned(),
        })
    }

    /// What others verify its signatures with.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey {
            algorithm: Algorithm::Ed25519,
            key: self.key.verifying_key(),
            name: self.name.clone(),
        }
    }

    /// The text that is kept, which is all that it takes to sign.
    #[must_use]
    pub fn secret_text(&self) -> String {
        let bytes = BASE64.encode(typed(Algorithm::Ed25519, self.key.as_bytes()));
        format!("{PRIVATE}{}+{}+{bytes}", self.name, self.public().id())
    }

    /// Signs a text of somebody else's, as a witness does.
    ///
    /// # Errors
    /// [`NoteError`] where the text is none for a note.
    pub fn sign_text(&self, text: &str) -> Result<Note, NoteError> {
        let note = self.sign(text.to_owned());
        let read: Note = note.to_string().parse()?;
        let rule = "its text ends with a line feed";
        if read == note {
            Ok(note)
        } else {
            Err(NoteError { rule })
        }
    }

    /// Signs a text that ends with a line feed and holds no other control character.
    pub(crate) fn sign(&self, text: String) -> Note {
        let mut note = Note {
            text,
            signatures: Vec::with_capacity(1),
        };
        self.sign_too(&mut note);
        note
    }

    /// Adds a signature to a note.
    pub(super) fn sign_too(&self, note: &mut Note) {
        note.signatures.push(NoteSignature {
            name: self.name.clone(),
            id: self.public().id(),
            bytes: self.key.sign(note.text.as_bytes()).to_bytes().to_vec(),
        });
    }
}

fn typed(algorithm: Algorithm, bytes: &[u8; 32]) -> [u8; 33] {
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

/// `NAME+ID+BASE64`: the name, the id as it stands, the algorithm and the bytes.
fn parse(text: &str) -> Result<(&str, &str, Algorithm, [u8; 32]), KeyError> {
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

impl FromStr for SecretKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let refuse = |rule| KeyError { rule };
        let text = text
            .strip_prefix(PRIVATE)
            .ok_or(refuse("it begins with `PRIVATE+KEY+`"))?;
        let (name, id, algorithm, seed) = parse(text)?;
        if algorithm != Algorithm::Ed25519 {
            return Err(refuse("its algorithm is 1 (ed25519)"));
        }
        let key = Self::from_seed(name, &seed)?;
        if key.public().id().to_string() == id {
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

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::note::Signed;

    // The example of the Go package golang.org/x/mod/sumdb/note.
    const VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const SKEY: &str =
        "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\n\
        — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn a_note_of_another_implementation_is_read_verified_and_signed_alike() {
        let (vkey, skey): (PublicKey, SecretKey) = (VKEY.parse().unwrap(), SKEY.parse().unwrap());
        assert_eq!(skey.public(), vkey);
        assert_eq!(
            (vkey.to_string(), skey.secret_text()),
            (VKEY.into(), SKEY.into())
        );
        let note: Note = NOTE.parse().unwrap();
        assert_eq!(note.signed_by(&vkey), Signed::Valid);
        assert_eq!(note.to_string(), NOTE);
        assert_eq!(skey.sign(note.text.clone()), note);
    }

    #[test]
    fn every_changed_byte_of_a_note_is_refused_or_unsigned() {
        let vkey: PublicKey = VKEY.parse().unwrap();
        for at in 0..NOTE.len() {
            for bit in 0..8 {
                let mut bytes = NOTE.as_bytes().to_vec();
                bytes[at] ^= 1 << bit;
                let note = String::from_utf8(bytes).ok();
                let note = note.and_then(|text| text.parse::<Note>().ok());
                let verdict = note.map_or(Signed::Absent, |note| note.signed_by(&vkey));
                assert_ne!(verdict, Signed::Valid, "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_cosignature_covers_its_time_and_the_text() {
        let secret = SecretKey::from_seed("w.example/1", &[7; 32]).unwrap();
        let witness = PublicKey {
            algorithm: Algorithm::Cosignature,
            ..secret.public()
        };
        let witness: PublicKey = witness.to_string().parse().unwrap();
        let cosign = |text: &str, time: u64| {
            let message = format!("cosignature/v1\ntime {time}\n{text}");
            let signature = secret.key.sign(message.as_bytes());
            [&time.to_be_bytes()[..], &signature.to_bytes()].concat()
        };
        let bytes = cosign("origin\n5\nroot\n", 1_700_000_000);
        assert!(witness.accepts("origin\n5\nroot\n", &bytes));
        assert!(!witness.accepts("origin\n6\nroot\n", &bytes));
        let mut later = bytes.clone();
        later[7] ^= 1;
        assert!(!witness.accepts("origin\n5\nroot\n", &later));
        assert!(!secret.public().accepts("origin\n5\nroot\n", &bytes));
        assert_ne!(witness.id(), secret.public().id());
    }

    #[test]
    fn what_is_no_key_is_refused_by_its_rule_and_never_shown() {
        let check = |text: &str, expect: &str| {
            let fault = text.parse::<SecretKey>().map_err(|fault| fault.to_string());
            assert_eq!(
                fault.map(|_| ()),
                Err(format!("no key: {expect}")),
                "{text}"
            );
        };
        check("", "it begins with `PRIVATE+KEY+`");
        check("PRIVATE+KEY+a+b", "it is `NAME+ID+BASE64`");
        check(
            &SKEY.replace("c74f20a3", "c74f20a4"),
            "its id is that of its name and bytes",
        );
        check(
            &SKEY.replace("+AYEK", "+AoEK"),
            "its algorithm is 1 (ed25519) or 4 (cosignature)",
        );
        assert!(!format!("{:?}", SKEY.parse::<SecretKey>()).contains("AYEK"));
        assert!(
            "x+00000000+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                .parse::<PublicKey>()
                .is_err()
        );
    }
}
