//! Tests of what built-in tools state of the files that they change, and of what is kept of these.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::Fixture;
use crate::tools::{
    Confined, FileKeeper, KeptContent, Restored, RestoredFolder, RunFiles, SandboxProfile,
    ServerSpec, ShellSpec, Withheld,
};
use monolith_core::message::{Digest, EnvelopeStatus, FileChange, FileChanges, ToolOutcome};

/// A content that is kept, and what the file held on disk then.
type Kept = (Option<Vec<u8>>, Option<String>);

/// Keeps in memory what it is given, and what the file held on disk at that moment.
#[derive(Debug)]
struct Keeper {
    fails: bool,
    kept: Mutex<Vec<Kept>>,
    watched: PathBuf,
}

impl FileKeeper for Keeper {
    fn keep(&self, _: &Path, content: Option<KeptContent<'_>>) -> io::Result<bool> {
        if self.fails {
            return Err(io::Error::other("no space"));
        }
        let now = fs::read_to_string(&self.watched).ok();
        let content = content.map(|content| content.bytes.to_vec());
        self.kept.lock().unwrap().push((content, now));
        Ok(true)
    }

    fn settle(&self) -> io::Result<()> {
        Ok(())
    }

    fn content(&self, hash: Digest) -> io::Result<Option<Vec<u8>>> {
        let kept = self.kept.lock().unwrap();
        let mut contents = kept.iter().filter_map(|(content, _)| content.as_ref());
        Ok(contents
            .find(|content| Digest::of(content) == hash)
            .cloned())
    }
}

async fn fixture(root: &Path, watched: &str, fails: bool) -> (Fixture, Arc<Keeper>) {
    let names = ["apply_patch", "edit_file", "shell", "write_file"];
    let spec = ServerSpec::Builtin {
        shell: Some(unconfined_shell()),
        http_get: None,
        names: names.map(str::to_owned).to_vec(),
        withheld: Withheld::default(),
    };
    let mut fixture = Fixture::bring_up([("builtin", spec)], root).await;
    let keeper = Arc::new(Keeper {
        fails,
        kept: Mutex::default(),
        watched: root.join(watched),
    });
    fixture.files = Some(Arc::new(RunFiles::new(Arc::clone(&keeper) as _)));
    (fixture, keeper)
}

fn unconfined_shell() -> ShellSpec {
    ShellSpec {
        env: BTreeMap::new(),
        profile: SandboxProfile::bare(Confined::Never, PathBuf::new()),
        program: None,
    }
}

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    let (before, after) = (before.map(str::as_bytes), after.map(str::as_bytes));
    FileChange::of(path, before, after).unwrap()
}

#[tokio::test]
async fn a_call_states_what_each_file_held_and_holds() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "one\n").unwrap();
    let (fixture, keeper) = fixture(root.path(), "a", false).await;
    let call = async |tool: &str, arguments: serde_json::Value| {
        fixture.envelope(tool, &arguments.to_string()).await
    };
    let edits = json!([{"old": "one", "new": "two"}]);
    let edited = call("edit_file", json!({"path": "./a", "edits": edits})).await;
    assert_eq!(
        edited.changes.files,
        [change("a", Some("one\n"), Some("two\n"))]
    );
    assert!(!edited.changes.incomplete);
    // It was kept while the file still held it.
    let kept = std::mem::take(&mut *keeper.kept.lock().unwrap());
    assert_eq!(kept, [(Some(b"one\n".to_vec()), Some("one\n".to_owned()))]);

    let made = call("write_file", json!({"path": "n/b", "content": "x"})).await;
    assert_eq!(made.changes.files, [change("n/b", None, Some("x"))]);
    let same = call("write_file", json!({"path": "n/b", "content": "x"})).await;
    assert!(same.changes.is_none());
    let patch =
        "*** Begin Patch\n*** Delete File: n/b\n*** Update File: a\n-two\n+2\n*** End Patch";
    let patched = call("apply_patch", json!({"patch": patch})).await;
    assert_eq!(
        patched.changes.files,
        [
            change("n/b", Some("x"), None),
            change("a", Some("two\n"), Some("2\n"))
        ]
    );
    let refused = call(
        "edit_file",
        json!({"path": "a", "edits": [{"old": "z", "new": ""}]}),
    )
    .await;
    assert_eq!(refused.status, EnvelopeStatus::Error);
    assert!(refused.changes.is_none());
}

