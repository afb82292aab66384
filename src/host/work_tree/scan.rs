//! Scans a tree: every path with its mode and hash. Several threads walk it, and files that are unchanged since the last scan are not read.
//! Follows no link and changes nothing.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use monolith_core::message::Digest;
use monolith_core::work::{Manifest, TreeNode, WorkPath};
use rustix::io::Errno;

use super::error::WorkTreeError;
use super::folder::{
    hash_of, hold, io_error, link_target, names, open_error, open_file, open_folder, special,
};
use super::found::{FileId, Found, Kind};
use super::hash_cache::HashCache;
use super::parallel::caught;
use super::rules::{FolderRules, Part, ScanRules, join};
use super::scratch_folder::{inode_name, is_scratch, trees_with_stages};
use super::watch::{StopCheck, Watch};

/// The most threads that walk a tree.
const MOST_THREADS: usize = 8;
/// Folders below each other. Each thread holds one open at each depth at most.
const MOST_DEPTH: usize = 100;
/// Reads of a file that something writes meanwhile.
const MOST_READS: u32 = 3;
/// Paths between two calls of the watch.
const WATCHED: u64 = 256;
/// The time of the last change of a file that may change without another time.
const UNKNOWN: (i64, i64) = (0, 0);

/// A tree as it was scanned.
#[derive(Debug, Default)]
pub struct Scan {
    /// The tree.
    pub manifest: Manifest,
    /// Ignored paths, each with all below it, in order. Rules of the tree leave them out.
    pub ignored: Vec<WorkPath>,
    /// Files whose content was read: the others were known.
    pub read: u64,
    /// Paths that a scan leaves out always: repositories and excluded paths, in order.
    pub left_out: Vec<WorkPath>,
    /// The metadata of every path of the manifest, in its order.
    pub(super) found: Vec<Found>,
}

impl Scan {
    /// The hashes that the next scan may use. A file whose time is unknown is read again.
    pub(super) fn hashes(&self) -> HashCache {
        let mut cache = HashCache::default();
        for ((_, node), found) in self.manifest.iter().zip(&self.found) {
            if let TreeNode::File { content, .. } = node
                && found.changed != UNKNOWN
            {
                cache.insert(found, *content);
            }
        }
        cache
    }
}

/// A scan of the tree below an open folder.
pub(super) struct Scanner<'s> {
    pub cache: &'s HashCache,
    /// True for the work tree itself. What an agent does in its copy is not taken for another tree.
    pub is_work_tree: bool,
    pub rules: &'s ScanRules<'s>,
    pub root: BorrowedFd<'s>,
    pub watch: Watch<'s>,
    /// Folders and files of the host that are never part of a tree.
    pub withheld: &'s [FileId],
}

/// A folder that is to be walked.
struct Job {
    depth: usize,
    in_ignored: bool,
    name: OsString,
    parent: Arc<OwnedFd>,
    path: Vec<u8>,
    rules: Option<Arc<FolderRules>>,
}

/// The folders that are left, the deepest last.
struct Queue {
    error: Option<WorkTreeError>,
    jobs: Vec<Job>,
    /// Folders that are walked now.
    running: usize,
}

/// The part of a tree that one thread walked.
#[derive(Default)]
struct Walked {
    ignored: Vec<WorkPath>,
    left_out: Vec<WorkPath>,
    nodes: Vec<(WorkPath, TreeNode, Found)>,
    /// Ignored folders, which are part of the tree if something in them is.
    possible: Vec<(WorkPath, TreeNode, Found)>,
    read: u64,
}

/// A walk that threads share.
struct Walk<'w> {
    count: AtomicU64,
    queue: Mutex<Queue>,
    scanner: &'w Scanner<'w>,
    wake: Condvar,
}

impl Scanner<'_> {
    /// Scans the tree.
    pub(super) fn scan(&self) -> Result<Scan, WorkTreeError> {
        let root = hold(self.root, OsStr::new(".")).map_err(|fault| root_error(fault.into()))?;
        let job = Job {
            depth: 0,
            in_ignored: false,
            name: OsString::from("."),
            parent: Arc::new(root),
            path: Vec::new(),
            rules: None,
        };
        let walk = Walk {
            count: AtomicU64::new(0),
            queue: Mutex::new(Queue {
                error: None,
                jobs: vec![job],
                running: 0,
            }),
            scanner: self,
            wake: Condvar::new(),
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let walked: Vec<Walked> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(MOST_THREADS))
                .map(|_| scope.spawn(|| walk.work()))
                .collect();
            let mut walked = vec![walk.work()];
            // No thread panics while it walks: `caught` makes that an error.
            walked.extend(others.into_iter().filter_map(|other| other.join().ok()));
            walked
        });
        let queue = walk
            .queue
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = queue.error {
            return Err(error);
        }
        Ok(merged(walked))
    }
}

