//! Percent-encoding (RFC 3986 §2.1). Does not know what it encodes.

use std::fmt::Write as _;

/// Encodes every byte that is not unreserved: in what comes of it nothing separates anything.
pub(super) fn escaped(text: &str) -> String {
    escaped_except(text, |_| false)
}

/// The same, and leaves the ASCII characters for which `keeps` holds as they are.
pub(super) fn escaped_except(text: &str, keeps: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || byte.is_ascii() && keeps(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
