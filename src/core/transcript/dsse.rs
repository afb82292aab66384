//! Signed envelopes (DSSE v1): a payload, its type, and signatures of both. Does not read the payload.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE};
use serde::{Deserialize, Serialize};

use super::secret_key::DSSE;
use super::{PublicKey, SecretKey};

/// An envelope as it is written in JSON.
///
/// ```
/// use monolith_core::transcript::{Envelope, SecretKey};
///
/// let key = SecretKey::from_seed("ours", &[1; 32])?;
/// let envelope = Envelope::sign("text/plain", b"hello", &key);
/// assert_eq!(envelope.verify("text/plain", &[key.public()])?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// The payload in base64.
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

/// One signature of an envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EnvelopeSignature {
    /// `NAME+ID` of the key. A hint: it decides nothing.
    #[serde(default)]
    keyid: String,
    /// The signature in base64.
    sig: String,
}

/// The reason that an envelope proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The payload is of another type.
    #[error("payload type {got:?} is not {expected:?}")]
    PayloadType {
        /// The type asked for.
        expected: String,
        /// The type in the envelope.
        got: String,
    },
    /// The payload is not base64.
    #[error("the payload is not base64")]
    Base64,
    /// No trusted key signed it.
    #[error(
        "no signature is valid under a trusted key; add the signer's public key if you trust it"
    )]
    Unsigned,
}

impl Envelope {
    /// Signs a payload.
    #[must_use]
    pub fn sign(payload_type: &str, payload: &[u8], key: &SecretKey) -> Self {
        let public = key.public();
        let signature = key.sign_bytes(&pre_authentication(payload_type, payload));
        Self {
            payload: BASE64.encode(payload),
            payload_type: payload_type.to_owned(),
            signatures: vec![EnvelopeSignature {
                keyid: key_id(&public),
                sig: BASE64.encode(signature),
            }],
        }
    }

    /// Returns the payload if one of the keys signed it as that type.
    ///
    /// # Errors
    /// [`EnvelopeError`]
    pub fn verify(&self, payload_type: &str, keys: &[PublicKey]) -> Result<Vec<u8>, EnvelopeError> {
        if self.payload_type != payload_type {
            return Err(EnvelopeError::PayloadType {
                expected: payload_type.to_owned(),
                got: self.payload_type.clone(),
            });
        }
        let payload = decode(&self.payload).ok_or(EnvelopeError::Base64)?;
        let message = pre_authentication(payload_type, &payload);
        let mut signatures = self.signatures.iter();
        let is_signed = signatures.any(|signature| {
            let bytes = decode(&signature.sig);
            bytes.is_some_and(|bytes| keys.iter().any(|key| key.accepts_bytes(&message, &bytes)))
        });
        if is_signed {
            Ok(payload)
        } else {
            Err(EnvelopeError::Unsigned)
        }
    }

    /// True if its one signature names that key, which proves nothing.
    #[must_use]
    pub fn names(&self, key: &PublicKey) -> bool {
        let name = key_id(key);
        matches!(self.signatures.as_slice(), [one] if one.keyid == name)
    }
}

fn key_id(key: &PublicKey) -> String {
    format!("{}+{}", key.name(), key.id())
}

/// The signed message: `DSSEv1 LENGTH TYPE LENGTH PAYLOAD`, lengths in bytes.
fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let lengths = (payload_type.len(), payload.len());
    let head = format!("{DSSE} {} {payload_type} {} ", lengths.0, lengths.1);
    [head.as_bytes(), payload].concat()
}

/// Base64 of either alphabet, as DSSE allows.
fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SecretKey {
        SecretKey::from_seed("local", &[seed; 32]).unwrap()
    }

    /// The test vector of the specification.
    #[test]
    fn the_signed_message_is_that_of_the_specification() {
        let message = pre_authentication("http://example.com/HelloWorld", b"hello world");
        let expect = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        assert_eq!(message, expect);
    }

    #[test]
    fn an_envelope_is_read_as_it_was_written() {
        let envelope = Envelope::sign("a/b", b"payload", &key(1));
        let text = serde_json::to_string(&envelope).unwrap();
        assert!(text.starts_with(
            r#"{"payload":"cGF5bG9hZA==","payloadType":"a/b","signatures":[{"keyid":"local+"#
        ));
        assert_eq!(serde_json::from_str::<Envelope>(&text).unwrap(), envelope);
    }

    #[test]
    fn another_payload_type_or_key_proves_nothing() {
        let envelope = Envelope::sign("a/b", b"payload", &key(1));
        let keys = [key(2).public(), key(1).public()];
        assert_eq!(envelope.verify("a/b", &keys), Ok(b"payload".to_vec()));
        assert_eq!(
            envelope.verify("a/b", &keys[..1]),
            Err(EnvelopeError::Unsigned)
        );
        let error = envelope.verify("a/c", &keys).unwrap_err();
        assert_eq!(error.to_string(), r#"payload type "a/b" is not "a/c""#);
        let mut changed = envelope.clone();
        changed.payload = BASE64.encode(b"another");
        assert_eq!(changed.verify("a/b", &keys), Err(EnvelopeError::Unsigned));
        changed.payload = "?".to_owned();
        assert_eq!(changed.verify("a/b", &keys), Err(EnvelopeError::Base64));
    }

    #[test]
    fn a_relabelled_payload_type_is_unsigned() {
        let mut envelope = Envelope::sign("a/b", b"payload", &key(1));
        envelope.payload_type = "a/c".to_owned();
        assert_eq!(
            envelope.verify("a/c", &[key(1).public()]),
            Err(EnvelopeError::Unsigned)
        );
    }

    #[test]
    fn a_note_cannot_be_used_as_the_signature_of_an_envelope() {
        let message = pre_authentication("a/b", b"payload\n");
        let message = String::from_utf8(message).unwrap();
        assert!(key(1).sign_text(&message).is_err());
    }
}
