//! Publishing and thawing without faults: what changes, and what never does.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use monolith_core::work::{PathChange, WorkPath};

use super::fixture::{
    Fixture, MOST, change_every_kind, changes_of, every_kind, picture, put, scan, set_mode, watch,
};
use crate::work_tree::WorkTreeError;

fn path(text: &str) -> WorkPath {
    text.parse().expect("a path")
}

fn published(work: impl FnOnce(&Path)) -> (Fixture, std::path::PathBuf, Vec<PathChange>) {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let changes = changes_of(&fixture.lock(&tree), work);
    (fixture, tree, changes)
}

#[test]
fn every_kind_of_path_is_published_and_nothing_else_changes() {
    let (fixture, tree, changes) = published(change_every_kind);
    assert!(changes.len() >= 20, "{}", changes.len());
    let expected = fixture.tree("b");
    every_kind(&expected);
    let kept = fs::read(expected.join("folder-kept/mine.tmp")).unwrap();
    change_every_kind(&expected);
    // A folder with an ignored file stays, and changes of ignored files are thrown away.
    put(&expected, "folder-kept/mine.tmp", kept);
    put(&expected, "ignored/cache", "never published");
    fs::remove_file(expected.join("hard-b")).unwrap();
    put(&expected, "hard-b", "shared");
    let untouched = fs::metadata(tree.join("untouched/file")).unwrap();
    let locked = fixture.lock(&tree);
    let done = locked.publish("item", &changes).unwrap();
    assert_eq!(done.kept, [path("folder-kept")]);
    assert_eq!(picture(&tree), picture(&expected));
    let after = fs::metadata(tree.join("untouched/file")).unwrap();
    let facts = |found: &fs::Metadata| (found.ino(), found.mtime_nsec(), found.ctime_nsec());
    assert_eq!(facts(&untouched), facts(&after));
    let shared = fs::read_to_string(tree.join("hard-b")).unwrap();
    assert_eq!(
        shared, "shared",
        "the other name of a hard link keeps its content"
    );
    assert!(tree.join("new-sparse").metadata().unwrap().blocks() < 64);
    assert_eq!(locked.scratches().unwrap(), Vec::<String>::new());
}

#[test]
fn a_thaw_gives_back_the_tree_of_before() {
    let (fixture, tree, changes) = published(change_every_kind);
    let before = picture(&tree);
    let locked = fixture.lock(&tree);
    locked.publish("item", &changes).unwrap();
    assert_ne!(picture(&tree), before);
    let thawed = locked.thaw("item", &changes).unwrap();
    assert_eq!(picture(&tree), before);
    assert_eq!((thawed.left, thawed.kept), (Vec::new(), Vec::new()));
    // The folder that stayed needs no thaw.
    assert_eq!(thawed.restored.len(), changes.len() - 1);
    let again = locked.thaw("item", &changes).unwrap();
    assert_eq!(again.restored, []);
}

#[test]
fn a_thaw_leaves_what_others_changed_since() {
    let (fixture, tree, changes) = published(change_every_kind);
    let locked = fixture.lock(&tree);
    locked.publish("item", &changes).unwrap();
    put(&tree, "edited.txt", "a person's work");
    put(&tree, "new/deep/other", "a person's work");
    let thawed = locked.thaw("item", &changes).unwrap();
    assert_eq!(thawed.left, [path("edited.txt")]);
    assert_eq!(thawed.kept, [path("new"), path("new/deep")]);
    let read = |name: &str| fs::read_to_string(tree.join(name)).unwrap();
    assert_eq!(read("edited.txt"), "a person's work");
    assert_eq!(read("new/deep/other"), "a person's work");
    assert_eq!(read("deleted.txt"), "goes");
    assert!(!tree.join("new/deep/file").exists());
}

#[test]
fn a_conflict_names_every_path_and_changes_nothing() {
    let (fixture, tree, changes) = published(change_every_kind);
    put(&tree, "edited.txt", "another item's");
    put(&tree, "new-link", "another item's");
    set_mode(&tree, "mode-folder", 0o711);
    let before = picture(&tree);
    let error = fixture.lock(&tree).publish("item", &changes).unwrap_err();
    let WorkTreeError::Conflict { paths } = error else {
        panic!("{error}");
    };
    let expected = ["edited.txt", "mode-folder", "new-link"].map(path);
    assert_eq!(paths, expected);
    assert_eq!(picture(&tree), before);
}

#[test]
fn a_file_of_others_in_a_folder_that_becomes_a_file_is_a_conflict() {
    let (fixture, tree, changes) = published(change_every_kind);
    put(&tree, "folder-to-file/theirs.tmp", "ignored");
    let before = picture(&tree);
    let error = fixture.lock(&tree).publish("item", &changes).unwrap_err();
    assert!(error.to_string().contains("folder-to-file"), "{error}");
    assert_eq!(picture(&tree), before);
}

#[test]
fn nothing_is_published_through_a_link_that_took_the_place_of_a_folder() {
    let (fixture, tree, changes) = published(|root| put(root, "untouched/new", "new"));
    let outside = fixture.tree("outside");
    fs::rename(tree.join("untouched"), outside.join("untouched")).unwrap();
    symlink(outside.join("untouched"), tree.join("untouched")).unwrap();
    let error = fixture.lock(&tree).publish("item", &changes).unwrap_err();
    assert!(matches!(error, WorkTreeError::Conflict { .. }), "{error}");
    assert!(!outside.join("untouched/new").exists());
}

