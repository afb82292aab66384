//! Attacks that a chain alone cannot show: on clocks, on what auditors are shown, by the recorder itself, by erasing, by writing at the
//! same time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signer as _, SigningKey};
use monolith_host::store::{Durability, Store};
use sha2::Digest as _;

use super::*;

/// A witness that states a time: its public key, and its line under a note.
fn cosigned(note: &str, seconds: u64) -> (String, String) {
    let secret = SigningKey::from_bytes(&[9; 32]);
    let typed = [&[4], secret.verifying_key().as_bytes().as_slice()].concat();
    let mut hasher = sha2::Sha256::new();
    hasher.update(b"w.example\n");
    hasher.update(&typed);
    let id = hasher.finalize()[..4].to_vec();
    let (text, _) = note.split_once("\n\n").unwrap();
    let message = format!("cosignature/v1\ntime {seconds}\n{text}\n");
    let signature = secret.sign(message.as_bytes()).to_bytes();
    let line = [&id[..], &seconds.to_be_bytes(), &signature].concat();
    let hex = u32::from_be_bytes(id[..4].try_into().unwrap());
    let key = format!("w.example+{hex:08x}+{}", BASE64.encode(&typed));
    (key, format!("{note}— w.example {}\n", BASE64.encode(line)))
}

impl Scene {
    fn notes(&self, args: &[&str]) -> String {
        let (_, out, _) = self.command(&[args, &["--json"]].concat());
        let report: Value = serde_json::from_str(&out).unwrap();
        report["not_checked"].to_string()
    }
}

/// No time proves anything by itself; what contradicts a clock that somebody else kept is said, and is no tampering.
#[test]
fn t10_clock_lies_fail() {
    let scene = Scene::new();
    assert!(!scene.notes(&["verify", "r-2"]).contains("clock: "));
    let note = scene.read("log.note");
    let check = |seconds: u64, said: bool| {
        let (key, cosigned) = cosigned(&note, seconds);
        scene.write("cosigned.note", &cosigned);
        let args = ["verify", "r-2", "--pin", "cosigned.note", "--witness", &key];
        scene.holds(&args, "L3");
        let notes = scene.notes(&args);
        assert_eq!(
            notes.contains("clock: the run says that it began"),
            said,
            "{notes}"
        );
        assert_eq!(notes.contains("had seen its end"), said, "{notes}");
    };
    // The witness had seen the end long before the run says that it began.
    check(1_000_000_000, true);
    check(9_000_000_000, false);
    // The time of the witness is part of what it has signed.
    let (key, cosigned) = cosigned(&note, 1_000_000_000);
    let line = cosigned.lines().last().unwrap();
    let mut bytes = BASE64.decode(line.rsplit(' ').next().unwrap()).unwrap();
    bytes[8] ^= 1;
    let forged = format!("{note}— w.example {}\n", BASE64.encode(bytes));
    scene.write("forged.note", &forged);
    scene.finds(
        &["verify", "r-2", "--pin", "forged.note", "--witness", &key],
        "tampered",
    );
    // A beginning that is yet to come, for the one who verifies.
    scene.sql("DELETE FROM checkpoints");
    scene.rewrite("r-2", |entries| {
        let begun = "\"started_unix_ms\":1";
        entries[0].event = entries[0].event.replace(begun, "\"started_unix_ms\":2");
    });
    scene.holds(&["verify", "r-2"], "L0");
    let notes = scene.notes(&["verify", "r-2"]);
    assert!(
        notes.contains("s from now, so its clock or this one is wrong"),
        "{notes}"
    );
    // Order is that of the numbers: times that run backwards, in the row and in the store's own columns, change nothing.
    scene.sql("UPDATE runs SET created_unix_ms = 0 WHERE run_id = 'r-3'");
    scene.holds(&["verify", "r-3"], "L0");
    assert!(
        scene
            .ok(&["replay", "r-3", "--json"])
            .contains("\"same\":true")
    );
}