impl Walk<'_> {
    /// Walks folders until none is left.
    fn work(&self) -> Walked {
        let mut walked = Walked::default();
        while let Some(job) = self.next() {
            let children = caught(|| self.folder(&job, &mut walked));
            let mut queue = self.queue();
            queue.running -= 1;
            match children {
                Ok(children) => queue.jobs.extend(children),
                Err(error) => {
                    queue.jobs.clear();
                    if queue.error.is_none() {
                        queue.error = Some(error);
                    }
                }
            }
            drop(queue);
            self.wake.notify_all();
        }
        walked
    }

    /// The next folder; `None` once all are walked.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            if queue.error.is_some() {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                queue.running += 1;
                return Some(job);
            }
            if queue.running == 0 {
                return None;
            }
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Walks the entries of one folder. Returns the folders in it.
    fn folder(&self, job: &Job, walked: &mut Walked) -> Result<Vec<Job>, WorkTreeError> {
        let refuse = |fault: io::Error| match WorkPath::from_bytes(&job.path) {
            Ok(path) => io_error(&path, fault),
            Err(_) => root_error(fault),
        };
        let folder = match open_folder(&job.parent, &job.name) {
            // It was removed, or replaced by something else, since its name was read.
            Err(Errno::NOENT | Errno::NOTDIR) if job.depth > 0 => {
                return Ok(Vec::new());
            }
            opened => opened.map_err(|fault| match WorkPath::from_bytes(&job.path) {
                Ok(path) => open_error(&path, fault),
                Err(_) => root_error(fault.into()),
            })?,
        };
        if job.depth > MOST_DEPTH {
            let words = format!("folders are more than {MOST_DEPTH} deep; exclude them");
            return Err(refuse(io::Error::other(words)));
        }
        let folder = Arc::new(folder);
        let names = names(&folder).map_err(|fault| refuse(fault.into()))?;
        let has = |name: &str| names.iter().any(|entry| entry == name);
        let place = (job.path.as_slice(), job.depth);
        let open = |name: &str| {
            let file = has(name).then(|| open_file(&folder, OsStr::new(name)));
            file?.ok()
        };
        let rules = self.scanner.rules;
        let rules = rules.of_folder(job.rules.as_ref(), place, open);
        let rules = rules.map_err(refuse)?;
        let half_done = self.half_done(&folder, (job.depth, &names));
        let half_done = half_done.map_err(|fault| refuse(fault.into()))?;
        if !half_done.is_empty() {
            let found = Found::of_open(&folder).map_err(|fault| refuse(fault.into()))?;
            if half_done.contains(&inode_name(&found))
                && let Ok(path) = WorkPath::from_bytes(&job.path)
            {
                return Err(unfinished(&path));
            }
        }
        let mut children = Vec::new();
        let mut bytes = join(&job.path, b"");
        let above = bytes.len();
        for name in names {
            if is_scratch(&name) {
                continue;
            }
            bytes.truncate(above);
            bytes.extend_from_slice(name.as_bytes());
            let path = WorkPath::from_bytes(&bytes).map_err(|fault| {
                refuse(io::Error::other(format!("{fault}: {}", name.display())))
            })?;
            let found = Found::at(folder.as_fd(), &name);
            let Some(found) = found.map_err(|fault| io_error(&path, fault))? else {
                continue;
            };
            self.count_path()?;
            let is_folder = found.kind == Kind::Folder;
            let is_withheld = self.scanner.withheld.contains(&found.id);
            let (entry, of_scan) = ((name.as_os_str(), is_folder), self.scanner.rules);
            let (part, is_ignored) = of_scan.part(&path, entry, rules.as_ref(), job.in_ignored);
            match part {
                _ if is_withheld => {}
                Part::LeftOut => walked.left_out.push(path),
                Part::Ignored if !is_folder || !self.scanner.rules.includes_ignored() => {
                    walked.ignored.push(path);
                }
                Part::Ignored | Part::Tree => {
                    if is_folder && half_done.contains(&inode_name(&found)) {
                        return Err(unfinished(&path));
                    }
                    let child = is_folder.then(|| Job {
                        depth: job.depth + 1,
                        in_ignored: is_ignored,
                        name: name.clone(),
                        parent: Arc::clone(&folder),
                        path: path.as_bytes().to_vec(),
                        rules: rules.clone(),
                    });
                    children.extend(child);
                    let node = self.node(folder.as_fd(), &name, (&path, found), walked)?;
                    let Some((node, found)) = node else {
                        continue;
                    };
                    let nodes = match part {
                        Part::Ignored => &mut walked.possible,
                        _ => &mut walked.nodes,
                    };
                    nodes.push((path, node, found));
                }
            }
        }
        Ok(children)
    }

    /// The names of the scratch folders of other trees, in this folder or this folder itself, that have a stage.
    fn half_done(
        &self,
        folder: &OwnedFd,
        (depth, names): (usize, &[OsString]),
    ) -> rustix::io::Result<HashSet<OsString>> {
        let is_there = names.iter().any(|name| is_scratch(name));
        if !is_there || !self.scanner.is_work_tree {
            return Ok(HashSet::new());
        }
        let mut trees = trees_with_stages(folder.as_fd())?;
        if depth == 0 {
            // The stages of the tree that is scanned are its process's own.
            trees.remove(&inode_name(&Found::of_open(folder)?));
        }
        Ok(trees)
    }

    fn count_path(&self) -> Result<(), WorkTreeError> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(WATCHED) && (self.scanner.watch)(count).is_break() {
            return Err(WorkTreeError::Stopped);
        }
        Ok(())
    }

    /// The node of an entry; `None` if it is gone.
    fn node(
        &self,
        folder: BorrowedFd<'_>,
        name: &OsStr,
        (path, found): (&WorkPath, Found),
        walked: &mut Walked,
    ) -> Result<Option<(TreeNode, Found)>, WorkTreeError> {
        let node = match found.kind {
            Kind::Folder => TreeNode::Folder { mode: found.mode },
            Kind::Link => {
                let target = match link_target(folder, name) {
                    Err(Errno::NOENT) => return Ok(None),
                    target => target.map_err(|fault| open_error(path, fault))?,
                };
                let target = Digest::of(target.as_bytes());
                TreeNode::Link { target }
            }
            Kind::File => {
                let Some(content) = self.scanner.cache.lookup(&found) else {
                    let count = self.count.load(Ordering::Relaxed);
                    let check = StopCheck::new(self.scanner.watch, count);
                    return read_file((folder, name), path, check, walked);
                };
                file_node(content, &found)
            }
            Kind::Other => return Err(special(path)),
        };
        Ok(Some((node, found)))
    }
}

