//! The transcript of a work item, in the store or in a file, decided again entry by entry. Verifies nothing.

use std::path::Path;

use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::source::{Source, each_line};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{LineReader, Record, SealedMachineEntry, TranscriptKind};
use monolith_core::work::{Receipt, Work, WorkFold, WorkFoldError};

/// A transcript that is that of a work item.
pub struct WorkSource {
    /// Name of the item's attempt.
    pub run_id: RunId,
    source: Source,
}

/// An item as its entries show it.
pub struct RecordedWork {
    /// The first thing that the machine decides otherwise, or a receipt that does not follow from the
    /// entries.
    pub departure: Option<WorkFoldError>,
    /// Number of entries that are the same.
    pub entries: u64,
    /// Hash of the last entry.
    pub head: Digest,
    /// The receipt that follows from the entries; `None` before the end.
    pub receipt: Option<Receipt>,
    /// The machine where the entries end, or depart from it; none before entry 0.
    pub work: Option<Work>,
}

impl WorkSource {
    /// The item that a source is, or the source where it is none.
    pub fn of(source: Source) -> Result<Result<Self, Source>, ServiceError> {
        Ok(match source {
            Source::Run(run_id, reader) => {
                let kind = reader.kind_of(&run_id)?;
                let source = Source::Run(run_id.clone(), reader);
                if kind == Some(TranscriptKind::Work) {
                    Ok(Self { run_id, source })
                } else {
                    Err(source)
                }
            }
            Source::File(path) => match name_of(&path)? {
                None => Err(Source::File(path)),
                Some(run_id) => Ok(Self {
                    run_id,
                    source: Source::File(path),
                }),
            },
        })
    }

    /// True if the store has it.
    #[must_use]
    pub const fn is_stored(&self) -> bool {
        matches!(self.source, Source::Run(..))
    }

    /// Decides the item again.
    ///
    /// # Errors
    ///
    /// The transcript cannot be read.
    pub fn recorded(&mut self) -> Result<RecordedWork, ServiceError> {
        let mut book = Book::default();
        match &mut self.source {
            Source::Run(run_id, reader) => {
                let mut run = reader.read_run(run_id)?;
                while let Some(entry) = run.next_of_machine() {
                    book.take(&entry?);
                }
                for hash in run.blob_hashes()? {
                    book.blobs.extend(run.blob(hash)?);
                }
            }
            Source::File(path) => {
                let mut reader = LineReader::new();
                each_line(path, |line| {
                    let record = reader.read(line).map_err(|fault| TranscriptFault::Line {
                        path: path.clone(),
                        fault,
                    })?;
                    match record {
                        Record::MachineEntry(entry) => {
                            book.take(&SealedMachineEntry::from(&*entry));
                        }
                        Record::Blob(blob) => book.blobs.push(blob.bytes.to_vec()),
                        _ => {}
                    }
                    Ok(true)
                })?;
            }
        }
        Ok(book.finish())
    }
}

/// The entries so far, and the blobs: the receipt, and the output of tests.
#[derive(Default)]
struct Book {
    blobs: Vec<Vec<u8>>,
    departure: Option<WorkFoldError>,
    entries: u64,
    fold: WorkFold,
    head: Digest,
}

impl Book {
    fn take(&mut self, entry: &SealedMachineEntry) {
        self.head = entry.hash;
        if self.departure.is_some() {
            return;
        }
        match self.fold.take(entry) {
            Ok(()) => self.entries = self.entries.saturating_add(1),
            Err(error) => self.departure = Some(error),
        }
    }

    fn finish(self) -> RecordedWork {
        let work = self.fold.into_work();
        let has_ended = work.as_ref().is_some_and(|work| work.end().is_some());
        let departure = self.departure.or_else(|| {
            let work = work.as_ref().filter(|_| has_ended)?;
            let mut actual = None;
            for blob in &self.blobs {
                match Receipt::parse(blob) {
                    Ok(receipt) if receipt.is_of(work) => return None,
                    Ok(_) => actual = Some("another one".to_owned()),
                    Err(error) => actual = actual.or_else(|| Some(error.to_string())),
                }
            }
            Some(WorkFoldError {
                actual: actual?,
                expected: "the receipt that follows from the entries".to_owned(),
                seq: self.entries.saturating_sub(1),
            })
        });
        let receipt = work.as_ref().and_then(|work| {
            let mut receipts = self
                .blobs
                .iter()
                .filter_map(|blob| Receipt::parse(blob).ok());
            receipts.find(|receipt| receipt.is_of(work))
        });
        RecordedWork {
            departure,
            entries: self.entries,
            head: self.head,
            receipt,
            work,
        }
    }
}

/// The name in the first line of a file, where that is a work item's.
fn name_of(path: &Path) -> Result<Option<RunId>, ServiceError> {
    let mut found = None;
    each_line(path, |line| {
        // What does not read as a header is for the reader of the whole.
        if let Ok(Record::Header(header)) = LineReader::new().read(line)
            && header.kind() == TranscriptKind::Work
        {
            found = Some(header.run_id);
        }
        Ok(false)
    })?;
    Ok(found)
}
