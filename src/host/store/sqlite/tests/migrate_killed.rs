//! A migration in a separate process, which is killed or stopped by the system at a write.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::migrate::exported;
use super::older;
use crate::store::{STORE_FORMAT, StoreReader, migrate};
use monolith_core::transcript::Trust;

/// The store that the process of [`the_process`] migrates.
const STORE: &str = "MONOLITH_TEST_MIGRATES";

/// Returns the command that the tests start: this program again, running only the test below.
fn process(path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "store::sqlite::tests::migrate_killed::the_process",
        ])
        .env(STORE, path);
    command
}

/// The body of the process. Where no store is named there is nothing to migrate.
#[test]
fn the_process() {
    if let Some(path) = std::env::var_os(STORE) {
        migrate(Path::new(&path), None, false).unwrap();
    }
}

/// Whatever a migration that was cut off left: it is read as it was, and the next one goes through.
fn comes_through(path: &Path, held: &[String], when: &str) {
    assert_eq!(exported(path), held, "{when}: as it was left");
    migrate(path, None, false).unwrap();
    assert_eq!(exported(path), held, "{when}: migrated");
    let again = migrate(path, None, false).unwrap();
    assert_eq!((again.from, again.copy), (STORE_FORMAT, None), "{when}");
    assert_eq!(again.verified.bad, Vec::new(), "{when}");
    let log = StoreReader::open(path).unwrap();
    let log = log.verify_log(&Trust::default()).unwrap();
    assert_eq!((log.size, log.first_bad), (3, None), "{when}");
}

#[test]
fn a_migration_that_is_killed_at_any_moment_loses_nothing() {
    let held = exported(&older().1);
    let mut cut_off = 0;
    for moment in 0..24_u32 {
        let (_folder, path) = older();
        let mut child = process(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // At what can be seen from outside, and some time after it.
        let sign = ["db.format-0.partial", "db.format-0", "db-wal"];
        let sign = path.with_extension(sign[moment as usize % 3]);
        while !sign.exists() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let until = Instant::now() + Duration::from_micros(u64::from(moment / 3) * 300);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        cut_off += u32::from(!child.wait().unwrap().success());
        comes_through(&path, &held, &format!("moment {moment}"));
    }
    println!("{cut_off} of 24 migrations were killed before their end");
    assert!(cut_off > 0);
}

/// The shell's limit on the length of files: the system kills who writes past it, or refuses where the signal is ignored.
#[cfg(target_os = "linux")]
#[test]
fn a_migration_that_runs_out_of_room_or_is_stopped_at_a_write_loses_nothing() {
    let held = exported(&older().1);
    let mut stopped = 0;
    for (signal, blocks) in [
        ("trap '' XFSZ;", 8),
        ("", 8),
        ("trap '' XFSZ;", 60),
        ("", 60),
        ("trap '' XFSZ;", 120),
        ("", 120),
    ] {
        let (_folder, path) = older();
        let program = process(&path);
        let line = format!("{signal} ulimit -c 0; ulimit -f {blocks}; exec \"$@\"");
        let left = Command::new("sh")
            .args(["-c", &line, "sh"])
            .arg(program.get_program())
            .args(program.get_args())
            .env(STORE, &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&left.stdout);
        stopped += u32::from(!left.status.success());
        if !signal.is_empty() && !left.status.success() {
            // The process came to its end and said which file it was.
            assert!(left.status.code().is_some(), "{blocks}: {said}");
            assert!(said.contains("runs.db"), "{blocks}: {said}");
        }
        comes_through(&path, &held, &format!("{blocks} blocks, {signal:?}"));
    }
    assert!(stopped > 0);
}
