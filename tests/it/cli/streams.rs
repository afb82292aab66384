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

/// A reader that has gone away is an error only if it misses the answer of a run.
#[test]
fn only_the_answer_of_a_run_must_be_read() {
    let fixture = Fixture::new();
    // Larger than a pipe holds, and two of them fit the window.
    let long = says(&"x".repeat(40 << 10));
    fixture.script("", &[&long, &long]);
    fixture.ok(&["run", "--contract", "c.yaml", "--run-id", "r"]);
    let unread = |args: &[&str]| {
        let mut command = fixture.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let left = child.wait_with_output().unwrap();
        (
            left.status.code().unwrap(),
            String::from_utf8(left.stderr).unwrap(),
        )
    };
    for args in [
        &["show", "r", "--full"][..],
        &["show", "r", "--json"],
        &["show", "r", "--raw"],
        &["export", "r"],
        &["--help"],
    ] {
        assert_eq!(unread(args), (0, String::new()), "{args:?}");
    }
    for args in [
        &["run", "c.yaml"][..],
        &["run", "c.yaml", "--json"],
        &["continue", "r", "Again."],
    ] {
        let (code, said) = unread(args);
        assert_eq!(code, 9, "{args:?}: {said}");
        assert!(said.contains("Broken pipe"), "{args:?}: {said}");
    }
}

/// The runtime puts /dev/null in the place of a closed stdout, and an answer must not be lost there.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_without_a_stdout_is_an_exit_code() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    let check = |script: &str, args: &[&str], expect: i32| {
        let program = fixture.command(args);
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", script, "sh"]).arg(program.get_program());
        shell.args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(folder) = program.get_current_dir() {
            shell.current_dir(folder);
        }
        let left = shell.output().unwrap();
        let said = String::from_utf8(left.stderr).unwrap();
        assert_eq!(
            left.status.code(),
            Some(expect),
            "{script} {args:?}: {said}"
        );
        assert_eq!(
            said.contains("Bad file descriptor"),
            expect == 9,
            "{args:?}: {said}"
        );
    };
    let run = &["run", "--contract", "c.yaml", "--run-id", "r"];
    check("exec \"$@\" >&-", run, 9);
    for args in [
        &["show", "r"][..],
        &["list", "--json"],
        &["export", "r"],
        &["--version"],
    ] {
        check("exec \"$@\" >&-", args, 9);
        // Somebody chose that place, for reading and writing, too.
        check("exec \"$@\" 1<>/dev/null", args, 0);
    }
}

#[test]
fn a_dash_is_stdout_and_no_file() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.ok(&["run", "--contract", "c.yaml", "--run-id", "r"]);
    let exported = fixture.ok(&["export", "r"]);
    assert_eq!(fixture.ok(&["export", "r", "-o", "-"]), exported);
    assert!(!fixture.path("-").exists());
}

/// A full device takes no answer.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_does_not_fit_is_an_exit_code() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.ok(&["run", "--contract", "c.yaml", "--run-id", "r"]);
    for args in [
        &["run", "c.yaml"][..],
        &["run", "c.yaml", "--json"],
        &["show", "r"],
        &["list", "--json"],
        &["export", "r"],
        &["completions", "bash"],
    ] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let left = fixture.command(args).stdout(full).output().unwrap();
        let said = String::from_utf8(left.stderr).unwrap();
        assert_eq!(left.status.code(), Some(9), "{args:?}: {said}");
        assert!(said.contains("No space left on device"), "{args:?}: {said}");
    }
}
