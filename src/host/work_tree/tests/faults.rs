//! A publication, a thaw and a recovery that fail or end at every operation: afterwards the tree is as before or as after, and never mixed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use monolith_core::work::PathChange;
use monolith_testkit::depth;

use super::fixture::{
    FULL, Faults, Fixture, change_every_kind, changes_of, every_kind, picture, put,
};
use crate::work_tree::{Published, Recovered, Thawed, WorkTree, WorkTreeError};

/// EIO and ENOSPC.
const ERRORS: [i32; 2] = [5, FULL];

/// The operation on the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Publish,
    Thaw,
}

/// A deed, repeated on new trees.
struct Case {
    after: BTreeMap<Vec<u8>, String>,
    before: BTreeMap<Vec<u8>, String>,
    build: fn(&Path),
    changes: Vec<PathChange>,
    deed: Deed,
    /// False for a file system that cannot exchange two names.
    exchanges: bool,
    fixture: Fixture,
    number: AtomicU64,
}

impl Case {
    fn new(deed: Deed, build: fn(&Path), work: fn(&Path)) -> Self {
        let fixture = Fixture::new();
        let tree = fixture.tree("first");
        build(&tree);
        let locked = fixture.lock(&tree);
        let changes = changes_of(&locked, work);
        let base = picture(&tree);
        locked.publish("item", &changes).expect("a publication");
        let done = picture(&tree);
        let (before, after) = match deed {
            Deed::Publish => (base, done),
            Deed::Thaw => (done, base),
        };
        drop(locked);
        Self {
            after,
            before,
            build,
            changes,
            deed,
            exchanges: true,
            fixture,
            number: AtomicU64::new(0),
        }
    }

    fn faults(&self) -> Faults {
        Faults {
            exchanges: self.exchanges,
            ..Faults::none()
        }
    }

    fn tree(&self) -> PathBuf {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let tree = self.fixture.tree(&format!("tree-{number}"));
        (self.build)(&tree);
        // An earlier tree may have had the same inode.
        let _stale = fs::remove_file(self.journal(&tree).with_file_name("item.done"));
        if self.deed == Deed::Thaw {
            let locked = self.fixture.lock(&tree);
            locked
                .publish("item", &self.changes)
                .expect("a publication");
        }
        assert_eq!(picture(&tree), self.before);
        tree
    }

    fn perform(&self, tree: &WorkTree) -> Result<(), WorkTreeError> {
        match self.deed {
            Deed::Publish => tree.publish("item", &self.changes).map(|_: Published| ()),
            Deed::Thaw => tree.thaw("item", &self.changes).map(|_: Thawed| ()),
        }
    }

    /// Performs the deed behind a gate. The process that did it is gone afterwards.
    fn attempt(&self, tree: &Path, faults: &Arc<Faults>) -> Result<(), WorkTreeError> {
        let (locked, _) = self.fixture.lock_with(tree, Arc::clone(faults))?;
        self.perform(&locked)
    }

    /// The next process: it recovers, and finds the tree as before or as after.
    fn recover(&self, tree: &Path, words: &str) -> bool {
        let faults = Arc::new(self.faults());
        let (locked, recovered) = self.fixture.lock_with(tree, faults).expect(words);
        let now = picture(tree);
        let is_done = now == self.after;
        assert!(
            is_done || now == self.before,
            "{words}: {}",
            self.mixed(&now)
        );
        if let Some(Recovered {
            is_complete, left, ..
        }) = recovered
        {
            assert_eq!(is_complete, is_done, "{words}");
            assert_eq!(left, [], "{words}");
        }
        if self.deed == Deed::Publish {
            // The next process knows what has happened, even if the journal was gone.
            let completed = locked.completed().expect(words);
            assert_eq!(completed == ["item"], is_done, "{words}");
        }
        assert_eq!(stages(tree), Vec::<PathBuf>::new(), "{words}");
        if !is_done {
            self.perform(&locked).expect(words);
            assert_eq!(picture(tree), self.after, "{words}");
        }
        is_done
    }

