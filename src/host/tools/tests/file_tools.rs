//! Tests of the built-in tools that search and write files.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::Fixture;
use crate::tools::{ServerSpec, Withheld};

async fn fixture(root: &Path, withheld: Withheld) -> Fixture {
    let names = [
        "apply_patch",
        "edit_file",
        "glob",
        "grep",
        "read_file",
        "write_file",
    ];
    let spec = ServerSpec::Builtin {
        http_get: None,
        names: names.map(str::to_owned).to_vec(),
        shell: None,
        withheld,
    };
    let mut fixture = Fixture::bring_up([("builtin", spec)], root).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    fixture.limit = 1 << 20;
    fixture
}

/// A workspace with files of every kind that a search leaves out.
fn searched() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(".gitignore", "target/\n*.log\n!kept.log\n");
    put(".hidden/a.rs", "needle\n");
    put(".git/config", "needle\n");
    put("a.log", "needle\n");
    put("kept.log", "a needle\nnothing\n");
    put("src/.gitignore", "/made.rs\n");
    put("src/lib.rs", "one\ntwo Needle\nthree\nfour\nfive needle\n");
    put("src/made.rs", "needle\n");
    put("src/deep/made.rs", "x\n");
    put("target/out.rs", "needle\n");
    put("binary", "needle\n\0");
    put("odd\nname.txt", "needle");
    root
}

#[tokio::test]
async fn a_search_finds_what_a_person_would_look_at() {
    let root = searched();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("src", root.path().join("link")).unwrap();
        std::os::unix::fs::symlink("src/lib.rs", root.path().join("link.rs")).unwrap();
    }
    let fixture = fixture(root.path(), Withheld::default()).await;
    let check = async |tool: &str, arguments: serde_json::Value, expect: &str| {
        let arguments = arguments.to_string();
        assert_eq!(
            fixture.text_of(tool, &arguments).await,
            expect,
            "{tool} {arguments}"
        );
    };
    check(
        "glob",
        json!({"pattern": "*.rs"}),
        "src/deep/made.rs\nsrc/lib.rs",
    )
    .await;
    check("glob", json!({"pattern": "./src/*.rs"}), "src/lib.rs").await;
    check(
        "glob",
        json!({"pattern": "*.{log,txt}"}),
        "kept.log\n\"odd\\nname.txt\"",
    )
    .await;
    check(
        "glob",
        json!({"pattern": "*.rs", "path": "src/deep"}),
        "src/deep/made.rs",
    )
    .await;
    check(
        "glob",
        json!({"pattern": "*.rs", "everything": true}),
        ".hidden/a.rs\nsrc/deep/made.rs\nsrc/lib.rs\nsrc/made.rs\ntarget/out.rs",
    )
    .await;
    check("glob", json!({"pattern": "none*"}), "[no file matches]").await;
    check(
        "grep",
        json!({"pattern": "needle"}),
        "kept.log:1:a needle\n\"odd\\nname.txt\":1:needle\nsrc/lib.rs:5:five needle\n\
         [not searched, binary: binary; give the path of one to search it]",
    )
    .await;
    check(
        "grep",
        json!({"pattern": "NEEDLE$", "ignore_case": true, "glob": "*.rs", "context": 1}),
        "src/lib.rs-1-one\nsrc/lib.rs:2:two Needle\nsrc/lib.rs-3-three\nsrc/lib.rs-4-four\nsrc/lib.rs:5:five needle",
    )
    .await;
    check(
        "grep",
        json!({"pattern": "needle", "path": "a.log"}),
        "a.log:1:needle",
    )
    .await;
    check(
        "grep",
        json!({"pattern": "absent", "path": "src"}),
        "[no line matches]",
    )
    .await;
    check(
        "grep",
        json!({"pattern": "needle", "path": "binary"}),
        "binary:1:needle",
    )
    .await;
    for (tool, pattern) in [("glob", "[a"), ("grep", "(")] {
        let said = fixture
            .text_of(tool, &json!({"pattern": pattern}).to_string())
            .await;
        assert!(said.starts_with("INVALID_PATTERN: "), "{said}");
    }
    for path in ["..", "/etc", "link/.."] {
        let said = fixture
            .text_of(
                "grep",
                &json!({"pattern": "root", "path": path}).to_string(),
            )
            .await;
        let inside = path == "link/..";
        assert_eq!(
            said.starts_with("PATH_OUTSIDE_WORKSPACE: "),
            !inside,
            "{path}: {said}"
        );
    }
}

