//! Scans: what belongs to a tree, and what is read again.

use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use super::fixture::{Faults, Fixture, every_kind, put, scan, set_mode, watch};
use crate::work_tree::ops::Ops;
use crate::work_tree::removal::remove_tree;
use crate::work_tree::{OpenGate, ScanTerms, TreePlaces, WorkTree, WorkTreeError, pattern_fault};

fn names(scan: &crate::work_tree::Scan) -> Vec<String> {
    scan.manifest
        .iter()
        .map(|(path, _)| path.to_string())
        .collect()
}

#[test]
fn ignored_and_excluded_paths_and_repositories_are_no_part_of_the_tree() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, ".gitignore", "target/\n*.log\n!kept.log\n");
    put(&tree, "src/.gitignore", "secret\n.gitignore\n");
    // Git does not know these.
    put(&tree, ".ignore", "*.rs\n");
    put(&tree, ".git/info/exclude", "*.rs\n");
    for file in [
        "target/out",
        "a.log",
        "kept.log",
        "src/secret",
        "src/b.rs",
        "data/x",
        ".git/HEAD",
        "sub/.git",
    ] {
        put(&tree, file, "x");
    }
    let locked = fixture.lock(&tree);
    let scan = |include: &[&str]| {
        let excludes = ["/data".to_owned()];
        let include: Vec<_> = include.iter().map(|text| (*text).to_owned()).collect();
        let terms = ScanTerms {
            excludes: &excludes,
            include_ignored: &include,
        };
        locked.scan(terms, &watch).unwrap()
    };
    let plain = scan(&[]);
    let expected = [
        ".gitignore",
        ".ignore",
        "kept.log",
        "src",
        "src/.gitignore",
        "src/b.rs",
        "sub",
    ];
    assert_eq!(names(&plain), expected);
    let texts = |paths: &[monolith_core::work::WorkPath]| -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    };
    assert_eq!(texts(&plain.ignored), ["a.log", "src/secret", "target"]);
    assert_eq!(texts(&plain.left_out), [".git", "data", "sub/.git"]);
    let included = scan(&["target/out"]);
    assert!(names(&included).contains(&"target".to_owned()));
    assert!(names(&included).contains(&"target/out".to_owned()));
    assert_eq!(texts(&included.ignored), ["a.log", "src/secret"]);
}

#[test]
fn a_text_that_is_no_pattern_has_a_reason() {
    for text in ["[", "a[b", "{a", "a\\", "", " ", "# x"] {
        assert!(pattern_fault(text).is_some(), "{text:?}");
    }
    for text in ["*.log", "!a", "/x/", "[ab]", "a/**/b"] {
        assert_eq!(pattern_fault(text), None, "{text:?}");
    }
}

#[test]
fn the_state_folder_and_withheld_files_in_the_tree_are_left_out() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "store.db", "x");
    put(&tree, "file", "x");
    let state = tree.join("state.work");
    let places = TreePlaces {
        state: &state,
        tree: &tree,
        withheld: &[tree.join("store.db")],
    };
    let (locked, _) = WorkTree::lock(places, Arc::new(Faults::none())).unwrap();
    assert_eq!(names(&scan(&locked)), ["file"]);
    let scratch = super::fixture::scratch(&locked);
    assert!(!scratch.path().join("store.db").exists());
    drop(locked);
    let within = state.join("inner");
    fs::create_dir(&within).unwrap();
    let places = TreePlaces {
        tree: &within,
        ..places
    };
    let error = WorkTree::lock(places, Arc::new(Faults::none()))
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, WorkTreeError::Unfit { .. }), "{error}");
}

#[test]
fn a_socket_is_refused_by_name_unless_it_is_ignored() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    let _socket = UnixListener::bind(tree.join("run.sock")).unwrap();
    let locked = fixture.lock(&tree);
    let error = locked
        .scan(ScanTerms::default(), &watch)
        .map(drop)
        .unwrap_err();
    assert!(error.to_string().starts_with("run.sock: "), "{error}");
    put(&tree, ".gitignore", "*.sock\n");
    assert_eq!(names(&scan(&locked)), [".gitignore"]);
    let scratch = super::fixture::scratch(&locked);
    assert!(!scratch.path().join("run.sock").exists());
}

#[test]
fn unchanged_files_are_read_once_and_young_ones_again() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let locked = fixture.lock(&tree);
    let first = scan(&locked);
    let files = names(&first).len();
    assert!(first.read > 10 && first.read < files as u64);
    // Times reveal the next change of a file only after this long.
    let settled = std::time::Instant::now() + Duration::from_millis(150);
    while let Some(left) = settled.checked_duration_since(std::time::Instant::now()) {
        std::thread::park_timeout(left);
    }
    let second = scan(&locked);
    assert!(second.read <= first.read);
    assert_eq!(scan(&locked).read, 0);
    assert_eq!(second.manifest.hash(), first.manifest.hash());
    put(&tree, "edited.txt", "2ne\ntwo\n");
    let third = scan(&locked);
    assert_eq!(third.read, 1);
    assert_ne!(third.manifest.hash(), first.manifest.hash());
    // It was written just now: another write may leave its times.
    assert_eq!(scan(&locked).read, 1);
    // Whoever sets the time of a content back changes the other time.
    let path = tree.join("deleted.txt");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "gone").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    assert_ne!(scan(&locked).manifest.hash(), third.manifest.hash());
}

#[test]
fn folders_5000_deep_are_refused_in_words_and_can_be_removed() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    let root = OwnedFd::from(fs::File::open(&tree).unwrap());
    let mut folder = root.try_clone().unwrap();
    for _ in 0..5_000 {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        folder = openat(&folder, "d", flags, Mode::empty()).unwrap();
    }
    drop(folder);
    let locked = fixture.lock(&tree);
    let error = locked.scan(ScanTerms::default(), &watch);
    let error = error.map(drop).unwrap_err().to_string();
    assert!(
        error.ends_with("more than 100 deep; exclude them"),
        "{error}"
    );
    let excludes = ["d".to_owned()];
    let terms = ScanTerms {
        excludes: &excludes,
        ..ScanTerms::default()
    };
    assert_eq!(names(&locked.scan(terms, &watch).unwrap()), [""; 0]);
    remove_tree(Ops(&OpenGate), root.as_fd(), OsStr::new("d")).unwrap();
    assert!(!tree.join("d").exists());
}

#[test]
fn the_hash_covers_modes_links_and_empty_folders_and_no_times() {
    let fixture = Fixture::new();
    let hash = |name: &str, change: fn(&std::path::Path)| {
        let tree = fixture.tree(name);
        every_kind(&tree);
        change(&tree);
        scan(&fixture.lock(&tree)).manifest.hash()
    };
    let base = hash("a", |_| {});
    assert_eq!(base, hash("b", |_| {}));
    assert_ne!(base, hash("c", |tree| set_mode(tree, "script.sh", 0o755)));
    assert_ne!(
        base,
        hash("d", |tree| fs::remove_dir(tree.join("empty-gone")).unwrap())
    );
    assert_ne!(
        base,
        hash("e", |tree| fs::remove_file(tree.join("link")).unwrap())
    );
    assert_eq!(base, hash("f", |tree| put(tree, "ignored/other", "x")));
}

#[test]
fn a_scan_stops_where_the_watch_breaks() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let stop = |_: u64| -> ControlFlow<()> { ControlFlow::Break(()) };
    let stopped = fixture.lock(&tree).scan(ScanTerms::default(), &stop);
    assert!(matches!(stopped, Err(WorkTreeError::Stopped)));
}
