//! The lines of a transcript file. Writes and reads single lines; does not know disks.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::record::{
    BlobRecord, CheckpointRecord, EntryRecord, HeaderRecord, MachineEntryRecord, Record,
    TombstoneRecord,
};
use super::{Flaw, FlawKind, SealedEntry, SealedMachineEntry, TranscriptKind, canonical};
use crate::message::{Digest, JsonSize, RunId, check_version};

/// The file format this build writes and reads.
pub const TRANSCRIPT_FORMAT: &str = "monolith-transcript/1";

/// The longest line a reader accepts, its line feed included: the largest answer that is kept has 64 MiB, which is 86 in base64.
pub const MAX_LINE_BYTES: usize = 128 << 20;

/// The longest header, its line feed included.
const MAX_HEADER_BYTES: usize = 32 << 20;
/// The most members of objects and items of lists in a line: each takes far more memory than its text.
const MAX_LINE_VALUES: u64 = 1 << 18;
/// Maximum nesting in a line.
const MAX_LINE_DEPTH: u64 = 128;

/// The first line of a file. `contract` is the contract's canonical document.
///
/// ```
/// use monolith_core::message::RunId;
/// use monolith_core::transcript::header_line;
///
/// let run_id = RunId::try_from("r-1".to_owned())?;
/// let first = header_line(r#"{"the":"contract"}"#, &run_id);
/// assert!(first.contains(r#""run_id":"r-1""#) && first.ends_with('\n'));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn header_line(contract: &str, run_id: &RunId) -> String {
    format!(
        "{{\"contract\":{contract},\"format\":\"{TRANSCRIPT_FORMAT}\",\"run_id\":\"{run_id}\"}}\n"
    )
}

/// The line of an entry.
///
/// ```
/// use monolith_core::transcript::{LineReader, Record, SealedEntry, entry_line};
///
/// let text = std::fs::read_to_string("../../replay/v1/core.valid_call.jsonl")?;
/// let mut reader = LineReader::new();
/// for line in text.split_inclusive('\n') {
///     if let Record::Entry(entry) = reader.read(line.as_bytes())? {
///         assert_eq!(entry_line(&SealedEntry::from(&*entry)), line);
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn entry_line(entry: &SealedEntry) -> String {
    format!(
        "{{\"action\":{},\"event\":{},\"hash\":\"{}\",\"seq\":{}}}\n",
        entry.action, entry.event, entry.hash, entry.seq
    )
}

/// The line of an entry of a workflow or of a work item.
#[must_use]
pub fn machine_entry_line(entry: &SealedMachineEntry) -> String {
    let SealedMachineEntry {
        action,
        event,
        hash,
        seq,
        ..
    } = entry;
    format!("{{\"action\":{action},\"event\":{event},\"hash\":\"{hash}\",\"seq\":{seq}}}\n")
}

/// The line of a blob. Blob lines come after all entries, sorted by hash.
///
/// ```
/// use monolith_core::message::Digest;
/// use monolith_core::transcript::blob_line;
///
/// let line = blob_line(Digest::of(b"bytes"), b"bytes");
/// assert!(line.contains(&Digest::of(b"bytes").to_string()) && line.ends_with('\n'));
/// ```
#[must_use]
pub fn blob_line(hash: Digest, bytes: &[u8]) -> String {
    format!(
        "{{\"blob\":\"{hash}\",\"bytes\":\"{}\"}}\n",
        BASE64.encode(bytes)
    )
}

/// The line of a signed checkpoint. Checkpoint lines come last, sorted by their number of entries.
///
/// What a host that signs makes of an `Append`'s `checkpoint`:
///
/// ```
/// use monolith_core::transcript::{SecretKey, checkpoint_line};
///
/// let key = SecretKey::from_seed("ours", &[1; 32])?;
/// let note = key.sign_text("the text of a checkpoint\n")?;
/// assert!(checkpoint_line(&note.to_string()).starts_with(r#"{"checkpoint":"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn checkpoint_line(note: &str) -> String {
    let line = CheckpointLine {
        checkpoint: note.into(),
    };
    format!("{}\n", canonical::text_of(&line))
}

