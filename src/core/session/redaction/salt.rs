//! The salt of a run and the commitments under it. Does not know which values are secret.

use std::fmt;

use super::forms::key_texts;
use crate::message::{Digest, DigestContext, RunId};

/// What a run's salt is derived under.
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
