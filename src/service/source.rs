//! A transcript wherever it is, in the store or in a file, read entry by entry. Verifies nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::run_status::RunStatus;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::Run;
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::{BlobSource, ReplayReport, Replayer};
use monolith_core::transcript::{Flaw, LineReader, MAX_LINE_BYTES, Record, SealedEntry, Tombstone};
use monolith_core::view::{DecodedEntry, RunView, Step};
use monolith_host::inference::BuiltInTokenizers;
use monolith_host::store::{Lineage, NEWEST, RunReader, StoreReader, open_regular};

/// The first keys of a transcript's lines. A file that begins otherwise never was one.
const FIRST_KEYS: [&str; 5] = [
    "{\"action\":",
    "{\"blob\":",
    "{\"checkpoint\":",
    "{\"contract\":",
    "{\"tombstone\":",
];

/// The place of a transcript.
#[derive(Debug)]
pub enum Source {
    /// In a file.
    File(PathBuf),
    /// In the store.
    Run(RunId, StoreReader),
}

/// A transcript as it is stored. Nothing of it is verified here.
#[derive(Debug)]
pub struct Recorded {
    /// Contract of the run.
    pub contract: ExecutionContract,
    /// Name of the run.
    pub run_id: RunId,
    /// Entries of the run.
    pub entries: Vec<SealedEntry>,
    blobs: Blobs,
    erased: BTreeSet<Digest>,
}

#[derive(Debug)]
enum Blobs {
    Read(BTreeMap<Digest, Vec<u8>>),
    Stored(StoreReader),
}

/// True if a text that may name a run or a file names a file by its ending.
pub fn is_named_as_transcript(asked: &str) -> bool {
    let ending = Path::new(asked).extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl"))
}

/// Reads the name of a run that is to be made.
///
/// # Errors
///
/// The sentence for who gave it. Wherever a run is asked for, `last` is the newest, and what ends in `.jsonl` is a file.
pub fn new_run_id(text: &str) -> Result<RunId, String> {
    if text == NEWEST || is_named_as_transcript(text) {
        return Err(format!(
            "`{text}` means something else: `{NEWEST}` is the newest run, and what ends in .jsonl is a file"
        ));
    }
    RunId::try_from(text.to_owned()).map_err(|fault| fault.to_string())
}

impl BlobSource for Recorded {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        match &self.blobs {
            Blobs::Read(blobs) => blobs.get(&hash).cloned(),
            Blobs::Stored(reader) => reader.blob(hash).ok().flatten(),
        }
    }

    fn erased(&self, hash: Digest) -> bool {
        self.erased.contains(&hash)
    }
}

impl Source {
    /// The run that this one was forked from, where the store has both.
    pub fn lineage(&self) -> Result<Option<Lineage>, ServiceError> {
        match self {
            Self::File(_) => Ok(None),
            Self::Run(run_id, reader) => Ok(reader.lineage(run_id)?),
        }
    }

    /// The status of a run that has no end; `None` for a file, which records no processes.
    pub fn status(&mut self) -> Result<Option<RunStatus>, ServiceError> {
        match self {
            Self::File(_) => Ok(None),
            Self::Run(run_id, reader) => {
                let row = reader.read_run(run_id)?.row().clone();
                Ok(RunStatus::of(reader, &row)?)
            }
        }
    }

    /// Returns the tombstones of the run; verification judges if they are right.
    pub fn tombstones(&mut self) -> Result<Vec<Tombstone>, ServiceError> {
        let mut stones = Vec::new();
        let mut take = |note: &str| {
            stones.extend(note.parse().ok().and_then(|note| Tombstone::read(&note)));
        };
        match self {
            Self::Run(run_id, reader) => {
                let notes = reader.read_run(run_id)?.tombstones()?;
                for note in &notes {
                    take(note);
                }
            }
            Self::File(path) => {
                let mut reader = LineReader::new();
                each_line(path, |line| {
                    if line.starts_with(b"{\"tombstone\":")
                        && let Ok(Record::Tombstone(stone)) = reader.read(line)
                    {
                        take(&stone.note);
                    }
                    Ok(true)
                })?;
            }
        }
        Ok(stones)
    }

