//! A signing key and its text form. Does not know where keys are kept.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signer as _, SigningKey};

use super::note::{Note, NoteError, NoteSignature};
use super::public_key::{Algorithm, KeyError, PublicKey, is_key_name, parse, typed};

const PRIVATE: &str = "PRIVATE+KEY+";
/// The first word of the signed message of every envelope, which no note begins with.
pub(super) const DSSE: &str = "DSSEv1";

/// A key that signs, with its name. In text: `PRIVATE+KEY+NAME+ID+BASE64`; never shown by `Debug`.
///
/// ```
/// use monolith_core::transcript::{PublicKey, SecretKey};
///
/// let key = SecretKey::from_seed("ours", &[1; 32])?; // 32 bytes of a good random source
/// let public: PublicKey = key.public().to_string().parse()?;
/// assert_eq!(public, key.public());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SecretKey {
    key: SigningKey,
    name: String,
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

    /// Returns the key that verifies its signatures.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey::of_signer(&self.name, self.key.verifying_key())
    }

    /// The text that is kept, which is all that it takes to sign.
    #[must_use]
    pub fn secret_text(&self) -> String {
        let bytes = BASE64.encode(typed(Algorithm::Ed25519, self.key.as_bytes()));
        format!("{PRIVATE}{}+{}+{bytes}", self.name, self.public().id())
    }

    /// The random bytes that it is made of.
    pub fn seed(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// Signs a text that another party wrote, as a witness does.
    ///
    /// # Errors
    /// [`NoteError`] where the text is none for a note.
    pub fn sign_text(&self, text: &str) -> Result<Note, NoteError> {
        if text.starts_with(DSSE) {
            let rule = "its text is not the signed message of an envelope";
            return Err(NoteError { rule });
        }
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
    pub fn sign(&self, text: String) -> Note {
        let mut note = Note {
            text,
            signatures: Vec::with_capacity(1),
        };
        self.sign_too(&mut note);
        note
    }

    /// The Ed25519 signature of bytes that can be no text of a note.
    pub(super) fn sign_bytes(&self, bytes: &[u8]) -> [u8; 64] {
        self.key.sign(bytes).to_bytes()
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
