//! Another program writes files of the work tree while changes are published: what it writes stays.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use monolith_core::work::PathChange;

use super::fixture::{Faults, Fixture, changes_of, picture, put, set_mode};
use crate::work_tree::{Gate, Op, TreePlaces, WorkTree, WorkTreeError};

const NAMES: [&str; 3] = ["deleted", "edited", "new"];

/// A gate through which another program writes at one operation.
#[derive(Debug)]
struct Meddler {
    at: u64,
    count: AtomicU64,
    /// True if the operation fails, too.
    fails: bool,
    tree: PathBuf,
    /// One bit for each name that was there, and was written.
    written: AtomicU64,
}

impl Gate for Meddler {
    fn pass(&self, _op: Op) -> io::Result<()> {
        if self.count.fetch_add(1, Ordering::Relaxed) != self.at {
            return Ok(());
        }
        for (bit, name) in NAMES.iter().enumerate() {
            let path = self.tree.join(name);
            if path.exists() {
                fs::write(path, theirs(name)).expect("a file");
                self.written.fetch_or(1 << bit, Ordering::Relaxed);
            }
        }
        if self.fails {
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    }

    fn syncs(&self) -> bool {
        false
    }
}

fn theirs(name: &str) -> String {
    format!("another program's {name}")
}

fn build(tree: &Path) {
    put(tree, "deleted", "goes");
    put(tree, "edited", "one");
    put(tree, "other", "stays");
}

#[test]
fn bytes_that_another_program_writes_meanwhile_stay() {
    let fixture = Fixture::new();
    let first = fixture.tree("first");
    build(&first);
    let changes = changes_of(&fixture.lock(&first), |root| {
        fs::remove_file(root.join("deleted")).expect("a file");
        put(root, "edited", "two");
        put(root, "new", "new");
    });
    let mut outcomes = [0, 0, 0];
    for fails in [false, true] {
        for at in 0.. {
            let tree = fixture.tree(&format!("{fails}-{at}"));
            build(&tree);
            let gate = Arc::new(Meddler {
                at,
                count: AtomicU64::new(0),
                fails,
                tree: tree.clone(),
                written: AtomicU64::new(0),
            });
            let places = TreePlaces {
                state: &fixture.state(),
                tree: &tree,
                withheld: &[],
            };
            let gate_of_tree: Arc<dyn Gate> = gate.clone();
            let (locked, _) = WorkTree::lock(places, gate_of_tree).expect("a lock");
            let outcome = locked.publish("item", &changes);
            drop(locked);
            if gate.count.load(Ordering::Relaxed) <= at {
                assert!(outcome.is_ok());
                break;
            }
            let words = format!("at {at}, fails: {fails}: {outcome:?}");
            let next = fixture.lock_with(&tree, Arc::new(Faults::none()));
            drop(next.expect(&words));
            let written = gate.written.load(Ordering::Relaxed);
            for (bit, name) in NAMES.iter().enumerate() {
                if written & (1 << bit) != 0 {
                    let now = fs::read_to_string(tree.join(name)).expect(&words);
                    assert_eq!(now, theirs(name), "{words}");
                }
            }
            let other = fs::read_to_string(tree.join("other")).expect(&words);
            assert_eq!(other, "stays", "{words}");
            let kind = match outcome {
                Ok(_) => 0,
                Err(WorkTreeError::Conflict { .. }) => 1,
                Err(WorkTreeError::RolledBack { .. }) => 2,
                Err(error) => panic!("{words}: {error}"),
            };
            outcomes[kind] += 1;
        }
    }
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

/// A gate through which another program moves a folder away, and puts a link in its place.
#[derive(Debug)]
struct Linker {
    at: u64,
    count: AtomicU64,
    outside: PathBuf,
    tree: PathBuf,
}

impl Gate for Linker {
    fn pass(&self, _op: Op) -> io::Result<()> {
        if self.count.fetch_add(1, Ordering::Relaxed) == self.at {
            fs::rename(self.tree.join("folder"), self.tree.join("moved"))?;
            symlink(&self.outside, self.tree.join("folder"))?;
        }
        Ok(())
    }

    fn syncs(&self) -> bool {
        false
    }
}

#[test]
fn nothing_is_written_through_a_link_that_takes_the_place_of_a_folder_meanwhile() {
    let fixture = Fixture::new();
    let (first, outside) = (fixture.tree("first"), fixture.tree("outside"));
    build(&first.join("folder"));
    build(&outside);
    let untouched = picture(&outside);
    let changes = changes_of(&fixture.lock(&first), |root| {
        fs::remove_file(root.join("folder/deleted")).expect("a file");
        put(root, "folder/edited", "two");
        put(root, "folder/new", "new");
        put(root, "folder/inner/new", "new");
    });
    let mut conflicts = 0;
    for at in 0.. {
        let tree = fixture.tree(&format!("tree-{at}"));
        build(&tree.join("folder"));
        let gate = Arc::new(Linker {
            at,
            count: AtomicU64::new(0),
            outside: outside.clone(),
            tree: tree.clone(),
        });
        let places = TreePlaces {
            state: &fixture.state(),
            tree: &tree,
            withheld: &[],
        };
        let gate_of_tree: Arc<dyn Gate> = gate.clone();
        let (locked, _) = WorkTree::lock(places, gate_of_tree).expect("a lock");
        let outcome = locked.publish("item", &changes);
        drop(locked);
        let words = format!("at {at}: {outcome:?}");
        drop(
            fixture
                .lock_with(&tree, Arc::new(Faults::none()))
                .expect(&words),
        );
        assert_eq!(picture(&outside), untouched, "{words}");
        match outcome {
            Ok(_) | Err(WorkTreeError::RolledBack { .. }) => {}
            Err(WorkTreeError::Conflict { .. }) => conflicts += 1,
            Err(error) => panic!("{words}: {error}"),
        }
        if gate.count.load(Ordering::Relaxed) <= at {
            break;
        }
    }
    assert!(conflicts > 0);
}

/// A gate through which another program puts a file into the folder that is about to be removed.
#[derive(Debug)]
struct Filler(PathBuf);

impl Gate for Filler {
    fn pass(&self, op: Op) -> io::Result<()> {
        if op == Op::Remove && self.0.exists() {
            fs::write(self.0.join("theirs"), "theirs")?;
        }
        Ok(())
    }

    fn syncs(&self) -> bool {
        false
    }
}

#[test]
fn a_folder_that_another_program_fills_meanwhile_stays_and_is_named() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "folder/mine", "goes");
    let changes = changes_of(&fixture.lock(&tree), |root| {
        fs::remove_dir_all(root.join("folder")).expect("no folder");
    });
    let places = TreePlaces {
        state: &fixture.state(),
        tree: &tree,
        withheld: &[],
    };
    let gate = Arc::new(Filler(tree.join("folder")));
    let (locked, _) = WorkTree::lock(places, gate).expect("a lock");
    let done = locked.publish("item", &changes).expect("a publication");
    let kept: Vec<_> = done.kept.iter().map(ToString::to_string).collect();
    assert_eq!(kept, ["folder"]);
    let left: Vec<_> = fs::read_dir(tree.join("folder"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["theirs"]);
}

/// A gate at which another program does something, once.
#[derive(Debug)]
struct Once {
    at: u64,
    count: AtomicU64,
    deed: fn(&Path),
    /// The operation that fails.
    fails_at: u64,
    tree: PathBuf,
}

impl Gate for Once {
    fn pass(&self, op: Op) -> io::Result<()> {
        // Between the look at a folder's mode and its change nobody can look again.
        if op == Op::Mark {
            return Ok(());
        }
        let at = self.count.fetch_add(1, Ordering::Relaxed);
        if at == self.at {
            (self.deed)(&self.tree);
        }
        if at == self.at + self.fails_at {
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    }

    fn syncs(&self) -> bool {
        false
    }
}

/// Publishes changes of a new tree while another program does something at an operation; `None` where there are fewer operations.
fn meddled(
    fixture: &Fixture,
    changes: &[PathChange],
    (at, fails_at): (u64, u64),
    deed: fn(&Path),
) -> Option<(PathBuf, Result<(), WorkTreeError>)> {
    let tree = fixture.tree(&format!("{at}-{fails_at}"));
    build_folder(&tree);
    let gate = Arc::new(Once {
        at,
        count: AtomicU64::new(0),
        deed,
        fails_at,
        tree: tree.clone(),
    });
    let places = TreePlaces {
        state: &fixture.state(),
        tree: &tree,
        withheld: &[],
    };
    let gate_of_tree: Arc<dyn Gate> = gate.clone();
    let (locked, _) = WorkTree::lock(places, gate_of_tree).expect("a lock");
    let outcome = locked.publish("item", changes).map(drop);
    let is_done = gate.count.load(Ordering::Relaxed) > at;
    is_done.then_some((tree, outcome))
}

fn build_folder(tree: &Path) {
    build(tree);
    put(tree, "folder/file", "stays");
    set_mode(tree, "edited", 0o644);
    set_mode(tree, "folder", 0o755);
}

/// The changes that a deed is to meet.
fn changes_of_folder(fixture: &Fixture) -> Vec<PathChange> {
    let first = fixture.tree("first");
    build_folder(&first);
    changes_of(&fixture.lock(&first), |root| {
        fs::remove_file(root.join("deleted")).expect("a file");
        put(root, "edited", "two");
        put(root, "new", "new");
        set_mode(root, "folder", 0o700);
    })
}

/// Counts the successes and the conflicts of a deed at each operation.
fn outcomes_of(deed: fn(&Path), judge: fn(&Path)) -> [u64; 2] {
    let fixture = Fixture::new();
    let changes = changes_of_folder(&fixture);
    let mut outcomes = [0, 0];
    for at in 0.. {
        let Some((tree, outcome)) = meddled(&fixture, &changes, (at, u64::MAX / 2), deed) else {
            break;
        };
        judge(&tree);
        match outcome {
            Ok(()) => outcomes[0] += 1,
            Err(WorkTreeError::Conflict { .. }) => outcomes[1] += 1,
            Err(WorkTreeError::RolledBack { reason }) if reason.contains("something else") => {}
            Err(error) => panic!("at {at}: {error}"),
        }
        drop(fixture.lock(&tree));
        judge(&tree);
    }
    outcomes
}

fn mode_of(tree: &Path, name: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    let found = fs::metadata(tree.join(name)).expect("a path");
    found.permissions().mode() & 0o7777
}

#[test]
fn a_mode_that_another_program_sets_meanwhile_stays() {
    let outcomes = outcomes_of(
        |tree| set_mode(tree, "edited", 0o600),
        |tree| assert_eq!(mode_of(tree, "edited"), 0o600),
    );
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
    let outcomes = outcomes_of(
        |tree| set_mode(tree, "folder", 0o711),
        |tree| assert_eq!(mode_of(tree, "folder"), 0o711),
    );
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

#[test]
fn another_kind_of_path_that_takes_a_name_meanwhile_is_a_conflict_and_stays() {
    let outcomes = outcomes_of(
        |tree| {
            fs::remove_file(tree.join("edited")).expect("a file");
            fs::create_dir(tree.join("edited")).expect("a folder");
        },
        |tree| assert!(tree.join("edited").is_dir()),
    );
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

/// True if a file of that content is in a folder.
fn has_content(folder: &Path, content: &str) -> bool {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .any(|path| {
            if path.is_dir() {
                has_content(&path, content)
            } else {
                fs::read(&path).is_ok_and(|found| found == content.as_bytes())
            }
        })
}

#[test]
fn old_files_outlive_a_roll_back_that_cannot_give_them_a_name() {
    /// Writes over the new file, and takes the name of another one.
    fn deed(tree: &Path) {
        let is_swapped = fs::read(tree.join("edited")).is_ok_and(|found| found == b"two");
        if is_swapped && !tree.join("new").exists() {
            put(tree, "edited", "another program's");
            put(tree, "new", "another program's");
        }
    }
    let fixture = Fixture::new();
    let changes = changes_of_folder(&fixture);
    let mut failed = 0;
    for at in 0.. {
        let mut is_over = true;
        for fails_at in 1..16 {
            let Some((tree, outcome)) = meddled(&fixture, &changes, (at, fails_at), deed) else {
                break;
            };
            is_over = false;
            let words = format!("at {at}, fails {fails_at} later: {outcome:?}");
            let next = fixture.lock_with(&tree, Arc::new(Faults::none()));
            let (_, recovered) = next.expect(&words);
            let is_complete = recovered.is_some_and(|recovered| recovered.is_complete);
            let folder = tree.parent().expect("a folder");
            let is_kept = has_content(folder, "one");
            assert!(outcome.is_ok() || is_complete || is_kept, "{words}");
            failed += u32::from(matches!(outcome, Err(WorkTreeError::RollBackFailed { .. })));
        }
        if is_over {
            break;
        }
    }
    assert!(failed > 0);
}

#[test]
fn a_roll_back_says_what_it_left_and_where_the_old_files_are() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    build(&tree);
    let changes = changes_of(&fixture.lock(&tree), |root| put(root, "edited", "two"));
    let left = (0..).find_map(|at| {
        build(&tree);
        let gate = Arc::new(Meddler {
            at,
            count: AtomicU64::new(0),
            fails: true,
            tree: tree.clone(),
            written: AtomicU64::new(0),
        });
        let places = TreePlaces {
            state: &fixture.state(),
            tree: &tree,
            withheld: &[],
        };
        let (locked, _) = WorkTree::lock(places, gate).expect("a lock");
        let error = locked.publish("item", &changes).expect_err("a fault");
        let text = error.to_string();
        text.contains("old files").then_some(text)
    });
    let text = left.expect("an error");
    assert!(
        text.contains("something else changed edited meanwhile"),
        "{text}"
    );
    let (_, place) = text.rsplit_once(" are in ").expect("a place");
    let old: Vec<_> = fs::read_dir(place).expect("a folder").collect();
    let old = old
        .first()
        .and_then(|entry| entry.as_ref().ok())
        .expect("a file");
    assert_eq!(fs::read_to_string(old.path()).expect("a file"), "one");
}