#[test]
fn nothing_is_published_into_a_repository() {
    let (fixture, tree, changes) = published(|root| put(root, "hook", "#!/bin/sh\n"));
    let into = |name: &str| {
        let change = changes.first().cloned().map(|change| PathChange {
            path: path(name),
            ..change
        });
        Vec::from_iter(change)
    };
    let locked = fixture.lock(&tree);
    for name in [".git/hooks/update", "sub/.GIT", ".monolith-scratch/x"] {
        let error = locked.publish("item", &into(name)).unwrap_err();
        assert!(error.to_string().starts_with(name), "{error}");
    }
}

#[test]
fn a_replaced_file_keeps_its_owner_and_a_new_one_has_that_of_its_folder() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let own = |name: &str| std::os::unix::fs::chown(tree.join(name), Some(1234), Some(1235));
    for name in ["edited.txt", "deleted.txt", "untouched", "script.sh"] {
        own(name).unwrap();
    }
    set_mode(&tree, "script.sh", 0o4755);
    let locked = fixture.lock(&tree);
    let changes = changes_of(&locked, |root| {
        put(root, "edited.txt", "changed");
        put(root, "untouched/new", "new");
        set_mode(root, "script.sh", 0o4711);
    });
    locked.publish("item", &changes).unwrap();
    for name in ["edited.txt", "untouched/new", "script.sh"] {
        let found = fs::metadata(tree.join(name)).unwrap();
        assert_eq!((found.uid(), found.gid()), (1234, 1235), "{name}");
    }
    assert_eq!(
        fs::metadata(tree.join("script.sh")).unwrap().mode() & 0o7777,
        0o4711
    );
}

#[test]
fn a_replaced_file_keeps_its_group_and_a_new_one_has_that_of_a_folder_that_passes_it_on() {
    let own = rustix::process::getegid();
    let groups = rustix::process::getgroups().unwrap();
    let group = groups.into_iter().find(|group| *group != own);
    let group = if rustix::process::geteuid().is_root() {
        1235
    } else if let Some(group) = group {
        group.as_raw()
    } else {
        // This user has no second group to give.
        return;
    };
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    for name in ["edited.txt", "untouched"] {
        std::os::unix::fs::chown(tree.join(name), None, Some(group)).unwrap();
    }
    set_mode(&tree, "untouched", 0o2775);
    let locked = fixture.lock(&tree);
    let changes = changes_of(&locked, |root| {
        put(root, "edited.txt", "changed");
        put(root, "untouched/new", "new");
    });
    locked.publish("item", &changes).unwrap();
    for name in ["edited.txt", "untouched/new"] {
        assert_eq!(
            fs::metadata(tree.join(name)).unwrap().gid(),
            group,
            "{name}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_replaced_file_keeps_its_extended_attributes() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let (file, name) = (tree.join("edited.txt"), "user.monolith.test");
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&file, name, b"kept", flags).is_err() {
        // The file system has none.
        return;
    }
    let locked = fixture.lock(&tree);
    let changes = changes_of(&locked, |root| {
        fs::remove_file(root.join("edited.txt")).unwrap();
        put(root, "edited.txt", "changed");
    });
    locked.publish("item", &changes).unwrap();
    let mut value = [0; 16];
    let bytes = rustix::fs::getxattr(&file, name, &mut value).unwrap();
    assert_eq!(value.get(..bytes), Some(b"kept".as_slice()));
}

#[test]
fn a_test_copy_holds_the_changes_and_the_ignored_files() {
    let (fixture, tree, changes) = published(change_every_kind);
    let before = picture(&tree);
    let locked = fixture.lock(&tree);
    let copy = locked
        .make_test_copy(&scan(&locked), ("item", MOST), &changes, &watch)
        .unwrap();
    assert_eq!(picture(&tree), before, "the work tree is as it was");
    let expected = fixture.tree("b");
    every_kind(&expected);
    let other = fixture.lock(&expected);
    other.publish("item", &changes).unwrap();
    assert_eq!(picture(&copy), picture(&expected));
    locked.remove_scratch("item").unwrap();
    assert!(!copy.exists());
}

#[test]
fn a_second_process_is_told_who_holds_the_tree() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    let _held = fixture.lock(&tree);
    let faults = std::sync::Arc::new(super::fixture::Faults::none());
    let error = fixture.lock_with(&tree, faults).map(drop).unwrap_err();
    let holder = format!("process {}", std::process::id());
    assert!(error.to_string().contains(&holder), "{error}");
}

#[test]
fn a_name_that_is_no_text_is_published() {
    let (fixture, tree, changes) = published(|root| {
        put(root, std::ffi::OsStr::from_bytes(b"a/\xff\n"), "new");
    });
    fixture.lock(&tree).publish("item", &changes).unwrap();
    let file = tree.join(std::ffi::OsStr::from_bytes(b"a/\xff\n"));
    assert_eq!(fs::read_to_string(file).unwrap(), "new");
}
