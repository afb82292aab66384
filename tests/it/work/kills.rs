//! kill -9 at sampled moments of publishing and of thawing: the next command finds the tree as before or as after, and one end.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{RUN, fixture};
use crate::fixture::{Fixture, bound, calls};

/// Kills of a publication, in the quick and in the deep form.
const PUBLISHING: (u64, u64) = (5, 100);
/// Kills of a thaw.
const THAWING: (u64, u64) = (15, 100);
/// Files that the item changes, those that it removes, and those that it makes.
const FILES: usize = 12;
/// The moments of staging, one for each new file, and those of the steps, one for each made or removed path.
const STAGING: usize = 2 * FILES + 4;
const STEPPING: usize = 2 * FILES + 1;
/// The moment at which the journal is gone again.
const LAST: usize = STAGING + STEPPING + 1;
/// The work of the agent, in its scratch tree.
const WORK: &str = "for file in m*; do echo changed >> $file; done
rm -r gone to-folder; mkdir -p new/empty to-folder
for number in 0 1 2 3 4 5 6 7 8 9 10 11; do echo $number > new/n$number; done
echo inner > to-folder/inner; chmod 700 run.sh; ln -sfn new link; echo lost > ignored/cache";

/// A path of the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    File(u32, Vec<u8>),
    Folder(u32),
    Link(PathBuf),
}

type Picture = BTreeMap<PathBuf, Node>;

