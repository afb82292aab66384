//! One piece of a stored transcript, from a line or a row. Decodes it; does not verify it.

use super::checkpoint::CheckpointHead;
use super::machine_entry::{ItemDocument, MachineBinding, MachineHead, named_blob, read_texts};
use super::{Flaw, FlawKind, Note, SealedEntry, SealedMachineEntry, TranscriptKind, canonical};
use crate::contract::{
    CONTRACT_FORMAT, ExecutionContract, WorkflowDefinition, check_document_size, structure_faults,
};
use crate::kernel::{Action, Event};
use crate::message::{Digest, JsonSize, RunId, check_version};

/// The most members of objects and items of lists in the action or the event of an entry.
const MAX_ENTRY_VALUES: u64 = 1 << 18;

/// One piece of a stored transcript, whether it came from a line of a file or from a row of a store.
#[derive(Clone, Debug)]
pub enum Record<'a> {
    /// The contract and the name of the run; comes first, once.
    Header(Box<HeaderRecord<'a>>),
    /// An entry; entries come in their order, before any blob.
    Entry(Box<EntryRecord<'a>>),
    /// An entry of a workflow or of a work item; the same.
    MachineEntry(Box<MachineEntryRecord<'a>>),
    /// A blob; blobs come in the order of their hashes.
    Blob(BlobRecord<'a>),
    /// The remains of an erased blob; tombstones come after the blobs, in the order of their hashes.
    Tombstone(TombstoneRecord),
    /// A signed checkpoint; checkpoints come last, in the order of their numbers of entries.
    Checkpoint(CheckpointRecord),
}

/// The binding of a run.
#[derive(Clone, Debug)]
pub struct HeaderRecord<'a> {
    /// The contract's document as stored.
    pub contract: &'a str,
    /// The claims of an index beside the chain; none in a file.
    pub claims: Option<IndexClaims>,
    /// The name of the run.
    pub run_id: RunId,
}

/// The data that a store's row about a run repeats from its chain, so that runs can be listed without reading entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexClaims {
    /// The hash of the contract.
    pub contract_hash: Digest,
    /// The machine that it is the row of.
    pub kind: TranscriptKind,
    /// Class and code as stored, once the run is sealed.
    pub outcome: Option<(String, String)>,
    /// The hash of the last entry; `H_0` where there is none.
    pub head_hash: Digest,
    /// Number of entries.
    pub length: u64,
}

/// An entry: its stored texts, and their decoded values.
#[derive(Clone, Debug)]
pub struct EntryRecord<'a> {
    /// The number as stored beside the texts.
    pub seq: u64,
    /// The state as stored beside the texts; none in a file, where only the action states it.
    pub state: Option<&'a str>,
    /// The stored text of the event.
    pub event: &'a str,
    /// The stored text of the action.
    pub action: &'a str,
    /// The hash as stored.
    pub hash: Digest,
    /// The decoded action.
    pub decoded_action: Action,
    /// The decoded event.
    pub decoded_event: Option<Event>,
}

/// An entry of a workflow or of a work item: its stored texts, and what a verification needs of them.
#[derive(Clone, Debug)]
pub struct MachineEntryRecord<'a> {
    /// The number as stored beside the texts.
    pub seq: u64,
    /// The state as stored beside the texts.
    pub state: Option<&'a str>,
    /// The stored text of the event.
    pub event: &'a str,
    /// The stored text of the action.
    pub action: &'a str,
    /// The hash as stored.
    pub hash: Digest,
    /// The needed part of the action.
    pub head: MachineHead,
    /// The binding of entry 0.
    pub binding: Option<MachineBinding>,
    /// The blob that the event names.
    pub blob: Option<Digest>,
}

/// Bytes that an entry names by their hash.
#[derive(Clone, Copy, Debug)]
pub struct BlobRecord<'a> {
    /// The hash under which they are stored.
    pub hash: Digest,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// A signed checkpoint of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRecord {
    /// The number of entries as stored beside the note; none in a file, where only the note states it.
    pub entries: Option<u64>,
    /// The text of the note.
    pub note: String,
}

/// A signed note that a blob was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TombstoneRecord {
    /// The hash as stored beside the note; none in a file, where only the note states it.
    pub hash: Option<Digest>,
    /// The text of the note.
    pub note: String,
}

impl CheckpointRecord {
    /// The number of entries that the note states; none if it is no checkpoint.
    #[must_use]
    pub fn stated_entries(&self) -> Option<u64> {
        let note: Note = self.note.parse().ok()?;
        Some(CheckpointHead::read(note.text())?.entries)
    }
}

impl<'a> EntryRecord<'a> {
    /// Reads the texts of an entry.
    ///
    /// # Errors
    /// [`Flaw`] where a text is not the canonical text of what it should hold.
    pub fn decode(
        seq: u64,
        state: Option<&'a str>,
        event: &'a str,
        action: &'a str,
        hash: Digest,
    ) -> Result<Self, Flaw> {
        for (field, text) in [("action", action), ("event", event)] {
            check_entry_size(field, text)?;
        }
        Ok(Self {
            seq,
            state,
            event,
            action,
            hash,
            decoded_action: canonical::decode("action", action)?,
            decoded_event: canonical::decode_event(event)?,
        })
    }
}

impl<'a> MachineEntryRecord<'a> {
    /// Reads the texts of an entry of a workflow or of a work item.
    ///
    /// # Errors
    /// [`Flaw`] where a text is not canonical, or not what an entry holds.
    pub fn decode(
        seq: u64,
        state: Option<&'a str>,
        event: &'a str,
        action: &'a str,
        hash: Digest,
    ) -> Result<Self, Flaw> {
        for (field, text) in [("action", action), ("event", event)] {
            check_entry_size(field, text)?;
        }
        let (head, binding) = read_texts(event, action)?;
        Ok(Self {
            seq,
            state,
            event,
            action,
            hash,
            head,
            binding,
            blob: named_blob(event),
        })
    }
}

