//! Tests of what stays of a file that a built-in tool changes: its bytes around the change, its mode and its owner.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Fixture;
use crate::tools::{FileChange, Restored, RestoredFolder, ServerSpec, Withheld};
use monolith_core::message::{Digest, ObjectText};

/// A user who is not root.
const NOBODY: u32 = 65534;

struct Tools {
    fixture: Fixture,
    root: tempfile::TempDir,
}

impl Tools {
    async fn new() -> Self {
        let names = ["apply_patch", "edit_file", "write_file"];
        let spec = ServerSpec::Builtin {
            http_get: None,
            names: names.map(str::to_owned).to_vec(),
            shell: None,
            withheld: Withheld::default(),
        };
        let root = tempfile::tempdir().unwrap();
        let fixture = Fixture::bring_up([("builtin", spec)], root.path()).await;
        assert_eq!(fixture.faults(), Vec::<String>::new());
        Self { fixture, root }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn put(&self, name: &str, text: &str, mode: u32) {
        fs::write(self.at(name), text).unwrap();
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> String {
        self.fixture.text_of(tool, &arguments.to_string()).await
    }

    async fn edit(&self, path: &str, old: &str, new: &str) -> String {
        let edits = json!([{"old": old, "new": new}]);
        self.call("edit_file", json!({"path": path, "edits": edits}))
            .await
    }

    async fn patch(&self, body: &str) -> String {
        let patch = format!("*** Begin Patch\n{body}\n*** End Patch");
        self.call("apply_patch", json!({"patch": patch})).await
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn owner(path: &Path) -> (u32, u32) {
    let found = fs::metadata(path).unwrap();
    (found.uid(), found.gid())
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped 1 case: only root may hand a file to another user");
    }
    is_root
}

#[tokio::test]
async fn the_bytes_around_a_change_stay() {
    let tools = Tools::new().await;
    tools.put("f", "\u{feff}one\r\ntwo\r\nthree", 0o644);
    assert_eq!(
        tools.edit("f", "one\ntwo", "1\n2\nx").await,
        "replaced f, 17 bytes"
    );
    assert_eq!(tools.text("f"), "\u{feff}1\r\n2\r\nx\r\nthree");
    let said = tools.patch("*** Update File: f\n 2\n-x\n-three\n+3").await;
    assert_eq!(said, "replaced f, 10 bytes");
    assert_eq!(tools.text("f"), "\u{feff}1\r\n2\r\n3");
    let same = tools.edit("f", "3", "3").await;
    assert!(same.starts_with("NO_CHANGE: edit 1: "), "{same}");
    let same = tools.patch("*** Update File: f\n-3\n+3").await;
    assert!(same.starts_with("INVALID_PATCH: "), "{same}");
    assert!(same.contains("it changes nothing"), "{same}");
}

#[tokio::test]
async fn a_hunk_whose_anchor_stands_twice_is_refused_with_both_places() {
    let tools = Tools::new().await;
    let text = "fn a() {\n    x\n}\nfn a() {\n    x\n}\n";
    tools.put("f", text, 0o644);
    let said = tools
        .patch("*** Update File: f\n@@ fn a() {\n-    x\n+    y")
        .await;
    assert_eq!(
        said,
        "MANY_MATCHES: hunk 1 of \"f\": its @@ line \"fn a() {\" occurs in lines 1 and 4: put an @@ with an earlier line before it, or \
         give more lines; no file was changed"
    );
    let said = tools.patch("*** Update File: f\n-    x\n+    y").await;
    assert!(
        said.contains("occur 2 times in the file, from lines 2 and 5 on"),
        "{said}"
    );
    let said = tools.edit("f", "    x\n", "    y\n").await;
    assert!(
        said.contains("occurs 2 times in the file, in lines 2 and 5"),
        "{said}"
    );
    assert_eq!(tools.text("f"), text);
}

#[tokio::test]
async fn a_moved_file_keeps_its_mode() {
    let tools = Tools::new().await;
    tools.put("run.sh", "echo 1\n", 0o750);
    let said = tools
        .patch("*** Update File: run.sh\n*** Move to: bin/run.sh\n-echo 1\n+echo 2")
        .await;
    assert_eq!(said, "made bin/run.sh, 7 bytes\nremoved run.sh");
    assert_eq!(mode(&tools.at("bin/run.sh")), 0o750);
    // A file that is only moved is not written.
    tools.put("fixed", "x\n", 0o444);
    let said = tools
        .patch("*** Update File: fixed\n*** Move to: bin/fixed")
        .await;
    assert_eq!(said, "made bin/fixed, 2 bytes\nremoved fixed");
    assert_eq!(mode(&tools.at("bin/fixed")), 0o444);
}

#[tokio::test]
async fn a_file_that_root_changes_keeps_its_owner() {
    if !is_root() {
        return;
    }
    let tools = Tools::new().await;
    let give = |name: &str| chown(tools.at(name), Some(NOBODY), Some(NOBODY)).unwrap();
    tools.put("a", "one\n", 0o640);
    give("a");
    tools.edit("a", "one", "two").await;
    assert_eq!(tools.text("a"), "two\n");
    assert_eq!(owner(&tools.at("a")), (NOBODY, NOBODY));
    assert_eq!(mode(&tools.at("a")), 0o640);
    tools
        .patch("*** Update File: a\n*** Move to: b\n-two\n+three")
        .await;
    assert_eq!(owner(&tools.at("b")), (NOBODY, NOBODY));
    tools
        .call("write_file", json!({"path": "b", "content": "x"}))
        .await;
    assert_eq!(owner(&tools.at("b")), (NOBODY, NOBODY));
}

/// Whoever runs monolith: the system would let root write the file, and would let others replace it.
#[tokio::test]
async fn a_file_without_write_permission_is_refused() {
    let tools = Tools::new().await;
    tools.put("fixed", "one\n", 0o444);
    let writes = [
        tools.edit("fixed", "one", "two").await,
        tools
            .call("write_file", json!({"path": "fixed", "content": "two"}))
            .await,
        tools
            .patch("*** Add File: new\n+new\n*** Update File: fixed\n-one\n+two")
            .await,
        tools
            .patch("*** Update File: fixed\n*** Move to: new\n-one\n+two")
            .await,
    ];
    for said in &writes {
        assert!(
            said.starts_with(
                "PERMISSION_DENIED: \"fixed\": permission denied, no write permission on it (mode 0444, owner "
            ),
            "{said}"
        );
        assert!(said.contains("change its mode first"), "{said}");
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(said.contains("the file's mode decides"), is_root, "{said}");
    }
    assert_eq!(tools.text("fixed"), "one\n");
    assert!(!tools.at("new").exists());
    // Who is asked about the call reads so before.
    let root = tools.root.path().canonicalize().unwrap();
    let arguments = ObjectText::parse(r#"{"path":"fixed","content":"two"}"#).unwrap();
    let shown = FileChange::of_call(root, Withheld::default(), "write_file", &arguments).await;
    let why = shown.unwrap().unwrap_err();
    assert!(
        why.contains("no write permission on it (mode 0444"),
        "{why}"
    );
    // As `rm` does, which asks for the permission of the folder.
    let said = tools.patch("*** Delete File: fixed").await;
    assert_eq!(said, "removed fixed");
}

/// An undo is asked for by a person, and a command may have replaced the file whatever its mode.
#[tokio::test]
async fn a_file_without_write_permission_is_restored() {
    let tools = Tools::new().await;
    tools.put("fixed", "new", 0o444);
    let root = tools.root.path().canonicalize().unwrap();
    let folder = RestoredFolder::open(root, Withheld::default()).unwrap();
    let hash = |text: &str| Some(Digest::of(text.as_bytes()));
    let old = |_: Digest| Ok(Some(b"old".to_vec()));
    let end = folder.restore("fixed", (hash("old"), hash("new")), old, Some(0o755), false);
    assert_eq!(end, Restored::Done);
    assert_eq!(tools.text("fixed"), "old");
    assert_eq!(mode(&tools.at("fixed")), 0o444);
    // One that was removed has its mode again, and is not wider where that is not known.
    for (kept, expect) in [(Some(0o750), 0o750), (Some(0o600), 0o600), (None, 0o600)] {
        fs::remove_file(tools.at("fixed")).unwrap();
        let end = folder.restore("fixed", (hash("old"), None), old, kept, false);
        assert_eq!(end, Restored::Done);
        assert_eq!(mode(&tools.at("fixed")), expect);
    }
}
