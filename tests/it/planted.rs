//! Files of another user in a folder: no link is followed, no file emptied and no pipe waited for, against the binary.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fixture::{Fixture, Left, calls, monolith, says};
use crate::loopback::Loopback;

/// The text of a file that no command may change.
const KEPT: &str = "kept";
/// Longer takes no command that refuses.
const LONGEST: Duration = Duration::from_secs(20);

impl Fixture {
    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Returns a command's output on both streams, as one line of words.
    fn words(&self, command: &[&str]) -> (i32, String) {
        let left = self.run(command);
        let said = left.printed();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        (left.code, said)
    }

    #[track_caller]
    fn refused(&self, command: &[&str], expect: &str) {
        let (code, said) = self.words(command);
        assert_ne!(code, 0, "{command:?}: {said}");
        assert!(said.contains(expect), "{command:?}: {said}");
    }

    /// The end of a command that a pipe could keep for ever.
    #[track_caller]
    fn ends_soon(&self, args: &[&str]) -> Left {
        let mut command = self.command(args);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let until = Instant::now() + LONGEST;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("{args:?} waits");
            }
            std::thread::yield_now();
        }
        child.wait_with_output().unwrap().into()
    }
}

fn pipe(fixture: &Fixture, name: &str) {
    let made = Command::new("mkfifo").arg(fixture.path(name)).status();
    assert!(made.unwrap().success());
}

/// A model by its header.
fn model(fixture: &Fixture, name: &str) {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend([0; 80]);
    fs::write(fixture.path(name), bytes).unwrap();
}

#[test]
fn nothing_is_written_to_a_state_folder_that_others_can_write() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.write("victim", KEPT);
    model(&fixture, "m.gguf");
    fs::create_dir(fixture.path("home")).unwrap();
    fs::create_dir(fixture.path("kept")).unwrap();
    for mode in [0o777, 0o1777, 0o775] {
        fixture.mode("home", mode);
        let commands: [&[&str]; 7] = [
            // The store lies elsewhere; keys and accounting do not.
            &["run", "c.yaml", "--store", "kept/runs.db"],
            &["run", "c.yaml", "--store", "kept/runs.db", "--no-sign"],
            &["run", "c.yaml"],
            &["model", "add", "m", "m.gguf"],
            &["key", "generate", "other"],
            &["key", "show"],
            &["demo"],
        ];
        for command in commands {
            fixture.refused(command, &format!("its mode is {mode:04o}"));
            let left: Vec<_> = fs::read_dir(fixture.path("home")).unwrap().collect();
            assert!(left.is_empty(), "{command:?} {left:?}");
        }
    }
    fixture.mode("home", 0o755);
    fixture.ok(&["run", "c.yaml", "--store", "kept/runs.db"]);
}

/// Commands that read a state folder that others can write trust it no more than commands that write there, and the message
/// names the remedy.
#[test]
fn nothing_is_read_from_a_state_folder_that_others_can_write() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.mode("home", 0o777);
    let commands: [&[&str]; 6] = [
        &["list"],
        &["list", "--tree"],
        &["approvals"],
        &["show", "r"],
        &["continue", "r", "more"],
        &["run", "c.yaml"],
    ];
    let way_out = format!("chmod 700 {}", fixture.path("home").display());
    for command in commands {
        fixture.refused(command, "its mode is 0777");
        fixture.refused(command, &way_out);
    }
    fixture.mode("home", 0o700);
    fixture.ok(&["list"]);
    fixture.ok(&["show", "r"]);
}

/// A diagnosis is for folders that are not known yet: it writes nothing to one that others can write, and through no link.
#[test]
fn a_doctor_writes_through_no_link_and_not_where_others_can() {
    for mode in [0o700, 0o777] {
        let fixture = Fixture::new();
        fixture.write("victim", KEPT);
        fs::create_dir(fixture.path("home")).unwrap();
        fixture.mode("home", mode);
        // Its own number is known before it begins.
        let doctor = monolith(&fixture.path(""), &[]);
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg("ln -s ../victim home/.doctor-$$; exec \"$0\" doctor")
            .arg(doctor.get_program())
            .current_dir(fixture.path(""))
            .env("MONOLITH_HOME", fixture.path("home"))
            .stdin(Stdio::null());
        let said = Left::from(shell.output().unwrap()).printed();
        assert_eq!(fixture.read("victim"), KEPT, "{mode:o}: {said}");
        let open = mode & 0o022 != 0;
        let judged = said.contains("home (0777)") || said.contains("its mode is 0777");
        assert_eq!(judged, open, "{said}");
    }
}