    /// Hands on each entry in order and holds no more than a page of them; returns the contract.
    pub fn each_entry(
        self,
        mut take: impl FnMut(&ExecutionContract, &RunId, &SealedEntry) -> Result<(), ServiceError>,
    ) -> Result<ExecutionContract, ServiceError> {
        match self {
            Self::Run(run_id, mut reader) => {
                let run = reader.read_run(&run_id)?;
                let contract = run.contract()?;
                for entry in run {
                    take(&contract, &run_id, &entry?)?;
                }
                Ok(contract)
            }
            Self::File(path) => {
                let mut reader = LineReader::new();
                let mut header = None;
                each_line(&path, |line| {
                    let record = reader.read(line).map_err(|fault| TranscriptFault::Line {
                        path: path.clone(),
                        fault,
                    })?;
                    match (record, &header) {
                        (Record::Header(found), _) => {
                            let contract = ExecutionContract::decode(found.contract);
                            let contract = contract
                                .map_err(|_| TranscriptFault::NoHeader { path: path.clone() })?;
                            header = Some((contract, found.run_id));
                        }
                        (Record::Entry(entry), Some((contract, run_id))) => {
                            take(contract, run_id, &SealedEntry::from(&*entry))?;
                        }
                        // Nothing but blobs and checkpoints stands behind the entries.
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?;
                match header {
                    Some((contract, _)) => Ok(contract),
                    None => Err(TranscriptFault::NoHeader { path }.into()),
                }
            }
        }
    }

    /// Returns the contract and the first entry, if there is one.
    pub(crate) fn first_entry(
        self,
    ) -> Result<(ExecutionContract, Option<SealedEntry>), ServiceError> {
        match self {
            Self::Run(run_id, mut reader) => {
                let mut run = reader.read_run(&run_id)?;
                let contract = run.contract()?;
                Ok((contract, run.next().transpose()?))
            }
            Self::File(_) => {
                let mut first = None;
                let contract = self.each_entry(|_, _, entry| {
                    first.get_or_insert_with(|| entry.clone());
                    Ok(())
                })?;
                Ok((contract, first))
            }
        }
    }

    /// Hands on each entry in order, with the view of the run that has taken it, and holds no more than a page of them; returns
    /// the view after the last.
    pub fn each_step(
        self,
        mut take: impl FnMut(&RunView, DecodedEntry, Step) -> Result<(), ServiceError>,
    ) -> Result<RunView, ServiceError> {
        let mut view: Option<RunView> = None;
        let contract = self.each_entry(|contract, _, entry| {
            let view = view.get_or_insert_with(|| RunView::new(Arc::new(contract.clone())));
            let entry = Recorded::decode(entry)?;
            let step = view.take(entry.entry());
            take(view, entry, step)
        })?;
        let mut view = view.unwrap_or_else(|| RunView::new(Arc::new(contract)));
        view.pause();
        Ok(view)
    }

    /// The machine after the recorded events, and the view of its entries; holds no more than a page of them.
    /// `first` is the first run of the line that it was forked along, where that is known.
    pub fn fold(self, first: Option<RunId>) -> Result<(Run, RunView), ServiceError> {
        let mut view = self.each_step(|_, _, _| Ok(()))?;
        let run = view
            .release_machine()
            .ok_or_else(|| TranscriptFault::Entry {
                seq: 0,
                flaw: Flaw::tampered("event", "the start of a run", "none"),
            })?;
        if let Some(first) = first {
            view.originating_from(first);
        }
        Ok((run, view))
    }

    /// Reads the whole transcript.
    pub fn load(self) -> Result<Recorded, ServiceError> {
        match self {
            Self::File(path) => load_file(&path),
            Self::Run(run_id, mut reader) => {
                let run = reader.read_run(&run_id)?;
                let contract = run.contract()?;
                let erased = run.tombstones()?;
                let erased = erased.iter().filter_map(|note| erased_by(note)).collect();
                let entries = run.collect::<Result<_, _>>()?;
                Ok(Recorded {
                    contract,
                    run_id,
                    entries,
                    blobs: Blobs::Stored(reader),
                    erased,
                })
            }
        }
    }
}

/// The positions of blobs in a transcript file: only requested ones are held.
struct FileBlobs {
    at: BTreeMap<Digest, (u64, u64)>,
    erased: BTreeSet<Digest>,
    path: PathBuf,
}

/// The blobs of a stored run, in the snapshot in which its entries are read.
struct RunBlobs<'r> {
    run: &'r RunReader<'r>,
    erased: &'r BTreeSet<Digest>,
}

impl BlobSource for FileBlobs {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        let (start, length) = *self.at.get(&hash)?;
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(start)).ok()?;
        let mut line = Vec::new();
        file.take(length).read_to_end(&mut line).ok()?;
        match LineReader::new().read(&line) {
            Ok(Record::Blob(blob)) => Some(blob.bytes.to_vec()),
            _ => None,
        }
    }

