//! A publication or a thaw in a separate process, which is killed (SIGKILL) at an operation, in a tree of ten thousand other files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use monolith_core::work::{Manifest, PathChange};
use monolith_testkit::depth;
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};

use super::faults::{change_many_files, many_files};
use super::fixture::{
    Faults, Fixture, change_every_kind, changes_of, every_kind, picture_without, put, scan,
};
use crate::work_tree::{Gate, Op, TreePlaces, WorkTree};

/// The file of the order that the process of [`the_process`] carries out.
const ORDER: &str = "MONOLITH_TEST_WORK_TREE";
const OTHERS: u64 = 10_000;
const OTHERS_FOLDER: &str = "others";

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    changes: Vec<PathChange>,
    is_thaw: bool,
    killed_at: u64,
    state: PathBuf,
    tree: PathBuf,
}

/// A gate at which the process kills itself.
#[derive(Debug)]
struct Killer {
    at: u64,
    count: AtomicU64,
}

impl Gate for Killer {
    fn pass(&self, _op: Op) -> io::Result<()> {
        if self.count.fetch_add(1, Ordering::Relaxed) == self.at {
            kill_process(getpid(), Signal::KILL)?;
        }
        Ok(())
    }

    fn syncs(&self) -> bool {
        false
    }
}

/// The body of the process. Without an order there is nothing to do.
#[test]
fn the_process() {
    let Some(order) = std::env::var_os(ORDER) else {
        return;
    };
    let order: Order = serde_json::from_slice(&fs::read(order).unwrap()).unwrap();
    let places = TreePlaces {
        state: &order.state,
        tree: &order.tree,
        withheld: &[],
    };
    let gate = Arc::new(Killer {
        at: order.killed_at,
        count: AtomicU64::new(0),
    });
    let (tree, _) = WorkTree::lock(places, gate).unwrap();
    if order.is_thaw {
        tree.thaw("item", &order.changes).unwrap();
    } else {
        tree.publish("item", &order.changes).unwrap();
    }
}

/// Identity and times of every other file: they never change.
fn others(tree: &Path) -> Vec<(u64, u64, i64, i64)> {
    let facts = |number| {
        let found = fs::metadata(tree.join(other(number))).expect("a file");
        (found.ino(), found.len(), found.ctime(), found.ctime_nsec())
    };
    (0..OTHERS).map(facts).collect()
}

fn other(number: u64) -> String {
    format!("{OTHERS_FOLDER}/d{}/f{number}", number % 100)
}

/// A tree with kind, mode, owner and content of every path but the other files.
#[derive(Debug, PartialEq, Eq)]
struct State {
    manifest: Manifest,
    picture: BTreeMap<Vec<u8>, String>,
}

impl State {
    fn of(tree: &WorkTree) -> Self {
        Self {
            manifest: scan(tree).manifest,
            picture: picture_without(tree.path(), Some(OTHERS_FOLDER)),
        }
    }

    /// The paths at which another state differs.
    fn differing(&self, other: &Self) -> Vec<String> {
        let changes = self.manifest.changes_to(&other.manifest);
        let of_manifest = changes.iter().map(|change| change.path.to_string());
        let paths = self.picture.keys().chain(other.picture.keys());
        let paths = paths.filter(|path| self.picture.get(*path) != other.picture.get(*path));
        let of_picture = paths.map(|path| String::from_utf8_lossy(path).into_owned());
        of_manifest.chain(of_picture).collect()
    }
}

/// A tree with changes, before and after them.
struct Case {
    changes: Vec<PathChange>,
    fixture: Fixture,
    /// The operations of a publication and of a thaw.
    operations: [u64; 2],
    others: Vec<(u64, u64, i64, i64)>,
    /// The tree before and after.
    states: [State; 2],
    tree: PathBuf,
}

