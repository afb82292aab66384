//! What the machine below does to a store: it is full, may not be written, or somebody else holds it. Every run ends in a fault with
//! a name, and no entry is there by half.

use std::path::{Path, PathBuf};
use std::process::Command as System;

use assert_cmd::Command;
use monolith::store::{RunFilter, StoreReader};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

/// A folder with a contract, and a store somewhere.
struct Scene {
    folder: TempDir,
    store: PathBuf,
}

/// A small file system in memory, gone with the scene.
struct Tmpfs(PathBuf);

impl Tmpfs {
    /// None where this machine does not let us mount one.
    fn mount(path: &Path, options: &str) -> Option<Self> {
        let mount = System::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(path)
            .output();
        let mounted = mount.is_ok_and(|output| output.status.success());
        mounted.then(|| Self(path.to_owned()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        drop(System::new("umount").arg(&self.0).output());
    }
}

impl Scene {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let contract = "task: hi\ntargets: [{provider: demo, model: script}]\n\
                        providers: {demo: {type: scripted, file: s.jsonl}}\n";
        std::fs::write(folder.path().join("c.yaml"), contract).unwrap();
        let message = json!({"role": "assistant", "content": "all is well. ".repeat(1000)});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        let script = json!({"response": {"choices": [choice]}}).to_string();
        std::fs::write(folder.path().join("s.jsonl"), script).unwrap();
        std::fs::create_dir(folder.path().join("disk")).unwrap();
        let store = folder.path().join("disk/runs.db");
        Self { folder, store }
    }

    fn disk(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn command(&self, args: &[&str]) -> (i32, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_monolith"))
            .args(args)
            .arg("--store")
            .arg(&self.store)
            .current_dir(self.folder.path())
            .env("MONOLITH_HOME", self.folder.path().join("home"))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), said)
    }

    fn run(&self, run: &str) -> (i32, String) {
        self.command(&["run", "--contract", "c.yaml", "--run-id", run])
    }

    /// Every run that is there holds, as far as it has come.
    #[track_caller]
    fn whole(&self) -> usize {
        let mut reader = StoreReader::open(&self.store).unwrap();
        let rows = reader.list_runs(10_000, RunFilter::All).unwrap();
        for row in &rows {
            let report = reader.verify_run(&row.run_id, true).unwrap();
            assert_eq!(report.first_bad, None, "{}", row.run_id);
        }
        rows.len()
    }
}

#[test]
fn a_full_disk_ends_the_run_by_name_and_leaves_no_half_entry() {
    let scene = Scene::new();
    let Some(_disk) = Tmpfs::mount(&scene.disk(), "size=400k") else {
        println!("skipped 1 case: no tmpfs can be mounted here");
        return;
    };
    let ended = (0..200).find_map(|number| {
        let (code, said) = scene.run(&format!("r-{number}"));
        (code != 0).then_some((code, said))
    });
    let (code, said) = ended.expect("400 KiB are full at some time");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("the disk is full"), "{said}");
    assert!(scene.whole() > 0);
    // Nor is there room for the copy of a migration: the store stays as it is.
    let conn = Connection::open(&scene.store).unwrap();
    let version = |conn: &Connection| -> i32 {
        conn.query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(version(&conn), 2);
}

#[test]
fn a_store_that_may_not_be_written_is_named_and_can_be_read() {
    let scene = Scene::new();
    let Some(disk) = Tmpfs::mount(&scene.disk(), "size=4m") else {
        println!("skipped 1 case: no tmpfs can be mounted here");
        return;
    };
    assert_eq!(scene.run("r-1").0, 0);
    let remount = System::new("mount")
        .args(["-o", "remount,ro"])
        .arg(&disk.0)
        .output()
        .unwrap();
    assert!(remount.status.success());
    let (code, said) = scene.run("r-2");
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("read-only") || said.contains("unable to open"),
        "{said}"
    );
    for args in [
        &["erase", "r-1", "--blob", "00", "--yes"][..],
        &["import", "nothing.jsonl"][..],
    ] {
        let (code, said) = scene.command(args);
        assert_ne!(code, 0, "{args:?}: {said}");
    }
}

#[test]
fn a_store_that_another_process_writes_is_named_and_loses_nothing() {
    let scene = Scene::new();
    assert_eq!(scene.run("r-1").0, 0);
    let lock = Connection::open(&scene.store).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (code, said) = scene.run("r-2");
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("another process holds its write lock"),
        "{said}"
    );
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(scene.whole(), 1);
    assert_eq!(scene.run("r-2").0, 0);
    assert_eq!(scene.whole(), 2);
}

#[test]
fn two_processes_that_begin_one_run_make_one() {
    let scene = Scene::new();
    let ends: Vec<i32> = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..4).map(|_| scope.spawn(|| scene.run("r-1").0)).collect();
        begun.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(
        ends.iter().filter(|code| **code == 0).count(),
        1,
        "{ends:?}"
    );
    assert!(ends.iter().all(|code| [0, 1, 4].contains(code)), "{ends:?}");
    assert_eq!(scene.whole(), 1);
}
