//! The keys, pins and witnesses that a verification trusts. Reads no file.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::checkpoint::CheckpointHead;
use super::{Flaw, FlawKind, Note, PublicKey, TreeHead};
use crate::message::{Digest, RunId, amount};

/// The keys, pins and clock that a verification trusts, all from outside the transcript.
///
/// ```
/// use std::sync::Arc;
///
/// use monolith_core::transcript::{LineVerifier, SecretKey, Trust, VerifyOptions};
///
/// let ours = SecretKey::from_seed("ours", &[1; 32])?;
/// let trust = Trust { keys: vec![ours.public()], signature_required: true, ..Trust::default() };
/// let mut verifier = LineVerifier::new(VerifyOptions::default()).trusting(Arc::new(trust));
/// for line in std::fs::read("../../replay/v1/core.valid_call.jsonl")?.split_inclusive(|byte| *byte == b'\n') {
///     verifier.line(line);
/// }
/// assert!(!verifier.finish().holds()); // it is not signed
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Keys that checkpoints may be signed with.
    pub keys: Vec<PublicKey>,
    /// True if one of them must have signed a sealed run.
    pub signature_required: bool,
    /// Heads that were noted earlier.
    pub pins: Vec<Pin>,
    /// Keys of witnesses.
    pub witnesses: Vec<PublicKey>,
    /// The verifier's own clock, in milliseconds since 1970-01-01 UTC, if it has one.
    pub now_unix_ms: Option<u64>,
}

/// A head that was noted earlier.
///
/// ```
/// use monolith_core::message::{Digest, RunId};
/// use monolith_core::transcript::Pin;
///
/// let run_id = RunId::try_from("r-1".to_owned())?;
/// let line = Pin::line_of(&run_id, 24, Digest::of(b"the last entry")); // kept where it cannot be changed
/// let pins = Pin::read_all(&line)?;
/// assert!(matches!(pins.first(), Some(Pin::Run { entries: 24, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// Of a run.
    Run {
        /// The run.
        run_id: RunId,
        /// Number of entries at that time.
        entries: u64,
        /// The hash of the last of them.
        head: Digest,
        /// The checkpoint that it came from, if it came as one.
        note: Option<Note>,
    },
    /// Of a log of runs.
    Log {
        /// The log at that time.
        head: TreeHead,
        /// The note that it came from.
        note: Note,
    },
}

impl Trust {
    /// Holds the noted heads against each other: one history has one head at each length.
    ///
    /// # Errors
    /// [`Flaw`]: a split view, where two of them cannot both be of one run or one log.
    pub fn check_pins(&self) -> Result<(), Flaw> {
        for (at, one) in self.pins.iter().enumerate() {
            for other in self.pins.iter().skip(at.saturating_add(1)) {
                one.agrees(other)?;
            }
        }
        Ok(())
    }
}

impl Pin {
    fn agrees(&self, other: &Self) -> Result<(), Flaw> {
        let split = |what: String, one: &dyn fmt::Display, other: &dyn fmt::Display| {
            let expected = format!("one head of {what}");
            let got = format!("{one}, and in another pin {other}");
            Err(Flaw::new(FlawKind::SplitView, "pin", expected, got))
        };
        match (self, other) {
            (Self::Log { head: one, .. }, Self::Log { head: other, .. })
                if (&one.origin, one.size) == (&other.origin, other.size)
                    && one.root != other.root =>
            {
                let what = format!("{} with {}", one.origin, amount(one.size, "run"));
                let [one, other] = [one, other].map(|head| BASE64.encode(head.root));
                split(what, &one, &other)
            }
            (
                Self::Run {
                    run_id,
                    entries,
                    head,
                    ..
                },
                Self::Run {
                    run_id: other_run,
                    entries: other_entries,
                    head: other_head,
                    ..
                },
            ) if (run_id, entries) == (other_run, other_entries) && head != other_head => {
                let what = format!("run {run_id} with {}", amount(*entries, "entry"));
                split(what, head, other_head)
            }
            _ => Ok(()),
        }
    }

