//! The signed text over a run's entries. Does not know when one is due.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::{Chain, Note, SecretKey};
use crate::contract::{WorkOutcome, WorkflowOutcome};
use crate::kernel::Outcome;
use crate::message::{Digest, DigestContext, RunId};

/// Prefix of the first line of every checkpoint.
const ORIGIN: &str = "monolith/run/";

/// Prefix of the last line of the seal's checkpoint.
const EARLIER: &str = "checkpoints ";

pub(super) static EARLIER_CONTEXT: DigestContext =
    DigestContext::new("monolith transcript v1 checkpoints");

/// The statement of a checkpoint: the progress of a run, and the head of its chain there.
///
/// Its text is that of a checkpoint of a log (<https://c2sp.org/tlog-checkpoint>): origin, size, hash in base64, then two lines of
/// our own, and at the seal a third one for the checkpoints that came before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The run.
    pub run_id: RunId,
    /// Number of entries at that point.
    pub entries: u64,
    /// The hash of the last of them.
    pub head: Digest,
    /// The contract of the run.
    pub contract_hash: Digest,
    /// The outcome, where the last of them is the seal.
    pub outcome: Option<SealedOutcome>,
    /// The signed checkpoints before this one; stated at the seal alone.
    pub earlier: EarlierCheckpoints,
}

/// The signed checkpoints that are kept of a run before its seal: how many there are, and the hash of their texts in order.
///
/// The seal's checkpoint states both, so that none of them can be left out of a run that is signed at its seal. Which ones were signed
/// and kept is known to the host alone, so the host completes what `Append`'s `checkpoint` gives:
///
/// ```
/// use monolith_core::transcript::{EarlierCheckpoints, SecretKey};
///
/// let key = SecretKey::from_seed("ours", &[1; 32])?;
/// let due = ["monolith/run/r\n4\n…\noutcome open\n", "monolith/run/r\n7\n…\noutcome COMPLETED done\n"];
/// let mut earlier = EarlierCheckpoints::default();
/// for due in due {
///     let note = key.sign_text(&earlier.complete(due))?;
///     earlier.add(note.text());
/// }
/// assert!(earlier.complete(due[1]).contains("\ncheckpoints 2 "));
/// assert_eq!(earlier.complete(due[0]), due[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierCheckpoints {
    count: u64,
    hash: Digest,
}

impl Default for EarlierCheckpoints {
    fn default() -> Self {
        Self {
            count: 0,
            hash: EARLIER_CONTEXT.framed(&[]),
        }
    }
}

impl EarlierCheckpoints {
    /// Takes the signed text of the next one.
    pub fn add(&mut self, text: &str) {
        self.count = self.count.saturating_add(1);
        self.hash = EARLIER_CONTEXT.framed(&[self.hash.as_bytes(), text.as_bytes()]);
    }

    /// The text to sign of a checkpoint that is due: at the seal with its last line, before it unchanged.
    #[must_use]
    pub fn complete(&self, due: &str) -> String {
        if due.ends_with("\noutcome open\n") {
            return due.to_owned();
        }
        format!("{due}{EARLIER}{} {}\n", self.count, self.hash)
    }
}

/// Returns the number of earlier checkpoints from the last line of a seal's checkpoint; `None` for any other line.
pub(super) fn counted_earlier(line: &str) -> Option<u64> {
    let (count, hash) = line.strip_prefix(EARLIER)?.split_once(' ')?;
    let number: u64 = count.parse().ok()?;
    hash.parse::<Digest>().ok()?;
    (number.to_string() == count).then_some(number)
}

/// The first three lines of a checkpoint: enough to hold it against a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckpointHead {
    pub(super) run_id: RunId,
    pub(super) entries: u64,
    pub(super) head: Digest,
}

impl Checkpoint {
    /// The checkpoint of a chain at its head, the first that is signed of the run.
    #[must_use]
    pub fn of(chain: &Chain, run_id: &RunId, outcome: Option<Outcome>) -> Self {
        Self::sealed_as(chain, run_id, outcome.map(SealedOutcome::from))
    }

    /// [`Self::of`] for any machine.
    #[must_use]
    pub fn sealed_as(chain: &Chain, run_id: &RunId, outcome: Option<SealedOutcome>) -> Self {
        Self {
            run_id: run_id.clone(),
            entries: chain.length(),
            head: chain.head(),
            contract_hash: chain.contract_hash(),
            outcome,
            earlier: EarlierCheckpoints::default(),
        }
    }

    /// The text that is signed.
    #[must_use]
    pub fn text(&self) -> String {
        self.earlier.complete(&self.due())
    }

    /// Returns the text that the chain alone determines: all except the line for the earlier ones, which only the signer can
    /// write.
    #[must_use]
    pub fn due(&self) -> String {
        let outcome = self.outcome.map_or_else(
            || "open".to_owned(),
            |outcome| format!("{} {}", outcome.class(), outcome.code()),
        );
        format!(
            "{ORIGIN}{}\n{}\n{}\ncontract {}\noutcome {outcome}\n",
            self.run_id,
            self.entries,
            BASE64.encode(self.head.as_bytes()),
            self.contract_hash,
        )
    }

    /// Signs it.
    #[must_use]
    pub fn sign(&self, key: &SecretKey) -> Note {
        key.sign(self.text())
    }
}

impl CheckpointHead {
    /// Reads the lines that a checkpoint shares with every other of its form; none if the text is not one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (origin, entries, head) = log_lines(text)?;
        let run_id = RunId::try_from(origin.strip_prefix(ORIGIN)?.to_owned()).ok()?;
        let head = Digest::from_bytes(head);
        Some(Self {
            run_id,
            entries,
            head,
        })
    }
}

/// Origin, size and hash of a checkpoint of a log; none if the text does not begin with them.
pub(super) fn log_lines(text: &str) -> Option<(&str, u64, [u8; 32])> {
    let mut lines = text.split('\n');
    let (origin, size, hash) = (lines.next()?, lines.next()?, lines.next()?);
    let number: u64 = size.parse().ok()?;
    let hash = <[u8; 32]>::try_from(BASE64.decode(hash).ok()?).ok()?;
    (number.to_string() == size).then_some((origin, number, hash))
}

/// The outcome that a seal states. The classes of the machines differ, so its text says which one it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SealedOutcome {
    /// Of a run.
    Run(Outcome),
    /// Of a workflow.
    Workflow(WorkflowOutcome),
    /// Of a work item.
    Work(WorkOutcome),
}

impl SealedOutcome {
    /// The class as it is written.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Run(outcome) => outcome.class.as_str(),
            Self::Workflow(outcome) => outcome.class.as_str(),
            Self::Work(outcome) => outcome.class.as_str(),
        }
    }

    /// The code as it is written.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Run(outcome) => outcome.code.as_str(),
            Self::Workflow(outcome) => outcome.code.as_str(),
            Self::Work(outcome) => outcome.code.as_str(),
        }
    }
}

impl From<Outcome> for SealedOutcome {
    fn from(outcome: Outcome) -> Self {
        Self::Run(outcome)
    }
}

impl From<WorkflowOutcome> for SealedOutcome {
    fn from(outcome: WorkflowOutcome) -> Self {
        Self::Workflow(outcome)
    }
}

impl From<WorkOutcome> for SealedOutcome {
    fn from(outcome: WorkOutcome) -> Self {
        Self::Work(outcome)
    }
}

impl fmt::Display for SealedOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.class(), self.code())
    }
}
