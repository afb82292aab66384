//! A golden transcript as a forger has it: its parts, and every hash recomputed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use monolith_core::contract::ExecutionContract;
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::{ReplayReport, Replayer};
use monolith_core::transcript::{Chain, Link};
use monolith_core::transcript::{LineReader, Record, SealedEntry};

#[derive(Clone)]
pub struct Golden {
    pub contract: ExecutionContract,
    pub entries: Vec<SealedEntry>,
    pub blobs: BTreeMap<Digest, Vec<u8>>,
    pub run_id: RunId,
}

/// Every golden transcript, in the order of their names.
pub fn goldens() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/v1");
    let files = fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    assert!(files.len() > 20, "there are golden transcripts");
    files
}

/// The file of the case of that name.
pub fn file_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("replay/v1/{name}.jsonl"))
}

impl Golden {
    /// The case of that name.
    pub fn of(name: &str) -> Self {
        Self::read(&file_of(name))
    }

    pub fn read(path: &Path) -> Self {
        let text = fs::read(path).unwrap();
        let mut reader = LineReader::new();
        let (mut header, mut entries, mut blobs) = (None, Vec::new(), BTreeMap::new());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match reader.read(line).unwrap() {
                Record::Header(found) => {
                    let contract = ExecutionContract::decode(found.contract).unwrap();
                    header = Some((contract, found.run_id));
                }
                Record::Entry(found) => entries.push(SealedEntry::from(&*found)),
                Record::Checkpoint(_) | Record::Tombstone(_) | Record::MachineEntry(_) => {}
                Record::Blob(found) => {
                    blobs.insert(found.hash, found.bytes.to_vec());
                }
            }
        }
        let (contract, run_id) = header.unwrap();
        Self {
            contract,
            entries,
            blobs,
            run_id,
        }
    }

    /// Recomputes every hash, like a forger who knows the format: the chain is whole again.
    pub fn chain_anew(&mut self) {
        let mut chain = Chain::genesis(self.contract.contract_hash(), &self.run_id);
        for entry in &mut self.entries {
            let action = entry.decode_action().unwrap();
            entry.hash = chain.extend(&Link::of(entry, &action));
        }
    }

    /// Replays it on a fresh machine.
    pub fn replayed(&self) -> ReplayReport {
        let mut replayer = Replayer::new(self.contract.clone(), &self.run_id);
        for entry in &self.entries {
            replayer.take(entry, &self.blobs);
        }
        replayer.finish(false)
    }
}
