//! Attacks on stored data, each made by somebody who can write every byte and knows the format: hashes, heads, leaves and
//! numbers are recomputed where it helps. Every attack must end in its kind; no test may claim to find one that cannot be
//! found. tests/tamper/README.md lists them all.

mod beyond;
mod files;
mod noted;

use std::path::PathBuf;

use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::SecretKey;
use monolith_core::transcript::{Chain, Checkpoint, Link, LogLeaf};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::fixture::{Fixture, says};

/// A state folder with three finished runs, and what an auditor noted elsewhere.
struct Scene(Fixture);

struct Entry {
    seq: i64,
    event: String,
    action: String,
}

impl Scene {
    fn new() -> Self {
        let scene = Self(Fixture::new());
        scene.0.script("", &[&says("all is well")]);
        for run in ["r-1", "r-2", "r-3"] {
            scene.run(run);
            scene.ok(&["verify", run, "--write-pin", "heads"]);
        }
        scene.write("log.note", &scene.ok(&["log", "root", "--note"]));
        scene.write("auditor.keys", &scene.ok(&["key", "show"]));
        scene.ok(&["export", "r-2", "-o", "r-2.jsonl"]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.0.write(name, text);
    }

    fn read(&self, name: &str) -> String {
        self.0.read(name)
    }

    fn run(&self, run: &str) {
        self.ok(&["run", "--contract", "c.yaml", "--run-id", run]);
    }

    fn command(&self, args: &[&str]) -> (i32, String, String) {
        let left = self.0.run(args);
        (left.code, left.out, left.err)
    }

    fn ok(&self, args: &[&str]) -> String {
        self.0.ok(args)
    }

    /// Returns the verdict of a verification: its level, and the kind of the first flaw.
    #[track_caller]
    fn verdict(&self, args: &[&str]) -> (String, String) {
        let (code, out, err) = self.command(&[args, &["--json"]].concat());
        let Ok(report) = serde_json::from_str::<Value>(&out) else {
            panic!("{args:?}: {code}: {out}{err}");
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = text(&report["first_bad"]["kind"]);
        assert_eq!(code, if kind.is_empty() { 0 } else { 7 }, "{args:?}: {out}");
        (text(&report["level"]), kind)
    }

    #[track_caller]
    fn finds(&self, args: &[&str], kind: &str) {
        assert_eq!(self.verdict(args).1, kind, "{args:?}");
    }

    /// As [`Self::finds`], and where: the table or the file, and the entry or the line in it.
    #[track_caller]
    fn finds_at(&self, args: &[&str], kind: &str, place: &str) {
        self.finds(args, kind);
        let (_, out, _) = self.command(&[args, &["--json"]].concat());
        let report: Value = serde_json::from_str(&out).unwrap();
        let bad = &report["first_bad"];
        let table = bad["table"].as_str().unwrap_or("file");
        let number = bad["seq"].as_u64().or(bad["line"].as_u64());
        let found = number.map_or(table.to_owned(), |number| format!("{table} {number}"));
        assert_eq!(found, place, "{args:?}: {bad}");
    }

    #[track_caller]
    fn holds(&self, args: &[&str], level: &str) {
        let expect = (level.to_owned(), String::new());
        assert_eq!(self.verdict(args), expect, "{args:?}");
    }

    fn store(&self) -> Connection {
        let store = self.0.plain_store();
        store.pragma_update(None, "foreign_keys", false).unwrap();
        store
    }

    #[track_caller]
    fn sql(&self, sql: &str) {
        let store = self.store();
        store.execute_batch(sql).unwrap();
        assert!(store.total_changes() > 0, "{sql} changes nothing");
    }

    /// Rewrites a run as `change` wants it, and recomputes every hash, the row of the run and its leaf.
    fn rewrite(&self, run: &str, change: impl Fn(&mut Vec<Entry>)) {
        let store = self.store();
        let (key, contract_hash): (i64, [u8; 32]) = store
            .query_row(
                "SELECT id, contract_hash FROM runs WHERE run_id = ?1",
                [run],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let mut entries: Vec<Entry> = store
            .prepare("SELECT seq, event, action FROM entries WHERE run = ?1 ORDER BY seq")
            .unwrap()
            .query_map([key], |row| {
                let (seq, event, action) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(Entry { seq, event, action })
            })
            .unwrap()
            .map(Result::unwrap)
            .collect();
        change(&mut entries);
        let mut chain = Chain::genesis(Digest::from_bytes(contract_hash), &run_id(run));
        store
            .execute("DELETE FROM entries WHERE run = ?1", [key])
            .unwrap();
        let mut outcome = Value::Null;
        for entry in &entries {
            let action: Value = serde_json::from_str(&entry.action).unwrap();
            let text = |name: &str| action[name].as_str().unwrap();
            let hash = chain.extend(&Link {
                action: &entry.action,
                adapter_version: text("adapter_version"),
                event: &entry.event,
                model_fingerprint: text("model_fingerprint"),
                model_profile_id: text("model_profile_id"),
                state: text("to"),
            });
            store
                .execute(
                    "INSERT INTO entries(run, seq, state, event, action, hash) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
                    params![key, entry.seq, text("to"), entry.event, entry.action, hash.as_bytes()],
                )
                .unwrap();
            if action["kind"] == "seal" {
                outcome = action["outcome"].clone();
            }
        }
        let length = i64::try_from(entries.len()).unwrap();
        store
            .execute(
                "UPDATE runs SET head_seq = ?2, head_hash = ?3, class = ?4, code = ?5 WHERE id = ?1",
                params![
                    key,
                    length - 1,
                    chain.head().as_bytes(),
                    outcome["class"].as_str(),
                    outcome["code"].as_str()
                ],
            )
            .unwrap();
        if outcome.is_null() {
            store
                .execute("DELETE FROM log_leaves WHERE run = ?1", [key])
                .unwrap();
            return;
        }
        let leaf = LogLeaf {
            contract_hash: Digest::from_bytes(contract_hash),
            entries: chain.length(),
            head: chain.head(),
            outcome: serde_json::from_value(outcome).unwrap(),
            receipt: None,
            run_id: run_id(run),
        };
        store
            .execute(
                "UPDATE log_leaves SET leaf = ?2 WHERE run = ?1",
                params![key, leaf.text()],
            )
            .unwrap();
    }
}

fn run_id(text: &str) -> RunId {
    RunId::try_from(text.to_owned()).unwrap()
}

/// Lets the model have said something else.
fn lie(entries: &mut Vec<Entry>) {
    let mut printed = 0;
    for entry in entries {
        if entry.event.contains("all is well") {
            entry.event = entry.event.replace("all is well", "all is lost");
            printed += 1;
        }
    }
    assert!(printed > 0, "there is something to lie about");
}

const OF_R2: &str = "(SELECT id FROM runs WHERE run_id = 'r-2')";

#[test]
fn what_nobody_touched_reaches_its_level() {
    let scene = Scene::new();
    scene.holds(&["verify", "r-2"], "L1");
    scene.holds(&["verify", "r-2", "--key", "auditor.keys"], "L1");
    scene.holds(&["verify", "r-2", "--pin", "heads"], "L2");
    scene.holds(&["verify", "r-2", "--pin", "log.note"], "L2");
    scene.holds(&["verify", "r-2.jsonl", "--pin", "heads"], "L2");
    scene.holds(&["verify", "r-2.jsonl"], "L1");
    scene.holds(
        &["log", "verify", "--pin", "log.note", "--pin", "heads"],
        "",
    );
    scene.run("r-4");
    scene.holds(
        &["verify", "r-4", "--pin", "heads", "--pin", "log.note"],
        "L1",
    );
    scene.holds(
        &["log", "verify", "--pin", "log.note", "--pin", "heads"],
        "",
    );
    let (_, out, _) = scene.command(&["verify", "r-2"]);
    let plain = "a key on the same disk proves nothing against its owner";
    assert!(out.contains(plain), "{out}");
    scene.ok(&[
        "run",
        "--contract",
        "c.yaml",
        "--run-id",
        "r-5",
        "--no-sign",
    ]);
    scene.holds(&["verify", "r-5"], "L0");
}

#[test]
fn checkpoints_come_every_so_many_entries_and_at_the_seal() {
    let scene = Scene::new();
    let set = "checkpoint_every=2";
    scene.ok(&[
        "run",
        "--contract",
        "c.yaml",
        "--run-id",
        "often",
        "--set",
        set,
    ]);
    let file = scene.ok(&["export", "often"]);
    let entries = file.lines().filter(|line| line.starts_with("{\"action\""));
    let entries = entries.count();
    let stated: Vec<usize> = file
        .lines()
        .filter_map(|line| line.strip_prefix("{\"checkpoint\":\"monolith/run/often\\n"))
        .map(|rest| rest.split('\\').next().unwrap().parse().unwrap())
        .collect();
    assert!(stated.len() > 1, "{stated:?}");
    assert!(stated.is_sorted_by(|a, b| a < b), "{stated:?}");
    assert_eq!(stated.last(), Some(&entries));
    scene.holds(&["verify", "often"], "L1");
    // One that is not the last tells, too.
    scene.rewrite("often", |entries| {
        let begun = "\"started_unix_ms\":1";
        assert!(entries[0].event.contains(begun));
        entries[0].event = entries[0].event.replace(begun, "\"started_unix_ms\":2");
    });
    scene.sql(&format!(
        "DELETE FROM checkpoints WHERE entries = {entries}"
    ));
    scene.finds(&["verify", "often"], "tampered");
    scene.finds(&["verify", "often", "--key", "auditor.keys"], "tampered");
}

#[test]
fn t01_edited_row_fail() {
    for seq in 0..4 {
        let scene = Scene::new();
        scene.sql(&format!(
            "UPDATE entries SET action = replace(action, '\"seq\":', '\"sep\":') WHERE seq = {seq} AND run = {OF_R2}"
        ));
        scene.finds_at(&["verify", "r-2"], "tampered", &format!("entries {seq}"));
        scene.holds(&["verify", "r-1"], "L1");
    }
}

#[test]
fn t02_truncated_fail() {
    let scene = Scene::new();
    let lines = scene.read("r-2.jsonl");
    let entries = lines
        .lines()
        .filter(|line| line.starts_with("{\"action\""))
        .count();
    let checkpoint = lines.lines().last().unwrap();
    assert!(checkpoint.starts_with("{\"checkpoint\""), "{checkpoint}");
    for kept in 1..entries {
        let cut: Vec<&str> = lines.lines().take(1 + kept).collect();
        let cut = cut.join("\n") + "\n";
        scene.write("cut.jsonl", &cut);
        // An end without its seal was never written; before it, a run may be in progress.
        let expect = if kept == entries - 1 {
            "truncated"
        } else {
            "incomplete"
        };
        let last = format!("file {kept}");
        scene.finds_at(&["verify", "cut.jsonl"], expect, &last);
        scene.finds(&["verify", "cut.jsonl", "--pin", "heads"], "rollback");
        scene.finds(
            &["verify", "cut.jsonl", "--open", "--pin", "heads"],
            "rollback",
        );
    }
    // The whole end is gone from the store, its index and its log; the checkpoint that was left tells.
    scene.rewrite("r-2", |entries| entries.truncate(1));
    scene.sql(&format!("DELETE FROM run_blobs WHERE run = {OF_R2}"));
    scene.finds(&["verify", "r-2"], "incomplete");
    scene.finds(&["verify", "r-2", "--open"], "truncated");
    scene.sql(&format!("DELETE FROM checkpoints WHERE run = {OF_R2}"));
    scene.finds(&["verify", "r-2"], "incomplete");
    scene.finds(&["verify", "r-2", "--pin", "heads"], "rollback");
    scene.finds(&["log", "verify", "--pin", "heads"], "tampered");
}

#[test]
fn t03_rolled_back_fail() {
    let scene = Scene::new();
    scene
        .store()
        .pragma_update(None, "wal_checkpoint", "TRUNCATE")
        .unwrap();
    std::fs::copy(scene.path("home/runs.db"), scene.path("older.db")).unwrap();
    scene.run("r-4");
    scene.ok(&["verify", "r-4", "--write-pin", "heads"]);
    scene.write("newer.note", &scene.ok(&["log", "root", "--note"]));
    scene.holds(
        &["log", "verify", "--pin", "newer.note", "--pin", "heads"],
        "",
    );
    for left in ["home/runs.db-wal", "home/runs.db-shm"] {
        drop(std::fs::remove_file(scene.path(left)));
    }
    std::fs::copy(scene.path("older.db"), scene.path("home/runs.db")).unwrap();
    scene.holds(&["log", "verify", "--pin", "log.note"], "");
    scene.finds(&["log", "verify", "--pin", "newer.note"], "rollback");
    scene.finds(&["log", "verify", "--pin", "heads"], "rollback");
    scene.finds(&["verify", "r-3", "--pin", "newer.note"], "rollback");
    // Another run of that name in its place is another history.
    scene.write("c.yaml", &scene.read("c.yaml").replace("hi", "ho"));
    scene.run("r-4");
    scene.finds(&["verify", "r-4", "--pin", "heads"], "tampered");
    scene.finds(&["log", "verify", "--pin", "newer.note"], "tampered");
}

#[test]
fn t04_chain_made_anew_fail() {
    let scene = Scene::new();
    scene.rewrite("r-2", lie);
    scene.finds_at(&["verify", "r-2"], "tampered", "checkpoints");
    scene.sql(&format!("DELETE FROM checkpoints WHERE run = {OF_R2}"));
    // Without a key from outside nothing is left to find, and nothing more is claimed than that.
    scene.holds(&["verify", "r-2"], "L0");
    scene.finds(&["verify", "r-2", "--key", "auditor.keys"], "unsigned");
    scene.finds(&["verify", "r-2", "--pin", "heads"], "tampered");
    scene.finds(&["verify", "r-2", "--pin", "log.note"], "tampered");
    scene.finds(&["log", "verify", "--pin", "log.note"], "tampered");
    // The attacker signs with a key of the same name.
    let store = scene.store();
    let (key, contract, head, length): (i64, [u8; 32], [u8; 32], i64) = store
        .query_row(
            "SELECT id, contract_hash, head_hash, head_seq + 1 FROM runs WHERE run_id = 'r-2'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    let length = u64::try_from(length).unwrap();
    let (contract, head) = (Digest::from_bytes(contract), Digest::from_bytes(head));
    let chain = Chain::resumed(contract, head, length);
    let outcome = json!({"class": "COMPLETED_CHAT_ONLY", "code": "final_message"});
    let outcome = serde_json::from_value(outcome).unwrap();
    let checkpoint = Checkpoint::of(&chain, &run_id("r-2"), Some(outcome));
    let thief = SecretKey::from_seed("local", &[66; 32]).unwrap();
    let note = checkpoint.sign(&thief).to_string();
    store
        .execute(
            "INSERT INTO checkpoints(run, entries, note) VALUES(?1, ?2, ?3)",
            params![key, i64::try_from(length).unwrap(), note],
        )
        .unwrap();
    scene.holds(&["verify", "r-2"], "L0");
    scene.finds(&["verify", "r-2", "--key", "auditor.keys"], "unsigned");
    scene.holds(
        &["verify", "r-2", "--key", &thief.public().to_string()],
        "L1",
    );
}

#[test]
fn t05_removed_run_fail() {
    let scene = Scene::new();
    let pinned = ["log", "verify", "--pin", "log.note"];
    scene.sql(&format!(
        "DELETE FROM entries WHERE run = {OF_R2}; DELETE FROM run_blobs WHERE run = {OF_R2}; \
         DELETE FROM checkpoints WHERE run = {OF_R2}; DELETE FROM runs WHERE run_id = 'r-2'"
    ));
    scene.finds_at(&["log", "verify"], "truncated", "log_leaves");
    scene.sql("DELETE FROM log_leaves WHERE idx = 1");
    scene.finds_at(&["log", "verify"], "tampered", "log_leaves");
    scene.sql("UPDATE log_leaves SET idx = 1 WHERE idx = 2");
    scene.holds(&["log", "verify"], "");
    scene.finds(&pinned, "rollback");
    scene.finds(&["log", "verify", "--pin", "heads"], "rollback");
    scene.finds(&["verify", "r-1", "--pin", "log.note"], "rollback");
    // A run more hides the number, not the root.
    scene.run("r-4");
    scene.holds(&["log", "verify"], "");
    scene.finds(&pinned, "tampered");
    // Nor does a log that begins again, or none at all.
    scene.sql("UPDATE log_name SET name = 'another'");
    scene.finds(&pinned, "tampered");
    scene.sql("DROP TABLE log_name; DELETE FROM blobs");
    scene.finds(&pinned, "truncated");
}

#[test]
fn t06_spliced_fail() {
    let scene = Scene::new();
    let r1 = "(SELECT id FROM runs WHERE run_id = 'r-1')";
    scene.sql(&format!(
        "UPDATE entries SET run = -1 WHERE seq = 2 AND run = {r1}; \
         UPDATE entries SET run = {r1} WHERE seq = 2 AND run = {OF_R2}; \
         UPDATE entries SET run = {OF_R2} WHERE run = -1"
    ));
    scene.finds_at(&["verify", "r-1"], "tampered", "entries 2");
    scene.finds_at(&["verify", "r-2"], "tampered", "entries 2");
    scene.holds(&["verify", "r-3"], "L1");
    // A checkpoint belongs to one run, too.
    scene
        .sql("DELETE FROM checkpoints WHERE run = 1; UPDATE checkpoints SET run = 1 WHERE run = 3");
    scene.ok(&["export", "r-3", "-o", "r-3.jsonl"]);
    let other = scene.read("r-2.jsonl");
    let other = other.lines().last().unwrap();
    scene.write(
        "r-3.jsonl",
        &format!("{}{other}\n", scene.read("r-3.jsonl")),
    );
    scene.finds(&["verify", "r-3.jsonl"], "tampered");
}

#[test]
fn t07_moved_bytes_fail() {
    let scene = Scene::new();
    scene.sql(&format!(
        "UPDATE entries SET event = substr(action, -1) || event, action = substr(action, 1, length(action) - 1) \
         WHERE seq = 2 AND run = {OF_R2}"
    ));
    scene.finds_at(&["verify", "r-2"], "tampered", "entries 2");
}

#[test]
fn t08_second_way_to_write_fail() {
    for (from, to) in [
        ("\"step_id\":1", "\"step_id\":1.0"),
        ("\"step_id\":1", "\"step_id\":1e0"),
        ("\"step_id\":1", "\"step_id\":1,\"step_id\":1"),
        ("\"step_id\":1", "\"step_id\": 1"),
        ("\"to\":\"INFER\"", "\"to\":\"\\u0049NFER\""),
    ] {
        let scene = Scene::new();
        scene.sql("DELETE FROM checkpoints");
        scene.rewrite("r-2", |entries| {
            let entry = entries.iter_mut().find(|entry| entry.action.contains(from));
            let entry = entry.unwrap();
            entry.action = entry.action.replacen(from, to, 1);
        });
        scene.finds_at(&["verify", "r-2"], "tampered", "entries 1");
    }
}

#[test]
fn t09_edited_blob_fail() {
    let scene = Scene::new();
    scene
        .sql("UPDATE blobs SET bytes = CAST(replace(CAST(bytes AS TEXT), 'well', 'lost') AS BLOB)");
    scene.finds_at(&["verify", "r-2"], "tampered", "blobs");
}

#[test]
fn t12_rotated_key_fail() {
    let scene = Scene::new();
    let rotated = scene.ok(&["key", "rotate"]);
    scene.run("r-4");
    let (new, record) = rotated.split_once('\n').unwrap();
    assert_eq!(scene.ok(&["key", "show"]).trim_end(), new);
    scene.holds(&["verify", "r-1"], "L1");
    scene.holds(&["verify", "r-4"], "L1");
    scene.finds(&["verify", "r-4", "--key", "auditor.keys"], "unsigned");
    scene.write("rotation.note", record);
    let both = ["--key", "auditor.keys", "--key", "rotation.note"];
    scene.holds(&[&["verify", "r-4"][..], &both].concat(), "L1");
    scene.holds(&[&["verify", "r-1"][..], &both].concat(), "L1");
    let old = scene.read("auditor.keys");
    scene.write("revoked.keys", &format!("{new}\nrevoked {old}"));
    scene.finds(&["verify", "r-1", "--key", "revoked.keys"], "unsigned");
    scene.holds(&["verify", "r-4", "--key", "revoked.keys"], "L1");
    // A rotation that the old key did not sign.
    let thief = SecretKey::from_seed("local", &[66; 32]).unwrap();
    let forged = thief.rotated_to(&thief).to_string();
    let forged = forged.replacen(&thief.public().to_string(), old.trim_end(), 1);
    scene.write("forged.note", &forged);
    let args = [
        "verify",
        "r-4",
        "--key",
        "auditor.keys",
        "--key",
        "forged.note",
    ];
    let (code, _, err) = scene.command(&args);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("signed by the old key"), "{err}");
}

#[test]
fn a_witness_that_cosigns_the_log_or_a_checkpoint_lifts_the_level() {
    let scene = Scene::new();
    let witness = SecretKey::from_seed("witness.example", &[9; 32]).unwrap();
    let vkey = witness.public().to_string();
    let cosign = |name: &str| {
        let note = scene.read(name);
        let (text, _) = note.split_once("\n\n").unwrap();
        let text = format!("{text}\n");
        let theirs = witness.sign_text(&text).unwrap().to_string();
        let line = theirs.lines().last().unwrap();
        scene.write(name, &format!("{note}{line}\n"));
    };
    cosign("log.note");
    let args = ["verify", "r-2", "--pin", "log.note", "--witness", &vkey];
    scene.holds(&args, "L3");
    scene.holds(&args[..4], "L2");
    // The signature of the witness over something else.
    scene.write("log.note", &scene.ok(&["log", "root", "--note"]));
    scene.run("r-4");
    let newer = scene.ok(&["log", "root", "--note"]);
    scene.write("newer.note", &newer);
    cosign("newer.note");
    let theirs = scene.read("newer.note");
    let theirs = theirs.lines().last().unwrap();
    scene.write("log.note", &format!("{}{theirs}\n", scene.read("log.note")));
    scene.finds(&args, "tampered");
}
