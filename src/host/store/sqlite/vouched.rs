//! Whether a note carries the signature of a known key.

use monolith_core::transcript::{Note, PublicKey, Signed};

/// Whether one of these keys has signed the note.
pub(super) fn vouched(keys: &[PublicKey], note: &Note) -> bool {
    keys.iter()
        .any(|key| matches!(note.signed_by(key), Signed::Valid))
}

pub(super) fn is_vouched(keys: &[PublicKey], note: &str) -> bool {
    note.parse().is_ok_and(|note| vouched(keys, &note))
}