#[test]
fn no_file_of_the_state_folder_is_written_through_a_link() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.write("victim", KEPT);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    model(&fixture, "m.gguf");
    let cases: [(&str, &[&str]); 3] = [
        ("home/accounting.jsonl", &["run", "c.yaml"]),
        ("home/models/lock", &["model", "add", "m", "m.gguf"]),
        ("bill", &["run", "c.yaml", "--billing-file", "bill"]),
    ];
    fs::create_dir_all(fixture.path("home/models")).unwrap();
    fixture.mode("home/models", 0o700);
    for (path, command) in cases {
        drop(fs::remove_file(fixture.path(path)));
        symlink(fixture.path("victim"), fixture.path(path)).unwrap();
        let (code, said) = fixture.words(command);
        assert_ne!(code, 0, "{path}: {said}");
        assert_eq!(fixture.read("victim"), KEPT, "{path}: {said}");
        fs::remove_file(fixture.path(path)).unwrap();
        fixture.ok(command);
        fixture.ok(&["model", "list"]);
        drop(fixture.run(&["model", "remove", "m"]));
    }
    // A note replaces the existing file, whatever that is.
    symlink(fixture.path("victim"), fixture.path("home/models/m.note")).unwrap();
    symlink(
        fixture.path("victim"),
        fixture.path("home/models/m.json.new"),
    )
    .unwrap();
    fixture.ok(&["model", "add", "m", "m.gguf"]);
    assert_eq!(fixture.read("victim"), KEPT);
}

/// The files beside a store are beside what a link leads to, and so are its locks and answers: one store has one set of them.
#[test]
fn a_store_behind_a_link_is_judged_and_opened_where_it_is() {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [read_file]}\n",
        &[
            &calls(
                "read_file",
                &json!({"path": "real/runs.db-wal"}).to_string(),
            ),
            &says("done"),
        ],
    );
    let through = ["run", "c.yaml", "--store", "link.db"];
    fs::create_dir(fixture.path("real")).unwrap();
    fixture.ok(&["run", "c.yaml", "--store", "real/runs.db", "--run-id", "r"]);
    symlink("real/runs.db", fixture.path("link.db")).unwrap();
    for ending in ["-wal", "-journal"] {
        let beside = format!("real/runs.db{ending}");
        for command in [&through[..], &["migrate", "--store", "link.db"]] {
            drop(fs::remove_file(fixture.path(&beside)));
            fixture.write(&beside, "");
            fixture.mode(&beside, 0o666);
            fixture.refused(command, "its mode is 0666");
        }
        fs::remove_file(fixture.path(&beside)).unwrap();
    }
    let (code, result) = fixture.json(&through);
    assert_eq!(code, 0, "{result}");
    let observed = result["conversation"].to_string();
    assert!(
        observed.contains("no tool reads"),
        "the log of writes is withheld: {observed}"
    );
    for beside in ["link.db.locks", "link.db.answers", "link.db-wal"] {
        assert!(!fixture.path(beside).exists(), "{beside}");
    }
    fixture.ok(&["show", "r", "--store", "link.db"]);
    // Each folder on the way can lead elsewhere.
    fs::create_dir(fixture.path("open")).unwrap();
    symlink("../real/runs.db", fixture.path("open/next.db")).unwrap();
    symlink("open/next.db", fixture.path("first.db")).unwrap();
    fixture.mode("open", 0o777);
    fixture.refused(
        &["run", "c.yaml", "--store", "first.db"],
        "its mode is 0777",
    );
    // A link that leads nowhere names no new store.
    symlink("real/none.db", fixture.path("nowhere.db")).unwrap();
    fixture.refused(&["run", "c.yaml", "--store", "nowhere.db"], "nowhere.db");
    assert!(!fixture.path("real/none.db").exists());
}