    /// The paths that are neither all as before nor all as after.
    fn mixed(&self, now: &BTreeMap<Vec<u8>, String>) -> String {
        let name = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let differ = |other: &BTreeMap<Vec<u8>, String>| {
            let paths = now.keys().chain(other.keys());
            let differ = paths.filter(|path| now.get(*path) != other.get(*path));
            differ.map(|path| name(path)).collect::<Vec<_>>()
        };
        format!(
            "not before: {:?}; not after: {:?}",
            differ(&self.before),
            differ(&self.after)
        )
    }

    /// The operations of the deed without a fault.
    fn operations(&self) -> u64 {
        let (tree, faults) = (self.tree(), Arc::new(self.faults()));
        self.attempt(&tree, &faults).expect("a deed");
        faults.count.load(Ordering::Relaxed)
    }

    /// The journal of a tree which a killed publication left.
    fn journal(&self, tree: &Path) -> PathBuf {
        let found = fs::metadata(tree).expect("a tree");
        let name = format!("{:x}-{:x}", found.dev(), found.ino());
        let trees = self.fixture.state().join("trees");
        trees.join(name).join("journal")
    }

    fn killed_at(&self, at: u64) -> bool {
        let tree = self.tree();
        let faults = Arc::new(Faults {
            dead_from: at,
            ..self.faults()
        });
        let _gone = self.attempt(&tree, &faults);
        assert!(faults.fired(), "the deed has fewer than {at} operations");
        let was_begun = self.journal(&tree).exists();
        let is_done = self.recover(&tree, &format!("{:?} killed at {at}", self.deed));
        assert!(is_done || !was_begun, "killed at {at}: it is completed");
        remove(&tree);
        is_done
    }
}

/// The paths in the scratch folder of a tree.
fn stages(tree: &Path) -> Vec<PathBuf> {
    let paths = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    };
    let scratch = tree.parent().expect("a folder").join(".monolith-scratch");
    paths(&scratch)
        .iter()
        .flat_map(|tree| paths(tree))
        .filter(|path| !path.ends_with(".owner"))
        .collect()
}

/// Removes a tree of tests with its scratch folder and state.
fn remove(tree: &Path) {
    let folder = tree.parent().expect("a folder");
    for closed in ["closed", "closed-gone", "new-closed"] {
        if fs::symlink_metadata(tree.join(closed)).is_ok_and(|found| found.is_dir()) {
            super::fixture::set_mode(tree, closed, 0o755);
        }
    }
    fs::remove_dir_all(folder).expect("no folder");
}

fn kill_everywhere(case: &Case, stride: usize) {
    let operations = case.operations();
    assert!(operations > 100, "{operations}");
    let points: Vec<u64> = (0..operations).step_by(stride).collect();
    let done = points.iter().filter(|at| case.killed_at(**at)).count();
    let points = points.len();
    assert!(done > 0 && done < points, "{done} of {points}");
}

/// 004/4.atomic.1
#[test]
fn a_publication_killed_at_any_operation_leaves_before_or_after() {
    let case = Case::new(Deed::Publish, every_kind, change_every_kind);
    kill_everywhere(&case, 1);
}

#[test]
fn a_thaw_killed_at_any_operation_leaves_before_or_after() {
    let case = Case::new(Deed::Thaw, every_kind, change_every_kind);
    kill_everywhere(&case, 1);
}

#[test]
fn a_file_system_that_cannot_exchange_names_has_before_or_after_too() {
    for deed in [Deed::Publish, Deed::Thaw] {
        let case = Case::new(deed, every_kind, change_every_kind);
        let exchanging = case.operations();
        let case = Case {
            exchanges: false,
            ..case
        };
        assert!(case.operations() > exchanging, "each takes three renames");
        kill_everywhere(&case, depth::bound(3, 1));
    }
}

#[test]
fn a_recovery_killed_at_any_operation_is_recovered() {
    let case = Case::new(Deed::Publish, every_kind, change_every_kind);
    let operations = case.operations();
    let stride = depth::bound(29, 5);
    for at in (0..operations).step_by(stride) {
        for then in (0..operations).step_by(stride) {
            let tree = case.tree();
            let killed = |dead_from| {
                Arc::new(Faults {
                    dead_from,
                    ..Faults::none()
                })
            };
            let _gone = case.attempt(&tree, &killed(at));
            let second = killed(then);
            let _gone = case.fixture.lock_with(&tree, Arc::clone(&second)).map(drop);
            case.recover(&tree, &format!("killed at {at}, recovery at {then}"));
            remove(&tree);
            if !second.fired() {
                break;
            }
        }
    }
}

