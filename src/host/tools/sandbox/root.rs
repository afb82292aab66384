//! The new root: an empty one, into which the layout is mounted, and which then takes the place of the host's. Does not know why what lies where.

use std::ffi::CString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mknodat, openat2};
use rustix::mount::{
    MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    mount, mount_change, move_mount, open_tree, unmount,
};
use rustix::process::pivot_root;

use super::contents::{Layout, Put};
use super::part::{Fault, Part, PartFault as _, PartStatus};
use super::profile::HeldFolder;
use super::raw;
use monolith_core::message::MemoryScope;

/// The mount point of the new root; it covers the files of the host there.
const MADE_AT: &str = "/tmp";
/// Bytes of each folder that is empty and may be written.
const FRESH: u64 = 1 << 30;
/// The same of `/dev/shm`.
const SHARED: u64 = 1 << 28;
const DEVICES: [&str; 5] = ["full", "null", "random", "urandom", "zero"];
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// The folder of files whose content is given.
const TEXTS: &str = ".texts";
/// Options of an empty folder for mounts.
const FOLDER: &str = "mode=0755,size=16m";
/// The folder that takes the writes to caches. A program may look at it and not write it.
pub(super) const DISCARDED: &str = ".discarded";
/// Bytes of all writes to caches.
const DISCARDED_SIZE: u64 = 4 << 30;

/// As whom fresh folders are made, and how the owner of what is shown becomes whom the program runs as.
pub(super) struct Owner<'o> {
    /// The user namespace of id-mapped mounts; `None` if the program has the id of this process.
    pub(super) users: Option<BorrowedFd<'o>>,
    /// The id outside of that, for fresh folders.
    pub(super) id: Option<u32>,
}

/// A part of the host that was taken before the host's files are gone.
struct Taken {
    /// Device and inode.
    id: (u64, u64),
    is_folder: bool,
    tree: OwnedFd,
}

