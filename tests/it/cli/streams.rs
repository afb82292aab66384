//! Streams that take less than they are given: slow ones that do not wait, and ones that take nothing.

use std::io::{Read as _, pipe};
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::ioctl_fionread;
use serde_json::json;

use super::*;

/// Returns the output of a command into a pipe that does not wait (`O_NONBLOCK`), whose reader begins once it holds something.
fn slowly_read(fixture: &Fixture, args: &[&str]) -> (i32, String) {
    let (mut reader, writer) = pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    let mut command = fixture.command(args);
    command.stdout(writer).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // It holds the other end open.
    drop(command);
    while ioctl_fionread(&reader).unwrap() < 4_096 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let mut printed = String::new();
    reader.read_to_string(&mut printed).unwrap();
    (child.wait().unwrap().code().unwrap(), printed)
}

#[test]
fn a_slow_reader_of_a_stream_that_does_not_wait_gets_everything() {
    let fixture = Fixture::new();
    let long = "x".repeat(1 << 20);
    fixture.script("", &[&says(&long)]);
    fixture.ok(&["run", "--contract", "c.yaml", "--run-id", "r"]);
    for args in [
        &["run", "c.yaml"][..],
        &["run", "c.yaml", "--json"],
        &["show", "r", "--raw"],
        &["export", "r"],
    ] {
        let (code, printed) = slowly_read(&fixture, args);
        assert_eq!(code, 0, "{args:?}");
        assert!(printed.contains(&long), "{args:?}: {}", printed.len());
        assert!(printed.ends_with('\n'), "{args:?}");
    }
    // Results that wait for their reader are no results that cannot be written.
    let line = |run| json!({"contract": "c.yaml", "run_id": run}).to_string() + "\n";
    fixture.write("list.jsonl", &(line("a") + &line("b")));
    let (code, printed) = slowly_read(&fixture, &["run", "--contracts", "list.jsonl"]);
    assert_eq!((code, printed.lines().count()), (0, 2));
}