/// 004/4.atomic.10
#[test]
fn an_error_at_any_operation_is_rolled_back_and_said_in_words() {
    for deed in [Deed::Publish, Deed::Thaw] {
        let case = Case::new(deed, every_kind, change_every_kind);
        let operations = case.operations();
        for (errno, at) in ERRORS
            .into_iter()
            .flat_map(|errno| (0..operations).map(move |at| (errno, at)))
        {
            // One of the two at each operation; the deep form tries both.
            if depth::bound(at % 2 != u64::from(errno == 28), false) {
                continue;
            }
            let tree = case.tree();
            let faults = Arc::new(Faults {
                errno,
                fails_at: at,
                ..Faults::none()
            });
            let words = format!("{deed:?}, error {errno} at {at}");
            let outcome = case.attempt(&tree, &faults);
            let expected = match &outcome {
                // The fault kept away only what follows the last step.
                Ok(()) => &case.after,
                Err(WorkTreeError::RolledBack { reason }) => {
                    assert!(reason.contains("os error"), "{words}: {reason}");
                    &case.before
                }
                Err(error) => panic!("{words}: {error}"),
            };
            let now = picture(&tree);
            assert!(now == *expected, "{words}: {}", case.mixed(&now));
            case.recover(&tree, &words);
            remove(&tree);
        }
    }
}

#[test]
fn a_disk_that_stays_full_is_said_in_words_and_nothing_changes() {
    for deed in [Deed::Publish, Deed::Thaw] {
        let case = Case::new(deed, every_kind, change_every_kind);
        let mut outcomes = [0, 0];
        for full_from in (0..case.operations()).step_by(depth::bound(5, 1)) {
            let tree = case.tree();
            let faults = Arc::new(Faults {
                full_from,
                ..Faults::none()
            });
            let words = format!("{deed:?}, full from {full_from}");
            let outcome = case.attempt(&tree, &faults);
            let (expected, kind) = match outcome {
                // The disk was full once everything had its place.
                Ok(()) => (&case.after, 0),
                Err(WorkTreeError::RolledBack { reason }) => {
                    assert!(reason.contains("(os error 28)"), "{words}: {reason}");
                    (&case.before, 1)
                }
                Err(error) => panic!("{words}: {error}"),
            };
            outcomes[kind] += 1;
            let now = picture(&tree);
            assert!(now == *expected, "{words}: {}", case.mixed(&now));
            case.recover(&tree, &words);
            remove(&tree);
        }
        assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
    }
}

/// The numbers of devices may change when a system starts again after a loss of power.
#[test]
fn a_publication_is_recovered_after_its_device_has_got_another_number() {
    let case = Case::new(Deed::Publish, every_kind, change_every_kind);
    let (mut begun, mut complete) = (0, 0);
    for dead_from in (0..case.operations()).step_by(depth::bound(9, 1)) {
        let tree = case.tree();
        let faults = Arc::new(Faults {
            dead_from,
            ..Faults::none()
        });
        let _gone = case.attempt(&tree, &faults);
        let found = fs::metadata(&tree).expect("a tree");
        let (device, other) = (found.dev(), found.dev() + 1);
        let state = |device: u64| {
            let name = format!("{device:x}-{:x}", found.ino());
            case.fixture.state().join("trees").join(name)
        };
        let journal = state(device).join("journal");
        let was_begun = journal.exists();
        if was_begun {
            let text = fs::read_to_string(&journal).expect("a journal");
            let moved = text.replace(&format!("\"id\":[{device},"), &format!("\"id\":[{other},"));
            assert_ne!(text, moved);
            fs::write(&journal, moved).expect("a journal");
            begun += 1;
        }
        fs::rename(state(device), state(other)).expect("the state");
        let is_done = case.recover(&tree, &format!("killed at {dead_from}"));
        complete += u32::from(is_done && was_begun);
        remove(&tree);
    }
    assert!(begun > 0 && complete == begun, "{complete} of {begun}");
}

