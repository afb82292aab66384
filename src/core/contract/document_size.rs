//! The size limits of a stored contract. Does not decode it.

use crate::message::JsonSize;

/// The longest document of a contract in bytes. A line that holds one has a little more.
const MAX_BYTES: usize = (32 << 20) - 1024;
/// The most members of objects and items of lists in it: each takes far more memory than its text.
const MAX_VALUES: u64 = (1 << 18) - 16;
/// How deeply they may nest.
const MAX_DEPTH: u64 = 127;

/// Checks the document of a contract against its limits, before anything is built from it; the error names the exceeded one.
pub(crate) fn check_document_size(text: &str) -> Result<(), String> {
    if text.len() > MAX_BYTES {
        return Err(format!(
            "has {} bytes, at most {MAX_BYTES} are allowed",
            text.len()
        ));
    }
    let JsonSize { depth, values } = JsonSize::of(text);
    if values > MAX_VALUES {
        return Err(format!(
            "has {values} members and items, at most {MAX_VALUES} are allowed"
        ));
    }
    if depth > MAX_DEPTH {
        return Err(format!(
            "is {depth} levels deep, at most {MAX_DEPTH} are allowed"
        ));
    }
    Ok(())
}
