//! Runs and bytes that are deleted for good, and a run that continues only if it matches its note: from outside.

mod deleted;
mod erased;
mod noted;
mod pinned;
mod pruned;

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use monolith_core::transcript::SecretKey;
use rusqlite::Connection;

use crate::fixture::{Fixture, calls, says};

/// More than anything here takes.
const LONGEST: Duration = Duration::from_secs(120);
const TEXT: &str = "a sentence that only this tool says, and no one else";

impl Fixture {
    /// A run that has ended, with a call of the tool `echo`.
    fn ended(&self, name: &str) {
        let call = calls("echo", &format!("{{\"text\":\"{TEXT}\"}}"));
        self.script("tools: {builtin: [echo]}\n", &[&call, &says("Done.")]);
        self.ok(&["run", "--contract", "c.yaml", "--run-id", name]);
    }

    fn begun(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// A run whose model never answers, with at least so many entries; driven still.
    fn hanging(&self, args: &[&str], entries: u64) -> Child {
        let child = self.begun(args);
        self.wait_for(entries);
        child
    }

    fn wait_for(&self, entries: u64) {
        let until = Instant::now() + LONGEST;
        loop {
            let left = self.run(&["show", "r", "--json"]);
            let shown: serde_json::Value = serde_json::from_str(&left.out).unwrap_or_default();
            if shown["entries"].as_u64() >= Some(entries) {
                return;
            }
            assert!(
                Instant::now() < until,
                "the run never had {entries} entries"
            );
        }
    }

    fn store(&self) -> Connection {
        Connection::open(self.path("home/runs.db")).unwrap()
    }

    /// Everything that the files of the store hold, the log of writes among them; how much that log holds of it.
    fn files(&self) -> (Vec<u8>, usize) {
        let read = |name: &str| fs::read(self.path(name)).unwrap_or_default();
        let log = read("home/runs.db-wal");
        let length = log.len();
        (
            [read("home/runs.db"), log, read("home/runs.db-shm")].concat(),
            length,
        )
    }

    /// Writes that run so often again, as a store that is long in use has it: with the same blobs.
    fn copies(&self, name: &str, count: u32) {
        let store = self.store();
        store
            .execute_batch(&format!(
                "PRAGMA foreign_keys = OFF; \
                 CREATE TEMP TABLE more AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count}) \
                 SELECT n, (SELECT max(id) FROM runs) + n AS id, '{name}-' || n AS name FROM n; \
                 CREATE TEMP TABLE old AS SELECT * FROM runs WHERE run_id = '{name}'; \
                 INSERT INTO runs SELECT more.id, more.name, kind, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, class, code \
                 FROM old, more; \
                 INSERT INTO contracts SELECT more.id, document FROM contracts, more WHERE run = (SELECT id FROM old); \
                 INSERT INTO entries SELECT more.id, seq, state, event, action, e.hash FROM entries e, more WHERE run = (SELECT id FROM old); \
                 INSERT INTO run_blobs SELECT more.id, hash FROM run_blobs, more WHERE run = (SELECT id FROM old); \
                 INSERT INTO log_leaves SELECT (SELECT max(idx) FROM log_leaves) + more.n, more.id, replace(leaf, '\"{name}\"', '\"' || more.name || '\"') \
                 FROM log_leaves, more WHERE run = (SELECT id FROM old);"
            ))
            .unwrap();
    }

    fn entries(&self, name: &str) -> u64 {
        let left = self.run(&["show", name, "--json"]);
        left.document()["entries"].as_u64().unwrap()
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The note of a deleted run, as somebody else signs it.
fn strangers(fixture: &Fixture, name: &str) -> String {
    let select = "SELECT note FROM deletions WHERE run_id = ?1";
    let note: String = fixture
        .store()
        .query_row(select, [name], |row| row.get(0))
        .unwrap();
    let (text, _) = note.split_once("\n\n").unwrap();
    let key = SecretKey::from_seed("local", &[9; 32]).unwrap();
    key.sign_text(&format!("{text}\n")).unwrap().to_string()
}