/// Replaces the root of this process, which has a private mount namespace and is the first of a pid namespace. A folder of `held` that is another
/// one now is a fault.
///
/// All folders in memory together hold at most the bytes that `memory` limits.
pub(super) fn replace(
    layout: &Layout,
    held: &[HeldFolder],
    owner: &Owner<'_>,
    (memory, scope): (Option<u64>, Option<MemoryScope>),
) -> Result<(), Fault> {
    let fresh_ones = layout.values().filter(|put| **put == Put::Fresh);
    let folders = u64::try_from(fresh_ones.count()).unwrap_or(u64::MAX);
    let has_caches = layout.values().any(|put| matches!(put, Put::Cache { .. }));
    let folders = folders.saturating_add(1 + u64::from(has_caches));
    let share = memory.map_or(u64::MAX, |memory| memory / folders);
    let part = Part::Files;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(Part::MountNamespace.while_at("private mounts"))?;
    let mut taken = Vec::with_capacity(layout.len());
    for (path, put) in layout {
        taken.push(match put {
            Put::Shown { as_owner, writable } => {
                let users = owner.users.filter(|_| *as_owner);
                let above = path.parent().and_then(|above| layout.get(above));
                let is_stated = held.iter().any(|held| held.path == *path);
                match take(path, *writable, users, held) {
                    Ok(taken) => Some(Source::Shown(taken)),
                    // A child that is gone, or that this user may not see.
                    Err(fault)
                        if above == Some(&Put::Folder)
                            && !is_stated
                            && fault.status == PartStatus::Lacking =>
                    {
                        None
                    }
                    Err(fault) => return Err(fault),
                }
            }
            Put::Cache { .. } => Some(Source::Cache {
                lower: open(path).map_err(part.while_at(path.display()))?,
                shown: take(path, false, None, held)?,
            }),
            Put::Folder | Put::Fresh | Put::Link(_) | Put::Text(_) => None,
        });
    }
    let devices = DEVICES.map(|name| {
        // It gives the same bytes, and no map of it is memory that only a control group counts.
        let is_mapped = name == "zero" && scope == Some(MemoryScope::Process);
        let from = if is_mapped { "full" } else { name };
        (name, Path::new("/dev").join(from))
    });
    let mut nodes = Vec::with_capacity(devices.len());
    for (name, path) in devices {
        nodes.push((
            name,
            take_tree(&path, false)
                .map_err(part.while_at(path.display()))?
                .tree,
        ));
    }
    let root = Path::new(MADE_AT);
    fresh(root, FOLDER, part)?;
    fs::create_dir(root.join(TEXTS)).map_err(part.while_at(TEXTS))?;
    let discarded = root.join(DISCARDED);
    if has_caches {
        fs::create_dir(&discarded).map_err(part.while_at(DISCARDED))?;
        let options = format!("mode=0700,{}", room(share.min(DISCARDED_SIZE)));
        fresh(&discarded, &options, part)?;
    }
    for (index, ((path, put), source)) in layout.iter().zip(taken).enumerate() {
        let source = match put {
            Put::Text(text) => Some(Source::Shown(text_file(root, &index.to_string(), text)?)),
            _ => source,
        };
        let at = place_of(root, path);
        place(root, &at, put, source, (owner, share.min(FRESH))).map_err(|fault| Fault {
            reason: format!("{}: {fault}", path.display()),
            ..fault
        })?;
    }
    let devices = root.join("dev");
    fs::create_dir_all(&devices).map_err(part.while_at("/dev"))?;
    for (name, node) in nodes {
        let at = devices.join(name);
        fs::write(&at, "").map_err(part.while_at(name))?;
        attach(&node, &at).map_err(part.while_at(name))?;
    }
    for (name, target) in DEVICE_LINKS {
        symlink(target, devices.join(name)).map_err(part.while_at(name))?;
    }
    for name in ["dev/shm", "run"] {
        let at = root.join(name);
        fs::create_dir_all(&at).map_err(part.while_at(name))?;
    }
    let shared = format!("mode=1777,{}", room(share.min(SHARED)));
    fresh(&devices.join("shm"), &shared, part)?;
    let processes = root.join("proc");
    fs::create_dir_all(&processes).map_err(Part::Proc.while_at("/proc"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", &processes, "proc", flags, None).map_err(Part::Proc.while_at("mount"))?;
    let sealed = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    if has_caches {
        rustix::mount::mount_remount(&discarded, sealed, "").map_err(part.while_at(DISCARDED))?;
    }
    for (path, _) in layout.iter().filter(|(_, put)| **put == Put::Folder) {
        rustix::mount::mount_remount(place_of(root, path), sealed, "")
            .map_err(part.while_at(path.display()))?;
    }
    rustix::mount::mount_remount(root, sealed, "").map_err(part.while_at("the root read-only"))?;
    enter(root).map_err(part.while_at("the new root"))
}

/// The source of what is mounted at a path.
enum Source {
    Cache { lower: OwnedFd, shown: Taken },
    Shown(Taken),
}

/// The place of a path below the new root.
fn place_of(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Makes a read-only file with that content, to be mounted.
fn text_file(root: &Path, name: &str, text: &[u8]) -> Result<Taken, Fault> {
    let at = root.join(TEXTS).join(name);
    let part = Part::Files;
    fs::write(&at, text).map_err(part.while_at(TEXTS))?;
    let readable = fs::Permissions::from_mode(0o444);
    fs::set_permissions(&at, readable).map_err(part.while_at(TEXTS))?;
    let taken = take_tree(&at, false).map_err(part.while_at(TEXTS))?;
    let set = MountAttrFlags::MOUNT_ATTR_RDONLY;
    raw::set_mount(taken.tree.as_fd(), set, None, false).map_err(part.while_at(TEXTS))?;
    Ok(taken)
}

fn take(
    path: &Path,
    writable: bool,
    users: Option<BorrowedFd<'_>>,
    held: &[HeldFolder],
) -> Result<Taken, Fault> {
    // Mounts below it have separate ids, so they are left out where ids are mapped.
    let taken = take_tree(path, users.is_none()).map_err(Part::Files.while_at(path.display()))?;
    if held
        .iter()
        .any(|held| held.path == path && (held.device, held.inode) != taken.id)
    {
        let words = format!(
            "{} is another folder than when the run began; begin a new run or put the folder back",
            path.display()
        );
        return Err(Part::Places.lacks(words));
    }
    let mut set = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    if !writable {
        set |= MountAttrFlags::MOUNT_ATTR_RDONLY;
    }
    let recursive = users.is_none();
    raw::set_mount(taken.tree.as_fd(), set, None, recursive)
        .map_err(Part::Files.while_at(path.display()))?;
    if users.is_some() {
        let none = MountAttrFlags::empty();
        raw::set_mount(taken.tree.as_fd(), none, users, false)
            .map_err(Part::IdMapping.while_at(path.display()))?;
    }
    Ok(taken)
}

/// Opens a path that no link is on.
fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Copies the mount at a path that no link is on.
fn take_tree(path: &Path, recursive: bool) -> rustix::io::Result<Taken> {
    let place = open(path)?;
    let found = fstat(&place)?;
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    if recursive {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    Ok(Taken {
        id: (found.st_dev, found.st_ino),
        is_folder: FileType::from_raw_mode(found.st_mode) == FileType::Directory,
        tree: open_tree(&place, "", flags)?,
    })
}

/// Mounts a folder with a layer above it that takes the writes and ends with the sandbox. The `absent` paths below the folder are not in it.
fn mount_overlay(root: &Path, at: &Path, lower: &OwnedFd, absent: &[PathBuf]) -> io::Result<()> {
    let layer = root.join(DISCARDED).join(name_of_layer(root, at));
    let (upper, work) = (layer.join("upper"), layer.join("work"));
    fs::create_dir_all(&upper)?;
    fs::create_dir_all(&work)?;
    for path in absent {
        let place = place_of(root, path);
        let place = upper.join(place.strip_prefix(at).map_err(io::Error::other)?);
        fs::create_dir_all(place.parent().unwrap_or(&upper))?;
        // The sign by which an overlay leaves out what its lower folder has (overlayfs.rst).
        mknodat(CWD, &place, FileType::CharacterDevice, Mode::empty(), 0)?;
    }
    let options = format!(
        "lowerdir=/proc/self/fd/{},upperdir={},workdir={},userxattr",
        lower.as_raw_fd(),
        upper.display(),
        work.display()
    );
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("overlay", at, "overlay", flags, Some(options.as_c_str()))?;
    Ok(())
}

/// The name of a folder's layer: its path without characters that separate the options of a mount.
fn name_of_layer(root: &Path, at: &Path) -> String {
    let path = at.strip_prefix(root).unwrap_or(at);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    bytes.fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// The folder that takes the writes to a cache, by the cache's path.
pub(super) fn layer_of(cache: &Path) -> PathBuf {
    let layer = name_of_layer(Path::new("/"), cache);
    Path::new("/").join(DISCARDED).join(layer).join("upper")
}

fn place(
    root: &Path,
    at: &Path,
    put: &Put,
    source: Option<Source>,
    (owner, bytes): (&Owner<'_>, u64),
) -> Result<(), Fault> {
    let part = Part::Files;
    let folder = || fs::create_dir_all(at).map_err(part.while_at("a place for it"));
    let file = || {
        let above = at.parent().map_or(Ok(()), fs::create_dir_all);
        above.map_err(part.while_at("a place for it"))?;
        if fs::symlink_metadata(at).is_err() {
            fs::write(at, "").map_err(part.while_at("a place for it"))?;
        }
        Ok(())
    };
    match (put, source) {
        (Put::Link(target), _) => {
            let above = at.parent().map_or(Ok(()), fs::create_dir_all);
            above.map_err(part.while_at("a place for it"))?;
            // A folder that is shown has the link already.
            if fs::symlink_metadata(at).is_ok() {
                return Ok(());
            }
            symlink(target, at).map_err(part.while_at("a link"))
        }
        (Put::Fresh, _) => {
            folder()?;
            let mut options = format!("mode=1777,{}", room(bytes));
            if let Some(id) = owner.id {
                let _ = write!(options, ",uid={id},gid={id}");
            }
            fresh(at, &options, part)
        }
        (
            Put::Cache {
                absent,
                has_programs,
            },
            Some(Source::Cache { lower, shown }),
        ) => {
            folder()?;
            // Without overlays this folder is one of the home, which is empty and may be written.
            if mount_overlay(root, at, &lower, absent).is_err() && *has_programs {
                attach(&shown.tree, at).map_err(part.while_at("mount"))?;
                let places = absent.iter().map(|path| place_of(root, path));
                for place in places.filter(|place| place.exists()) {
                    cover(root, &place)?;
                }
            }
            Ok(())
        }
        (_, Some(Source::Shown(taken) | Source::Cache { shown: taken, .. })) => {
            if taken.is_folder {
                folder()?;
            } else {
                file()?;
            }
            attach(&taken.tree, at).map_err(part.while_at("mount"))
        }
        (Put::Folder, _) => {
            folder()?;
            fresh(at, FOLDER, part)
        }
        (Put::Cache { .. } | Put::Shown { .. } | Put::Text(_), None) => Ok(()),
    }
}

/// Mounts something empty over a file or folder.
fn cover(root: &Path, at: &Path) -> Result<(), Fault> {
    if at.is_dir() {
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        return mount("tmpfs", at, "tmpfs", flags, Some(c"mode=0555,size=4k"))
            .map_err(Part::Files.while_at(at.display()));
    }
    let empty = text_file(root, "empty", b"")?;
    attach(&empty.tree, at).map_err(Part::Files.while_at(at.display()))
}

fn attach(tree: &OwnedFd, at: &Path) -> rustix::io::Result<()> {
    move_mount(tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn fresh(at: &Path, options: &str, part: Part) -> Result<(), Fault> {
    let options = CString::new(options).map_err(part.while_at("options"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", flags, Some(options.as_c_str()))
        .map_err(part.while_at(at.display()))
}

/// Returns mount options that bound the bytes of a folder in memory, and its files and attributes, which take extra memory.
fn room(bytes: u64) -> String {
    format!("size={bytes},nr_inodes={}", (bytes / 4_096).max(64))
}

/// Goes there for good: the host's files have no path any more.
fn enter(root: &Path) -> rustix::io::Result<()> {
    rustix::process::chdir(root)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")
}

/// Every folder that may be written, for rules that hold beneath the mounts.
pub(super) fn writable(layout: &Layout) -> impl Iterator<Item = PathBuf> + '_ {
    let shared = Path::new("/dev/shm").to_owned();
    let writable = layout.iter().filter(|(_, put)| {
        matches!(
            put,
            Put::Cache { .. } | Put::Fresh | Put::Shown { writable: true, .. }
        )
    });
    writable.map(|(path, _)| path.clone()).chain([shared])
}
