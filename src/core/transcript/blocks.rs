//! Splits a file of keys or pins into its blocks. Does not read the blocks.

use super::Note;

/// Why a file of keys or pins cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {rule}")]
pub struct BlockError {
    /// The line, from 1.
    pub line: usize,
    /// The rule that it breaks.
    pub rule: String,
}

/// One thing in a file of keys or pins.
pub(super) enum Block<'a> {
    /// A line of its own, without white space around it.
    Line { line: usize, text: &'a str },
    /// A note, and the line that it begins with.
    Note { line: usize, note: Note },
}

impl BlockError {
    pub(super) fn new(line: usize, rule: &dyn std::fmt::Display) -> Self {
        Self {
            line,
            rule: rule.to_string(),
        }
    }
}

/// Reads lines and notes one after the other; skips empty lines and those that begin with `#`. A note is what begins
/// with `monolith/` and ends with its last signature.
pub(super) fn blocks(text: &str) -> impl Iterator<Item = Result<Block<'_>, BlockError>> {
    let mut lines = (1..).zip(text.lines()).peekable();
    std::iter::from_fn(move || {
        let (line, first) =
            lines.find(|(_, text)| !text.trim().is_empty() && !text.starts_with('#'))?;
        if !first.starts_with("monolith/") {
            let text = first.trim();
            return Some(Ok(Block::Line { line, text }));
        }
        let mut whole = format!("{first}\n");
        let mut signed = false;
        while let Some((_, next)) = lines.next_if(|(_, next)| !signed || next.starts_with("— ")) {
            signed = next.starts_with("— ");
            whole.push_str(next);
            whole.push('\n');
        }
        let note = whole.parse::<Note>();
        Some(match note {
            Ok(note) => Ok(Block::Note { line, note }),
            Err(fault) => Err(BlockError::new(line, &fault)),
        })
    })
}
