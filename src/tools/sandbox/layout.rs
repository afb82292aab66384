//! The layout of the new root. It looks at the host's files, and mounts nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::installs::has_credentials;
use super::part::{Fault, Part};
use super::places::{SYSTEM, TEMPORARY};
use super::way::{Way, is_in};
use super::{SandboxProfile, sockets};

/// Names in a writable folder that other programs run or obey.
const GUARDED: [&str; 2] = [".git", ".monolith"];
/// The most files of a hidden folder that are looked at.
const MOST_FILES: usize = 16_384;

/// The content of a path of the new root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// The host's folder, read; what is written there ends with the sandbox.
    Cache {
        /// True if it is shown read-only where no overlay can be made; else it is empty then.
        has_programs: bool,
    },
    /// A folder that is empty and may be written; its content is gone with the sandbox.
    Fresh,
    /// An empty file or folder that stays so.
    Hidden,
    Link(PathBuf),
    /// The host's file or folder at that path. `as_owner`: the program runs as its owner there.
    Shown {
        as_owner: bool,
        writable: bool,
    },
}

/// The content of each path; a folder comes before what lies in it.
pub(super) type Layout = BTreeMap<PathBuf, Put>;

pub(super) const READ_ONLY: Put = Put::Shown {
    as_owner: false,
    writable: false,
};
pub(super) const OWNED: Put = Put::Shown {
    as_owner: true,
    writable: false,
};
pub(super) const WRITABLE: Put = Put::Shown {
    as_owner: true,
    writable: true,
};

/// The layout of a profile; what is put in later comes before what was.
pub(super) fn layout(profile: &SandboxProfile) -> Result<Layout, Fault> {
    let workspace = &profile.workspace;
    if workspace.parent().is_none() {
        return Err(Part::Places.lacks("the workspace is the root of all files"));
    }
    let stated = profile.read.iter().chain(&profile.write);
    if stated.into_iter().any(|path| path.parent().is_none()) {
        let words = "`read` or `write` of the sandbox is the root of all files: name folders of it, or say `sandbox: off`";
        return Err(Part::Places.lacks(words));
    }
    let mut layout = base(profile);
    // The program sees its own folders as they are.
    let writable = [profile.write.as_slice(), std::slice::from_ref(workspace)].concat();
    layout.retain(|path, _| !is_in(path, &writable));
    layout.extend(profile.read.iter().map(|path| (path.clone(), OWNED)));
    layout.extend(writable.iter().map(|path| (path.clone(), WRITABLE)));
    for path in &profile.settings {
        // Where it is shown already it is as it is, or hidden.
        if !has_credentials(path) && !is_shown(&layout, path) {
            layout.insert(path.clone(), READ_ONLY);
        }
    }
    let own = writable.iter();
    let own = own.flat_map(|folder| GUARDED.map(|name| folder.join(name)));
    for path in own.chain(profile.guarded.iter().cloned()) {
        guard(&mut layout, &path)?;
    }
    show_sockets(&mut layout, profile);
    hide(&mut layout, profile)?;
    Ok(layout)
}

/// The system, an empty home with the programs of its user, and empty folders for temporary files.
fn base(profile: &SandboxProfile) -> Layout {
    let mut layout = Layout::new();
    for folder in SYSTEM.map(Path::new) {
        match fs::read_link(folder) {
            Ok(target) => layout.insert(folder.to_owned(), Put::Link(target)),
            Err(_) if folder.exists() => layout.insert(folder.to_owned(), READ_ONLY),
            Err(_) => None,
        };
    }
    let fresh = TEMPORARY
        .iter()
        .map(PathBuf::from)
        .chain(profile.home.clone());
    layout.extend(fresh.map(|path| (path, Put::Fresh)));
    for cache in &profile.caches {
        let has_programs = cache.has_programs;
        layout.insert(cache.path.clone(), Put::Cache { has_programs });
    }
    for path in &profile.programs {
        if path.exists() && !is_shown(&layout, path) {
            layout.entry(path.clone()).or_insert(READ_ONLY);
        }
    }
    for (link, target) in &profile.links {
        if !is_shown(&layout, link) {
            layout
                .entry(link.clone())
                .or_insert_with(|| Put::Link(target.clone()));
        }
    }
    if profile.network
        && let Ok(names) = fs::canonicalize("/etc/resolv.conf")
    {
        layout.entry(names).or_insert(READ_ONLY);
    }
    layout
}