/// Under a second name a store would have other locks and another log of writes, and what one writer has recorded is lost to the other.
#[test]
fn a_store_with_a_second_name_is_not_written() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fs::create_dir(fixture.path("kept")).unwrap();
    let kept = ["run", "c.yaml", "--store", "kept/runs.db"];
    fixture.ok(&[&kept[..], &["--run-id", "r"]].concat());
    fs::hard_link(fixture.path("kept/runs.db"), fixture.path("kept/other.db")).unwrap();
    for store in ["kept/runs.db", "kept/other.db"] {
        for command in [
            &["run", "c.yaml"][..],
            &["migrate"],
            &["delete", "r", "--yes"],
        ] {
            let command = [command, &["--store", store]].concat();
            fixture.refused(&command, "the file has 2 names (hard links)");
        }
        fixture.ok(&["show", "r", "--store", store]);
    }
    fs::remove_file(fixture.path("kept/other.db")).unwrap();
    fixture.ok(&kept);
}

/// Another SQLite program was cut off at the store. Its journal is not played back, and that program can take it in itself.
#[test]
fn no_command_rolls_back_a_journal() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fs::create_dir(fixture.path("kept")).unwrap();
    let kept = ["run", "c.yaml", "--store", "kept/runs.db", "--run-id", "r"];
    fixture.ok(&kept);
    let cut_off = "import os, sqlite3\n\
        c = sqlite3.connect('kept/runs.db', isolation_level=None)\n\
        c.execute('PRAGMA journal_mode=DELETE')\n\
        c.execute('PRAGMA cache_size=1')\n\
        c.execute('BEGIN')\n\
        c.execute('CREATE TABLE x (y)')\n\
        c.executemany('INSERT INTO x VALUES (?)', [('z' * 900,)] * 900)\n\
        os._exit(0)\n";
    let mut python = Command::new("python3");
    python.args(["-c", cut_off]).current_dir(fixture.path(""));
    if !python.status().is_ok_and(|status| status.success()) {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let journal = fixture.path("kept/runs.db-journal");
    let before = fs::read(&journal).unwrap();
    assert!(!before.is_empty());
    let show = ["show", "r", "--store", "kept/runs.db"];
    fixture.mode("kept/runs.db-journal", 0o666);
    fixture.refused(&show, "its mode is 0666");
    fixture.mode("kept/runs.db-journal", 0o600);
    for command in [&show[..], &kept, &["migrate", "--store", "kept/runs.db"]] {
        fixture.refused(command, "is a rollback journal");
        assert_eq!(fs::read(&journal).unwrap(), before);
    }
    let read =
        "import sqlite3; sqlite3.connect('kept/runs.db').execute('SELECT * FROM runs').fetchall()";
    let mut python = Command::new("python3");
    python.args(["-c", read]).current_dir(fixture.path(""));
    assert!(python.status().unwrap().success());
    fixture.ok(&show);
}

#[test]
fn a_doctor_looks_at_the_accounting_where_it_is_and_counts_every_file() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fs::create_dir(fixture.path("kept")).unwrap();
    fixture.ok(&["run", "c.yaml", "--store", "kept/runs.db"]);
    let doctor = ["doctor", "--store", "kept/runs.db"];
    let (_, said) = fixture.words(&doctor);
    assert!(said.contains("owner's alone"), "{said}");
    fixture.mode("home/accounting.jsonl", 0o640);
    let (_, said) = fixture.words(&doctor);
    assert!(said.contains("accounting.jsonl (0640)"), "{said}");
    fixture.mode("home/accounting.jsonl", 0o600);
    for n in 0..10_100 {
        let path = format!("kept/runs.db.locks/left-{n}");
        fs::write(fixture.path(&path), "").unwrap();
        fixture.mode(&path, 0o604);
    }
    let (_, said) = fixture.words(&doctor);
    assert!(said.contains("and 10,095 more"), "{said}");
}

/// A file named on the command line may be a pipe without a writer.
#[test]
fn no_named_file_is_waited_for() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    pipe(&fixture, "pipe");
    let commands: [&[&str]; 11] = [
        &["verify", "r", "--key", "./pipe"],
        &["verify", "r", "--pin", "./pipe"],
        &["verify", "r", "--witness", "./pipe"],
        &["verify", "r", "--write-pin", "./pipe"],
        &["log", "check", "./pipe"],
        &["log", "verify", "--pin", "./pipe"],
        &["contract", "check", "./pipe"],
        &["corpus", "adapters", "./pipe"],
        &["list", "--store", "./pipe"],
        &["migrate", "--store", "./pipe"],
        &["model", "add", "m", "./pipe"],
    ];
    for command in commands {
        let left = fixture.ends_soon(command);
        assert_ne!(left.code, 0, "{command:?}: {}", left.printed());
        assert!(
            left.printed().contains("pipe"),
            "{command:?}: {}",
            left.printed()
        );
    }
}

