//! The trees before and after an item as commits below `refs/monolith/work/`, where the work tree is a repository. Index, branches and stash
//! stay as they are: everything is done in a private index. Nothing that the repository's configuration names is started: git reads no file
//! of the work tree, and makes objects of kept contents.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::git_index::{REPOSITORY, Tracked, tracked};
use monolith_core::message::Digest;
use monolith_core::work::{Manifest, PathChange, Receipt, TreeNode, WorkPath};
use monolith_host::work_tree::WorkTree;

/// The place of the commits.
const REFS: &str = "refs/monolith/work";
/// The mode of a link in a tree of git.
const LINK: &str = "120000";
/// The bit that git takes for an executable file.
const EXECUTABLE: u32 = 0o100;
/// Variables that would lead git elsewhere.
const LEADING: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_INDEX_FILE",
];
/// Settings under which git starts nothing, and writes no file next to the index of the person.
const SETTINGS: [&str; 5] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "index.sparse=false",
];

/// A repository with a private index.
struct Repository<'r> {
    index: PathBuf,
    root: &'r Path,
}

/// The files of a repository, as git sees them.
struct Files {
    index: BTreeMap<WorkPath, Tracked>,
    /// Files that the index does not name, and that nothing ignores.
    untracked: BTreeSet<WorkPath>,
}

/// Keeps the trees before and after an item as two commits, if the tree is a repository. `private` is a folder for the index. Returns the
/// changed files that were not published although git tracks them: a `.gitignore` names them.
///
/// # Errors
/// The error of git.
pub(super) fn keep_commits(
    tree: &WorkTree,
    receipt: &Receipt,
    private: &Path,
) -> Result<Vec<WorkPath>, String> {
    let root = tree.path();
    if fs::symlink_metadata(root.join(".git")).is_err() {
        return Ok(Vec::new());
    }
    let repository = Repository {
        index: private.join("index"),
        root,
    };
    drop(fs::remove_file(&repository.index));
    let kept = repository.keep(tree, receipt);
    drop(fs::remove_file(&repository.index));
    kept
}

/// Removes the reference of a receipt from the repository that a work tree is. Git itself removes the commits later.
///
/// # Errors
/// The error of git.
pub(super) fn remove_commits(root: &Path, receipt_id: &str, private: &Path) -> Result<(), String> {
    if fs::symlink_metadata(root.join(".git")).is_err() {
        return Ok(());
    }
    let repository = Repository {
        index: private.join("index"),
        root,
    };
    let name = format!("{REFS}/{receipt_id}");
    repository.git(&["update-ref", "-d", &name], None).map(drop)
}

