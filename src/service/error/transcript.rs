//! Faults of a transcript, or of a file that should be one.

use std::path::PathBuf;

use crate::error::advice::{Advice, KNOWN_VERSIONS, OUR_BUG};
use crate::exit::Exit;
use crate::text::command::{command, typed_word};
use crate::text::escape::line;
use monolith_core::message::{RunId, VersionFault};
use monolith_core::transcript::{Flaw, LineError, TranscriptKind};
use monolith_core::view::Divergence;

/// A transcript, or a file that should be one, is not what the command needs.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptFault {
    /// The caller: no such file.
    #[error("read the transcript {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// A change of the file.
    #[error("read the transcript {}: {fault}", path.display())]
    Line { path: PathBuf, fault: LineError },
    /// A change of the file.
    #[error("read the transcript {}: it does not begin with its contract", path.display())]
    NoHeader { path: PathBuf },
    /// The caller: a file of another kind.
    #[error("read {}: not a monolith transcript", path.display())]
    NotATranscript { path: PathBuf },
    /// The caller: the transcript does not hold.
    #[error("show {asked}: the transcript is not verified: {place}")]
    NotVerified { asked: String, place: String },
    /// The caller: the transcript does not hold.
    #[error("export {asked}: the transcript is not verified: {place}")]
    ExportNotVerified { asked: String, place: String },
    /// Somebody else: what was judged is not there any more.
    #[error("export {asked}: it changed while it was exported")]
    ChangedMeanwhile { asked: String },
    /// The operator: the store was changed, or a run deleted; a run below the exported one is not there, or its first entry does not read.
    #[error(
        "export {root} with its child runs: run {run}, a child of {above}, is missing from this store, cannot be read, or another run has its name"
    )]
    BelowMissing {
        above: RunId,
        root: RunId,
        run: RunId,
    },
    /// The author of the transcript: it verifies, and its entries are not those that the machine makes of its events.
    #[error("show {asked}: its entries are not those of the machine: {departure}")]
    Departed {
        asked: String,
        departure: Divergence,
    },
    /// The author of the transcript, as above.
    #[error("export {asked}: its entries are not those of the machine: {departure}")]
    ExportDeparted {
        asked: String,
        departure: Divergence,
    },
    /// The author of the transcript, as above.
    #[error(
        "export {asked}: its entries are not those of the machine of {kind}s: {}",
        line(departure)
    )]
    ExportMachineDeparted {
        asked: String,
        departure: String,
        kind: TranscriptKind,
    },
    /// The author of the transcript of a work item, as above.
    #[error(
        "show {asked}: its entries are not those of the machine of work items: {}",
        line(departure)
    )]
    ItemDeparted { asked: String, departure: String },
    /// The operator: the run is not what was noted of it earlier.
    #[error("resume {run_id}: it is not what was noted: {place}")]
    NotAsPinned { run_id: RunId, place: String },
    /// The caller: nothing was noted of the run.
    #[error("resume {run_id}: no head among the pins is of this run")]
    NotPinned { run_id: RunId },
    /// Who deleted the run says so.
    #[error("find run {run_id}: it was deleted by {}{}", line(by), because(reason))]
    Deleted {
        run_id: String,
        by: String,
        reason: String,
    },
    /// A change of the transcript.
    #[error("read entry {seq}: {flaw}")]
    Entry { seq: u64, flaw: Flaw },
    /// The caller: the run has no such entry.
    #[error("show entry {asked}: the run has entries 0 to {last}")]
    NoSuchEntry { asked: u64, last: u64, run: String },
    /// The caller: a file where only a run of the store will do.
    #[error("export {}: it is a file already", path.display())]
    FileInsteadOfRun { path: PathBuf },
    /// The caller: the file is of a version that this build does not read.
    #[error("read {}: {fault}", path.display())]
    Version { path: PathBuf, fault: VersionFault },
    /// The caller: what the file names is of a version that this build does not have.
    #[error("read {}: its {what} is {found:?}, and this build knows {known}", path.display())]
    UnknownPart {
        path: PathBuf,
        what: &'static str,
        found: String,
        known: String,
    },
    /// The caller: a file without a version.
    #[error("read {}: it states no format, so it is neither a transcript nor a contract as monolith contract show prints it", path.display())]
    NoFormat { path: PathBuf },
    /// The caller: a store where a transcript or a contract is meant.
    #[error("read {}: it is a database, not a transcript or a contract", path.display())]
    StoreInsteadOfFile { path: PathBuf },
    /// The store: the demo run in it does not verify as it is, such as one that an earlier build recorded.
    #[error("change a copy of {run_id}: the run itself is not verified by this build: {place}")]
    OldDemoRun { run_id: RunId, place: String },
    /// The store: the demo run in it is another one than this build's.
    #[error(
        "change a copy of {run_id}: no tool returned text in it, so this build's demo did not record it"
    )]
    NoToolText { run_id: RunId },
    /// monolith: a changed byte was not found.
    #[error("find the changed byte: verify accepted the file")]
    NothingTampered,
}