/// The line of a tombstone. Tombstone lines come after all blobs and before all checkpoints, sorted by hash.
#[must_use]
pub fn tombstone_line(note: &str) -> String {
    let line = TombstoneLine {
        tombstone: note.into(),
    };
    format!("{}\n", canonical::text_of(&line))
}

/// A line that is not one of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {flaw}")]
pub struct LineError {
    /// The line, from 1.
    pub line: u64,
    /// The flaw.
    pub flaw: Flaw,
}

/// Reads a transcript file line by line; holds one line at a time.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use monolith_core::contract::ExecutionContract;
/// use monolith_core::transcript::{LineReader, Record, SealedEntry};
///
/// let text = std::fs::read("../../replay/v1/core.valid_call.jsonl")?;
/// let (mut reader, mut header, mut entries) = (LineReader::new(), None, Vec::new());
/// let mut blobs = BTreeMap::new();
/// for line in text.split_inclusive(|byte| *byte == b'\n') {
///     match reader.read(line)? {
///         Record::Header(found) => header = Some((ExecutionContract::decode(found.contract)?, found.run_id)),
///         Record::Entry(entry) => entries.push(SealedEntry::from(&*entry)),
///         Record::Blob(blob) => drop(blobs.insert(blob.hash, blob.bytes.to_vec())),
///         _ => {}
///     }
/// }
/// let (contract, run_id) = header.ok_or("no header")?;
/// assert_eq!(run_id.as_str(), "core.valid_call");
/// assert!(entries.len() > 5 && !blobs.is_empty());
/// assert_eq!(contract.contract_hash(), contract.rehash());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LineReader {
    blob: Vec<u8>,
    /// The machine of the header that was read.
    kind: TranscriptKind,
    line: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine<'a> {
    #[serde(borrow)]
    contract: &'a RawValue,
    format: String,
    run_id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryLine<'a> {
    #[serde(borrow)]
    action: &'a RawValue,
    #[serde(borrow)]
    event: &'a RawValue,
    hash: Digest,
    seq: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobLine<'a> {
    blob: Digest,
    bytes: &'a str,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointLine<'a> {
    checkpoint: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TombstoneLine<'a> {
    tombstone: Cow<'a, str>,
}

impl LineReader {
    /// A reader before the first line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of the line read last, from 1; 0 before the first.
    #[must_use]
    pub const fn line(&self) -> u64 {
        self.line
    }

    /// Reads the next line, given with the line feed that ends it.
    ///
    /// Judges the form of the line alone; the order of lines, the chain and the blobs are the
    /// [`LineVerifier`](super::LineVerifier)'s.
    ///
    /// # Errors
    /// [`LineError`] where the line is cut, too long, of an unknown kind or version, or differs from its canonical dump.
    pub fn read<'a>(&'a mut self, line: &'a [u8]) -> Result<Record<'a>, LineError> {
        self.line = self.line.saturating_add(1);
        let at = self.line;
        let read = read_line(line, self.kind, &mut self.blob);
        let record = read.map_err(|flaw| LineError { line: at, flaw })?;
        if let Record::Header(header) = &record {
            self.kind = header.kind();
        }
        Ok(record)
    }
}