impl Repository<'_> {
    fn keep(&self, tree: &WorkTree, receipt: &Receipt) -> Result<Vec<WorkPath>, String> {
        let capsule = receipt.capsule.as_ref();
        let capsule = capsule.ok_or("the item has no changes")?;
        let before = tree.manifest(receipt.before);
        let before = before.map_err(|fault| fault.to_string())?;
        let before = before.ok_or("the tree before the item is not kept")?;
        let files = self.files()?;
        let changes = &capsule.changes;
        let left = before.with(changes);
        let nodes = files.nodes(&left, changes);
        let olds = changes
            .iter()
            .filter(|change| !files.is_in_another(&change.path));
        let olds: Vec<_> = olds.collect();
        let contents = nodes.iter().filter(|(_, _, object)| object.is_none());
        let contents = contents.map(|(_, node, _)| *node);
        let contents = contents.chain(olds.iter().filter_map(|change| change.before.as_ref()));
        let contents: BTreeSet<Digest> = contents.filter_map(TreeNode::content).copied().collect();
        let objects = self.objects(tree, &contents)?;

        let mut info = files.kept(self.root, &left, changes);
        for (path, node, object) in &nodes {
            let made = || objects.get(node.content()?).map(String::as_str);
            info.extend(
                object
                    .or_else(made)
                    .and_then(|object| entry(path, node, object)),
            );
        }
        let after = self.tree_of(&info.concat())?;
        let (mut info, nothing) = (Vec::new(), "0".repeat(after.len()));
        for change in &olds {
            let old = change.before.as_ref();
            let old = old.and_then(|node| {
                let object = objects.get(node.content()?)?;
                entry(&change.path, node, object)
            });
            info.push(old.unwrap_or_else(|| line("0", &nothing, &change.path)));
        }
        let before = self.tree_of(&info.concat())?;
        self.commit(receipt, (&before, &after))?;
        let discarded = capsule.discarded.iter();
        let unpublished = discarded.filter(|path| files.index.contains_key(*path));
        Ok(unpublished.cloned().collect())
    }

    fn commit(&self, receipt: &Receipt, (before, after): (&str, &str)) -> Result<(), String> {
        let id = receipt.id();
        let item = &receipt.item.id;
        let text = format!("monolith: the tree before item {item}, receipt {id}");
        let head = self.git(&["rev-parse", "--verify", "-q", "HEAD^{commit}"], None);
        let mut words = vec!["commit-tree", "--no-gpg-sign", before, "-m", &text];
        if let Ok(head) = &head {
            words.extend(["-p", head.as_str()]);
        }
        let first = self.git(&words, None)?;
        let text = format!("monolith: item {item}, receipt {id}");
        let words = [
            "commit-tree",
            "--no-gpg-sign",
            after,
            "-p",
            &first,
            "-m",
            &text,
        ];
        let last = self.git(&words, None)?;
        let name = format!("{REFS}/{id}");
        self.git(&["update-ref", &name, &last], None).map(drop)
    }

    /// Reads the index of the person. Files that are as it has them are not read again.
    fn files(&self) -> Result<Files, String> {
        let place = self.run(&["rev-parse", "--git-path", "index"], None, None)?;
        let place = place.strip_suffix(b"\n").unwrap_or(&place);
        let written = fs::metadata(self.root.join(OsStr::from_bytes(place))).ok();
        let printed = self.run(&["ls-files", "-z", "-t", "--stage", "--debug"], None, None)?;
        let index = tracked(&printed, written.as_ref(), self.root);
        let index = index.ok_or("git ls-files: its print has another form")?;
        let words = ["ls-files", "-z", "--others", "--exclude-standard"];
        let printed = self.run(&words, None, None)?;
        let names = printed.split(|byte| *byte == 0);
        let untracked = names.filter_map(|name| WorkPath::from_bytes(name).ok());
        Ok(Files {
            index,
            untracked: untracked.collect(),
        })
    }

    /// Makes objects of kept contents, as they are: no filter of the repository changes them.
    fn objects(
        &self,
        tree: &WorkTree,
        contents: &BTreeSet<Digest>,
    ) -> Result<BTreeMap<Digest, String>, String> {
        if contents.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut paths = Vec::new();
        for content in contents {
            let path = tree.content_path(*content);
            if path.as_os_str().as_bytes().contains(&b'\n') {
                return Err("the path of the state folder has a line break".to_owned());
            }
            paths.extend_from_slice(path.as_os_str().as_bytes());
            paths.push(b'\n');
        }
        let words = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let names = self.git(&words, Some(&paths))?;
        let names: Vec<String> = names.lines().map(str::to_owned).collect();
        if names.len() == contents.len() {
            Ok(contents.iter().copied().zip(names).collect())
        } else {
            Err("git hash-object: it made another number of objects".to_owned())
        }
    }

    /// Changes the private index, and makes a tree of it.
    fn tree_of(&self, info: &[u8]) -> Result<String, String> {
        self.git(&["update-index", "-z", "--index-info"], Some(info))?;
        self.git(&["write-tree", "--missing-ok"], None)
    }

    /// Runs git on the private index, and returns the text that it prints.
    fn git(&self, words: &[&str], input: Option<&[u8]>) -> Result<String, String> {
        let printed = self.run(words, input, Some(&self.index))?;
        Ok(String::from_utf8_lossy(&printed).trim_end().to_owned())
    }

    /// Runs git. Without an index it reads that of the person.
    fn run(
        &self,
        words: &[&str],
        input: Option<&[u8]>,
        index: Option<&Path>,
    ) -> Result<Vec<u8>, String> {
        let mut command = Command::new("git");
        for name in LEADING {
            command.env_remove(name);
        }
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        command
            .args(SETTINGS.iter().flat_map(|setting| ["-c", *setting]))
            .args(words)
            .current_dir(self.root)
            .envs([
                ("GIT_AUTHOR_NAME", "monolith"),
                ("GIT_AUTHOR_EMAIL", "monolith@localhost"),
                ("GIT_COMMITTER_NAME", "monolith"),
                ("GIT_COMMITTER_EMAIL", "monolith@localhost"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_OPTIONAL_LOCKS", "0"),
                // Objects that a partial clone lacks are not fetched.
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_ALLOW_PROTOCOL", ""),
            ])
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let refuse = |fault: std::io::Error| format!("git: {fault}");
        let mut child = command.spawn().map_err(refuse)?;
        let given = child.stdin.take().zip(input);
        let ended = std::thread::scope(|scope| {
            // Git prints while it reads.
            scope.spawn(|| {
                if let Some((mut stdin, input)) = given {
                    // One that has ended says why on its standard error.
                    drop(stdin.write_all(input));
                }
            });
            child.wait_with_output()
        });
        let ended = ended.map_err(refuse)?;
        if ended.status.success() {
            return Ok(ended.stdout);
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let word = words.first().copied().unwrap_or_default();
        Err(format!("git {word}: {}", said.trim()))
    }
}

impl Files {
    /// True if a path belongs to a repository within this one.
    fn is_in_another(&self, path: &WorkPath) -> bool {
        let mut next = Some(path.clone());
        while let Some(path) = next {
            let tracked = self.index.get(&path);
            if tracked.is_some_and(|tracked| tracked.mode == REPOSITORY) {
                return true;
            }
            next = path.parent();
        }
        false
    }

    /// The files of the tree after an item that its commit has, each with its object if that exists: changed ones, and those that git does
    /// not ignore.
    fn nodes<'n>(
        &'n self,
        after: &'n Manifest,
        changes: &'n [PathChange],
    ) -> Vec<(&'n WorkPath, &'n TreeNode, Option<&'n str>)> {
        let of_item: BTreeSet<&WorkPath> = changes.iter().map(|change| &change.path).collect();
        let files = after.iter().filter(|(_, node)| !node.is_folder());
        let files = files.filter(|(path, _)| !self.is_in_another(path));
        let of_commit = files.filter_map(|(path, node)| {
            let is_changed = of_item.contains(path);
            match self.index.get(path) {
                Some(tracked) if tracked.is_clean && !is_changed => {
                    Some((path, node, Some(tracked.object.as_str())))
                }
                None if !is_changed && !self.untracked.contains(path) => None,
                Some(_) | None => Some((path, node, None)),
            }
        });
        of_commit.collect()
    }

    /// The lines of the index that stay as they are: repositories, and files that are no part of the item's tree and not deleted.
    fn kept(&self, root: &Path, after: &Manifest, changes: &[PathChange]) -> Vec<Vec<u8>> {
        let of_item: BTreeSet<&WorkPath> = changes.iter().map(|change| &change.path).collect();
        let exists = |path: &WorkPath| {
            let file = root.join(OsStr::from_bytes(path.as_bytes()));
            fs::symlink_metadata(file).is_ok_and(|found| !found.is_dir())
        };
        let kept = self.index.iter().filter(|(path, tracked)| {
            let is_elsewhere = !tracked.is_unmerged
                && after.get(path).is_none()
                && !of_item.contains(path)
                && (tracked.is_left_out || exists(path));
            is_elsewhere || tracked.mode == REPOSITORY
        });
        kept.map(|(path, tracked)| line(&tracked.mode, &tracked.object, path))
            .collect()
    }
}

/// The line of `--index-info` for a file or a link; `None` for a folder, which git does not know.
fn entry(path: &WorkPath, node: &TreeNode, object: &str) -> Option<Vec<u8>> {
    let mode = match node {
        TreeNode::File { mode, .. } if mode & EXECUTABLE != 0 => "100755",
        TreeNode::File { .. } => "100644",
        TreeNode::Link { .. } => LINK,
        TreeNode::Folder { .. } => return None,
    };
    Some(line(mode, object, path))
}

fn line(mode: &str, object: &str, path: &WorkPath) -> Vec<u8> {
    let head = format!("{mode} {object}\t");
    [head.as_bytes(), path.as_bytes(), b"\0"].concat()
}
