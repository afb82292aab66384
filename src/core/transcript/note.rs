//! Signed notes: a text and signature lines. Does not read the text.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::public_key::{KeyId, PublicKey, is_key_name};

/// The longest note that is read.
pub(crate) const MAX_NOTE_BYTES: usize = 64 << 10;
/// The most signatures of a note that is read.
const MAX_SIGNATURES: usize = 64;

/// A text with signatures under it, in the signed-note form of C2SP (<https://c2sp.org/signed-note>).
///
/// Its text form is canonical: what is read is written again byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub(super) text: String,
    pub(super) signatures: Vec<NoteSignature>,
}

/// A signature line of a note. It is not known to hold until a key has checked it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key, as the line gives it.
    pub name: String,
    /// The first four bytes of the hash of the key, as the line gives them.
    pub id: KeyId,
    /// The signature.
    pub(super) bytes: Vec<u8>,
}

/// The result of checking a note against one trusted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    /// There is no signature by that key.
    Absent,
    /// The key has signed the text.
    Valid,
    /// There is a signature in the name of that key, and it does not hold.
    Forged,
}

/// A text that is not a signed note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no signed note: {rule}")]
pub struct NoteError {
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl Note {
    /// The text that is signed; ends with a line feed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures, in their order.
    #[must_use]
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// The verdict of that key on the text. One signature of its that does not hold outweighs others that do.
    #[must_use]
    pub fn signed_by(&self, key: &PublicKey) -> Signed {
        let mut verdict = Signed::Absent;
        for signature in &self.signatures {
            if signature.name != key.name() || signature.id != key.id() {
                continue;
            }
            if !key.accepts(&self.text, &signature.bytes) {
                return Signed::Forged;
            }
            verdict = Signed::Valid;
        }
        verdict
    }
}

impl Note {
    /// When a witness has cosigned the text, in seconds since 1970-01-01 UTC by its clock; none if that key gives no time.
    #[must_use]
    pub fn cosigned_at(&self, key: &PublicKey) -> Option<u64> {
        let signatures = self.signatures.iter();
        signatures
            .filter(|signature| signature.name == key.name() && signature.id == key.id())
            .find_map(|signature| key.time_of(&self.text, &signature.bytes))
    }
}

impl FromStr for Note {
    type Err = NoteError;

    fn from_str(whole: &str) -> Result<Self, NoteError> {
        let refuse = |rule| NoteError { rule };
        if whole.len() > MAX_NOTE_BYTES {
            return Err(refuse("it is longer than 64 KiB"));
        }
        if whole.chars().any(|c| c < ' ' && c != '\n') {
            return Err(refuse("it holds a control character"));
        }
        let end = whole
            .rfind("\n\n")
            .ok_or(refuse("an empty line must precede the signatures"))?;
        let (text, lines) = (whole.get(..=end), whole.get(end + 2..));
        let text = text.unwrap_or_default().to_owned();
        let lines = lines
            .unwrap_or_default()
            .strip_suffix('\n')
            .ok_or(refuse("its last line ends with a line feed"))?;
        let signatures = lines
            .split('\n')
            .map(|line| signature(line).ok_or(refuse("a signature line is `— NAME BASE64`")))
            .collect::<Result<Vec<_>, _>>()?;
        if signatures.len() > MAX_SIGNATURES {
            return Err(refuse("it has at most 64 signatures"));
        }
        Ok(Self { text, signatures })
    }
}

fn signature(line: &str) -> Option<NoteSignature> {
    let (name, encoded) = line.strip_prefix("— ")?.split_once(' ')?;
    if !is_key_name(name) {
        return None;
    }
    // The standard engine accepts one text for one run of bytes.
    let bytes = BASE64.decode(encoded).ok()?;
    let (id, bytes) = bytes.split_first_chunk()?;
    (!bytes.is_empty()).then(|| NoteSignature {
        name: name.to_owned(),
        id: KeyId(*id),
        bytes: bytes.to_vec(),
    })
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for signature in &self.signatures {
            let mut bytes = signature.id.0.to_vec();
            bytes.extend(&signature.bytes);
            writeln!(f, "— {} {}", signature.name, BASE64.encode(bytes))?;
        }
        Ok(())
    }
}
