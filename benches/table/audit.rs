//! Judging a recorded run: verification beside reading and hashing alone, replay beside reading, typed decoding and hashing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use lz4_flex::block::decompress_with_dict;
use monolith_core::kernel::Event;
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::Replayer;
use monolith_core::transcript::{Chain, Link};
use monolith_core::transcript::{Flaw, SealedEntry};
use monolith_host::store::{RunFilter, StoreReader};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde::de::DeserializeOwned;

use crate::process::timed;
use crate::ratio::{Limit, Row, time};
use crate::server::Server;
use crate::whole::{self, RUNS};

/// The share of its floor's speed that either must reach.
const LEAST: f64 = 0.6;

/// The rows, of a run of so many turns.
pub fn rows(turns: u64) -> Vec<Row> {
    let server = Server::start();
    let folder = whole::recorded(&server, turns);
    let path = folder.path().join(RUNS);
    let mut reader = StoreReader::open(&path).expect("a store");
    let filter = RunFilter::default();
    let run = reader.list_runs(1, filter).expect("runs").remove(0);
    let (id, entries) = (run.run_id, run.length as f64);
    let each = |ours: Duration, floor: Duration| {
        (ours.as_secs_f64() / entries, floor.as_secs_f64() / entries)
    };
    let limit = Some(Limit::AtMost(1.0 / LEAST));
    let verify = Row::of(
        ("verifying an entry", "read and hash alone"),
        limit,
        || {
            let (report, ours) = timed(|| reader.verify_run(&id, false).expect("a store"));
            assert!(report.first_bad.is_none(), "{report:?}");
            let ((), floor) = timed(|| hashed(&path));
            each(ours, floor)
        },
        time,
    );
    let replay = Row::of(
        ("replaying an entry", "read, decode and hash"),
        limit,
        || {
            let ((), ours) = timed(|| replayed(&path, &id));
            let ((), floor) = timed(|| decoded(&path, &id));
            each(ours, floor)
        },
        time,
    );
    vec![verify, replay]
}

/// The dictionary of compressed entry texts.
const DICTIONARY: &[u8] = include_bytes!("../../src/host/store/sqlite/entry_dictionary.txt");
/// The bytes before the LZ4 block: a check, the way of packing, and the length of the text.
const HEAD_BYTES: usize = 9;

/// A text as its column holds it, hashed and unpacked.
fn unpacked(column: ValueRef<'_>) -> Cow<'_, str> {
    match column {
        ValueRef::Blob(packed) => {
            black_box(Digest::of(packed));
            let (head, block) = packed.split_at(HEAD_BYTES);
            let length = head[5..].try_into().map(u32::from_le_bytes);
            let length = length.expect("four bytes") as usize;
            let text = decompress_with_dict(block, length, DICTIONARY).expect("an LZ4 block");
            Cow::Owned(String::from_utf8(text).expect("a text"))
        }
        plain => Cow::Borrowed(plain.as_str().expect("a text")),
    }
}

/// A chain over all rows, and a hash of each blob; nothing is decoded.
fn hashed(path: &Path) {
    let conn = Connection::open(path).expect("a database");
    let mut chain = Chain::resumed(Digest::ZERO, Digest::ZERO, 0);
    let mut select = conn
        .prepare("SELECT state, event, action FROM entries ORDER BY run, seq")
        .expect("a statement");
    let mut rows = select.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let text = |at| unpacked(row.get_ref(at).expect("a column"));
        chain.extend(&Link {
            action: &text(2),
            adapter_version: "openai-chat/1",
            event: &text(1),
            model_fingerprint: "",
            model_profile_id: "",
            state: &text(0),
        });
    }
    black_box(chain.head());
    let mut select = conn
        .prepare("SELECT b.bytes FROM run_blobs l JOIN blobs b ON b.hash = l.hash ORDER BY l.hash")
        .expect("a statement");
    let mut rows = select.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let bytes = row.get_ref(0).expect("a column").as_blob().expect("bytes");
        black_box(Digest::of(bytes));
    }
}

/// A replay.
fn replayed(path: &Path, id: &RunId) {
    let (mut reader, blobs) = (open(path), open(path));
    let run = reader.read_run(id).expect("a run");
    let mut replayer = Replayer::new(run.contract().expect("a contract"), id);
    let blobs = Blobs(blobs);
    for entry in run {
        replayer.take(&entry.expect("an entry"), &blobs);
    }
    assert!(replayer.finish(false).same);
}

struct Blobs(StoreReader);

impl monolith_core::replay::BlobSource for Blobs {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.blob(hash).expect("a store")
    }
}

/// Reads all entries, decodes their texts into the recorded types, and hashes them.
fn decoded(path: &Path, id: &RunId) {
    let mut reader = open(path);
    let run = reader.read_run(id).expect("a run");
    let mut by_state: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in run {
        let entry = entry.expect("an entry");
        let action = typed(SealedEntry::decode_action, &entry.action);
        let event: Option<Event> = serde_json::from_str(&entry.event).expect("an event");
        black_box((&action, &event));
        black_box(Digest::of(entry.action.as_bytes()));
        black_box(Digest::of(entry.event.as_bytes()));
        *by_state.entry(entry.state.as_str()).or_default() += 1;
    }
    black_box(by_state);
}

fn open(path: &Path) -> StoreReader {
    StoreReader::open(path).expect("a store")
}

/// A text as the type that `_like` gives, which has no name outside the library.
fn typed<T: DeserializeOwned>(_like: fn(&SealedEntry) -> Result<T, Flaw>, text: &str) -> T {
    serde_json::from_str(text).expect("a recorded value")
}
