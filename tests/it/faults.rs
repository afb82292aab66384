//! Faults of the machine below a store: it is full, may not be written, or somebody else holds it. Every run ends in a named
//! fault, and no entry is half written.

use std::path::{Path, PathBuf};
use std::process::Command;

use monolith_host::store::{RunFilter, StoreReader};
use rusqlite::Connection;

use crate::fixture::{Fixture, Left, says};
use crate::golden::file_of;

/// A folder with a contract, and a store somewhere.
struct Scene {
    fixture: Fixture,
    store: PathBuf,
}

/// A small file system in memory, gone with the scene.
struct Tmpfs(PathBuf);

impl Tmpfs {
    /// `None` if this machine does not let us mount one.
    fn mount(path: &Path, options: &str) -> Option<Self> {
        let mount = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("mode=0755,{options}"),
                "tmpfs",
            ])
            .arg(path)
            .output();
        let mounted = mount.is_ok_and(|output| output.status.success());
        mounted.then(|| Self(path.to_owned()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).output());
    }
}

impl Scene {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.script("", &[&says(&"all is well. ".repeat(1000))]);
        std::fs::create_dir(fixture.path("disk")).unwrap();
        let store = fixture.path("disk/runs.db");
        Self { fixture, store }
    }

    fn disk(&self) -> PathBuf {
        self.fixture.path("disk")
    }

    fn command(&self, args: &[&str]) -> (i32, String) {
        let left = Left::from(self.process(args).output().unwrap());
        (left.code, left.err)
    }

    fn process(&self, args: &[&str]) -> Command {
        let mut command = self.fixture.command(args);
        command.arg("--store").arg(&self.store);
        command
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
    // The number of the format is whole, too.
    let conn = Connection::open(&scene.store).unwrap();
    let version = |conn: &Connection| -> i32 {
        conn.query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(version(&conn), monolith_host::store::STORE_FORMAT);
}

#[test]
fn a_store_that_may_not_be_written_is_named_and_can_be_read() {
    let scene = Scene::new();
    let Some(disk) = Tmpfs::mount(&scene.disk(), "size=4m") else {
        println!("skipped 1 case: no tmpfs can be mounted here");
        return;
    };
    assert_eq!(scene.run("r-1").0, 0);
    let remount = Command::new("mount")
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
    // It has ended, and its result is read.
    assert_eq!(scene.command(&["resume", "r-1"]).0, 0);
    let remount = |options: &str| {
        let mut mount = Command::new("mount");
        mount
            .args(["-o", &format!("remount,{options}")])
            .arg(&disk.0);
        assert!(mount.status().unwrap().success());
    };
    let beside = ["db-wal", "db-shm"].map(|ending| scene.store.with_extension(ending));
    // As its process left it, and without the `-wal` and `-shm` files: none can be made, and none is needed.
    for _ in 0..2 {
        for args in READS {
            let (code, said) = scene.command(args);
            assert_eq!(code, 0, "{args:?}: {said}");
        }
        remount("rw");
        for file in &beside {
            drop(std::fs::remove_file(file));
        }
        remount("ro");
    }
    // Writes that are not in the file yet cannot be taken in from here, and leaving them out would be wrong.
    remount("rw");
    std::fs::write(&beside[0], [7; 4096]).unwrap();
    remount("ro");
    for args in READS {
        let (code, said) = scene.command(args);
        assert_eq!(code, 1, "{args:?}: {said}");
        assert!(said.contains("a write was interrupted"), "{said}");
        assert!(said.contains("runs.db-wal"), "{said}");
        assert!(said.contains("= help: "), "{said}");
    }
}

const READS: [&[&str]; 6] = [
    &["list"],
    &["show", "r-1"],
    &["verify", "last"],
    &["replay", "r-1"],
    &["export", "r-1"],
    &["log", "verify"],
];

/// The binary as a user who may read everything here and write nothing; `None` if that cannot be arranged.
#[cfg(unix)]
fn as_a_reader(scene: &Scene, args: &[&str]) -> Option<(i32, String)> {
    use std::os::unix::fs::PermissionsExt as _;
    let set = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&scene.fixture.path(""), 0o755);
    // The owner lets others read it: it is made for the owner alone.
    set(&scene.store, 0o644);
    set(&scene.disk(), 0o555);
    // Permission bits do not bind the superuser, who can become somebody else.
    let bound = std::fs::write(scene.disk().join("probe"), "").is_err();
    let mut command = if bound {
        Command::new(env!("CARGO_BIN_EXE_monolith"))
    } else {
        drop(std::fs::remove_file(scene.disk().join("probe")));
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        let probe = other
            .arg("test")
            .arg("-x")
            .arg(env!("CARGO_BIN_EXE_monolith"))
            .status();
        if !probe.is_ok_and(|status| status.success()) {
            println!("skipped 1 case: nobody else can run the binary here");
            return None;
        }
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        other.arg(env!("CARGO_BIN_EXE_monolith"));
        other
    };
    let output = command
        .args(args)
        .arg("--store")
        .arg(&scene.store)
        .current_dir(scene.fixture.path(""))
        .env("MONOLITH_HOME", scene.fixture.path("nobody"))
        .output()
        .unwrap();
    set(&scene.disk(), 0o755);
    let said = String::from_utf8(output.stderr).unwrap();
    Some((output.status.code().unwrap(), said))
}