    fn erased(&self, hash: Digest) -> bool {
        self.erased.contains(&hash)
    }
}

impl BlobSource for RunBlobs<'_> {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.run.blob(hash).ok().flatten()
    }

    fn erased(&self, hash: Digest) -> bool {
        self.erased.contains(&hash)
    }
}

impl FileBlobs {
    fn find(path: &Path) -> Result<Self, ServiceError> {
        let (mut at, mut erased) = (BTreeMap::new(), BTreeSet::new());
        let (mut reader, mut start) = (LineReader::new(), 0_u64);
        each_line(path, |line| {
            let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
            // A line that is none is refused where the entries are read.
            if line.starts_with(b"{\"blob\":") || line.starts_with(b"{\"tombstone\":") {
                match reader.read(line) {
                    Ok(Record::Blob(blob)) => drop(at.insert(blob.hash, (start, length))),
                    Ok(Record::Tombstone(stone)) => erased.extend(erased_by(&stone.note)),
                    _ => {}
                }
            }
            start = start.saturating_add(length);
            Ok(true)
        })?;
        let path = path.to_owned();
        Ok(Self { at, erased, path })
    }
}

impl Source {
    /// Decides a whole transcript again. `open` accepts one that has no seal yet.
    pub fn replayed(self, open: bool) -> Result<ReplayReport, ServiceError> {
        let replayer = self.each_entry_with_blobs(
            |contract, run_id| Replayer::new(contract, &run_id).counting_with(&BuiltInTokenizers),
            |replayer, entry, blobs| replayer.take(entry, blobs),
        )?;
        Ok(replayer.finish(open))
    }

    /// Hands on the entries one by one, with what knows their blobs; `begin` is given the contract and the name first.
    pub fn each_entry_with_blobs<T>(
        self,
        begin: impl FnOnce(ExecutionContract, RunId) -> T,
        mut take: impl FnMut(&mut T, &SealedEntry, &dyn BlobSource),
    ) -> Result<T, ServiceError> {
        match self {
            Self::Run(run_id, mut reader) => {
                let mut run = reader.read_run(&run_id)?;
                let mut taken = begin(run.contract()?, run_id);
                let erased = run.tombstones()?;
                let erased = erased.iter().filter_map(|note| erased_by(note)).collect();
                while let Some(entry) = run.next() {
                    let blobs = RunBlobs {
                        run: &run,
                        erased: &erased,
                    };
                    take(&mut taken, &entry?, &blobs);
                }
                Ok(taken)
            }
            Self::File(path) => {
                let blobs = FileBlobs::find(&path)?;
                let mut reader = LineReader::new();
                let (mut begin, mut taken) = (Some(begin), None);
                each_line(&path, |line| {
                    let record = reader.read(line).map_err(|fault| TranscriptFault::Line {
                        path: path.clone(),
                        fault,
                    })?;
                    match (record, begin.take(), &mut taken) {
                        (Record::Header(header), Some(begin), None) => {
                            let contract = ExecutionContract::decode(header.contract);
                            let contract = contract
                                .map_err(|_| TranscriptFault::NoHeader { path: path.clone() })?;
                            taken = Some(begin(contract, header.run_id));
                        }
                        (Record::Entry(entry), None, Some(taken)) => {
                            take(taken, &SealedEntry::from(&*entry), &blobs);
                        }
                        // A line before the header: there is no transcript to read on.
                        (_, Some(_), None) => return Ok(false),
                        _ => {}
                    }
                    Ok(true)
                })?;
                Ok(taken.ok_or(TranscriptFault::NoHeader { path })?)
            }
        }
    }
}