/// Refuses another tree whose changes are on their way.
fn unfinished(path: &WorkPath) -> WorkTreeError {
    WorkTreeError::Refused {
        path: path.clone(),
        reason: "another work tree, with a publication that is not finished; run `monolith work run` with a file of that tree first, or exclude it"
            .to_owned(),
    }
}

/// Reads a file until nothing writes it meanwhile.
fn read_file(
    (folder, name): (BorrowedFd<'_>, &OsStr),
    path: &WorkPath,
    check: StopCheck<'_>,
    walked: &mut Walked,
) -> Result<Option<(TreeNode, Found)>, WorkTreeError> {
    let refuse = |fault: io::Error| io_error(path, fault);
    for _ in 0..MOST_READS {
        let file = match open_file(folder, name) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(|fault| open_error(path, fault))?,
        };
        let before = SystemTime::now();
        let found = state_of(&file).map_err(refuse)?;
        let content = hash_of(&file, check).map_err(refuse)?;
        walked.read += 1;
        if state_of(&file).map_err(refuse)?.is_untouched_since(&found) {
            let mut found = found;
            if !found.is_settled(before) {
                // A later write may leave these times: whoever copies the file compares its content.
                found.changed = UNKNOWN;
            }
            return Ok(Some((file_node(content, &found), found)));
        }
    }
    Err(WorkTreeError::Moved { path: path.clone() })
}

fn state_of(file: &File) -> io::Result<Found> {
    Ok(Found::of_open(file)?)
}

fn file_node(content: Digest, found: &Found) -> TreeNode {
    TreeNode::File {
        content,
        mode: found.mode,
        size: found.bytes,
    }
}

/// The parts as one tree.
fn merged(parts: Vec<Walked>) -> Scan {
    let mut scan = Scan::default();
    let mut nodes = Vec::new();
    let mut possible = Vec::new();
    for part in parts {
        scan.ignored.extend(part.ignored);
        scan.left_out.extend(part.left_out);
        scan.read += part.read;
        nodes.extend(part.nodes);
        possible.extend(part.possible);
    }
    // An ignored folder belongs to the tree if something in it does; those below come first.
    possible.sort_by(|(a, ..), (b, ..)| b.cmp(a));
    let mut holding = HashSet::new();
    if !possible.is_empty() {
        holding.extend(nodes.iter().filter_map(|(path, ..)| path.parent()));
    }
    for (path, node, found) in possible {
        if holding.contains(&path) {
            holding.extend(path.parent());
            nodes.push((path, node, found));
        } else {
            scan.ignored.push(path);
        }
    }
    nodes.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    // A folder that changes meanwhile may list a name twice.
    nodes.dedup_by(|(a, ..), (b, ..)| a == b);
    scan.found = nodes.iter().map(|(.., found)| *found).collect();
    let nodes = nodes.into_iter().map(|(path, node, _)| (path, node));
    scan.manifest = nodes.collect();
    scan.left_out.sort();
    outermost(&mut scan.ignored);
    scan
}

/// Sorts paths, and leaves out those below another one.
fn outermost(paths: &mut Vec<WorkPath>) {
    paths.sort();
    let all: HashSet<_> = paths.iter().cloned().collect();
    paths.retain(|path| {
        let mut above = path.parent();
        while let Some(folder) = above {
            if all.contains(&folder) {
                return false;
            }
            above = folder.parent();
        }
        true
    });
}

fn root_error(fault: io::Error) -> WorkTreeError {
    WorkTreeError::Io {
        path: "the work tree".to_owned(),
        fault,
    }
}
