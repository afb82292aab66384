//! Scratch trees: what they hold, and how they differ afterwards.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use monolith_core::work::{TreeNode, WorkPath};
use monolith_testkit::depth;

use super::fixture::{Faults, Fixture, MOST, every_kind, picture, put, scan, scratch, watch};
use crate::work_tree::{Compared, ScanTerms, Scratch, WorkTree, WorkTreeError};

fn compare(tree: &WorkTree, scratch: &Scratch) -> Compared {
    tree.compare(scratch, ScanTerms::default(), &watch).unwrap()
}

fn texts(paths: &[WorkPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

#[test]
fn a_scratch_tree_is_the_work_tree_with_its_ignored_files_and_times() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    put(&tree, ".git/HEAD", "ref");
    let locked = fixture.lock(&tree);
    let scratch = scratch(&locked);
    let mut expected = picture(&tree);
    expected.retain(|path, _| !path.starts_with(b".git/") && path != b".git");
    assert_eq!(picture(scratch.path()), expected);
    for path in ["edited.txt", "ignored/cache", "untouched"] {
        let time = |root: &std::path::Path| {
            let found = fs::metadata(root.join(path)).unwrap();
            (found.mtime(), found.mtime_nsec())
        };
        assert_eq!(time(&tree), time(scratch.path()), "{path}");
    }
    let inode = |root: &std::path::Path| fs::metadata(root.join("hard-a")).unwrap().ino();
    assert_ne!(inode(&tree), inode(scratch.path()));
    assert_eq!(compare(&locked, &scratch).changes, []);
}

#[test]
fn changes_outside_the_tree_are_listed_and_thrown_away() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    put(&tree, "ignored/gone", "x");
    let locked = fixture.lock(&tree);
    let scratch = scratch(&locked);
    put(scratch.path(), "ignored/cache", "changed");
    put(scratch.path(), "ignored/new", "new");
    put(scratch.path(), ".git/config", "new");
    fs::remove_file(scratch.path().join("ignored/gone")).unwrap();
    let compared = compare(&locked, &scratch);
    assert_eq!(compared.changes, []);
    let expected = [".git", "ignored/cache", "ignored/gone", "ignored/new"];
    assert_eq!(texts(&compared.discarded), expected);
}

#[test]
fn new_ignore_rules_neither_hide_nor_delete_a_file_of_the_tree() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let locked = fixture.lock(&tree);
    let scratch = scratch(&locked);
    put(scratch.path(), ".gitignore", "untouched/\n");
    put(scratch.path(), "untouched/.gitignore", "*\n");
    put(scratch.path(), "crate/.gitignore", "target\n");
    put(scratch.path(), "crate/target/out", "built");
    put(scratch.path(), "crate/x.tmp", "ignored all the same");
    let compared = compare(&locked, &scratch);
    let changed: Vec<_> = compared
        .changes
        .iter()
        .map(|change| change.path.clone())
        .collect();
    let expected = [
        ".gitignore",
        "crate",
        "crate/.gitignore",
        "crate/target",
        "crate/target/out",
        "untouched/.gitignore",
    ];
    assert_eq!(texts(&changed), expected);
    assert_eq!(texts(&compared.discarded), ["crate/x.tmp"]);
    let removed = compared
        .changes
        .iter()
        .filter(|change| change.after.is_none());
    assert_eq!(removed.count(), 0);
}

#[test]
fn rules_that_ignore_their_own_file_count_in_a_scratch_tree() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "venv/.gitignore", "*\n");
    put(&tree, "venv/lib", "installed");
    let locked = fixture.lock(&tree);
    let scratch = scratch(&locked);
    // Its copy does not decide.
    fs::remove_file(scratch.path().join("venv/.gitignore")).unwrap();
    put(scratch.path(), "venv/new", "installed");
    let compared = compare(&locked, &scratch);
    let changed: Vec<_> = compared.changes.into_iter().map(|it| it.path).collect();
    assert_eq!(texts(&changed), ["venv/.gitignore"]);
    assert_eq!(texts(&compared.discarded), ["venv/new"]);
}

#[test]
fn rules_that_a_pattern_excludes_do_not_count_in_either_tree() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, ".gitignore", "*.log\n");
    put(&tree, "a.log", "one");
    let locked = fixture.lock(&tree);
    let excludes = [".gitignore".to_owned()];
    let terms = ScanTerms {
        excludes: &excludes,
        ..ScanTerms::default()
    };
    let scan = locked.scan(terms, &watch).unwrap();
    assert_eq!(scan.ignored, []);
    locked.snapshot(&scan, &watch).unwrap();
    let made = locked.make_scratch(&scan, ("item", MOST), &watch).unwrap();
    assert_eq!(locked.compare(&made, terms, &watch).unwrap().changes, []);
}

#[test]
fn a_tree_has_the_hash_that_an_item_left_by_the_rules_that_counted_before_it() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "x.log", "old");
    let locked = fixture.lock(&tree);
    let before = scan(&locked).manifest.hash();
    let scratch = scratch(&locked);
    put(scratch.path(), ".gitignore", "*.log\n");
    put(scratch.path(), "x.log", "new");
    let Compared { after, changes, .. } = compare(&locked, &scratch);
    locked.keep_changes(&scratch, &changes, &watch).unwrap();
    locked.publish("item", &changes).unwrap();
    let now = scan(&locked);
    assert_ne!(now.manifest.hash(), after.hash());
    let terms = ScanTerms::default();
    let by = |kept| locked.hash_by(kept, &now, terms, &watch).unwrap();
    assert_eq!(by(before), Some(after.hash()));
    assert_eq!(by(now.manifest.hash()), None);
    let scanned = locked.scan_by(before, terms, &watch).unwrap();
    assert_eq!(scanned.map(|scan| scan.manifest), Some(after));
    assert!(locked.has(&changes).unwrap());
    put(&tree, "x.log", "edited");
    assert!(!locked.has(&changes).unwrap());
}