    /// Reads a file of pins: notes of checkpoints and tree heads, and lines `RUN ENTRIES HEAD`.
    ///
    /// # Errors
    /// [`BlockError`] where something is neither.
    pub fn read_all(text: &str) -> Result<Vec<Self>, BlockError> {
        blocks(text)
            .map(|block| match block? {
                Block::Line { line, text } => Self::of_line(text)
                    .ok_or_else(|| BlockError::new(line, &"a pin is `RUN ENTRIES HEAD`")),
                Block::Note { line, note } => Self::of_note(note).ok_or_else(|| {
                    BlockError::new(line, &"a note among pins is a checkpoint or a tree head")
                }),
            })
            .collect()
    }

    /// The line `RUN ENTRIES HEAD`, with its line feed.
    #[must_use]
    pub fn line_of(run_id: &RunId, entries: u64, head: Digest) -> String {
        format!("{run_id} {entries} {head}\n")
    }

    fn of_line(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let run_id = RunId::try_from(words.next()?.to_owned()).ok()?;
        let entries = words.next()?.parse().ok()?;
        let head = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Self::Run {
            run_id,
            entries,
            head,
            note: None,
        })
    }

    fn of_note(note: Note) -> Option<Self> {
        if let Some(head) = TreeHead::read(&note) {
            return Some(Self::Log { head, note });
        }
        let CheckpointHead {
            run_id,
            entries,
            head,
        } = CheckpointHead::read(note.text())?;
        Some(Self::Run {
            run_id,
            entries,
            head,
            note: Some(note),
        })
    }
}

/// The reason why a file of keys or pins cannot be read.
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
    /// A single line, without white space around it.
    Line { line: usize, text: &'a str },
    /// A note, and the line that it begins with.
    Note { line: usize, note: Note },
}

impl BlockError {
    pub(super) fn new(line: usize, rule: &dyn fmt::Display) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Chain, Checkpoint, SecretKey};

    #[test]
    fn pins_are_lines_and_notes_in_any_order() {
        let key = SecretKey::from_seed("local", &[1; 32]).unwrap();
        let run_id = RunId::try_from("r-1".to_owned()).unwrap();
        let chain = Chain::genesis(Digest::of(b"c"), &run_id);
        let note = Checkpoint::of(&chain, &run_id, None).sign(&key);
        let log = TreeHead::over("x", &[[7; 32]]);
        let line = Pin::line_of(&run_id, 5, Digest::of(b"h"));
        let text = format!("# kept since May\n{note}{line}\n{}{line}", log.sign(&key));
        let pins = Pin::read_all(&text).unwrap();
        let run = |entries, head, note| Pin::Run {
            run_id: run_id.clone(),
            entries,
            head,
            note,
        };
        let plain = run(5, Digest::of(b"h"), None);
        let tree = Pin::Log {
            note: log.sign(&key),
            head: log,
        };
        let signed = run(0, chain.head(), Some(note));
        assert_eq!(pins, [signed, plain.clone(), tree, plain]);
    }

    #[test]
    fn what_is_no_pin_is_refused_with_its_line() {
        let check = |text: &str, expect: &str| {
            let fault = Pin::read_all(text).map_err(|fault| fault.to_string());
            assert_eq!(fault, Err(expect.to_owned()), "{text}");
        };
        check("\nr-1 5", "line 2: a pin is `RUN ENTRIES HEAD`");
        check("r-1 5 abc", "line 1: a pin is `RUN ENTRIES HEAD`");
        let key = SecretKey::from_seed("local", &[1; 32]).unwrap();
        let note = key.sign("monolith/other\n5\n".to_owned());
        check(
            &note.to_string(),
            "line 1: a note among pins is a checkpoint or a tree head",
        );
    }
}
