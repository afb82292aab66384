//! What a body is, by its first bytes.

use super::fold::Framing;

/// A byte order mark, which some servers write.
pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Whether a body that is a document is the first of several.
pub(super) fn is_lines(body: &[u8], framing: Framing) -> bool {
    let body = body.strip_prefix(BOM).unwrap_or(body);
    framing == Framing::Lines && body.trim_ascii_start().first() == Some(&b'{')
}

/// Whether the body is a document (JSON, markup, binary frames) and not an event stream; none until its first byte that is
/// neither byte order mark nor white space has arrived. No field of an event stream begins like a document.
pub(super) fn is_document(body: &[u8], framing: Framing) -> Option<bool> {
    if body.len() < BOM.len() && BOM.starts_with(body) {
        return None;
    }
    let body = body.strip_prefix(BOM).unwrap_or(body);
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace())?;
    let framed = framing == Framing::Frames && matches!(first, 0 | b'A');
    Some(framed || matches!(first, b'{' | b'[' | b'<'))
}