/// An undo finds the file only by its path from the workspace.
#[tokio::test]
async fn a_change_at_an_absolute_path_is_stated_from_the_workspace() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "one\r\n").unwrap();
    let (fixture, _) = fixture(root.path(), "a", false).await;
    let absolute = root.path().canonicalize().unwrap().join("a");
    let arguments = json!({"path": absolute, "edits": [{"old": "one\n", "new": "two\n"}]});
    let edited = fixture.envelope("edit_file", &arguments.to_string()).await;
    let expect = change("a", Some("one\r\n"), Some("two\r\n"));
    assert_eq!(edited.changes.files, [expect]);
    let patch = format!(
        "*** Begin Patch\n*** Update File: {}\n*** Move to: b\n*** End Patch",
        absolute.display()
    );
    let arguments = json!({"patch": patch}).to_string();
    let moved = fixture.envelope("apply_patch", &arguments).await;
    let expect = [
        change("b", None, Some("two\r\n")),
        change("a", Some("two\r\n"), None),
    ];
    assert_eq!(moved.changes.files, expect);
}

#[tokio::test]
async fn a_file_whose_content_cannot_be_kept_is_not_changed() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "one\n").unwrap();
    let (fixture, _) = fixture(root.path(), "a", true).await;
    let said = fixture
        .text_of("write_file", r#"{"path":"a","content":"x"}"#)
        .await;
    assert!(
        said.starts_with("IO_ERROR: ") && said.contains("no space"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(root.path().join("a")).unwrap(), "one\n");
}

async fn changed_by(fixture: &Fixture, command: &str) -> FileChanges {
    let arguments = json!({"command": command}).to_string();
    fixture.envelope("shell", &arguments).await.changes.clone()
}

#[tokio::test]
async fn a_command_states_what_each_file_held_and_holds() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::create_dir(at("d")).unwrap();
    for name in ["d/gone", "same", "timed", "written"] {
        fs::write(at(name), "one\n").unwrap();
    }
    let (fixture, keeper) = fixture(root.path(), "timed", false).await;
    let command = "printf 'two\\n' > timed; rm -r d; mkdir -p e/f; echo x > e/f/.made; touch same; \
                   printf 'one\\n' > written; ln -s same link";
    let changes = changed_by(&fixture, command).await;
    let expect = [
        change("d/gone", Some("one\n"), None),
        change("e/f/.made", None, Some("x\n")),
        change("timed", Some("one\n"), Some("two\n")),
    ];
    assert_eq!(changes.files, expect);
    assert!(!changes.incomplete);
    // It was kept while the file still held it.
    let one = (Some(b"one\n".to_vec()), Some("one\n".to_owned()));
    assert!(keeper.kept.lock().unwrap().contains(&one));
    let changes = changed_by(&fixture, "true").await;
    assert!(changes.is_none(), "{changes:?}");
}

#[tokio::test]
async fn what_is_changed_between_two_commands_is_neither_commands() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::write(at("a"), "one\n").unwrap();
    fs::write(at("b"), "one\n").unwrap();
    let (fixture, _) = fixture(root.path(), "a", false).await;
    let changes = changed_by(&fixture, "echo two >> b").await;
    assert_eq!(
        changes.files,
        [change("b", Some("one\n"), Some("one\ntwo\n"))]
    );
    fs::write(at("a"), "a person's\n").unwrap();
    fs::write(at("made"), "a person's\n").unwrap();
    let arguments = json!({"path": "b", "content": "three\n"}).to_string();
    fixture.envelope("write_file", &arguments).await;
    let changes = changed_by(&fixture, "echo end >> a").await;
    let expect = change("a", Some("a person's\n"), Some("a person's\nend\n"));
    assert_eq!(changes.files, [expect]);
}

/// A command whose call ended without a result has changed files all the same: the next one states them.
#[tokio::test]
async fn what_a_command_changed_that_was_given_up_is_stated_by_the_next_one() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "one\n").unwrap();
    let (mut fixture, _) = fixture(root.path(), "a", false).await;
    fixture.timeout_ms = 500;
    let arguments = json!({"command": "echo two > a; sleep 600"}).to_string();
    let outcome = fixture.call("shell", &arguments).await;
    assert!(matches!(outcome, ToolOutcome::TimedOut), "{outcome:?}");
    fixture.timeout_ms = 20_000;
    let changes = changed_by(&fixture, "true").await;
    assert_eq!(changes.files, [change("a", Some("one\n"), Some("two\n"))]);
    assert!(changed_by(&fixture, "true").await.is_none());
}

