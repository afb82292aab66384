//! A work tree that is a repository: the trees before and after an item are commits, and nothing else of the repository changes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{RUN, fixture, writes};
use crate::fixture::text;

fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
    let ended = command.args(words).current_dir(folder).output().unwrap();
    let said = text(&ended.stdout) + &text(&ended.stderr);
    assert!(ended.status.success(), "{words:?}: {said}");
    said
}

#[test]
fn a_success_is_two_commits_and_leaves_index_branches_and_stash_alone() {
    let fixture = fixture();
    let tree = fixture.path("tree");
    git(&tree, &["init", "-q", "-b", "main"]);
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "first"]);
    fixture.write("tree/mine.txt", "not committed\n");
    fixture.write("tree/staged.txt", "staged\n");
    git(&tree, &["add", "staged.txt"]);
    let index = fs::read(tree.join(".git/index")).unwrap();
    let refs = || {
        git(
            &tree,
            &[
                "for-each-ref",
                "--format=%(refname) %(objectname)",
                "refs/heads",
                "refs/stash",
            ],
        )
    };
    let before = refs();
    fixture.item_agent(
        "agent-1",
        &[writes("README.md", "changed\n"), writes("new.txt", "new\n")],
    );
    fixture.items(&[("w", "agent-1", json!({}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    assert_eq!(fs::read(tree.join(".git/index")).unwrap(), index);
    assert_eq!(refs(), before);
    let name = format!(
        "refs/monolith/work/{}",
        result["receipt_id"].as_str().unwrap()
    );
    let changed = git(
        &tree,
        &["diff", "--name-status", &format!("{name}~1"), &name],
    );
    assert_eq!(changed, "M\tREADME.md\nA\tnew.txt\n");
    // What was in the tree and not committed is in both of them.
    let of_me = git(&tree, &["show", &format!("{name}~1:mine.txt")]);
    assert_eq!(of_me, "not committed\n");
    let parent = git(&tree, &["rev-parse", &format!("{name}~2")]);
    assert_eq!(parent, git(&tree, &["rev-parse", "main"]));
}

/// The names in the folder of a repository that begin with these letters.
fn names(folder: &Path, start: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(start)).collect();
    names.sort();
    names
}

#[test]
fn nothing_of_the_configuration_is_started_and_no_other_repository_is_touched() {
    let fixture = fixture();
    let tree = fixture.path("tree");
    fixture.write("tree/sub/x", "one\n");
    fixture.write("tree/.gitattributes", "* filter=evil\n");
    let sub = tree.join("sub");
    git(&sub, &["init", "-q"]);
    git(&sub, &["add", "-A"]);
    git(&sub, &["commit", "-q", "-m", "first"]);
    git(&tree, &["init", "-q", "-b", "main"]);
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "first"]);
    // The scratch tree of another item.
    let other = tree.join(".monolith-scratch");
    fs::create_dir(&other).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o700)).unwrap();
    fixture.write("tree/.monolith-scratch/file", "of another item\n");
    let marker = fixture.path("started");
    let program = fixture.path("program");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", marker.display());
    fixture.write("program", &script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for hook in ["reference-transaction", "post-index-change"] {
        fs::copy(&program, tree.join(".git/hooks").join(hook)).unwrap();
    }
    git(&tree, &["update-index", "--split-index"]);
    let shared = names(&tree.join(".git"), "sharedindex.");
    assert!(!shared.is_empty());
    let text = program.display().to_string();
    for (key, value) in [
        ("filter.evil.clean", text.as_str()),
        ("filter.evil.required", "true"),
        ("core.fsmonitor", text.as_str()),
        ("commit.gpgSign", "true"),
        ("gpg.program", text.as_str()),
        ("core.splitIndex", "true"),
    ] {
        git(&tree, &["config", key, value]);
    }
    drop(fs::remove_file(&marker));
    fixture.item_agent(
        "agent-1",
        &[
            writes("README.md", "changed\n"),
            writes("sub/x", "two\n"),
            writes("new.txt", "new\n"),
        ],
    );
    fixture.items(&[("w", "agent-1", json!({}))]);
    let ended = fixture.ends(&RUN, 0);
    assert!(!ended.err.contains("no commit was made"), "{}", ended.err);
    let started = fs::read_to_string(&marker).unwrap_or_default();
    assert_eq!(started, "");
    assert_eq!(names(&tree.join(".git"), "sharedindex."), shared);
    for key in [
        "filter.evil.clean",
        "filter.evil.required",
        "core.fsmonitor",
    ] {
        git(&tree, &["config", "--unset", key]);
    }
    let receipts = fixture.json(&["work", "list"]).1;
    let name = format!(
        "refs/monolith/work/{}",
        receipts[0]["receipt_id"].as_str().unwrap()
    );
    for commit in [format!("{name}~1"), name.clone()] {
        let listed = git(&tree, &["ls-tree", "-r", &commit]);
        assert!(!listed.contains("scratch"), "{listed}");
        assert!(listed.contains("160000 commit"), "{listed}");
        assert!(!listed.contains("sub/x"), "{listed}");
    }
    let changed = git(
        &tree,
        &["diff", "--name-status", &format!("{name}~1"), &name],
    );
    assert_eq!(changed, "M\tREADME.md\nA\tnew.txt\n");
}

#[test]
fn a_change_of_an_ignored_file_that_git_tracks_is_said() {
    let fixture = fixture();
    let tree = fixture.path("tree");
    fixture.write("tree/.gitignore", "*.log\n");
    fixture.write("tree/x.log", "old\n");
    git(&tree, &["init", "-q", "-b", "main"]);
    git(&tree, &["add", "-f", "-A", "."]);
    git(&tree, &["commit", "-q", "-m", "first"]);
    fixture.item_agent(
        "agent-1",
        &[
            writes("README.md", "changed\n"),
            writes("x.log", "new\n"),
            writes("y.log", "git does not track it\n"),
        ],
    );
    fixture.items(&[("w", "agent-1", json!({}))]);
    let said = fixture.ends(&RUN, 0).err;
    let warning = "changes of ignored files were not published, but git tracks these: x.log";
    assert!(said.contains(warning), "{said}");
    assert!(!said.contains("y.log"), "{said}");
    assert_eq!(fixture.read("tree/x.log"), "old\n");
}

#[test]
fn commits_that_a_killed_process_did_not_make_are_made_by_the_next_one() {
    let fixture = fixture();
    let tree = fixture.path("tree");
    git(&tree, &["init", "-q", "-b", "main"]);
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "first"]);
    fixture.item_agent("agent-1", &[writes("new.txt", "new\n")]);
    fixture.items(&[("w", "agent-1", json!({}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    let receipt = result["receipt_id"].as_str().unwrap();
    let name = format!("refs/monolith/work/{receipt}");
    git(&tree, &["update-ref", "-d", &name]);
    fs::remove_file(result["receipt_path"].as_str().unwrap()).unwrap();
    fixture.result();
    let first = format!("{name}~1");
    let changed = git(&tree, &["diff", "--name-status", &first, &name]);
    assert_eq!(changed, "A\tnew.txt\n");
}