#[test]
fn a_scratch_tree_is_compared_by_another_process() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let locked = fixture.lock(&tree);
    let first = scratch(&locked);
    put(first.path(), "edited.txt", "changed");
    put(first.path(), "ignored/cache", "changed");
    let expected = compare(&locked, &first);
    drop((first, locked));
    let locked = fixture.lock(&tree);
    assert_eq!(locked.scratches().unwrap(), ["item"]);
    let again = locked.open_scratch("item").unwrap().unwrap();
    assert_eq!(compare(&locked, &again), expected);
    assert_eq!(expected.changes.len(), 1);
    locked.remove_scratch("item").unwrap();
    assert!(locked.open_scratch("item").unwrap().is_none());
    assert!(!again.path().exists());
}

#[test]
fn a_tree_larger_than_the_limit_is_not_copied() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "large", vec![7_u8; 100_000]);
    let locked = fixture.lock(&tree);
    let error = locked
        .make_scratch(&scan(&locked), ("item", 99_999), &watch)
        .map(drop)
        .unwrap_err();
    assert!(error.to_string().contains("100000 bytes"), "{error}");
    assert!(error.to_string().contains("99999"), "{error}");
    assert!(locked.scratches().unwrap().is_empty());
    for id in ["", "../x", "a b", "x.stage"] {
        let error = locked
            .make_scratch(&scan(&locked), (id, MOST), &watch)
            .map(drop);
        assert!(
            matches!(error, Err(WorkTreeError::InvalidId { .. })),
            "{id}"
        );
    }
}

#[test]
fn a_snapshot_of_a_tree_that_changed_since_its_scan_is_refused() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "file", "one");
    let locked = fixture.lock(&tree);
    let before = scan(&locked);
    put(&tree, "file", "two");
    let error = locked.snapshot(&before, &watch).unwrap_err();
    assert!(matches!(error, WorkTreeError::Moved { .. }), "{error}");
    let error = locked
        .make_scratch(&before, ("item", MOST), &watch)
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, WorkTreeError::Moved { .. }), "{error}");
    assert!(locked.scratches().unwrap().is_empty());
}

/// 004/4.atomic.2
#[test]
fn the_snapshot_holds_every_content_after_the_tree_is_gone() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let locked = fixture.lock(&tree);
    let hash = locked.snapshot(&scan(&locked), &watch).unwrap();
    put(&tree, "edited.txt", "changed");
    let manifest = locked.manifest(hash).unwrap().expect("a manifest");
    for (path, node) in manifest.iter() {
        let digest = match node {
            TreeNode::File { content, .. } => content,
            TreeNode::Link { target } => target,
            TreeNode::Folder { .. } => continue,
        };
        let file = locked.content(*digest).unwrap().expect("a content");
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut { file }, &mut bytes).unwrap();
        assert_eq!(
            monolith_core::message::Digest::of(&bytes),
            *digest,
            "{path}"
        );
    }
}

#[test]
fn a_scratch_tree_says_nothing_about_a_snapshot() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "file", "one");
    let locked = fixture.lock(&tree);
    let before = scan(&locked);
    locked
        .make_scratch(&before, ("item", MOST), &watch)
        .unwrap();
    let digest = monolith_core::message::Digest::of(b"one");
    assert!(locked.content(digest).unwrap().is_none());
    let hash = locked.snapshot(&before, &watch).unwrap();
    assert!(locked.content(digest).unwrap().is_some());
    // The second one looks at no file.
    put(&tree, "file", "two");
    assert_eq!(locked.snapshot(&before, &watch).unwrap(), hash);
}

#[test]
fn a_removal_that_is_killed_at_any_operation_is_done_by_the_next_process() {
    let fixture = Fixture::new();
    for dead_from in 0.. {
        let tree = fixture.tree(&format!("tree-{dead_from}"));
        put(&tree, "folder/file", "one");
        let locked = fixture.lock(&tree);
        let made = scratch(&locked);
        locked
            .make_test_copy(&scan(&locked), ("item", MOST), &[], &watch)
            .unwrap();
        drop((made, locked));
        let faults = Arc::new(Faults {
            dead_from,
            ..Faults::none()
        });
        let (locked, _) = fixture.lock_with(&tree, Arc::clone(&faults)).unwrap();
        let removed = locked.remove_scratch("item");
        drop(locked);
        let locked = fixture.lock(&tree);
        for id in locked.scratches().unwrap() {
            locked.remove_scratch(&id).unwrap();
        }
        let left = tree.parent().unwrap().join(".monolith-scratch");
        for folder in fs::read_dir(left).unwrap() {
            let names = fs::read_dir(folder.unwrap().path()).unwrap();
            let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names, [".owner"], "killed at {dead_from}");
        }
        if !faults.fired() {
            removed.unwrap();
            assert!(dead_from > 5);
            return;
        }
    }
}

#[test]
fn a_large_sparse_file_is_hashed_and_copied_without_filling_the_disk() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    let bytes = depth::bound(64 << 20, 10 << 30);
    let file = fs::File::create(tree.join("image")).unwrap();
    file.set_len(bytes).unwrap();
    let locked = fixture.lock(&tree);
    let before = scan(&locked);
    let scratch = locked
        .make_scratch(&before, ("item", 1 << 20), &watch)
        .unwrap();
    let copy = fs::metadata(scratch.path().join("image")).unwrap();
    assert_eq!(copy.len(), bytes);
    assert!(copy.blocks() * 512 < 1 << 20);
    assert_eq!(compare(&locked, &scratch).changes, []);
}
