//! Work that ends early: the watch breaks within a file, or a thread panics.

use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fixture::{Fixture, MOST, put, scan, watch};
use crate::work_tree::{ScanTerms, WorkTreeError};

#[test]
fn the_watch_ends_a_scan_and_a_copy_within_one_large_file() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "large", vec![7_u8; 16 << 20]);
    let locked = fixture.lock(&tree);
    let asked = AtomicU64::new(0);
    // More calls than there are paths.
    let stop = |_: u64| -> ControlFlow<()> {
        if asked.fetch_add(1, Ordering::Relaxed) < 2 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let is_stopped = |ended: Result<(), WorkTreeError>| {
        assert_eq!(asked.swap(0, Ordering::Relaxed), 3);
        matches!(ended, Err(WorkTreeError::Stopped))
    };
    assert!(is_stopped(
        locked.scan(ScanTerms::default(), &stop).map(drop)
    ));
    let before = scan(&locked);
    assert!(is_stopped(locked.snapshot(&before, &stop).map(drop)));
    let digest = monolith_core::message::Digest::of(&vec![7_u8; 16 << 20]);
    assert!(locked.content(digest).unwrap().is_none());
    locked.snapshot(&before, &watch).unwrap();
}

#[test]
fn the_watch_ends_a_copy_of_many_ignored_folders() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, ".gitignore", "ignored/\n");
    for number in 0..20 {
        fs::create_dir_all(tree.join(format!("ignored/{number}"))).unwrap();
    }
    let locked = fixture.lock(&tree);
    let before = scan(&locked);
    let stop = |count: u64| -> ControlFlow<()> {
        if count < 10 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let stopped = locked
        .make_scratch(&before, ("item", MOST), &stop)
        .map(drop);
    assert!(matches!(stopped, Err(WorkTreeError::Stopped)));
    assert!(locked.scratches().unwrap().is_empty());
}

#[test]
fn a_panic_of_a_thread_is_an_error_and_no_thread_waits_for_it() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "folder/file", "one");
    let panicking = |_: u64| -> ControlFlow<()> { panic!("a defect") };
    let ended = fixture.lock(&tree).scan(ScanTerms::default(), &panicking);
    let text = ended.map(drop).unwrap_err().to_string();
    assert!(text.contains("panicked"), "{text}");
}