#[cfg(unix)]
#[test]
fn a_store_in_a_folder_that_may_not_be_written_is_read() {
    let scene = Scene::new();
    assert_eq!(scene.run("r-1").0, 0);
    let files = || {
        let found = std::fs::read_dir(scene.disk()).unwrap();
        let mut names: Vec<_> = found.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = files();
    // Nothing is left outside the file by a process that has ended, so that it can be copied and mounted anywhere.
    let wal = std::fs::metadata(scene.store.with_extension("db-wal"));
    assert!(wal.is_err() || wal.is_ok_and(|wal| wal.len() == 0));
    for args in READS {
        let Some((code, said)) = as_a_reader(&scene, args) else {
            return;
        };
        assert_eq!(code, 0, "{args:?}: {said}");
    }
    assert!(!scene.fixture.path("nobody").exists());
    assert_eq!(files(), before);
    // The same without the files that a process leaves empty: none may be needed.
    for ending in ["db-wal", "db-shm"] {
        drop(std::fs::remove_file(scene.store.with_extension(ending)));
    }
    for args in READS {
        let read = as_a_reader(&scene, args);
        assert!(
            read.as_ref().is_some_and(|(code, _)| *code == 0),
            "{args:?}: {read:?}"
        );
    }
}

#[test]
fn whoever_only_reads_makes_nothing() {
    let scene = Scene::new();
    let commands: [&[&str]; 13] = [
        &["list"],
        &["show", "last"],
        &["show", "last", "--tree"],
        &["verify", "last"],
        &["replay", "last"],
        &["replay", "last", "--fork-at", "1"],
        &["export", "last"],
        &["erase", "last", "--blob", "00", "--yes"],
        &["resume", "last"],
        &["log", "root"],
        &["log", "verify"],
        &["migrate"],
        &["migrate", "--list"],
    ];
    for args in commands {
        for store in [None, Some("none.db")] {
            let mut command = scene.fixture.command(args);
            if let Some(store) = store {
                command.args(["--store", store]);
            }
            let home = scene.fixture.path("home");
            command.output().unwrap();
            assert!(!home.exists(), "{args:?}");
            assert!(!scene.fixture.path("none.db").exists(), "{args:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_transcript_is_imported_from_a_pipe_and_leaves_no_copy() {
    use std::io::Write as _;
    use std::process::Stdio;
    let scene = Scene::new();
    let golden = std::fs::read(file_of("core.valid_call")).unwrap();
    let import = |bytes: &[u8], name: &str| {
        let mut child = scene
            .process(&["import", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Who is refused early does not read to the end.
        drop(child.stdin.take().unwrap().write_all(bytes));
        let left = Left::from(child.wait_with_output().unwrap());
        (left.code, left.printed())
    };
    let (code, said) = import(&golden[..golden.len() / 2], "/dev/stdin");
    assert_eq!(code, 7, "{said}");
    let (code, said) = import(b"hello", "-");
    assert_eq!(code, 4, "{said}");
    assert!(
        said.contains("it does not begin as a transcript does"),
        "{said}"
    );
    let (code, said) = import(&golden, "/dev/stdin");
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("imported: run "), "{said}");
    let (code, said) = import(&golden, "-");
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("already here: run "), "{said}");
    let left = std::fs::read_dir(scene.disk()).unwrap();
    let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["runs.db"], "no copy is left");
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