impl From<&EntryRecord<'_>> for SealedEntry {
    fn from(entry: &EntryRecord<'_>) -> Self {
        Self {
            seq: entry.seq,
            state: entry.decoded_action.to,
            event: entry.event.to_owned(),
            action: entry.action.to_owned(),
            hash: entry.hash,
        }
    }
}

impl From<&MachineEntryRecord<'_>> for SealedMachineEntry {
    fn from(entry: &MachineEntryRecord<'_>) -> Self {
        Self {
            seq: entry.seq,
            state: entry.head.to.clone(),
            event: entry.event.to_owned(),
            action: entry.action.to_owned(),
            hash: entry.hash,
        }
    }
}

impl HeaderRecord<'_> {
    /// The machine that the document is of.
    #[must_use]
    pub fn kind(&self) -> TranscriptKind {
        TranscriptKind::of_document(self.contract)
    }

    /// Computes the hash of the document from its stored bytes; as `Self::check_contract`.
    ///
    /// # Errors
    /// [`Flaw`] where the document is not canonical, of another format, or breaks a rule.
    pub fn check_document(&self) -> Result<(Digest, Option<String>), Flaw> {
        match self.kind() {
            TranscriptKind::Run => self.check_contract(),
            TranscriptKind::Workflow => match WorkflowDefinition::decode(self.contract) {
                Ok(definition) => Ok((definition.definition_hash(), None)),
                Err(fault) => Err(Flaw::tampered(
                    "contract",
                    "a definition of a workflow",
                    fault,
                )),
            },
            TranscriptKind::Work => {
                check_document_size(self.contract).map_err(|fault| {
                    Flaw::tampered("contract", "a document of a contract's size", fault)
                })?;
                Ok((ItemDocument::decode(self.contract)?.hash(), None))
            }
        }
    }

    /// Recomputes id, hash and pins of the contract from its stored bytes. Returns the hash, and the first rule that must have
    /// stopped any run under it in PRECHECK.
    ///
    /// # Errors
    /// [`Flaw`] where the document is not canonical, of another format, or not the one its id and hash name.
    pub(super) fn check_contract(&self) -> Result<(Digest, Option<String>), Flaw> {
        let refuse = |expected: &str, actual: &dyn std::fmt::Display| {
            Flaw::tampered("contract", expected, actual)
        };
        check_document_size(self.contract)
            .map_err(|fault| refuse("a document of a contract's size", &fault))?;
        let mut value: serde_json::Value = serde_json::from_str(self.contract)
            .map_err(|fault| refuse("the text of a JSON object", &fault))?;
        canonical::same("contract", &dump(&value)?, self.contract)?;
        let Some(map) = value.as_object_mut() else {
            return Err(refuse("a JSON object", &self.contract));
        };
        let format = map.get("format").and_then(|v| v.as_str());
        if check_version(format.unwrap_or_default(), CONTRACT_FORMAT).is_err() {
            return Err(Flaw::new(
                FlawKind::UnknownVersion,
                "contract.format",
                CONTRACT_FORMAT,
                format.unwrap_or("none"),
            ));
        }
        let mut take = |key: &str| map.shift_remove(key);
        let stated_hash = take("contract_hash");
        let hash = Digest::of(dump(&value)?.as_bytes());
        let mut take = |key: &str| value.as_object_mut().and_then(|map| map.shift_remove(key));
        let stated_id = take("contract_id");
        let id = format!("c-{}", Digest::of(dump(&value)?.as_bytes()).short(16));
        for (field, stated, computed) in [
            ("contract.contract_id", stated_id, id),
            ("contract.contract_hash", stated_hash, hash.to_string()),
        ] {
            let stated = stated.as_ref().and_then(|v| v.as_str());
            if stated != Some(computed.as_str()) {
                return Err(Flaw::tampered(field, computed, stated.unwrap_or("none")));
            }
        }
        match ExecutionContract::decode(self.contract) {
            Ok(contract) if contract.rehash() != hash => {
                Err(refuse(&hash.to_string(), &contract.rehash()))
            }
            Ok(contract) => match contract.pin_fault() {
                None => {
                    let fault = structure_faults(&contract).into_iter().next();
                    Ok((hash, fault.map(|fault| fault.text)))
                }
                Some(fault) => {
                    let found = fault.found.map_or("none".to_owned(), |pin| pin.to_string());
                    let field = format!("contract.{}", fault.place);
                    Err(Flaw::tampered(&field, fault.expected, found))
                }
            },
            Err(fault) => Err(refuse("an execution contract", &fault)),
        }
    }
}

/// Holds a text of an entry to its limits, before anything is built from it.
fn check_entry_size(field: &str, text: &str) -> Result<(), Flaw> {
    // No text has more values than bytes.
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes <= MAX_ENTRY_VALUES) {
        return Ok(());
    }
    let size = JsonSize::of(text);
    if size.values > MAX_ENTRY_VALUES {
        let expected = format!("at most {MAX_ENTRY_VALUES} members and items");
        return Err(Flaw::tampered(field, expected, size.values));
    }
    Ok(())
}

/// RFC 8785 text of a parsed value.
pub(super) fn dump(value: &serde_json::Value) -> Result<String, Flaw> {
    serde_json_canonicalizer::to_string(value)
        .map_err(|fault| Flaw::tampered("contract", "a value with an RFC 8785 form", fault))
}
