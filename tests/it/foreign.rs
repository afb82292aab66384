//! Files from strangers: read in bounded memory, and what is no file is refused.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, Left, says};

/// The commands that read a file and report on it.
const READERS: [&[&str]; 5] = [
    &["verify"],
    &["show"],
    &["import"],
    &["replay"],
    &["show", "--raw"],
];
/// The address space that a reader has: far more than it needs, far less than building such a line took.
const KIBIBYTES: u32 = 1 << 20;
/// More than anything here takes.
const LONGEST: Duration = Duration::from_secs(60);

#[cfg(target_os = "linux")]
#[track_caller]
fn refused_in_bounded_memory(bytes: &[u8], says: &str) {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("f.jsonl"), bytes).unwrap();
    for reader in READERS {
        let program = fixture.command(&[&[reader[0], "f.jsonl"], &reader[1..]].concat());
        let limited = format!("ulimit -v {KIBIBYTES}; exec \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &limited, "sh"])
            .arg(program.get_program())
            .args(program.get_args())
            .env("MONOLITH_HOME", fixture.path("home"))
            .current_dir(fixture.path(""))
            .output()
            .unwrap();
        let left = Left::from(output);
        assert_eq!(left.code, 7, "{reader:?}: {}", left.printed());
        assert!(
            left.printed().contains(says),
            "{reader:?}: {}",
            left.printed()
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_line_of_countless_parts_is_refused_before_anything_is_built_from_it() {
    let golden = std::fs::read(golden()).unwrap();
    let first = golden
        .split_inclusive(|byte| *byte == b'\n')
        .next()
        .unwrap();
    let many = "0,".repeat(15 << 20);
    let long = "0,".repeat(20 << 20);
    let long = format!("{{\"contract\":{{\"a\":[{long}0]}},\"format\":\"\"}}\n");
    let header = format!(
        "{{\"contract\":{{\"a\":[{many}0]}},\"format\":\"monolith-transcript/1\",\"run_id\":\"r\"}}\n"
    );
    refused_in_bounded_memory(long.as_bytes(), "a header of at most 33554432 bytes");
    refused_in_bounded_memory(header.as_bytes(), "at most 262144 members and items");
    let entry =
        format!("{{\"action\":{{\"a\":[{many}0]}},\"event\":null,\"hash\":\"\",\"seq\":0}}\n");
    let entry = [first, entry.as_bytes()].concat();
    refused_in_bounded_memory(&entry, "at most 262144 members and items");
}

fn golden() -> String {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    home.join("replay/v1/core.valid_call.jsonl")
        .display()
        .to_string()
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_and_not_read() {
    let fixture = Fixture::new();
    let pipe = fixture.path("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for (name, what) in [
        ("./pipe", "it is a pipe, not a file"),
        ("/dev/zero", "it is a device, not a file"),
    ] {
        for reader in READERS {
            let mut child = fixture
                .command(&[&[reader[0], name], &reader[1..]].concat())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let until = Instant::now() + LONGEST;
            while child.try_wait().unwrap().is_none() {
                if Instant::now() > until {
                    child.kill().unwrap();
                    panic!("{reader:?} reads {name}");
                }
                std::thread::yield_now();
            }
            let left = Left::from(child.wait_with_output().unwrap());
            assert_eq!(left.code, 4, "{reader:?} {name}: {}", left.printed());
            assert!(
                left.printed().contains(what),
                "{reader:?} {name}: {}",
                left.printed()
            );
        }
    }
}

/// A table whose values are computed gives more bytes than its file has.
#[test]
fn a_store_that_computes_its_values_is_refused() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("done")]);
    let computed = [
        (
            "log_leaves",
            "CREATE TABLE other(idx INTEGER PRIMARY KEY, run INTEGER UNIQUE, leaf TEXT AS (hex(zeroblob(99))))",
        ),
        (
            "runs",
            "CREATE TABLE other(id INTEGER PRIMARY KEY, run_id TEXT, contract TEXT AS (hex(zeroblob(99))) STORED)",
        ),
        (
            "blobs",
            "CREATE VIRTUAL TABLE other USING fts5(hash, bytes)",
        ),
    ];
    for (table, make) in computed {
        fixture.ok(&["run", "c.yaml", "--store", "runs.db"]);
        let store = rusqlite::Connection::open(fixture.path("runs.db")).unwrap();
        let replace = format!(
            "PRAGMA foreign_keys = OFF; {make}; DROP TABLE {table}; ALTER TABLE other RENAME TO {table}"
        );
        store.execute_batch(&replace).unwrap();
        drop(store);
        for command in [
            &["list"][..],
            &["show", "last"],
            &["log", "root"],
            &["log", "verify"],
            &["migrate", "--dry-run"],
            &["run", "c.yaml"],
        ] {
            let left = fixture.ends(&[command, &["--store", "runs.db"]].concat(), 7);
            let says = format!("table {table} is computed, and not kept");
            assert!(
                left.printed().contains(&says),
                "{command:?}: {}",
                left.printed()
            );
        }
        std::fs::remove_file(fixture.path("runs.db")).unwrap();
    }
}