/// A folder with a work tree, an item `w` that changes many of its files, and a file of items that begins none of them.
fn item() -> Fixture {
    let fixture = fixture();
    for number in 0..FILES {
        fixture.write(&format!("tree/m{number}"), "old\n");
        fixture.write(&format!("tree/gone/d{number}"), "goes\n");
    }
    for (name, text) in [
        (".gitignore", "ignored/\n"),
        ("ignored/cache", "stays\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("to-folder", "a file\n"),
    ] {
        fixture.write(&format!("tree/{name}"), text);
    }
    symlink("m0", fixture.path("tree/link")).unwrap();
    let work = json!({"command": WORK}).to_string();
    fixture.item_agent("agent-1", &[calls("shell", &work)]);
    let other = json!({"dependencies": ["nowhere"]});
    fixture.items(&[("other", "agent-1", other)]);
    fs::rename(fixture.path("work.yaml"), fixture.path("other.yaml")).unwrap();
    let more = json!({
        "allow_external": ["shell"],
        "constraints": {"max_files": 1000, "max_delta_size": 1000},
    });
    fixture.items(&[("w", "agent-1", more)]);
    fixture
}

/// Spreads so many moments over a publication.
fn moment_of(number: u64, wanted: u64) -> usize {
    let number = usize::try_from(number).unwrap();
    let last = usize::try_from(wanted).unwrap().saturating_sub(1).max(1);
    number * LAST / last
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The paths in the folders of a folder; none if it is missing.
fn below(folder: &Path) -> Vec<PathBuf> {
    let paths = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = paths(folder).map(|entry| entry.path());
    let found = folders.flat_map(|folder| paths(&folder).map(|entry| entry.path()));
    found.collect()
}

impl Fixture {
    fn picture(&self) -> Picture {
        let root = self.path("tree");
        let mut picture = Picture::new();
        let mut left = vec![root.clone()];
        while let Some(path) = left.pop() {
            let found = fs::symlink_metadata(&path).unwrap();
            let mode = found.permissions().mode() & 0o7777;
            let node = if found.is_symlink() {
                Node::Link(fs::read_link(&path).unwrap())
            } else if found.is_dir() {
                let entries = fs::read_dir(&path).unwrap();
                left.extend(entries.map(|entry| entry.unwrap().path()));
                Node::Folder(mode)
            } else {
                Node::File(mode, fs::read(&path).unwrap())
            };
            picture.insert(path.strip_prefix(&root).unwrap().to_owned(), node);
        }
        picture
    }

    /// Gives the tree the paths of a picture, and no others.
    fn restore(&self, picture: &Picture) {
        let root = self.path("tree");
        for entry in fs::read_dir(&root).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        for (path, node) in picture {
            let path = root.join(path);
            let set_mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            match node {
                Node::File(mode, content) => {
                    fs::write(&path, content).unwrap();
                    set_mode(*mode);
                }
                Node::Folder(mode) => {
                    fs::create_dir_all(&path).unwrap();
                    set_mode(*mode);
                }
                Node::Link(target) => symlink(target, &path).unwrap(),
            }
        }
        assert_eq!(self.picture(), *picture);
    }

    /// The present moment of a publication, as its files show it; `None` before it begins.
    fn moment(&self, is_thaw: bool, latest: Option<usize>) -> Option<usize> {
        let state = below(&self.path("home/runs.db.work/trees"));
        if state.iter().any(|path| path.ends_with("journal")) {
            let made = count(&self.path("tree/new"));
            let removed = FILES.saturating_sub(count(&self.path("tree/gone")));
            let changed = made + removed;
            let taken = if is_thaw {
                STEPPING.saturating_sub(changed)
            } else {
                changed
            };
            return Some(STAGING + taken);
        }
        let scratch = below(&self.path(".monolith-scratch"));
        let is_stage = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "stage");
        match (scratch.iter().find(is_stage), latest) {
            (None, None) => None,
            (Some(found), None | Some(..STAGING)) => Some(count(found).min(STAGING - 1)),
            (None, Some(_)) | (Some(_), Some(STAGING..)) => Some(LAST),
        }
    }

    /// Starts a command, and kills its process at a moment; false if it ended before.
    fn killed_at(&self, args: &[&str], is_thaw: bool, moment: usize) -> bool {
        let mut command = self.command(args);
        let mut process = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut latest = None;
        while latest < Some(moment) && process.try_wait().unwrap().is_none() {
            latest = self.moment(is_thaw, latest);
            std::thread::yield_now();
        }
        process.kill().unwrap();
        process.wait().unwrap().signal() == Some(9)
    }

    /// The next command: it locks the tree, which completes or takes back what was left, and begins no item.
    fn next_command(&self) {
        let left = self.ends(&["work", "run", "other.yaml"], 4);
        assert!(
            left.err.contains("`nowhere` is not in the file"),
            "{}",
            left.err
        );
    }

    /// The one item of the list.
    fn listed(&self) -> Value {
        let (_, listed) = self.json(&["work", "list"]);
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
        listed[0].clone()
    }

    /// The list shows one end, a success, and its receipt verifies. Returns the receipt.
    fn has_one_end(&self) -> String {
        let listed = self.listed();
        assert_eq!(listed["state"], "success", "{listed}");
        let receipt = listed["receipt_id"].as_str().unwrap().to_owned();
        let said = self.ok(&["work", "verify", &receipt]);
        assert!(said.contains("ok      log\n"), "{said}");
        receipt
    }
}

/// The tree before and after the item, and its receipt.
fn done(fixture: &Fixture) -> ([Picture; 2], String) {
    let before = fixture.picture();
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    let after = fixture.picture();
    assert_ne!(before, after);
    ([before, after], fixture.has_one_end())
}

#[test]
fn a_publication_killed_at_sampled_moments_is_before_or_after_for_the_next_command() {
    let ([before, after], _) = done(&item());
    let wanted = bound(PUBLISHING.0, PUBLISHING.1);
    let mut killed = 0;
    for number in 0..wanted {
        let moment = moment_of(number, wanted);
        let fixture = item();
        killed += u64::from(fixture.killed_at(&RUN, false, moment));
        fixture.next_command();
        let now = fixture.picture();
        assert!(now == before || now == after, "killed at {moment}: {now:?}");
        if fixture.listed()["state"] != "success" {
            let (code, result) = fixture.result();
            assert_eq!(code, 0, "killed at {moment}: {result}");
            assert_eq!(result["metrics"]["tool_ops_count"], 1, "{result}");
            fixture.has_no_scratch();
        }
        assert_eq!(fixture.picture(), after, "killed at {moment}");
        fixture.has_one_end();
    }
    assert!(killed > 0, "every process ended before its moment");
    println!("{killed} kills of {wanted} publications");
}

#[test]
fn a_thaw_killed_at_sampled_moments_is_before_or_after_for_the_next_command() {
    let fixture = item();
    let ([before, after], receipt) = done(&fixture);
    let wanted = bound(THAWING.0, THAWING.1);
    let thaw = ["work", "thaw", &receipt];
    let mut killed = 0;
    for number in 0..wanted {
        let moment = moment_of(number, wanted);
        killed += u64::from(fixture.killed_at(&thaw, true, moment));
        fixture.next_command();
        let now = fixture.picture();
        assert!(now == before || now == after, "killed at {moment}: {now:?}");
        assert_eq!(fixture.has_one_end(), receipt);
        fixture.ok(&thaw);
        assert_eq!(fixture.picture(), before, "killed at {moment}");
        fixture.has_no_scratch();
        fixture.restore(&after);
    }
    assert!(killed > 0, "every process ended before its moment");
    println!("{killed} kills of {wanted} thaws");
}
