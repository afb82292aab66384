//! What another user has laid in a folder: it is neither followed nor emptied nor waited for, against the binary.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::desk::{Desk, Left, calls, monolith, says};
use crate::loopback::Loopback;

/// What a file says that no command may change.
const KEPT: &str = "kept";
/// Longer takes no command that refuses.
const LONGEST: Duration = Duration::from_secs(20);

impl Desk {
    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// What a command said on both streams, as one line of words.
    fn words(&self, command: &[&str]) -> (i32, String) {
        let left = self.run(command);
        let said = left.said();
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

fn pipe(desk: &Desk, name: &str) {
    let made = Command::new("mkfifo").arg(desk.path(name)).status();
    assert!(made.unwrap().success());
}

/// A model by its header.
fn model(desk: &Desk, name: &str) {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend([0; 80]);
    fs::write(desk.path(name), bytes).unwrap();
}

#[test]
fn nothing_is_written_to_a_state_folder_that_others_can_write() {
    let desk = Desk::new();
    desk.script("tool_policy: optional\n", &[&says("done")]);
    desk.write("victim", KEPT);
    model(&desk, "m.gguf");
    fs::create_dir(desk.path("home")).unwrap();
    fs::create_dir(desk.path("kept")).unwrap();
    for mode in [0o777, 0o1777, 0o775] {
        desk.mode("home", mode);
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
            desk.refused(command, &format!("its mode is {mode:04o}"));
            let left: Vec<_> = fs::read_dir(desk.path("home")).unwrap().collect();
            assert!(left.is_empty(), "{command:?} {left:?}");
        }
    }
    desk.mode("home", 0o755);
    desk.ok(&["run", "c.yaml", "--store", "kept/runs.db"]);
}

/// A diagnosis is for folders that are not known yet: it writes nothing to one that others can write, and through no link.
#[test]
fn a_doctor_writes_through_no_link_and_not_where_others_can() {
    for mode in [0o700, 0o777] {
        let desk = Desk::new();
        desk.write("victim", KEPT);
        fs::create_dir(desk.path("home")).unwrap();
        desk.mode("home", mode);
        // Its own number is known before it begins.
        let doctor = monolith(&desk.path(""), &[]);
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg("ln -s ../victim home/.doctor-$$; exec \"$0\" doctor")
            .arg(doctor.get_program())
            .current_dir(desk.path(""))
            .env("MONOLITH_HOME", desk.path("home"))
            .stdin(Stdio::null());
        let said = Left::from(shell.output().unwrap()).said();
        assert_eq!(desk.read("victim"), KEPT, "{mode:o}: {said}");
        let open = mode & 0o022 != 0;
        let judged = said.contains("home (0777)") || said.contains("its mode is 0777");
        assert_eq!(judged, open, "{said}");
    }
}

#[test]
fn no_file_of_the_state_folder_is_written_through_a_link() {
    let desk = Desk::new();
    desk.script("tool_policy: optional\n", &[&says("done")]);
    desk.write("victim", KEPT);
    desk.ok(&["run", "c.yaml", "--run-id", "r"]);
    model(&desk, "m.gguf");
    let cases: [(&str, &[&str]); 3] = [
        ("home/accounting.jsonl", &["run", "c.yaml"]),
        ("home/models/lock", &["model", "add", "m", "m.gguf"]),
        ("bill", &["run", "c.yaml", "--billing-file", "bill"]),
    ];
    fs::create_dir_all(desk.path("home/models")).unwrap();
    desk.mode("home/models", 0o700);
    for (path, command) in cases {
        drop(fs::remove_file(desk.path(path)));
        symlink(desk.path("victim"), desk.path(path)).unwrap();
        let (code, said) = desk.words(command);
        assert_ne!(code, 0, "{path}: {said}");
        assert_eq!(desk.read("victim"), KEPT, "{path}: {said}");
        fs::remove_file(desk.path(path)).unwrap();
        desk.ok(command);
        desk.ok(&["model", "list"]);
        drop(desk.run(&["model", "remove", "m"]));
    }
    // A note is put in the place of what is there, whatever that is.
    symlink(desk.path("victim"), desk.path("home/models/m.note")).unwrap();
    symlink(desk.path("victim"), desk.path("home/models/m.json.new")).unwrap();
    desk.ok(&["model", "add", "m", "m.gguf"]);
    assert_eq!(desk.read("victim"), KEPT);
}

/// The files beside a store are beside what a link leads to, and so are its locks and answers: one store has one set of them.
#[test]
fn a_store_behind_a_link_is_judged_and_opened_where_it_is() {
    let desk = Desk::new();
    desk.script(
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
    fs::create_dir(desk.path("real")).unwrap();
    desk.ok(&["run", "c.yaml", "--store", "real/runs.db", "--run-id", "r"]);
    symlink("real/runs.db", desk.path("link.db")).unwrap();
    for ending in ["-wal", "-journal"] {
        let beside = format!("real/runs.db{ending}");
        for command in [&through[..], &["migrate", "--store", "link.db"]] {
            drop(fs::remove_file(desk.path(&beside)));
            desk.write(&beside, "");
            desk.mode(&beside, 0o666);
            desk.refused(command, "its mode is 0666");
        }
        fs::remove_file(desk.path(&beside)).unwrap();
    }
    let (code, result) = desk.json(&through);
    assert_eq!(code, 0, "{result}");
    let observed = result["conversation"].to_string();
    assert!(
        observed.contains("no tool reads"),
        "the log of writes is withheld: {observed}"
    );
    for beside in ["link.db.locks", "link.db.answers", "link.db-wal"] {
        assert!(!desk.path(beside).exists(), "{beside}");
    }
    desk.ok(&["show", "r", "--store", "link.db"]);
    // Each folder on the way can lead elsewhere.
    fs::create_dir(desk.path("open")).unwrap();
    symlink("../real/runs.db", desk.path("open/next.db")).unwrap();
    symlink("open/next.db", desk.path("first.db")).unwrap();
    desk.mode("open", 0o777);
    desk.refused(
        &["run", "c.yaml", "--store", "first.db"],
        "its mode is 0777",
    );
    // A link that leads nowhere names no new store.
    symlink("real/none.db", desk.path("nowhere.db")).unwrap();
    desk.refused(&["run", "c.yaml", "--store", "nowhere.db"], "nowhere.db");
    assert!(!desk.path("real/none.db").exists());
}

/// Under a second name a store would have other locks and another log of writes, and what one writer has recorded is lost to the other.
#[test]
fn a_store_with_a_second_name_is_not_written() {
    let desk = Desk::new();
    desk.script("tool_policy: optional\n", &[&says("done")]);
    fs::create_dir(desk.path("kept")).unwrap();
    let kept = ["run", "c.yaml", "--store", "kept/runs.db"];
    desk.ok(&[&kept[..], &["--run-id", "r"]].concat());
    fs::hard_link(desk.path("kept/runs.db"), desk.path("kept/other.db")).unwrap();
    for store in ["kept/runs.db", "kept/other.db"] {
        for command in [
            &["run", "c.yaml"][..],
            &["migrate"],
            &["delete", "r", "--yes"],
        ] {
            let command = [command, &["--store", store]].concat();
            desk.refused(&command, "the file has 2 names (hard links)");
        }
        desk.ok(&["show", "r", "--store", store]);
    }
    fs::remove_file(desk.path("kept/other.db")).unwrap();
    desk.ok(&kept);
}

/// A reader rolls a write back that was cut off. What the file beside the store says is done then, so it must be our own.
#[test]
fn no_reader_rolls_back_what_others_could_have_written() {
    let desk = Desk::new();
    desk.script("tool_policy: optional\n", &[&says("done")]);
    fs::create_dir(desk.path("kept")).unwrap();
    let kept = ["run", "c.yaml", "--store", "kept/runs.db", "--run-id", "r"];
    desk.ok(&kept);
    let cut_off = "import os, sqlite3\n\
        c = sqlite3.connect('kept/runs.db', isolation_level=None)\n\
        c.execute('PRAGMA journal_mode=DELETE')\n\
        c.execute('PRAGMA cache_size=1')\n\
        c.execute('BEGIN')\n\
        c.execute('CREATE TABLE x (y)')\n\
        c.executemany('INSERT INTO x VALUES (?)', [('z' * 900,)] * 900)\n\
        os._exit(0)\n";
    let mut python = Command::new("python3");
    python.args(["-c", cut_off]).current_dir(desk.path(""));
    if !python.status().is_ok_and(|status| status.success()) {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let journal = desk.path("kept/runs.db-journal");
    let before = fs::read(&journal).unwrap();
    assert!(!before.is_empty());
    let show = ["show", "r", "--store", "kept/runs.db"];
    for (path, open, closed) in [
        ("kept", 0o777, 0o755),
        ("kept/runs.db-journal", 0o666, 0o600),
    ] {
        desk.mode(path, open);
        desk.refused(&show, &format!("its mode is {open:04o}"));
        assert_eq!(fs::read(&journal).unwrap(), before);
        desk.mode(path, closed);
    }
    desk.ok(&show);
}

#[test]
fn a_doctor_looks_at_the_accounting_where_it_is_and_counts_every_file() {
    let desk = Desk::new();
    desk.script("tool_policy: optional\n", &[&says("done")]);
    fs::create_dir(desk.path("kept")).unwrap();
    desk.ok(&["run", "c.yaml", "--store", "kept/runs.db"]);
    let doctor = ["doctor", "--store", "kept/runs.db"];
    let (_, said) = desk.words(&doctor);
    assert!(said.contains("owner's alone"), "{said}");
    desk.mode("home/accounting.jsonl", 0o640);
    let (_, said) = desk.words(&doctor);
    assert!(said.contains("accounting.jsonl (0640)"), "{said}");
    desk.mode("home/accounting.jsonl", 0o600);
    for n in 0..10_100 {
        let path = format!("kept/runs.db.locks/left-{n}");
        fs::write(desk.path(&path), "").unwrap();
        desk.mode(&path, 0o604);
    }
    let (_, said) = desk.words(&doctor);
    assert!(said.contains("and 10,095 more"), "{said}");
}

/// What is named on the command line may be a pipe without a writer.
#[test]
fn no_named_file_is_waited_for() {
    let desk = Desk::new();
    desk.script("tool_policy: optional\n", &[&says("done")]);
    desk.ok(&["run", "c.yaml", "--run-id", "r"]);
    pipe(&desk, "pipe");
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
        let left = desk.ends_soon(command);
        assert_ne!(left.code, 0, "{command:?}: {}", left.said());
        assert!(left.said().contains("pipe"), "{command:?}: {}", left.said());
    }
}

/// A rename would put a file in the place of a device, for every other process too.
#[test]
fn an_export_replaces_no_pipe_and_no_device() {
    let desk = Desk::new();
    desk.script("tool_policy: optional\n", &[&says("done")]);
    desk.ok(&["run", "c.yaml", "--run-id", "r"]);
    pipe(&desk, "pipe");
    let socket = std::os::unix::net::UnixListener::bind(desk.path("socket")).unwrap();
    symlink("pipe", desk.path("link")).unwrap();
    for (name, what) in [
        ("pipe", "a pipe"),
        ("link", "a pipe"),
        ("socket", "a socket"),
        ("home", "a folder"),
    ] {
        let export = ["export", "r", "--output", name, "--force"];
        desk.refused(&export, &format!("it is {what}, not a file"));
        assert!(!desk.path(name).metadata().unwrap().is_file());
    }
    drop(socket);
    desk.write("old", "old");
    desk.ok(&["export", "r", "--output", "old", "--force"]);
}

/// What `init --force` replaces is the name: a link goes, and not what it leads to; what is no file stays.
#[tokio::test(flavor = "multi_thread")]
async fn an_init_writes_through_no_link_and_waits_for_no_pipe() {
    let desk = Desk::new();
    desk.write("victim", KEPT);
    pipe(&desk, "pipe.yaml");
    symlink("pipe.yaml", desk.path("to_pipe.yaml")).unwrap();
    symlink("victim", desk.path("link.yaml")).unwrap();
    symlink("nothing", desk.path("nowhere.yaml")).unwrap();
    fs::hard_link(desk.path("victim"), desk.path("linked.yaml")).unwrap();
    let server = Loopback::serving(Vec::new()).await;
    let address = server.address_of(0);
    let init = |name| {
        let address = ["init", "--base-url", &address];
        let model = ["--model", "m", "--force", name];
        desk.ends_soon(&[&address[..], &model].concat())
    };
    for name in ["pipe.yaml", "to_pipe.yaml"] {
        let left = init(name);
        assert_ne!(left.code, 0, "{}", left.said());
        assert!(
            left.said().contains("a pipe, not a file"),
            "{}",
            left.said()
        );
        assert!(!desk.path(name).metadata().unwrap().is_file());
    }
    for name in ["link.yaml", "nowhere.yaml", "linked.yaml", "new.yaml"] {
        let left = init(name);
        assert_eq!(left.code, 0, "{name}: {}", left.said());
        assert_eq!(desk.read("victim"), KEPT, "{name}");
        let made = desk.path(name).symlink_metadata().unwrap();
        assert!(made.is_file(), "{name}");
        assert_eq!(made.permissions().mode() & 0o022, 0, "{name}");
        assert!(desk.read(name).contains("targets:"), "{name}");
    }
    assert!(!desk.path("nothing").exists());
    let left: Vec<_> = fs::read_dir(desk.path("")).unwrap().collect();
    assert_eq!(left.len(), 7, "nothing is left over: {left:?}");
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
    let desk = Desk::new();
    desk.script("tool_policy: optional\n", &[&says("done")]);
    desk.ok(&["run", "c.yaml", "--run-id", "r"]);
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
        let left = desk.ends_soon(command);
        assert_ne!(left.code, 0, "{command:?}: {}", left.said());
        let is_root = rustix::process::geteuid().is_root();
        let expect = if is_root {
            "file of the kernel"
        } else {
            KERNEL
        };
        assert!(left.said().contains(expect), "{command:?}: {}", left.said());
    }
}