#[tokio::test]
async fn a_search_is_bounded_in_lines_and_paths() {
    let root = tempfile::tempdir().unwrap();
    for n in 0..1_002 {
        fs::write(root.path().join(format!("f{n:04}")), "needle\n").unwrap();
    }
    fs::write(root.path().join("long"), "x".repeat(2_000)).unwrap();
    let fixture = fixture(root.path(), Withheld::default()).await;
    let said = fixture.text_of("glob", r#"{"pattern":"f*"}"#).await;
    assert_eq!(said.lines().count(), 1_001);
    assert!(said.ends_with("[the first 1000 of 1002 paths]"), "{said}");
    let said = fixture.text_of("grep", r#"{"pattern":"needle"}"#).await;
    assert_eq!(said.lines().count(), 501);
    assert!(said.ends_with("[the first 500 matching lines; there are more]"));
    let said = fixture
        .text_of("grep", r#"{"pattern":"x","path":"long"}"#)
        .await;
    assert_eq!(said, format!("long:1:{} […]", "x".repeat(500)));
}

#[cfg(unix)]
mod written {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    #[cfg(target_os = "linux")]
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    async fn write(fixture: &Fixture, path: &str, content: &str) -> String {
        let arguments = json!({"path": path, "content": content}).to_string();
        fixture.text_of("write_file", &arguments).await
    }

    #[tokio::test]
    async fn a_file_is_made_or_replaced_whole_and_edited() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let fixture = fixture(root.path(), Withheld::default()).await;
        assert_eq!(
            write(&fixture, "a/b/c.txt", "one\n").await,
            "made a/b/c.txt, 4 bytes"
        );
        fs::set_permissions(at("a/b/c.txt"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("a/b/c.txt", at("link")).unwrap();
        assert_eq!(
            write(&fixture, "link", "two two\n").await,
            "replaced link, 8 bytes"
        );
        assert_eq!(fs::read_to_string(at("a/b/c.txt")).unwrap(), "two two\n");
        assert_eq!(
            fs::metadata(at("a/b/c.txt")).unwrap().mode() & 0o7777,
            0o750
        );
        assert!(at("link").is_symlink());

        let edit = async |edits: serde_json::Value| {
            let arguments = json!({"path": "a/b/c.txt", "edits": edits}).to_string();
            fixture.text_of("edit_file", &arguments).await
        };
        let said = edit(json!([{"old": "two", "new": "x"}])).await;
        assert!(
            said.starts_with("MANY_MATCHES: edit 1: its old text occurs 2 times"),
            "{said}"
        );
        let said = edit(json!([{"old": "two two", "new": "2"}, {"old": "3", "new": ""}])).await;
        assert!(said.starts_with("NO_MATCH: edit 2: "), "{said}");
        assert_eq!(fs::read_to_string(at("a/b/c.txt")).unwrap(), "two two\n");
        let said = edit(json!([{"old": "two", "new": "é", "all": true}])).await;
        assert_eq!(said, "replaced a/b/c.txt, 6 bytes");
        assert_eq!(fs::read_to_string(at("a/b/c.txt")).unwrap(), "é é\n");
        // Nothing is left of what was on its way.
        let left: Vec<_> = fs::read_dir(at("a/b"))
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["c.txt"]);
        assert!(write(&fixture, "a", "x").await.starts_with("NOT_A_FILE: "));
        assert!(write(&fixture, "a/", "x").await.starts_with("NOT_A_FILE: "));
        assert!(
            write(&fixture, "a/b/c.txt/d", "x")
                .await
                .starts_with("NOT_A_DIRECTORY: ")
        );
    }

    #[tokio::test]
    async fn nothing_outside_in_git_or_of_the_hosts_own_is_written() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("theirs"), "theirs").unwrap();
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at(".git/hooks")).unwrap();
        fs::create_dir(at("state")).unwrap();
        fs::write(at("state/runs.db"), "rows").unwrap();
        fs::hard_link(at("state/runs.db"), at("rows")).unwrap();
        fs::hard_link(outside.path().join("theirs"), at("shared")).unwrap();
        symlink(outside.path(), at("out")).unwrap();
        symlink(outside.path().join("theirs"), at("leak")).unwrap();
        symlink(outside.path().join("new"), at("dangling")).unwrap();
        symlink(".git", at("g")).unwrap();
        symlink(".git/hooks/pre-commit", at("hook")).unwrap();
        let withheld = Withheld::new(vec![at("state")], Vec::new());
        let fixture = fixture(root.path(), withheld).await;
        for (path, code) in [
            ("../x", "PATH_OUTSIDE_WORKSPACE"),
            ("out/x", "PATH_OUTSIDE_WORKSPACE"),
            ("leak", "PATH_OUTSIDE_WORKSPACE"),
            ("dangling", "PATH_OUTSIDE_WORKSPACE"),
            (".git/hooks/pre-commit", "PATH_CLOSED"),
            (".GIT/config", "PATH_CLOSED"),
            (".git", "PATH_CLOSED"),
            ("sub/.git/config", "PATH_CLOSED"),
            ("g/config", "PATH_CLOSED"),
            ("hook", "PATH_CLOSED"),
            ("state/runs.db", "PATH_WITHHELD"),
            ("state/new", "PATH_WITHHELD"),
            ("rows", "PATH_WITHHELD"),
        ] {
            let said = write(&fixture, path, "x").await;
            assert!(said.starts_with(&format!("{code}: ")), "{path}: {said}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(at(".git/hooks")).unwrap().count(), 0);
        assert_eq!(fs::read_dir(at("state")).unwrap().count(), 1);
        // The name is the workspace's; what else has the file keeps it as it was.
        assert_eq!(
            write(&fixture, "shared", "ours").await,
            "replaced shared, 4 bytes"
        );
        assert_eq!(
            fs::read_to_string(outside.path().join("theirs")).unwrap(),
            "theirs"
        );
    }

    async fn patch(fixture: &Fixture, body: &str) -> String {
        let patch = format!("*** Begin Patch\n{body}\n*** End Patch");
        let arguments = json!({"patch": patch}).to_string();
        fixture.text_of("apply_patch", &arguments).await
    }

    /// Every regular file below a folder, with its text.
    fn texts_below(folder: &Path) -> std::collections::BTreeMap<String, String> {
        let mut found = std::collections::BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                let below = texts_below(&entry.path());
                found.extend(
                    below
                        .into_iter()
                        .map(|(path, text)| (format!("{name}/{path}"), text)),
                );
            } else if kind.is_file() {
                found.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
        found
    }

    /// Neither order of the two could be made, so nothing is.
    #[tokio::test]
    async fn a_patch_that_makes_one_path_a_file_and_a_folder_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let fixture = fixture(root.path(), Withheld::default()).await;
        let (below, file) = ("*** Add File: ./n/x\n+1\n", "*** Add File: n\n+2\n");
        for body in [format!("{below}{file}"), format!("{file}{below}")] {
            let said = patch(&fixture, body.trim_end()).await;
            assert_eq!(
                said,
                "INVALID_PATCH: the patch has \"n\" as a file and as a folder; use two patches; no file was changed"
            );
            assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        }
    }

    #[tokio::test]
    async fn a_patch_changes_several_files_in_one_call() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("src")).unwrap();
        fs::write(at("src/a.rs"), "fn a() {\n    1\n}\n").unwrap();
        fs::write(at("old.txt"), "old\n").unwrap();
        fs::write(at("name.txt"), "x\ny\n").unwrap();
        let fixture = fixture(root.path(), Withheld::default()).await;
        let said = patch(
            &fixture,
            "*** Update File: src/a.rs\n@@ fn a() {\n-    1\n+    2\n*** Add File: new/b.txt\n+b\n*** Delete File: old.txt\n\
             *** Update File: name.txt\n*** Move to: named.txt\n x\n-y\n+z",
        )
        .await;
        assert_eq!(
            said,
            "replaced src/a.rs, 17 bytes\nmade new/b.txt, 2 bytes\nremoved old.txt\nmade named.txt, 4 bytes\nremoved name.txt"
        );
        let texts = texts_below(root.path());
        let texts: Vec<(&str, &str)> = texts
            .iter()
            .map(|(p, t)| (p.as_str(), t.as_str()))
            .collect();
        assert_eq!(
            texts,
            [
                ("named.txt", "x\nz\n"),
                ("new/b.txt", "b\n"),
                ("src/a.rs", "fn a() {\n    2\n}\n"),
            ]
        );
    }

    /// S9: nothing outside of the workspace, in `.git` or of monolith's own is changed, and with it nothing of the same patch.
    #[tokio::test]
    async fn s9_a_patch_with_one_part_that_is_refused_changes_nothing() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("theirs"), "theirs\n").unwrap();
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at(".git/hooks")).unwrap();
        fs::write(at(".git/config"), "[core]\n").unwrap();
        fs::create_dir(at("state")).unwrap();
        fs::write(at("state/runs.db"), "rows\n").unwrap();
        fs::hard_link(at("state/runs.db"), at("rows")).unwrap();
        fs::write(at("a"), "a\n").unwrap();
        symlink(outside.path(), at("out")).unwrap();
        symlink(outside.path().join("theirs"), at("leak")).unwrap();
        symlink(".git/hooks/pre-commit", at("hook")).unwrap();
        symlink("a", at("link")).unwrap();
        let before = (texts_below(root.path()), texts_below(outside.path()));
        let withheld = Withheld::new(vec![at("state")], Vec::new());
        let fixture = fixture(root.path(), withheld).await;
        for (part, code) in [
            ("*** Add File: ../x\n+x", "PATH_OUTSIDE_WORKSPACE"),
            ("*** Add File: /etc/x\n+x", "PATH_OUTSIDE_WORKSPACE"),
            ("*** Add File: out/x\n+x", "PATH_OUTSIDE_WORKSPACE"),
            (
                "*** Update File: leak\n-theirs\n+ours",
                "PATH_OUTSIDE_WORKSPACE",
            ),
            ("*** Delete File: leak", "NOT_A_FILE"),
            ("*** Delete File: out/theirs", "PATH_OUTSIDE_WORKSPACE"),
            (
                "*** Update File: a\n*** Move to: out/a\n-a\n+b",
                "PATH_OUTSIDE_WORKSPACE",
            ),
            ("*** Add File: .git/hooks/pre-commit\n+x", "PATH_CLOSED"),
            ("*** Add File: sub/.GIT/hooks/pre-commit\n+x", "PATH_CLOSED"),
            ("*** Add File: hook\n+x", "PATH_CLOSED"),
            ("*** Update File: .git/config\n-[core]\n+x", "PATH_CLOSED"),
            ("*** Delete File: .git/config", "PATH_CLOSED"),
            ("*** Update File: rows\n-rows\n+x", "PATH_WITHHELD"),
            ("*** Delete File: rows", "PATH_WITHHELD"),
            ("*** Delete File: state/runs.db", "PATH_WITHHELD"),
            ("*** Add File: state/new\n+x", "PATH_WITHHELD"),
            ("*** Add File: a\n+x", "ALREADY_EXISTS"),
            ("*** Delete File: none", "NOT_FOUND"),
            ("*** Delete File: none/x", "NOT_FOUND"),
            ("*** Delete File: link", "NOT_A_FILE"),
            ("*** Delete File: .git", "PATH_CLOSED"),
            ("*** Delete File: state", "NOT_A_FILE"),
            ("*** Update File: none\n-x", "NOT_FOUND"),
            ("*** Update File: a\n-b\n+c", "NO_MATCH"),
            ("*** Delete File: ./new", "INVALID_PATCH"),
            ("*** Rename File: a", "INVALID_PATCH"),
        ] {
            let said = patch(&fixture, &format!("*** Add File: new\n+new\n{part}")).await;
            assert!(said.starts_with(&format!("{code}: ")), "{part}: {said}");
            let after = (texts_below(root.path()), texts_below(outside.path()));
            assert_eq!(before, after, "{part}");
        }
        let said = patch(&fixture, "*** Add File: new\n+new").await;
        assert_eq!(said, "made new, 4 bytes");
    }

    #[cfg(target_os = "linux")]
    struct StopWhenDropped<'a>(&'a AtomicBool);

    #[cfg(target_os = "linux")]
    impl Drop for StopWhenDropped<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_race_of_links_leads_a_write_outside() {
        let outside = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("dir")).unwrap();
        symlink(outside.path(), at("away")).unwrap();
        let fixture = fixture(root.path(), Withheld::default()).await;
        let stop = AtomicBool::new(false);
        let (mut written, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    // The folder and the link change places.
                    let swap = rustix::fs::RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(
                        rustix::fs::CWD,
                        at("dir"),
                        rustix::fs::CWD,
                        at("away"),
                        swap,
                    )
                    .unwrap();
                }
            });
            // A panic below ends the thread, too: the scope waits for it.
            let _stop = StopWhenDropped(&stop);
            let runtime = tokio::runtime::Handle::current();
            tokio::task::block_in_place(|| {
                runtime.block_on(async {
                    // Both come to pass sooner or later: when is up to the scheduler.
                    while written < 200 || refused == 0 {
                        let n = written + refused;
                        let said = write(&fixture, &format!("dir/f{n}"), "x").await;
                        if said.starts_with("PATH_OUTSIDE_WORKSPACE") {
                            refused += 1;
                        } else {
                            written += 1;
                        }
                    }
                });
            });
        });
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