#[test]
fn t11_split_view_fail() {
    let scene = Scene::new();
    let store = scene.store();
    store
        .pragma_update(None, "wal_checkpoint", "TRUNCATE")
        .unwrap();
    drop(store);
    std::fs::copy(scene.path("home/runs.db"), scene.path("other.db")).unwrap();
    // Two continuations of one log, one for each auditor, both signed by the same key.
    scene.run("r-4");
    scene.write("a.note", &scene.ok(&["log", "root", "--note"]));
    let on_other = |args: &[&str]| scene.ok(&[args, &["--store", "other.db"]].concat());
    on_other(&["run", "--contract", "c.yaml", "--run-id", "r-5"]);
    scene.write("b.note", &on_other(&["log", "root", "--note"]));
    let (a, b) = (["--pin", "a.note"], ["--pin", "b.note"]);
    let with = |args: &[&str], more: &[&[&str]]| -> Vec<String> {
        let all = args.iter().chain(more.iter().copied().flatten());
        all.map(|arg| (*arg).to_owned()).collect()
    };
    let check = |args: &[&str], more: &[&[&str]], expect: &str| {
        let args = with(args, more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        scene.finds(&args, expect);
    };
    let other = ["--store", "other.db"];
    check(&["log", "verify"], &[&a], "");
    check(&["log", "verify"], &[&b, &other], "");
    check(&["log", "verify"], &[&b], "tampered");
    check(&["log", "verify"], &[&a, &b], "split_view");
    check(&["verify", "r-1"], &[&a, &b], "split_view");
    // Offline, from what each was given.
    scene.write("a.proof", &scene.ok(&["log", "prove", "r-4"]));
    scene.write("b.proof", &on_other(&["log", "prove", "r-5"]));
    scene.write("grown.proof", &scene.ok(&["log", "consistency", "3"]));
    let proof = |name: &str, pins: &[&[&str]], expect: &str| {
        let mut args = with(&["log", "check", name, "--json"], pins);
        args.extend(["--key".to_owned(), "auditor.keys".to_owned()]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (code, out, err) = scene.command(&args);
        let report: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        assert_eq!(report["kind"].as_str().unwrap_or_default(), expect, "{out}");
        assert_eq!(code, if expect.is_empty() { 0 } else { 7 }, "{out}");
    };
    let old = ["--pin", "log.note"];
    proof("a.proof", &[], "");
    proof("a.proof", &[&a], "");
    proof("b.proof", &[&b], "");
    proof("a.proof", &[&b], "split_view");
    proof("b.proof", &[&a, &b], "split_view");
    proof("grown.proof", &[&old, &a], "");
    proof("grown.proof", &[&old, &b], "split_view");
    // What is changed in a proof leads nowhere.
    for (name, from, to) in [
        ("a.proof", "\"index\":3", "\"index\":2"),
        ("a.proof", "\\\"entries\\\":6", "\\\"entries\\\":5"),
        ("a.proof", "\"size\":4", "\"size\":5"),
        ("grown.proof", "\"old_size\":3", "\"old_size\":2"),
    ] {
        let text = scene.read(name);
        assert!(text.contains(from), "{text}");
        scene.write("changed.proof", &text.replacen(from, to, 1));
        proof("changed.proof", &[&old, &a], "tampered");
    }
    let (code, _, err) = scene.command(&["log", "check", "heads"]);
    assert_eq!(code, 4, "{err}");
}

/// No check finds it: the holder of the machine and its key can record what did not happen. So no level says otherwise.
#[test]
fn t13_recorder_lies_fail() {
    let scene = Scene::new();
    scene.write(
        "s.jsonl",
        &scene.read("s.jsonl").replace("all is well", "all is lost"),
    );
    scene.run("lie");
    scene.holds(&["verify", "lie", "--key", "auditor.keys"], "L1");
    let document = include_str!("../../../docs/audit/trust.md");
    let (_, unproven) = document.split_once("## What no level proves").unwrap();
    assert!(unproven.contains("- That the recorder was honest."));
    let (_, out, _) = scene.command(&["verify", "lie"]);
    assert!(
        out.contains("a key on the same disk proves nothing against its owner"),
        "{out}"
    );
}

#[test]
fn t14_erased_fail() {
    let scene = Scene::new();
    let blob: String = {
        let store = scene.store();
        let found =
            "SELECT lower(hex(hash)) FROM blobs WHERE instr(CAST(bytes AS TEXT), 'all is well')";
        store.query_row(found, [], |row| row.get(0)).unwrap()
    };
    let erase =
        |more: &[&str]| scene.command(&[&["erase", "r-2", "--blob", &blob[..12]], more].concat());
    let (code, _, err) = erase(&[]);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("not confirmed"), "{err}");
    let (code, _, err) = erase(&["--yes"]);
    assert_eq!(code, 4, "{err}");
    assert!(
        err.contains("runs that use the same bytes: r-1, r-3"),
        "{err}"
    );
    let (code, out, err) = erase(&["--yes", "--all-runs", "--reason", "asked for"]);
    assert_eq!(code, 0, "{out}{err}");
    let erased = |args: &[&str]| {
        let (code, out, _) = scene.command(args);
        assert_eq!(code, 0, "{out}");
        assert!(
            out.contains("1 blob erased by design, signed by local+"),
            "{out}"
        );
    };
    erased(&["verify", "r-2"]);
    scene.holds(&["verify", "r-2", "--key", "auditor.keys"], "L1");
    scene.holds(&["verify", "r-2", "--pin", "heads"], "L2");
    scene.ok(&["log", "verify", "--pin", "log.note"]);
    let replay = scene.ok(&["replay", "r-2", "--json"]);
    let replay: Value = serde_json::from_str(&replay).unwrap();
    assert_eq!(replay["same"], true);
    assert!(
        replay["not_compared"][0]
            .as_str()
            .unwrap()
            .ends_with("the response was erased")
    );
    // A file, and the file in another store, say the same.
    scene.ok(&["export", "r-2", "-o", "erased.jsonl"]);
    erased(&["verify", "erased.jsonl"]);
    let replay = scene.ok(&["replay", "erased.jsonl", "--json"]);
    assert!(replay.contains("the response was erased"), "{replay}");
    let there = ["--store", "there.db"];
    let out = scene.ok(&[&["import", "erased.jsonl"], &there[..]].concat());
    assert!(out.starts_with("imported: run r-2, "), "{out}");
    erased(&[&["verify", "r-2"], &there[..]].concat());
    let again = scene.ok(&[&["export", "r-2"], &there[..]].concat());
    assert_eq!(again, scene.read("erased.jsonl"));
    let list = scene.ok(&[&["list"], &there[..]].concat());
    assert!(list.contains(", imported"), "{list}");
    let out = scene.ok(&[&["import", "erased.jsonl"], &there[..]].concat());
    assert!(out.starts_with("already here: run r-2, "), "{out}");
    // Bytes that are removed without a known key prove nothing.
    scene.ok(&[&["key", "rotate"][..]].concat());
    scene.sql("DELETE FROM tombstones WHERE run = 2");
    scene.finds_at(&["verify", "r-2"], "missing_blob", "entries 2");
    let tomb = scene.read("erased.jsonl");
    let tomb = tomb
        .lines()
        .find(|line| line.starts_with("{\"tombstone\""))
        .unwrap();
    let tomb: Value = serde_json::from_str(tomb).unwrap();
    let (text, _) = tomb["tombstone"]
        .as_str()
        .unwrap()
        .split_once("\n\n")
        .unwrap();
    let thief = SecretKey::from_seed("local", &[66; 32]).unwrap();
    let note = thief.sign_text(&format!("{text}\n")).unwrap().to_string();
    let store = scene.store();
    let insert =
        "INSERT INTO tombstones(run, hash, note) SELECT 2, hash, ?1 FROM tombstones LIMIT 1";
    store.execute(insert, [note]).unwrap();
    scene.holds(&["verify", "r-2"], "L1");
    let notes = scene.notes(&["verify", "r-2"]);
    assert!(
        notes.contains("tombstones: 1 are signed by keys that are not known here"),
        "{notes}"
    );
}

/// Kills at every boundary are in kill.rs; here the log of writes is cut at every page, as a loss of power leaves it.
#[test]
fn t15_killed_mid_append_fail() {
    // A page and its header.
    const FRAME: usize = 1024 + 24;
    let scene = Scene::new();
    let keeper = scene.store();
    keeper.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let runs: i64 = keeper
        .query_row("SELECT count(*) FROM runs", [], |row| row.get(0))
        .unwrap();
    assert_eq!(runs, 3);
    // An older state that is still being read: what follows cannot be taken into the file, and stays in the log of writes.
    keeper
        .execute_batch("BEGIN; SELECT count(*) FROM runs")
        .unwrap();
    scene.run("r-4");
    let wal = std::fs::read(scene.path("home/runs.db-wal")).unwrap();
    let database = std::fs::read(scene.path("home/runs.db")).unwrap();
    assert!(wal.len() > 10 * FRAME, "{}", wal.len());
    let mut lengths = std::collections::BTreeSet::new();
    for cut in (0..wal.len()).step_by(FRAME / 2).chain([wal.len()]) {
        std::fs::write(scene.path("cut.db"), &database).unwrap();
        std::fs::write(scene.path("cut.db-wal"), &wal[..cut]).unwrap();
        drop(std::fs::remove_file(scene.path("cut.db-shm")));
        let path = scene.path("cut.db");
        let mut reader = Store::open(&path, Durability::Full)
            .unwrap()
            .reader()
            .unwrap();
        for row in reader
            .list_runs(9, monolith_host::store::RunFilter::All)
            .unwrap()
        {
            let report = reader.verify_run(&row.run_id, true).unwrap();
            assert_eq!(report.first_bad, None, "cut at {cut}: {}", row.run_id);
            if row.run_id == run_id("r-4") {
                lengths.insert(row.length);
            }
        }
        let log = reader
            .verify_log(&monolith_core::transcript::Trust::default())
            .unwrap();
        assert_eq!(log.first_bad, None, "cut at {cut}");
    }
    assert!(lengths.len() > 2, "{lengths:?}");
}

#[test]
fn t16_two_writers_fail() {
    let scene = Scene::new();
    // The end of r-2 is gone, so that it can be driven on.
    scene.sql("DELETE FROM checkpoints; DELETE FROM log_leaves WHERE run = 2");
    scene.rewrite("r-2", |entries| entries.truncate(2));
    scene.sql("DELETE FROM run_blobs WHERE run = 2");
    scene.holds(&["verify", "r-2", "--open"], "L0");
    let path = scene.path("home/runs.db");
    let store = Store::open(&path, Durability::Full).unwrap();
    let lock = store.lock_run(&run_id("r-2")).unwrap();
    let said = format!("process {} is already driving it", std::process::id());
    let taken = "that run already exists".to_owned();
    let new_run = ["run", "--contract", "c.yaml", "--run-id", "r-2"];
    for (args, expect, words) in [
        (&["resume", "r-2"][..], 1, &said),
        (&new_run[..], 4, &taken),
    ] {
        let (code, out, err) = scene.command(args);
        assert_eq!(code, expect, "{out}{err}");
        assert!(err.contains(words), "{err}");
    }
    let hash = "SELECT lower(hex(hash)) FROM run_blobs WHERE run = 1";
    let hash: String = scene.store().query_row(hash, [], |row| row.get(0)).unwrap();
    for args in [
        &["migrate"][..],
        &["erase", "r-1", "--blob", &hash, "--yes"][..],
    ] {
        let (code, out, err) = scene.command(args);
        // A store of the newest format has nothing to migrate, driven or not.
        let expect = i32::from(args[0] != "migrate");
        assert_eq!(code, expect, "{args:?}: {out}{err}");
    }
    drop(lock);
    drop(store);
    // A second writer that claims no run: its row of the same number is refused by the table, any other by verification.
    let second = "INSERT INTO entries SELECT run, seq, state, event, action, hash FROM entries WHERE run = 1 AND seq = 2";
    let same = scene.store().execute(second, []);
    let code = same.unwrap_err().sqlite_error_code();
    assert_eq!(code, Some(rusqlite::ErrorCode::ConstraintViolation));
    for (at, kind) in [("6", "extended"), ("9", "extended")] {
        scene.sql(&format!(
            "INSERT INTO entries SELECT run, {at}, state, event, action, hash FROM entries WHERE run = 1 AND seq = 2"
        ));
        scene.finds(&["verify", "r-1"], kind);
        scene.sql(&format!("DELETE FROM entries WHERE run = 1 AND seq = {at}"));
    }
    scene.holds(&["verify", "r-1"], "L0");
}
