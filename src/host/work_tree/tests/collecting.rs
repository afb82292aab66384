//! The removal of kept contents: needed ones stay, all others go, and nothing goes while another process works on a tree.

use std::path::PathBuf;

use monolith_core::message::Digest;

use super::fixture::{Fixture, put, scan, scratch, watch};
use crate::work_tree::{ASIDE, Collected, Needed, ScanTerms, WorkTree, collect_contents};

fn has(tree: &WorkTree, content: &str) -> bool {
    let digest = Digest::of(content.as_bytes());
    tree.content(digest).expect("a look").is_some()
}

fn snapshot(tree: &WorkTree) -> Digest {
    tree.snapshot(&scan(tree), &watch).expect("a snapshot")
}

#[test]
fn needed_trees_and_contents_stay_and_all_others_go() {
    let fixture = Fixture::new();
    let root = fixture.tree("a");
    put(&root, "file", "one");
    let tree = fixture.lock(&root);
    let first = snapshot(&tree);
    put(&root, "file", "second");
    put(&root, "loose", "third");
    let second = snapshot(&tree);
    let needed = |trees: &[Digest]| Needed {
        contents: [Digest::of(b"third")].into(),
        trees: trees.iter().copied().collect(),
    };
    let collected = tree.collect(|| Ok(needed(&[first, second])));
    assert_eq!(collected.expect("a look"), Collected::default());
    let collected = tree.collect(|| Ok(needed(&[first])));
    let expect = Collected {
        contents: 1,
        trees: 1,
    };
    assert_eq!(collected.expect("a collection"), expect);
    assert!(has(&tree, "one") && has(&tree, "third") && !has(&tree, "second"));
    assert!(tree.manifest(first).expect("a look").is_some());
    assert!(tree.manifest(second).expect("a look").is_none());
    // The next snapshot keeps it again.
    assert_eq!(snapshot(&tree), second);
    assert!(has(&tree, "second"));
}

#[test]
fn nothing_goes_while_another_process_works_on_a_tree() {
    let fixture = Fixture::new();
    let (root, other) = (fixture.tree("a"), fixture.tree("b"));
    put(&root, "file", "one");
    let (tree, other) = (fixture.lock(&root), fixture.lock(&other));
    snapshot(&tree);
    let nothing = || Ok(Needed::default());
    assert_eq!(tree.collect(nothing).expect("a look"), Collected::default());
    drop(other);
    let from_outside = || collect_contents(&fixture.state(), nothing).expect("a look");
    assert_eq!(from_outside(), Collected::default());
    assert!(has(&tree, "one"));
    drop(tree);
    let expect = Collected {
        contents: 1,
        trees: 1,
    };
    assert_eq!(from_outside(), expect);
}

#[test]
fn files_that_are_put_aside_are_no_change_of_a_scratch_tree() {
    let fixture = Fixture::new();
    let root = fixture.tree("a");
    put(&root, "file", "one");
    let tree = fixture.lock(&root);
    let scratch = scratch(&tree);
    let file = PathBuf::from("item/after/file");
    tree.put_aside(scratch.path(), &[(file.clone(), Digest::of(b"one"))])
        .expect("a file");
    let path = scratch.path().join(ASIDE).join(file);
    assert_eq!(std::fs::read_to_string(path).expect("a file"), "one");
    let compared = tree.compare(&scratch, ScanTerms::default(), &watch);
    let compared = compared.expect("a difference");
    assert!(compared.changes.is_empty() && compared.discarded.is_empty());
    tree.remove_scratch("item").expect("no scratch tree");
    let none = tree.put_aside(&root, &[(PathBuf::from("x"), Digest::of(b"lost"))]);
    assert!(none.is_err_and(|fault| fault.to_string().contains("is not kept")));
}
