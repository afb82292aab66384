//! Trees that more than one state folder knows, trees with the inode of a removed one, and paths that are no work tree.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use monolith_core::work::{PathChange, WorkPath};

use super::fixture::{
    Faults, Fixture, change_every_kind, changes_of, every_kind, picture, put, scan, scratch, watch,
};
use crate::work_tree::{Recovered, ScanTerms, TreePlaces, WorkTree, WorkTreeError};

/// Locks a tree with a state folder.
fn lock_in(
    state: &Path,
    tree: &Path,
    faults: Faults,
) -> Result<(WorkTree, Option<Recovered>), WorkTreeError> {
    let places = TreePlaces {
        state,
        tree,
        withheld: &[],
    };
    WorkTree::lock(places, Arc::new(faults))
}

/// The scratch folder of a tree.
fn scratch_of(tree: &Path) -> PathBuf {
    let inode = fs::metadata(tree).unwrap().ino();
    let shared = tree.parent().unwrap().join(".monolith-scratch");
    shared.join(format!("{inode:x}"))
}

/// The folder of a tree in the state folder.
fn state_of(fixture: &Fixture, tree: &Path) -> PathBuf {
    let found = fs::metadata(tree).unwrap();
    let name = format!("{:x}-{:x}", found.dev(), found.ino());
    fixture.state().join("trees").join(name)
}

/// Changes of every kind, and the number of operations that publish them.
fn changes(fixture: &Fixture) -> (Vec<PathChange>, u64) {
    let tree = fixture.tree("first");
    every_kind(&tree);
    let changes = changes_of(&fixture.lock(&tree), change_every_kind);
    let faults = Arc::new(Faults::none());
    let (locked, _) = fixture.lock_with(&tree, Arc::clone(&faults)).unwrap();
    locked.publish("item", &changes).unwrap();
    let count = faults.count.load(std::sync::atomic::Ordering::Relaxed);
    (changes, count)
}

/// A tree whose publication is killed at an operation.
fn killed(fixture: &Fixture, name: &str, changes: &[PathChange], dead_from: u64) -> PathBuf {
    let tree = fixture.tree(name);
    every_kind(&tree);
    let faults = Faults {
        dead_from,
        ..Faults::none()
    };
    let (locked, _) = lock_in(&fixture.state(), &tree, faults).unwrap();
    let _gone = locked.publish("item", changes);
    tree
}

#[test]
fn a_half_done_publication_of_another_state_folder_is_left_to_it() {
    let fixture = Fixture::new();
    let (changes, operations) = changes(&fixture);
    let other = fixture.state().with_extension("other");
    let mut begun = 0;
    for dead_from in (0..operations).step_by(7) {
        let tree = killed(&fixture, &format!("tree-{dead_from}"), &changes, dead_from);
        let is_begun = state_of(&fixture, &tree).join("journal").exists();
        let now = picture(tree.parent().unwrap());
        let refused = lock_in(&other, &tree, Faults::none()).map(drop);
        if is_begun {
            let text = refused.unwrap_err().to_string();
            let state = fixture.state().canonicalize().unwrap();
            assert!(text.contains(&state.display().to_string()), "{text}");
            assert!(text.contains("MONOLITH_HOME"), "{text}");
            assert_eq!(picture(tree.parent().unwrap()), now);
            begun += 1;
        }
        let (locked, recovered) = lock_in(&fixture.state(), &tree, Faults::none()).unwrap();
        let is_complete = recovered.is_some_and(|recovered| recovered.is_complete);
        assert_eq!(is_complete, is_begun, "killed at {dead_from}");
        drop(locked);
        lock_in(&other, &tree, Faults::none()).unwrap();
    }
    assert!(begun > 0);
}

