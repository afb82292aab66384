//! The trait that removes secrets from texts and bytes. Does not know what is secret.

use std::borrow::Cow;
use std::fmt::Debug;

use super::Digest;

/// Takes secrets out of what is about to be recorded or shown. The host of a run knows what is secret; nothing else does.
///
/// Scrubbing twice gives the same as scrubbing once.
pub trait Scrubber: Debug + Send + Sync {
    /// The text without secrets; borrowed where it has none.
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str>;

    /// The same of bytes, whatever they hold.
    fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]>;

    /// The same of a text that may have been cut off: the beginning of a secret at its end goes, too.
    fn cut_text(&self, text: &str) -> String;

    /// The same of bytes.
    fn cut_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]>;

    /// The bytes without known secrets, in any form. What merely looks like a credential stays.
    fn without_known<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]>;

    /// The text that replaces a secret.
    fn marker(&self, secret: &[u8]) -> String;

    /// The name of bytes that are not kept, since a secret stands in them in pieces: a commitment that cannot be guessed at without
    /// the host's salt.
    fn name_of_dropped(&self, bytes: &[u8]) -> Digest;

    /// Returns the length of the beginning of a growing text that can be scrubbed now: later text does not change the result.
    /// Ends at a character boundary.
    fn settled(&self, text: &str) -> usize;
}

impl dyn Scrubber + '_ {
    /// True if the bytes hold a known secret, in any form.
    pub fn knows(&self, bytes: &[u8]) -> bool {
        matches!(self.without_known(bytes), Cow::Owned(_))
    }

    /// [`Scrubber::text`] of an owned text.
    pub fn owned_text(&self, text: String) -> String {
        match self.text(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(scrubbed) => scrubbed,
        }
    }

    /// [`Scrubber::bytes`] of owned bytes.
    pub fn owned_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.bytes(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(scrubbed) => scrubbed,
        }
    }
}

/// Takes nothing out: for what was scrubbed before it was recorded, and for hosts that have no secrets.
///
/// ```
/// use monolith_core::message::{NoSecrets, Scrubber};
///
/// assert_eq!(NoSecrets.text("as it is"), "as it is");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl Scrubber for NoSecrets {
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }

    fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        Cow::Borrowed(bytes)
    }

    fn cut_text(&self, text: &str) -> String {
        text.to_owned()
    }

    fn cut_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        Cow::Borrowed(bytes)
    }

    fn without_known<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        Cow::Borrowed(bytes)
    }

    fn marker(&self, _: &[u8]) -> String {
        "[REDACTED]".to_owned()
    }

    fn name_of_dropped(&self, bytes: &[u8]) -> Digest {
        Digest::of(bytes)
    }

    fn settled(&self, text: &str) -> usize {
        text.len()
    }
}