#[tokio::test]
async fn a_file_that_nothing_writes_is_read_once() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "one\n").unwrap();
    let (fixture, keeper) = fixture(root.path(), "a", false).await;
    let count = || {
        let kept = keeper.kept.lock().unwrap();
        kept.iter().filter(|(content, _)| content.is_some()).count()
    };
    let reads = async || {
        let before = count();
        assert!(changed_by(&fixture, "true").await.is_none());
        count() - before
    };
    assert_ne!(reads().await, 0);
    // Its last change must be older than a tick of the file system's clock.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while reads().await != 0 {
        assert!(std::time::Instant::now() < until);
    }
    // Of the same length, and its time of modification put back.
    let command = "touch -r a .as; printf 'two\n' > a; touch -r .as a; rm .as";
    let changes = changed_by(&fixture, command).await;
    assert_eq!(changes.files, [change("a", Some("one\n"), Some("two\n"))]);
}

#[tokio::test]
async fn a_command_is_not_started_where_the_files_cannot_be_kept() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "one\n").unwrap();
    let (fixture, _) = fixture(root.path(), "a", true).await;
    let said = fixture.text_of("shell", r#"{"command":"rm a"}"#).await;
    assert!(
        said.starts_with("SHELL_NOT_STARTED: ") && said.contains("no space"),
        "{said}"
    );
    assert!(root.path().join("a").exists());
}

#[test]
fn a_file_is_restored_where_it_is_what_was_left() {
    let root = tempfile::tempdir().unwrap();
    let root_path = root.path().canonicalize().unwrap();
    let at = |name: &str| root_path.join(name);
    let folder = RestoredFolder::open(root_path.clone(), Withheld::default()).unwrap();
    let hash = |text: &str| Some(Digest::of(text.as_bytes()));
    let check = |path: &str,
                 now: Option<&str>,
                 of: (Option<Digest>, Option<Digest>),
                 expect: &Restored,
                 then: Option<&str>| {
        match now {
            Some(now) => fs::write(at(path), now).unwrap(),
            None => drop(fs::remove_file(at(path))),
        }
        let kept = |hash: Digest| Ok((hash == Digest::of(b"old")).then(|| b"old".to_vec()));
        let looked = folder.restore(path, of, kept, None, true);
        assert_eq!(&looked, expect, "{path} {now:?}");
        assert_eq!(fs::read_to_string(at(path)).ok().as_deref(), now);
        assert_eq!(
            &folder.restore(path, of, kept, None, false),
            expect,
            "{path} {now:?}"
        );
        assert_eq!(
            fs::read_to_string(at(path)).ok().as_deref(),
            then,
            "{path} {now:?}"
        );
    };
    check(
        "a",
        Some("new"),
        (hash("old"), hash("new")),
        &Restored::Done,
        Some("old"),
    );
    check(
        "a",
        Some("old"),
        (hash("old"), hash("new")),
        &Restored::AsBefore,
        Some("old"),
    );
    check(
        "a",
        Some("mine"),
        (hash("old"), hash("new")),
        &Restored::ChangedSince,
        Some("mine"),
    );
    check(
        "a",
        None,
        (hash("old"), hash("new")),
        &Restored::ChangedSince,
        None,
    );
    check("a", None, (hash("old"), None), &Restored::Done, Some("old"));
    check(
        "a",
        Some("new"),
        (None, hash("new")),
        &Restored::Removed,
        None,
    );
    check("a", None, (None, hash("new")), &Restored::AsBefore, None);
    check(
        "a",
        Some("new"),
        (hash("lost"), hash("new")),
        &Restored::NotKept,
        Some("new"),
    );
    fs::create_dir(at(".git")).unwrap();
    fs::write(at(".git/config"), "new").unwrap();
    for path in ["../a", "/etc/passwd", ".git/config"] {
        let none = |_: Digest| Ok(Some(b"old".to_vec()));
        let end = folder.restore(path, (hash("old"), hash("new")), none, None, false);
        assert!(matches!(end, Restored::Refused(_)), "{path}: {end:?}");
    }
    assert_eq!(fs::read_to_string(at(".git/config")).unwrap(), "new");
}