#[test]
fn a_scratch_tree_of_another_state_folder_stays_until_that_removes_it() {
    let fixture = Fixture::new();
    let other = fixture.state().with_extension("other");
    let tree = fixture.tree("a");
    put(&tree, "file", "one");
    let locked = fixture.lock(&tree);
    let made = scratch(&locked);
    drop(locked);
    let refused = lock_in(&other, &tree, Faults::none()).map(drop);
    assert!(matches!(refused, Err(WorkTreeError::Unfinished { .. })));
    assert!(made.path().join("file").exists());
    fixture.lock(&tree).remove_scratch("item").unwrap();
    lock_in(&other, &tree, Faults::none()).unwrap();
    // Where the state folder is gone, its work can be moved away.
    scratch(&fixture.lock(&tree));
    let away = tree.parent().unwrap().join("away");
    fs::rename(scratch_of(&tree), &away).unwrap();
    lock_in(&other, &tree, Faults::none()).unwrap();
    assert!(away.join("item/file").exists());
}

#[test]
fn a_process_of_another_state_folder_is_told_who_holds_the_tree() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    let _held = fixture.lock(&tree);
    let other = fixture.state().with_extension("other");
    let error = lock_in(&other, &tree, Faults::none()).map(drop);
    let Err(WorkTreeError::Busy { holder, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(holder, Some(std::process::id()));
}

/// A new tree that has the state and the scratch folder of a removed one, as it has with its inode; `None` where the file system
/// does not tell when a folder was made.
fn successor(fixture: &Fixture, removed: &Path, name: &str) -> Option<PathBuf> {
    let born = fs::metadata(removed).unwrap().created().ok()?;
    let tree = loop {
        let tree = fixture.tree(name);
        if fs::metadata(&tree).unwrap().created().ok()? != born {
            break tree;
        }
        fs::remove_dir(&tree).unwrap();
    };
    put(&tree, "mine", "stays");
    let scratch = scratch_of(&tree);
    fs::create_dir(scratch.parent().unwrap()).unwrap();
    fs::set_permissions(
        scratch.parent().unwrap(),
        fs::metadata(scratch_of(removed)).unwrap().permissions(),
    )
    .unwrap();
    fs::rename(scratch_of(removed), scratch).unwrap();
    fs::rename(state_of(fixture, removed), state_of(fixture, &tree)).unwrap();
    Some(tree)
}

#[test]
fn a_journal_of_a_removed_tree_is_not_followed_in_one_that_has_its_inode() {
    let fixture = Fixture::new();
    let (changes, operations) = changes(&fixture);
    let mut begun = 0;
    for dead_from in (0..operations).step_by(7) {
        let removed = killed(&fixture, &format!("old-{dead_from}"), &changes, dead_from);
        if !state_of(&fixture, &removed).join("journal").exists() {
            continue;
        }
        begun += 1;
        let Some(tree) = successor(&fixture, &removed, &format!("new-{dead_from}")) else {
            return;
        };
        if dead_from % 2 == 0 {
            // It was made in another folder.
            fs::remove_dir_all(tree.parent().unwrap().join(".monolith-scratch")).unwrap();
        }
        let before = picture(&tree);
        // It is no recovery either.
        let locked = fixture.lock(&tree);
        assert_eq!(picture(&tree), before, "killed at {dead_from}");
        assert_eq!(locked.scratches().unwrap(), Vec::<String>::new());
        drop(locked);
        assert!(!scratch_of(&tree).exists());
    }
    assert!(begun > 0);
}

#[test]
fn a_filled_folder_has_no_journal_and_leaves_no_state() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    every_kind(&tree);
    let locked = fixture.lock(&tree);
    let before = scan(&locked).manifest;
    locked.snapshot(&scan(&locked), &watch).unwrap();
    drop(locked);
    let count = || fs::read_dir(fixture.state().join("trees")).unwrap().count();
    let states = count();
    let folder = fixture.tree("b");
    let faults = Faults {
        // A process that is killed leaves no journal.
        dead_from: 30,
        ..Faults::none()
    };
    let changes = monolith_core::work::Manifest::default().changes_to(&before);
    let (locked, _) = lock_in(&fixture.state(), &folder, faults).unwrap();
    assert!(locked.fill("item", &changes).is_err());
    assert!(!state_of(&fixture, &folder).join("journal").exists());
    drop(locked);
    let folder = fixture.tree("c");
    let locked = fixture.lock(&folder);
    locked.fill("item", &changes).unwrap();
    assert_eq!(scan(&locked).manifest, before);
    drop(locked);
    assert_eq!(count(), states);
}