/// Returns the reason for a deletion, to follow the name of who did it; empty if none was given.
fn because(reason: &str) -> String {
    if reason.is_empty() {
        return String::new();
    }
    format!(": {}", line(reason))
}

/// The command that checks a transcript, and what for.
fn verifies(asked: &str) -> String {
    let verify = command(&format!("monolith verify {}", typed_word(asked)));
    format!("{verify} says what still holds")
}

impl Advice for TranscriptFault {
    fn exit(&self) -> Exit {
        match self {
            Self::Unreadable { .. }
            | Self::NotPinned { .. }
            | Self::NoSuchEntry { .. }
            | Self::FileInsteadOfRun { .. }
            | Self::Version { .. }
            | Self::UnknownPart { .. }
            | Self::NoFormat { .. }
            | Self::NoToolText { .. }
            | Self::StoreInsteadOfFile { .. } => Exit::USAGE,
            Self::Line { .. }
            | Self::BelowMissing { .. }
            | Self::Deleted { .. }
            | Self::NotAsPinned { .. }
            | Self::Entry { .. }
            | Self::NoHeader { .. }
            | Self::NotATranscript { .. }
            | Self::NotVerified { .. }
            | Self::ExportNotVerified { .. }
            | Self::OldDemoRun { .. }
            | Self::NothingTampered => Exit::EVIDENCE,
            Self::Departed { .. }
            | Self::ItemDeparted { .. }
            | Self::ExportDeparted { .. }
            | Self::ExportMachineDeparted { .. } => Exit::DIVERGED,
            Self::ChangedMeanwhile { .. } => Exit::FAILED,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Line { path, .. } | Self::NoHeader { path } => {
                return Some(verifies(&path.display().to_string()));
            }
            Self::NotVerified { asked, .. } => return Some(verifies(asked)),
            Self::Entry { .. } => "monolith verify RUN|FILE says what still holds",
            Self::Version { .. } | Self::UnknownPart { .. } => KNOWN_VERSIONS,
            Self::StoreInsteadOfFile { .. } => "monolith migrate --store FILE migrates a store",
            Self::NoFormat { .. } => {
                "a contract as an author writes it has no version: monolith contract check FILE reads it"
            }
            Self::NoSuchEntry { run, .. } => {
                let show = command(&format!("monolith show {}", typed_word(run)));
                return Some(format!("{show} lists them"));
            }
            Self::NotATranscript { .. } => {
                "monolith export RUN -o FILE.jsonl writes one; a page verifies what it holds in a browser"
            }
            Self::ChangedMeanwhile { .. } => "export it again",
            Self::Departed { asked, .. } | Self::ItemDeparted { asked, .. } => {
                let replay = command(&format!("monolith replay {}", typed_word(asked)));
                return Some(format!("{replay} names every difference"));
            }
            Self::ExportNotVerified { .. }
            | Self::ExportDeparted { .. }
            | Self::ExportMachineDeparted { .. } => "--force-unverified exports it anyway",
            Self::FileInsteadOfRun { .. } => "monolith list shows the runs of this store",
            Self::OldDemoRun { .. } => {
                "an earlier build may have recorded it, or the store was changed: monolith demo makes a new run, which demo tamper then takes"
            }
            Self::NoToolText { .. } => {
                "monolith demo makes a new run, which demo tamper then takes"
            }
            Self::NothingTampered => OUR_BUG,
            Self::NotPinned { .. } => "monolith verify RUN --open --write-pin FILE notes one",
            Self::NotAsPinned { .. } => {
                "the store is older than the pin, or was changed: restore the newer one"
            }
            Self::Deleted { .. } => "monolith log verify says the same of its leaf",
            Self::BelowMissing { root, .. } => {
                return Some(format!(
                    "monolith verify {root} --tree says what is wrong; without --tree each run is exported by itself"
                ));
            }
            Self::Unreadable { .. } => return None,
        };
        Some(text.to_owned())
    }
}
