//! A work tree that is frozen again, beside a walk that looks at each of its paths.

use std::fs;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use monolith_core::message::Digest;
use monolith_host::work_tree::{OpenGate, ScanTerms, TreePlaces, WorkTree};

use crate::process::measured;
use crate::ratio::{Limit, Row, time};

/// Files of the tree, and those of one folder.
const FILES: u32 = 100_000;
const FILES_OF_A_FOLDER: u32 = 100;
/// Scans until the times of all files are old enough to tell the next change.
const MOST_SCANS: u32 = 1_000;

/// The rows: time on the clock, and of the processor.
pub fn rows() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a folder");
    let (tree, state) = (folder.path().join("tree"), folder.path().join("state"));
    fill(&tree);
    let places = TreePlaces {
        state: &state,
        tree: &tree,
        withheld: &[],
    };
    let (locked, _) = WorkTree::lock(places, Arc::new(OpenGate)).expect("a lock");
    let first = freeze(&locked);
    let settled = (0..MOST_SCANS).any(|_| {
        let scan = locked.scan(ScanTerms::default(), &go_on);
        scan.expect("a scan").read == 0
    });
    assert!(settled, "files are read again and again");
    let floor = "a walk with stat";
    let mut cpu = Vec::new();
    let wall = Row::of(
        ("freezing 100,000 unchanged files again", floor),
        Some(Limit::AtMost(3.0)),
        || {
            let (again, ours) = measured(|| freeze(&locked));
            assert_eq!(again, first, "the tree is as it was");
            let (_, bare) = measured(|| black_box(walk(&tree)));
            cpu.push((ours[1].as_secs_f64(), bare[1].as_secs_f64()));
            (ours[0].as_secs_f64(), bare[0].as_secs_f64())
        },
        time,
    );
    let mut cpu = cpu.into_iter();
    let cpu = Row::of(
        ("the same, processor time", floor),
        None,
        || cpu.next().expect("as many pairs"),
        time,
    );
    vec![wall, cpu]
}

/// Makes the tree: folders three deep, with rules that ignore nothing of it.
fn fill(tree: &Path) {
    for number in 0..FILES / FILES_OF_A_FOLDER {
        let folder = tree.join(format!("part-{}/folder-{number}", number % 40));
        fs::create_dir_all(&folder).expect("a folder");
        for file in 0..FILES_OF_A_FOLDER {
            let text = (number * FILES_OF_A_FOLDER + file).to_string();
            fs::write(folder.join(format!("file-{file}.txt")), text).expect("a file");
        }
    }
    fs::write(tree.join(".gitignore"), "target/\n*.log\n").expect("a file");
}

/// Scans the tree, and keeps its contents.
fn freeze(tree: &WorkTree) -> Digest {
    let scan = tree.scan(ScanTerms::default(), &go_on).expect("a scan");
    tree.snapshot(&scan, &go_on).expect("a snapshot")
}

/// The bytes of all files, as their metadata has them.
fn walk(folder: &Path) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let found = entry.metadata().expect("a path");
        bytes += if found.is_dir() {
            walk(&entry.path())
        } else {
            found.len()
        };
    }
    bytes
}

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