impl Case {
    fn new(build: fn(&Path), work: fn(&Path)) -> Self {
        let fixture = Fixture::new();
        let tree = fixture.tree("a");
        build(&tree);
        for number in 0..OTHERS {
            put(&tree, other(number), number.to_string());
        }
        let locked = fixture.lock(&tree);
        let changes = changes_of(&locked, work);
        let state = || State::of(&locked);
        let mut case = Self {
            changes,
            operations: [0, 0],
            others: others(&tree),
            states: [state(), state()],
            fixture,
            tree,
        };
        drop(locked);
        case.operations[0] = case.perform(false);
        case.states[1] = State::of(&case.fixture.lock(&case.tree));
        assert_ne!(case.states[0], case.states[1]);
        case.operations[1] = case.perform(true);
        let restored = State::of(&case.fixture.lock(&case.tree));
        let differing = case.states[0].differing(&restored);
        assert_eq!(differing, Vec::<String>::new(), "a thaw");
        case
    }

    /// Publishes or thaws in this process. Returns the number of operations.
    fn perform(&self, is_thaw: bool) -> u64 {
        let faults = Arc::new(Faults::none());
        let (tree, _) = self
            .fixture
            .lock_with(&self.tree, Arc::clone(&faults))
            .expect("a lock");
        if is_thaw {
            tree.thaw("item", &self.changes).expect("a thaw");
        } else {
            tree.publish("item", &self.changes).expect("a publication");
        }
        faults.count.load(Ordering::Relaxed)
    }

    /// Publishes or thaws in a process that is killed. True if the next one found it done.
    fn killed(&self, is_thaw: bool, killed_at: u64) -> bool {
        let words = format!("thaw: {is_thaw}, killed at {killed_at}");
        let order = Order {
            changes: self.changes.clone(),
            is_thaw,
            killed_at,
            state: self.fixture.state(),
            tree: self.tree.clone(),
        };
        let file = self.fixture.state().join("order");
        fs::write(&file, serde_json::to_vec(&order).expect("JSON")).expect("a file");
        let status = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "work_tree::tests::killed::the_process"])
            .env(ORDER, &file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("a process");
        assert_eq!(status.signal(), Some(9), "{words}: {status}");
        let faults = Arc::new(Faults::none());
        let (locked, recovered) = self.fixture.lock_with(&self.tree, faults).expect(&words);
        let now = State::of(&locked);
        let [before, after] = &self.states;
        let (from, to) = if is_thaw {
            (after, before)
        } else {
            (before, after)
        };
        let is_done = now == *to;
        assert!(
            is_done || now == *from,
            "{words}: mixed: {:?}",
            to.differing(&now)
        );
        assert!(
            recovered.is_none_or(|recovered| recovered.is_complete == is_done),
            "{words}"
        );
        assert!(
            others(&self.tree) == self.others,
            "{words}: other files changed"
        );
        is_done
    }

    /// Kills at points from the first operation to the last one, and brings the tree back after each.
    fn kill_at(&self, is_thaw: bool, points: impl Iterator<Item = u64>) {
        for at in points {
            if is_thaw {
                self.perform(false);
            }
            let is_done = self.killed(is_thaw, at);
            // The tree is as before the changes again.
            if is_done != is_thaw {
                self.perform(true);
            }
        }
    }
}

fn many_files_and_a_cache(tree: &Path) {
    put(tree, ".gitignore", "ignored/\n");
    put(tree, "ignored/cache", "never published");
    many_files(tree);
}

/// 004/4.atomic.1
#[test]
fn every_kind_of_path_killed_at_any_operation_is_before_or_after() {
    let case = Case::new(every_kind, change_every_kind);
    for (is_thaw, operations) in [false, true].into_iter().zip(case.operations) {
        let stride = depth::bound(operations.div_ceil(6), 1);
        let stride = usize::try_from(stride).expect("a number");
        case.kill_at(is_thaw, (0..operations).step_by(stride));
    }
}

#[test]
fn two_thousand_paths_killed_at_sampled_operations_are_before_or_after() {
    let case = Case::new(many_files_and_a_cache, change_many_files);
    let points = depth::bound(2, 200);
    for (is_thaw, operations) in [false, true].into_iter().zip(case.operations) {
        case.kill_at(
            is_thaw,
            (0..points).map(|point| operations * (point * 2 + 1) / (points * 2)),
        );
    }
}