impl Recorded {
    /// Decodes an entry.
    pub fn decode(entry: &SealedEntry) -> Result<DecodedEntry, ServiceError> {
        let refuse = |flaw: Flaw| TranscriptFault::Entry {
            seq: entry.seq,
            flaw,
        };
        Ok(DecodedEntry::read(entry).map_err(refuse)?)
    }
}

/// Hands on each line of a file, its line feed included, until `take` says no or a line is longer than a transcript's.
pub fn each_line(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<bool, ServiceError>,
) -> Result<(), ServiceError> {
    let unreadable = |fault: io::Error| TranscriptFault::Unreadable {
        path: path.to_owned(),
        reason: fault.to_string(),
    };
    let mut file = BufReader::new(open_regular(path).map_err(unreadable)?);
    let first = file.fill_buf().map_err(unreadable)?;
    if first.is_empty() || !FIRST_KEYS.iter().any(|key| begins(first, key)) {
        return Err(TranscriptFault::NotATranscript {
            path: path.to_owned(),
        }
        .into());
    }
    let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut line = Vec::new();
    loop {
        line.clear();
        // One byte more than is allowed, so that `take` sees that the line is too long.
        let mut bounded = file.by_ref().take(most.saturating_add(1));
        let read = bounded.read_until(b'\n', &mut line).map_err(unreadable)?;
        if read == 0 || !take(&line)? {
            return Ok(());
        }
    }
}

/// True if `bytes`, as far as they were read, begin with `key`.
fn begins(bytes: &[u8], key: &str) -> bool {
    let (bytes, key) = (bytes.iter(), key.as_bytes().iter());
    bytes.zip(key).all(|(byte, expect)| byte == expect)
}

/// The blob that a tombstone speaks of; whether it is right to is for verification.
fn erased_by(note: &str) -> Option<Digest> {
    Tombstone::read(&note.parse().ok()?).map(|stone| stone.blob)
}

fn load_file(path: &Path) -> Result<Recorded, ServiceError> {
    let mut reader = LineReader::new();
    let mut header = None;
    let mut entries = Vec::new();
    let mut blobs = BTreeMap::new();
    let mut erased = BTreeSet::new();
    each_line(path, |line| {
        let record = reader.read(line).map_err(|fault| TranscriptFault::Line {
            path: path.to_owned(),
            fault,
        })?;
        match record {
            Record::Header(found) => header = Some((found.contract.to_owned(), found.run_id)),
            Record::Entry(entry) => entries.push(SealedEntry::from(&*entry)),
            Record::Checkpoint(_) | Record::MachineEntry(_) => {}
            Record::Tombstone(stone) => erased.extend(erased_by(&stone.note)),
            Record::Blob(blob) => {
                blobs.insert(blob.hash, blob.bytes.to_vec());
            }
        }
        Ok(true)
    })?;
    let no_header = || TranscriptFault::NoHeader {
        path: path.to_owned(),
    };
    let (contract, run_id) = header.ok_or_else(no_header)?;
    let contract = ExecutionContract::decode(&contract).map_err(|_| no_header())?;
    Ok(Recorded {
        contract,
        run_id,
        entries,
        blobs: Blobs::Read(blobs),
        erased,
    })
}
