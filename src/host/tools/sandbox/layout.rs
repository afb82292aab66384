//! The layout of the new root. It looks at the host's files, and mounts nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::conceal::{check_settings, conceal, hide};
use super::contents::{Layout, OWNED, Put, READ_ONLY, WRITABLE, is_link, is_shown, nearest, pin};
use super::part::{Fault, Part, PartFault as _};
use super::places::{SYSTEM, TEMPORARY};
use super::prefix::code_of;
use super::way::is_in;
use super::{SandboxProfile, contents};

/// Names in a writable folder that other programs run or obey.
const GUARDED: [&str; 2] = [".git", ".monolith"];

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
    layout.retain(|path, put| {
        let is_temporary = TEMPORARY.iter().any(|known| path == Path::new(known));
        let stays = is_temporary || matches!(put, Put::Cache { .. });
        !is_in(path, &writable) && (stays || !is_in(path, &profile.read))
    });
    layout.extend(profile.read.iter().map(|path| (path.clone(), OWNED)));
    layout.extend(writable.iter().map(|path| (path.clone(), WRITABLE)));
    let own = writable.iter();
    let own = own.flat_map(|folder| GUARDED.map(|name| folder.join(name)));
    for path in own.chain(profile.guarded.iter().cloned()) {
        guard(&mut layout, &path)?;
    }
    show_sockets(&mut layout, profile)?;
    hide(&mut layout, profile)?;
    check_settings(&mut layout, profile)?;
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
        let put = Put::Cache {
            absent: Vec::new(),
            has_programs: cache.has_programs,
        };
        layout.insert(cache.path.clone(), put);
    }
    for path in &profile.programs {
        if path.exists() && !is_shown(&layout, path) {
            layout.entry(path.clone()).or_insert(READ_ONLY);
        }
    }
    // An installation may lie in another one.
    for prefix in profile.prefixes.iter().rev() {
        if !prefix.is_dir() || is_shown(&layout, prefix) {
            continue;
        }
        layout.insert(prefix.clone(), Put::Folder);
        for path in code_of(prefix) {
            let put = fs::read_link(&path).map_or(READ_ONLY, Put::Link);
            layout.entry(path).or_insert(put);
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
fn show_sockets(layout: &mut Layout, profile: &SandboxProfile) -> Result<(), Fault> {
    if profile.sockets.is_empty() {
        // Agents for keys, screens and editors make theirs there; a workspace may be one of these folders.
        let temporary = TEMPORARY.map(Path::new).into_iter();
        let temporary = temporary.filter(|folder| layout.get(*folder) != Some(&Put::Fresh));
        for path in temporary.flat_map(contents::within).collect::<Vec<_>>() {
            if is_shown(layout, &path) {
                conceal(layout, &path)?;
            }
        }
        return Ok(());
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
    found.extend(folders.flat_map(|(path, _)| contents::within(path)));
    for path in found {
        if !profile.sockets.contains(&path) && is_shown(layout, &path) {
            conceal(layout, &path)?;
        }
    }
    Ok(())
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