fn read_line<'a>(
    line: &'a [u8],
    kind: TranscriptKind,
    blob: &'a mut Vec<u8>,
) -> Result<Record<'a>, Flaw> {
    if line.len() > MAX_LINE_BYTES {
        return Err(Flaw::tampered(
            "line",
            format_args!("at most {MAX_LINE_BYTES} bytes"),
            line.len(),
        ));
    }
    let Some(line) = line.strip_suffix(b"\n") else {
        return Err(Flaw::new(
            FlawKind::Truncated,
            "line",
            "a line feed at its end",
            "the end of the file",
        ));
    };
    let line = std::str::from_utf8(line)
        .map_err(|fault| Flaw::tampered("line", "UTF-8 throughout", fault))?;
    check_size(line)?;
    // RFC 8785 sorts keys, so the first key gives the kind of the line.
    if line.starts_with("{\"action\":") {
        entry(line, kind)
    } else if line.starts_with("{\"blob\":") {
        blob_of(line, blob)
    } else if line.starts_with("{\"contract\":") {
        header(line)
    } else if line.starts_with("{\"checkpoint\":") {
        let parsed: CheckpointLine<'_> = parse(line)?;
        Ok(Record::Checkpoint(CheckpointRecord {
            entries: None,
            note: parsed.checkpoint.into_owned(),
        }))
    } else if line.starts_with("{\"tombstone\":") {
        let parsed: TombstoneLine<'_> = parse(line)?;
        Ok(Record::Tombstone(TombstoneRecord {
            hash: None,
            note: parsed.tombstone.into_owned(),
        }))
    } else {
        let start: String = line.chars().take(40).collect();
        Err(Flaw::tampered(
            "line",
            "an object whose first key is action, blob, checkpoint, contract or tombstone",
            format_args!("{start:?}"),
        ))
    }
}

/// Holds a line to the limits of the format, before anything is built from it.
fn check_size(line: &str) -> Result<(), Flaw> {
    let refuse =
        |expected: String, found: &dyn fmt::Display| Err(Flaw::tampered("line", expected, found));
    if line.starts_with("{\"contract\":") && line.len() >= MAX_HEADER_BYTES {
        let expected = format!("a header of at most {MAX_HEADER_BYTES} bytes");
        return refuse(expected, &(line.len() + 1));
    }
    let JsonSize { depth, values } = JsonSize::of(line);
    if values > MAX_LINE_VALUES {
        let expected = format!("at most {MAX_LINE_VALUES} members and items");
        return refuse(expected, &values);
    }
    if depth > MAX_LINE_DEPTH {
        return refuse(format!("at most {MAX_LINE_DEPTH} levels"), &depth);
    }
    Ok(())
}

fn header(line: &str) -> Result<Record<'_>, Flaw> {
    let parsed: HeaderLine<'_> = parse(line)?;
    if check_version(&parsed.format, TRANSCRIPT_FORMAT).is_err() {
        return Err(Flaw::new(
            FlawKind::UnknownVersion,
            "format",
            TRANSCRIPT_FORMAT,
            parsed.format,
        ));
    }
    let run_id = RunId::try_from(parsed.run_id)
        .map_err(|fault| Flaw::tampered("run_id", "the name of a run", fault))?;
    Ok(Record::Header(Box::new(HeaderRecord {
        contract: parsed.contract.get(),
        claims: None,
        run_id,
    })))
}

fn entry(line: &str, kind: TranscriptKind) -> Result<Record<'_>, Flaw> {
    let EntryLine {
        action,
        event,
        hash,
        seq,
    } = parse(line)?;
    let (event, action) = (event.get(), action.get());
    if kind != TranscriptKind::Run {
        let entry = MachineEntryRecord::decode(seq, None, event, action, hash)?;
        return Ok(Record::MachineEntry(Box::new(entry)));
    }
    let entry = EntryRecord::decode(seq, None, event, action, hash)?;
    Ok(Record::Entry(Box::new(entry)))
}

fn blob_of<'a>(line: &'a str, blob: &'a mut Vec<u8>) -> Result<Record<'a>, Flaw> {
    let parsed: BlobLine<'_> = parse(line)?;
    blob.clear();
    // The standard engine refuses white space, missing padding and trailing bits: one text for one run of bytes.
    BASE64
        .decode_vec(parsed.bytes, blob)
        .map_err(|fault| Flaw::tampered("bytes", "base64 (RFC 4648 §4)", fault))?;
    Ok(Record::Blob(BlobRecord {
        hash: parsed.blob,
        bytes: blob,
    }))
}

/// Parses a line, and refuses it where it differs from its canonical dump.
fn parse<'a, T: Serialize + Deserialize<'a>>(line: &'a str) -> Result<T, Flaw> {
    let parsed: T = serde_json::from_str(line)
        .map_err(|fault| Flaw::tampered("line", "a line of a transcript", fault))?;
    canonical::same("line", &canonical::text_of(&parsed), line)?;
    Ok(parsed)
}