/// A rename would replace a device with a file, for every other process too.
#[test]
fn an_export_replaces_no_pipe_and_no_device() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    pipe(&fixture, "pipe");
    let socket = std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
    symlink("pipe", fixture.path("link")).unwrap();
    for (name, what) in [
        ("pipe", "a pipe"),
        ("link", "a pipe"),
        ("socket", "a socket"),
        ("home", "a folder"),
    ] {
        let export = ["export", "r", "--output", name, "--force"];
        fixture.refused(&export, &format!("it is {what}, not a file"));
        assert!(!fixture.path(name).metadata().unwrap().is_file());
    }
    drop(socket);
    fixture.write("old", "old");
    fixture.ok(&["export", "r", "--output", "old", "--force"]);
}

/// The name is all that `init --force` replaces: a link goes, and not its target; an existing path that is no file stays.
#[tokio::test(flavor = "multi_thread")]
async fn an_init_writes_through_no_link_and_waits_for_no_pipe() {
    let fixture = Fixture::new();
    fixture.write("victim", KEPT);
    pipe(&fixture, "pipe.yaml");
    symlink("pipe.yaml", fixture.path("to_pipe.yaml")).unwrap();
    symlink("victim", fixture.path("link.yaml")).unwrap();
    symlink("nothing", fixture.path("nowhere.yaml")).unwrap();
    fs::hard_link(fixture.path("victim"), fixture.path("linked.yaml")).unwrap();
    let server = Loopback::serving(Vec::new()).await;
    let address = server.address_of(0);
    let init = |name| {
        let address = ["init", "--base-url", &address];
        let model = ["--model", "m", "--force", name];
        fixture.ends_soon(&[&address[..], &model].concat())
    };
    for name in ["pipe.yaml", "to_pipe.yaml"] {
        let left = init(name);
        assert_ne!(left.code, 0, "{}", left.printed());
        assert!(
            left.printed().contains("a pipe, not a file"),
            "{}",
            left.printed()
        );
        assert!(!fixture.path(name).metadata().unwrap().is_file());
    }
    for name in ["link.yaml", "nowhere.yaml", "linked.yaml", "new.yaml"] {
        let left = init(name);
        assert_eq!(left.code, 0, "{name}: {}", left.printed());
        assert_eq!(fixture.read("victim"), KEPT, "{name}");
        let made = fixture.path(name).symlink_metadata().unwrap();
        assert!(made.is_file(), "{name}");
        assert_eq!(made.permissions().mode() & 0o022, 0, "{name}");
        assert!(fixture.read(name).contains("targets:"), "{name}");
    }
    assert!(!fixture.path("nothing").exists());
    let left: Vec<_> = fs::read_dir(fixture.path("")).unwrap().collect();
    assert_eq!(left.len(), 8, "nothing is left over: {left:?}");
}

/// A file of the kernel is a regular one by its kind, and keeps its reader waiting.
#[cfg(target_os = "linux")]
#[test]
fn a_file_of_the_kernel_is_not_read() {
    const KERNEL: &str = "/proc/kmsg";
    if fs::metadata(KERNEL).is_err() {
        println!("skipped 7 cases: there is no {KERNEL}");
        return;
    }
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let commands: [&[&str]; 8] = [
        &["run", "c.yaml", "--config", KERNEL],
        &["run", "--contract", KERNEL],
        &["run", "c.yaml", "--store", KERNEL],
        &["list", "--store", KERNEL],
        &["migrate", "--store", KERNEL],
        &["verify", KERNEL],
        &["verify", "r", "--pin", KERNEL],
        &["model", "add", "m", KERNEL],
    ];
    for command in commands {
        let left = fixture.ends_soon(command);
        assert_ne!(left.code, 0, "{command:?}: {}", left.printed());
        let is_root = rustix::process::geteuid().is_root();
        let expect = if is_root {
            "file of the kernel"
        } else {
            KERNEL
        };
        assert!(
            left.printed().contains(expect),
            "{command:?}: {}",
            left.printed()
        );
    }
}
