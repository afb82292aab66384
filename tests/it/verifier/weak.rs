//! Signatures of RFC 8032 that only a lenient verifier takes: one that takes them cannot claim that one text has one signature.

use std::ops::{Add, Mul};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signature, SigningKey, Verifier as _};
use monolith_core::transcript::checkpoint_line;
use sha2::{Digest as _, Sha512};

use super::damage::{Case, lines};
use super::signed::{checkpoint, entries, key};

/// The order of the base point, the lowest byte first.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// The number that these bytes are, the lowest first, in the field of `like`.
fn reduced<S>(bytes: &[u8], like: S) -> S
where
    S: From<u64> + Add<Output = S> + Mul<Output = S>,
{
    let start = like * S::from(0);
    bytes.iter().rev().fold(start, |sum, byte| {
        sum * S::from(256) + S::from(u64::from(*byte))
    })
}

/// `R` is the neutral point, so that `S·B = k·A` holds for `S = k·a`: an equation that says nothing of a nonce.
fn of_small_order(secret: &SigningKey, message: &[u8]) -> [u8; 64] {
    let mut signature = [0; 64];
    signature[0] = 1;
    let mut hasher = Sha512::new();
    hasher.update(&signature[..32]);
    hasher.update(secret.verifying_key().as_bytes());
    hasher.update(message);
    let secret = secret.to_scalar();
    let s = reduced(&hasher.finalize(), secret) * secret;
    signature[32..].copy_from_slice(&s.to_bytes());
    signature
}

/// The same `S` once more around the group.
fn not_canonical(mut signature: [u8; 64]) -> [u8; 64] {
    let mut carry = 0;
    for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(carry, 0, "it fits into 32 bytes");
    signature
}

/// A file whose seal is signed so, by the holder of the key.
pub(super) fn cases(bytes: &[u8]) -> Vec<Case> {
    let secret = SigningKey::from_bytes(&[1; 32]);
    let note = checkpoint(bytes, entries(bytes) as u64).sign(&key());
    let note = note.to_string();
    let (text, signed) = note.split_once("\n\n").unwrap();
    let (called, encoded) = signed.trim_end().rsplit_once(' ').unwrap();
    let whole = BASE64.decode(encoded).unwrap();
    let (id, right) = whole.split_at(4);
    let message = format!("{text}\n").into_bytes();
    let public = secret.verifying_key();
    let right: [u8; 64] = right.try_into().unwrap();
    let small = of_small_order(&secret, &message);
    let small_signature = Signature::from_bytes(&small);
    assert!(
        public
            .verify(&message, &Signature::from_bytes(&right))
            .is_ok()
    );
    assert!(
        public.verify(&message, &small_signature).is_ok(),
        "a lenient verifier takes it, so the rule is what refuses it"
    );
    let put = |signature: &[u8]| {
        let line = BASE64.encode([id, signature].concat());
        let note = format!("{text}\n\n{called} {line}\n");
        [bytes, checkpoint_line(&note).as_bytes()].concat()
    };
    let at = lines(bytes).len() as u64 + 1;
    let mut unusual = small;
    unusual[..32].fill(0xff);
    (unusual[0], unusual[31]) = (0xee, 0x7f);
    let bad = |what: &str, signature: &[u8]| {
        Case::damaged(format!("signature with {what}"), put(signature), at)
    };
    vec![
        Case::whole("signature as it is", put(&right)),
        bad("R of small order", &small),
        bad("R of small order, not canonical", &unusual),
        bad("S not canonical", &not_canonical(right)),
        bad("both", &not_canonical(small)),
        bad("no S", &right[..32]),
        bad("a byte more", &[&right[..], &[0]].concat()),
    ]
}