/// Shows the stated sockets, and masks every other one where any is stated.
fn show_sockets(layout: &mut Layout, profile: &SandboxProfile) {
    if profile.sockets.is_empty() {
        // Agents for keys, screens and editors make theirs there; a workspace may be one of these folders.
        let temporary = TEMPORARY.map(Path::new).into_iter();
        let temporary = temporary.filter(|folder| layout.get(*folder) != Some(&Put::Fresh));
        for path in temporary.flat_map(sockets::within).collect::<Vec<_>>() {
            if is_shown(layout, &path) {
                mask(layout, path);
            }
        }
        return;
    }
    layout.extend(profile.sockets.iter().map(|path| (path.clone(), OWNED)));
    let mut found = profile.masked.clone();
    let shown = layout.iter();
    let folders = shown.filter(|(path, put)| {
        // Packages lie there, by the hundred thousand; a socket that a daemon is bound to is known without a look.
        let is_large = ["/usr", "/lib", "/nix", "/snap", "/gnu"]
            .iter()
            .any(|large| path.starts_with(large));
        matches!(put, Put::Shown { .. } | Put::Cache { .. }) && !is_large
    });
    found.extend(folders.flat_map(|(path, _)| sockets::within(path)));
    for path in found {
        if !profile.sockets.contains(&path) && is_shown(layout, &path) {
            mask(layout, path);
        }
    }
}

/// Keeps a file or folder within a writable folder from being written, renamed or replaced.
fn guard(layout: &mut Layout, path: &Path) -> Result<(), Fault> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let parent = path
        .parent()
        .and_then(|parent| fs::canonicalize(parent).ok());
    let Some((parent, name)) = parent.zip(path.file_name()) else {
        return Ok(());
    };
    let path = parent.join(name);
    if nearest(layout, &path) == Some(&WRITABLE) {
        if path.is_symlink() {
            return Err(is_link(&path));
        }
        pin(layout, &path);
        layout.insert(path, OWNED);
    }
    Ok(())
}

/// A link could be replaced, and what it leads to could not be found in the next start.
fn is_link(path: &Path) -> Fault {
    let words = format!(
        "{} is a link, which cannot be kept from being replaced",
        path.display()
    );
    Part::Places.lacks(words)
}

/// Makes each folder between a path and the writable folder above it a mount: none of them can be renamed then, which would give the path another name
/// in the next start.
fn pin(layout: &mut Layout, path: &Path) {
    let between = path.ancestors().skip(1);
    let between: Vec<PathBuf> = between
        .take_while(|above| !layout.contains_key(*above))
        .map(Path::to_owned)
        .collect();
    for folder in between {
        layout.insert(folder, WRITABLE);
    }
}

/// Puts nothing in the place of a shown file or folder.
fn mask(layout: &mut Layout, path: PathBuf) {
    if nearest(layout, &path) == Some(&WRITABLE) {
        pin(layout, &path);
    }
    layout.insert(path, Put::Hidden);
}

/// Hides what no program sees.
fn hide(layout: &mut Layout, profile: &SandboxProfile) -> Result<(), Fault> {
    let checked = profile.hidden.iter().map(|path| (path, true));
    let folders = profile.hidden_folders.iter().map(|path| (path, false));
    for (given, is_checked) in checked.chain(folders) {
        let Ok(hidden) = fs::canonicalize(given) else {
            continue;
        };
        let writable = layout.iter().filter(|(_, put)| **put == WRITABLE);
        let writable: Vec<PathBuf> = writable.map(|(path, _)| path.clone()).collect();
        if let Some(link) = Way::follow(given).link_in(&writable) {
            return Err(is_link(link));
        }
        let opened =
            |open: &PathBuf| open.starts_with(&hidden) && profile.workspace.starts_with(open);
        if profile.workspace.starts_with(&hidden) {
            if profile
                .open
                .iter()
                .filter_map(|open| fs::canonicalize(open).ok())
                .any(|open| opened(&open))
            {
                if is_shown(layout, &hidden) {
                    layout.insert(hidden, Put::Fresh);
                }
                continue;
            }
            let words = if is_checked {
                "the workspace lies in monolith's own state".to_owned()
            } else {
                format!(
                    "the workspace lies in {}, a place of credentials",
                    hidden.display()
                )
            };
            return Err(Part::Places.lacks(words));
        }
        if is_checked {
            check_names(&hidden)?;
        }
        layout.retain(|path, _| !path.starts_with(&hidden));
        // What lies in nothing that is shown is hidden already.
        if is_shown(layout, &hidden) {
            mask(layout, hidden);
        }
    }
    Ok(())
}

/// True if the new root shows what the host has at that path.
fn is_shown(layout: &Layout, path: &Path) -> bool {
    let nearest = nearest(layout, path);
    matches!(nearest, Some(Put::Cache { .. } | Put::Shown { .. }))
}

/// The closest entry above a path.
fn nearest<'l>(layout: &'l Layout, path: &Path) -> Option<&'l Put> {
    path.ancestors().skip(1).find_map(|above| layout.get(above))
}

/// A file that has a second name would be seen under that.
fn check_names(hidden: &Path) -> Result<(), Fault> {
    let has_more = |path: &Path| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|found| found.is_file() && found.nlink() > 1)
    };
    let entries = fs::read_dir(hidden).into_iter().flatten().flatten();
    let mut files = entries.take(MOST_FILES).map(|entry| entry.path());
    let named = has_more(hidden).then(|| hidden.to_owned());
    match named.or_else(|| files.find(|path| has_more(path))) {
        None => Ok(()),
        Some(path) => {
            let words = format!(
                "{} has a second name, under which it would be seen",
                path.display()
            );
            Err(Part::Places.lacks(words))
        }
    }
}