#[test]
fn a_publication_whose_stage_is_gone_has_ended_or_says_what_to_do() {
    let case = Case::new(Deed::Publish, every_kind, change_every_kind);
    let mut outcomes = BTreeMap::new();
    for dead_from in (0..case.operations()).step_by(depth::bound(5, 1)) {
        let tree = case.tree();
        let faults = Arc::new(Faults {
            dead_from,
            ..Faults::none()
        });
        let _gone = case.attempt(&tree, &faults);
        if dead_from % 2 == 0 {
            for stage in stages(&tree) {
                fs::remove_dir_all(stage).expect("no stage");
            }
        } else {
            let shared = tree.parent().expect("a folder").join(".monolith-scratch");
            let _gone = fs::remove_dir_all(shared);
        }
        let words = format!("killed at {dead_from}");
        let now = picture(&tree);
        let next = case.fixture.lock_with(&tree, Arc::new(Faults::none()));
        let kind = match next {
            Ok((_, recovered)) => {
                let is_done = now == case.after;
                assert!(is_done || now == case.before, "{words}");
                let is_complete = recovered.map(|recovered| recovered.is_complete);
                assert!(is_complete.is_none_or(|it| it == is_done), "{words}");
                is_complete
            }
            Err(WorkTreeError::RollBackFailed { reason }) => {
                let remedy = "put the folder back, or remove the journal in ";
                assert!(reason.contains(remedy), "{words}: {reason}");
                *outcomes.entry("mixed").or_insert(0) += 1;
                remove(&tree);
                continue;
            }
            Err(error) => panic!("{words}: {error}"),
        };
        let kind = match kind {
            None => "no journal",
            Some(false) => "not begun",
            Some(true) => "complete",
        };
        *outcomes.entry(kind).or_insert(0) += 1;
        remove(&tree);
    }
    assert!(outcomes.len() >= 3, "{outcomes:?}");
}

#[test]
fn a_roll_back_killed_at_any_operation_is_recovered() {
    let case = Case::new(Deed::Publish, every_kind, change_every_kind);
    let operations = case.operations();
    for at in (0..operations).step_by(depth::bound(23, 3)) {
        for then in (1..operations).step_by(depth::bound(17, 3)) {
            let tree = case.tree();
            let faults = Arc::new(Faults {
                dead_from: at + then,
                fails_at: at,
                ..Faults::none()
            });
            let outcome = case.attempt(&tree, &faults);
            let words = format!("error at {at}, killed {then} later");
            let now = picture(&tree);
            if matches!(outcome, Err(WorkTreeError::RolledBack { .. })) {
                assert!(now == case.before, "{words}: {}", case.mixed(&now));
            }
            case.recover(&tree, &words);
            remove(&tree);
            if faults.count.load(Ordering::Relaxed) <= at + then {
                break;
            }
        }
    }
}

pub(super) fn many_files(root: &Path) {
    for number in 0..1_500 {
        put(
            root,
            format!("d{}/f{number}", number % 40),
            number.to_string(),
        );
    }
}

pub(super) fn change_many_files(root: &Path) {
    for number in 0..500 {
        let path = format!("d{}/f{number}", number % 40);
        fs::remove_file(root.join(path)).expect("a file");
    }
    for number in 500..1_500 {
        put(
            root,
            format!("d{}/f{number}", number % 40),
            format!("changed {number}"),
        );
    }
    for number in 0..500 {
        put(
            root,
            format!("new{}/f{number}", number % 20),
            number.to_string(),
        );
    }
}

#[test]
fn two_thousand_changes_killed_at_sampled_points_leave_before_or_after() {
    for deed in [Deed::Publish, Deed::Thaw] {
        let case = Case::new(deed, many_files, change_many_files);
        assert!(case.changes.len() >= 2_000);
        let operations = case.operations();
        let points = depth::bound(3, 200);
        for point in 0..points {
            case.killed_at(operations * point / points);
        }
    }
}