#[test]
fn unfit_paths_are_refused_before_anything_is_made() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "file", "one");
    for folder in ["home/keys", ".monolith-scratch/1/item", ".git/hooks"] {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
    let before = picture(&tree);
    let state = tree.join("home/runs.db.work");
    let home = [tree.join("home")];
    for (path, reason) in [
        (PathBuf::new(), "empty"),
        (PathBuf::from("/"), "root of the file system"),
        (tree.join("file"), "no folder"),
        (tree.join("file/below"), "a file is on the way"),
        (tree.join("missing"), "no such folder"),
        (tree.join("home"), "state folder"),
        (tree.join("home/keys"), "state folder"),
        (tree.join(".monolith-scratch/1/item"), ".monolith-scratch"),
        (tree.join(".git/hooks"), ".git"),
    ] {
        let places = TreePlaces {
            state: &state,
            tree: &path,
            withheld: &home,
        };
        let error = WorkTree::lock(places, Arc::new(Faults::none())).map(drop);
        let error = error.expect_err(reason);
        assert!(matches!(error, WorkTreeError::Unfit { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        assert!(!error.to_string().contains("os error"), "{error}");
    }
    assert_eq!(picture(&tree), before);
    assert!(!Path::new("/.monolith-scratch").exists());
}

#[test]
fn nothing_is_published_into_the_state_of_the_host() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    put(&tree, "home/keys/local.pub", "key");
    let first = fixture.tree("first");
    let changes = changes_of(&fixture.lock(&first), |root| put(root, "new", "new"));
    let places = TreePlaces {
        state: &fixture.state(),
        tree: &tree,
        // The second one does not exist yet.
        withheld: &[tree.join("home"), tree.join("runs.db-wal")],
    };
    let (locked, _) = WorkTree::lock(places, Arc::new(Faults::none())).unwrap();
    let before = picture(&tree);
    for name in ["home/new", "home/keys/new", "runs.db-wal"] {
        let path: WorkPath = name.parse().unwrap();
        let mut changes = changes.clone();
        changes[0].path = path;
        let error = locked.publish("item", &changes).unwrap_err();
        assert!(matches!(error, WorkTreeError::Refused { .. }), "{error}");
        assert_eq!(picture(&tree), before, "{name}");
    }
    locked.publish("item", &changes).unwrap();
}

#[test]
fn a_moved_state_folder_finishes_its_half_done_publication() {
    let fixture = Fixture::new();
    let (changes, operations) = changes(&fixture);
    let moved = fixture.state().with_extension("moved");
    let mut begun = 0;
    for dead_from in (0..operations).step_by(7) {
        let tree = killed(&fixture, &format!("tree-{dead_from}"), &changes, dead_from);
        if !state_of(&fixture, &tree).join("journal").exists() {
            continue;
        }
        begun += 1;
        fs::rename(fixture.state(), &moved).unwrap();
        // A copy of the tree that another item left is moved with it.
        fs::create_dir(scratch_of(&tree).join("other-item")).unwrap();
        let (locked, recovered) = lock_in(&moved, &tree, Faults::none()).unwrap();
        assert!(recovered.is_some_and(|recovered| recovered.is_complete));
        assert_eq!(locked.completed().unwrap(), ["item"]);
        locked.acknowledge("item").unwrap();
        drop(locked);
        // It is the owner from now on, also without the stage.
        let (locked, _) = lock_in(&moved, &tree, Faults::none()).unwrap();
        locked.remove_scratch("other-item").unwrap();
        drop(locked);
        assert!(!scratch_of(&tree).exists());
        fs::rename(&moved, fixture.state()).unwrap();
    }
    assert!(begun > 0);
}

#[test]
fn an_owner_record_of_another_kind_is_named_and_not_waited_for() {
    let fixture = Fixture::new();
    let tree = fixture.tree("a");
    scratch(&fixture.lock(&tree));
    let record = scratch_of(&tree).join(".owner");
    let written = fs::read(&record).unwrap();
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let long = |path: &Path| {
        fs::write(path, &written).unwrap();
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(1 << 20).unwrap();
    };
    let folder = |path: &Path| fs::create_dir(path).unwrap();
    let link = |path: &Path| std::os::unix::fs::symlink("nowhere", path).unwrap();
    let makers: [&dyn Fn(&Path); 4] = [&pipe, &long, &folder, &link];
    for make in makers {
        fs::remove_file(&record).unwrap();
        make(&record);
        let error = fixture.lock_with(&tree, Arc::new(Faults::none())).map(drop);
        let text = error.unwrap_err().to_string();
        assert!(text.contains(&record.display().to_string()), "{text}");
        assert!(text.contains("remove it"), "{text}");
        if record.is_dir() {
            fs::remove_dir(&record).unwrap();
            fs::write(&record, "").unwrap();
        }
    }
    fs::remove_file(&record).unwrap();
    // Nor is one for the name under which a record is written.
    pipe(&scratch_of(&tree).join(".owner.new"));
    fixture.lock(&tree).remove_scratch("item").unwrap();
}

#[test]
fn a_publication_is_complete_by_its_journal_and_not_by_a_name() {
    let fixture = Fixture::new();
    let (changes, _) = changes(&fixture);
    let tree = fixture.tree("a");
    every_kind(&tree);
    let locked = fixture.lock(&tree);
    locked.publish("item", &changes).unwrap();
    assert_eq!(locked.completed().unwrap(), ["item"]);
    let state = state_of(&fixture, &tree);
    let other = state.join("other.done");
    let refused = |reason: &str| {
        let text = locked.completed().unwrap_err().to_string();
        assert!(text.contains(&other.display().to_string()), "{text}");
        assert!(text.contains(reason), "{text}");
        assert!(text.contains("move it away"), "{text}");
    };
    fs::write(&other, "junk").unwrap();
    refused("no journal");
    fs::copy(state.join("item.done"), &other).unwrap();
    refused("another publication");
    fs::remove_file(&other).unwrap();
    fs::create_dir(&other).unwrap();
    refused("no regular file");
    fs::remove_dir(&other).unwrap();
    assert_eq!(locked.completed().unwrap(), ["item"]);
}

#[test]
fn a_tree_with_another_one_in_it_is_not_scanned_while_that_is_half_published() {
    let fixture = Fixture::new();
    let (changes, operations) = changes(&fixture);
    let killed_at = |at| killed(&fixture, &format!("outer-{at}/sub"), &changes, at);
    let mut trees = (0..operations).rev().step_by(7).map(killed_at);
    let inner = trees.find(|tree| state_of(&fixture, tree).join("journal").exists());
    let inner = inner.expect("a half-done publication");
    let above = inner.parent().unwrap();
    let refuses = |tree: &Path, excludes: &[String]| {
        let locked = fixture.lock(tree);
        let terms = ScanTerms {
            excludes,
            ..ScanTerms::default()
        };
        match locked.scan(terms, &watch).map(drop) {
            Err(WorkTreeError::Refused { path, reason }) => {
                assert!(reason.contains("monolith work run"), "{reason}");
                Some(path.to_string())
            }
            scanned => {
                scanned.unwrap();
                None
            }
        }
    };
    let outer = above.parent().unwrap();
    assert_eq!(refuses(outer, &[]).as_deref(), Some("sub/tree"));
    assert_eq!(refuses(above, &[]).as_deref(), Some("tree"));
    assert_eq!(refuses(outer, &["sub/tree".to_owned()]), None);
    // The same with a stage inside the inner tree.
    let places = [above, inner.as_path()].map(|folder| folder.join(".monolith-scratch"));
    fs::rename(&places[0], &places[1]).unwrap();
    assert_eq!(refuses(outer, &[]).as_deref(), Some("sub/tree"));
    fs::rename(&places[1], &places[0]).unwrap();
    let (locked, recovered) = lock_in(&fixture.state(), &inner, Faults::none()).unwrap();
    assert!(recovered.is_some());
    drop(locked);
    assert_eq!(refuses(outer, &[]), None);
}
