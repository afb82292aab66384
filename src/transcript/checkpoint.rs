use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{Chain, Note, SecretKey};
use crate::kernel::Outcome;
use crate::message::{Digest, RunId};

/// What the first line of every checkpoint begins with.
const ORIGIN: &str = "monolith/run/";

/// What a checkpoint states: how far a run had come, and the head of its chain there.
///
/// Its text is that of a checkpoint of a log (<https://c2sp.org/tlog-checkpoint>): origin, size, hash in base64, then two lines of
/// our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The run.
    pub run_id: RunId,
    /// How many entries there were.
    pub entries: u64,
    /// The hash of the last of them.
    pub head: Digest,
    /// The contract of the run.
    pub contract_hash: Digest,
    /// The outcome, where the last of them is the seal.
    pub outcome: Option<Outcome>,
}

/// The first three lines of a checkpoint: enough to hold it against a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckpointHead {
    pub(super) run_id: RunId,
    pub(super) entries: u64,
    pub(super) head: Digest,
}

impl Checkpoint {
    /// The checkpoint of a chain at its head.
    #[must_use]
    pub fn of(chain: &Chain, run_id: &RunId, outcome: Option<Outcome>) -> Self {
        Self {
            run_id: run_id.clone(),
            entries: chain.length(),
            head: chain.head(),
            contract_hash: chain.contract_hash(),
            outcome,
        }
    }

    /// The text that is signed.
    #[must_use]
    pub fn text(&self) -> String {
        let outcome = self.outcome.map_or_else(
            || "open".to_owned(),
            |outcome| format!("{} {}", outcome.class, outcome.code),
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
    /// Reads the lines that a checkpoint shares with every other of its form; none where the text is not one.
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

/// Origin, size and hash of a checkpoint of a log; none where the text does not begin with them.
pub(super) fn log_lines(text: &str) -> Option<(&str, u64, [u8; 32])> {
    let mut lines = text.split('\n');
    let (origin, size, hash) = (lines.next()?, lines.next()?, lines.next()?);
    let number: u64 = size.parse().ok()?;
    let hash = <[u8; 32]>::try_from(BASE64.decode(hash).ok()?).ok()?;
    (number.to_string() == size).then_some((origin, number, hash))
}
