//! Splits an agent's file into front matter and prompt. Does not read either.

/// The line before and after the front matter.
const FENCE: &str = "---";

/// An agent's file in its parts.
pub(in crate::contract::spec) struct Parts<'t> {
    /// The prompt, without blank lines around it.
    pub(in crate::contract::spec) body: &'t str,
    /// The front matter in a text as long as the file, so that every place in it is one of the file; `None` if the file has none.
    pub(in crate::contract::spec) front: Option<String>,
}

impl Parts<'_> {
    /// The byte of that text at which the prompt begins.
    pub(in crate::contract::spec) fn body_at(&self, text: &str) -> usize {
        text.trim_end().len().saturating_sub(self.body.len())
    }
}

/// The parts of an agent's file: an optional line `#!…`, front matter between two lines `---`, and the prompt.
///
/// # Errors
/// The byte at which front matter begins that is not closed.
pub(in crate::contract::spec) fn split(text: &str) -> Result<Parts<'_>, usize> {
    let begin = if text.starts_with("#!") {
        text.find('\n').map_or(text.len(), |end| end + 1)
    } else {
        0
    };
    let rest = text.get(begin..).unwrap_or_default();
    let opens = rest.len() - rest.trim_start().len();
    let mut lines = rest.get(opens..).unwrap_or_default().split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(FENCE) {
        let body = rest.trim();
        return Ok(Parts { body, front: None });
    }
    let first = begin + opens;
    let after = text.get(first..).unwrap_or_default();
    let inside = after.find('\n').map_or(after.len(), |end| end + 1);
    let mut at = first + inside;
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
        if line.trim_end() == FENCE {
            let front = text.get(first + inside..at).unwrap_or_default();
            let body = text.get(at + line.len()..).unwrap_or_default().trim();
            return Ok(Parts {
                body,
                front: Some(blanked(text.get(..first + inside).unwrap_or_default()) + front),
            });
        }
        at += line.len();
    }
    Err(first)
}

/// Blanks in the place of a text: as many bytes, the same lines.
fn blanked(text: &str) -> String {
    let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
    text.bytes().map(blank).collect()
}
