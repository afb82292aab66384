//! Paths that no confined program sees: credentials, monolith's state, sockets. Changes a layout, and mounts nothing.
//!
//! A mount over a file vanishes when the host replaces the file by a rename, and it covers no file that is made later. So a read-only folder that
//! contains such a path is shown child by child, and the path is not among them. In a writable folder a mount over the path has to do.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use super::SandboxProfile;
use super::contents::{Layout, Put, WRITABLE, is_link, is_shown, nearest, pin};
use super::identity::is_root;
use super::part::{Fault, Part, PartFault as _};
use super::settings::{secret_files, text_without_credentials};
use super::way::{Way, is_in};

/// Maximum number of files in a hidden folder that are searched for second names.
const MOST_FILES: usize = 16_384;
/// Maximum number of children of a folder that is shown child by child.
const MOST_CHILDREN: usize = 4_096;
/// Maximum number of entries of the system's settings that are searched for private files.
const MOST_SETTINGS: usize = 65_536;
/// The folder of the system's settings.
const SYSTEM_SETTINGS: &str = "/etc";
/// Mode bits by which everybody may read a file, and enter a folder.
const READ_BY_ALL: u32 = 0o004;
const ENTERED_BY_ALL: u32 = 0o001;

/// Hides the paths that no program sees.
pub(super) fn hide(layout: &mut Layout, profile: &SandboxProfile) -> Result<(), Fault> {
    let writable = writable(layout);
    // A grant in the system's settings names what lies in it.
    let own = [profile.read.as_slice(), &profile.write].concat();
    let mut private = private_files(Path::new(SYSTEM_SETTINGS));
    private.retain(|path| !is_in(path, &own) && !profile.workspace.starts_with(path));
    let state = profile.hidden.iter().map(|path| (path, true));
    let credentials = profile.hidden_folders.iter().chain(&private);
    let credentials =
        credentials.filter(|path| !path.starts_with(SYSTEM_SETTINGS) || may_be_read(profile, path));
    for (given, is_state) in state.chain(credentials.map(|path| (path, false))) {
        let way = Way::follow(given);
        let link = way.link_in(&writable);
        if let Some(link) = link.filter(|_| fs::symlink_metadata(&way.end).is_ok()) {
            return Err(is_link(link));
        }
        let hidden = way.end;
        let named = profile.named.iter();
        let named = named.filter(|named| !is_state && named.starts_with(&hidden));
        let named: Vec<PathBuf> = named.cloned().collect();
        if named.contains(&hidden) {
            continue;
        }
        if profile.workspace.starts_with(&hidden) && !is_in(&profile.workspace, &named) {
            if open_folders(profile, &hidden).is_empty() {
                return Err(workspace_in(&hidden, is_state));
            }
            // What is granted in the open folder stays.
            let kept = granted(profile, &hidden);
            layout.retain(|path, _| !path.starts_with(&hidden) || is_in(path, &kept));
            if is_shown(layout, &hidden) {
                layout.insert(hidden, Put::Fresh);
            }
            continue;
        }
        if is_state {
            check_names(&hidden)?;
        }
        layout.retain(|path, _| !path.starts_with(&hidden) || is_in(path, &named));
        if !way.links.is_empty()
            && let Some(link) = own_place(given)
        {
            conceal(layout, &link)?;
        }
        conceal(layout, &hidden)?;
    }
    Ok(())
}

/// Hides settings that hold credentials, and shows the others as they are now: the host may write a credential into them later.
pub(super) fn check_settings(layout: &mut Layout, profile: &SandboxProfile) -> Result<(), Fault> {
    let writable = writable(layout);
    for given in profile.checked.iter().chain(&profile.settings) {
        let way = Way::follow(given);
        if profile.named.contains(&way.end) {
            continue;
        }
        let text = text_without_credentials(&way.end);
        let is_secret = text.is_none() && way.end.is_file();
        let is_writable = nearest(layout, &way.end) == Some(&WRITABLE);
        let is_of_home = profile.home.iter().any(|home| given.starts_with(home));
        if !is_secret && (is_writable || !is_of_home) {
            continue;
        }
        if let Some(link) = way.link_in(&writable).filter(|_| is_secret) {
            return Err(is_link(link));
        }
        let path = way.end;
        let is_shown = is_shown(layout, &path);
        conceal(layout, &path)?;
        let text = text.filter(|_| is_shown || profile.settings.contains(&path));
        if let Some(text) = text {
            layout.insert(path, Put::Text(text));
        }
    }
    let installed = profile.programs.iter().chain(&profile.prefixes);
    let of_programs = installed.flat_map(|path| secret_files(path));
    for path in of_programs.collect::<Vec<_>>() {
        if !profile.named.contains(&path) {
            conceal(layout, &path)?;
        }
    }
    Ok(())
}

/// The folders that the program may write.
fn writable(layout: &Layout) -> Vec<PathBuf> {
    let writable = layout.iter().filter(|(_, put)| **put == WRITABLE);
    writable.map(|(path, _)| path.clone()).collect()
}

/// Takes a path, which may be missing, out of what is shown.
pub(super) fn conceal(layout: &mut Layout, path: &Path) -> Result<(), Fault> {
    layout.remove(path);
    loop {
        let mut above = path.ancestors().skip(1);
        let Some(folder) = above.find(|above| layout.contains_key(*above)) else {
            return Ok(());
        };
        let is_folder = folder.is_dir();
        match layout.get_mut(folder) {
            Some(Put::Shown { writable: true, .. }) => {
                mask(layout, path);
                return Ok(());
            }
            Some(Put::Cache { absent, .. }) => {
                absent.push(path.to_owned());
                return Ok(());
            }
            Some(put @ Put::Shown { .. }) if is_folder => {
                let put = std::mem::replace(put, Put::Folder);
                show_children(layout, folder, &put)?;
                layout.remove(path);
            }
            _ => return Ok(()),
        }
    }
}

/// Shows what a folder contains now.
fn show_children(layout: &mut Layout, folder: &Path, put: &Put) -> Result<(), Fault> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // Nothing of it can be seen, then.
        Err(fault) if fault.kind() == std::io::ErrorKind::PermissionDenied => return Ok(()),
        Err(fault) => return Err(Part::Places.while_at(folder.display())(fault)),
    };
    for (count, entry) in entries.flatten().enumerate() {
        if count >= MOST_CHILDREN {
            let words = format!(
                "{} contains credentials and more than {MOST_CHILDREN} entries; name folders of it in `read` instead",
                folder.display()
            );
            return Err(Part::Places.lacks(words));
        }
        let path = entry.path();
        let put = match fs::read_link(&path) {
            Ok(target) => Put::Link(target),
            Err(_) => put.clone(),
        };
        layout.entry(path).or_insert(put);
    }
    Ok(())
}

/// Hides a file or folder in a writable folder.
fn mask(layout: &mut Layout, path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else {
        return;
    };
    let empty = if found.is_dir() {
        Put::Folder
    } else {
        Put::Text(Vec::new())
    };
    pin(layout, path);
    layout.insert(path.to_owned(), empty);
}

/// The path of a file or link itself, its folder being resolved.
fn own_place(path: &Path) -> Option<PathBuf> {
    Some(Way::follow(path.parent()?).end.join(path.file_name()?))
}

/// The folders below `hidden` that may be a workspace and contain this one.
fn open_folders(profile: &SandboxProfile, hidden: &Path) -> Vec<PathBuf> {
    let open = profile.open.iter();
    let open = open.filter_map(|open| fs::canonicalize(open).ok());
    open.filter(|open| open.starts_with(hidden) && profile.workspace.starts_with(open))
        .collect()
}

/// The workspace, and the granted paths in such a folder.
fn granted(profile: &SandboxProfile, hidden: &Path) -> Vec<PathBuf> {
    let open = open_folders(profile, hidden);
    let granted = profile.read.iter().chain(&profile.write);
    let granted = granted.chain(&profile.sockets);
    let granted = granted.filter(|path| is_in(path, &open));
    let workspace = std::iter::once(&profile.workspace);
    granted.chain(workspace).cloned().collect()
}

fn workspace_in(hidden: &Path, is_state: bool) -> Fault {
    let kind = if is_state {
        "which is monolith's own state"
    } else {
        "a place of credentials"
    };
    Part::Places.lacks(format!(
        "the workspace lies in {}, {kind}; set `tools.workspace` to a folder outside of it",
        hidden.display()
    ))
}

/// True if the program could read a path that belongs to root. Showing a folder of the system child by child takes time, so it is done for these alone.
fn may_be_read(profile: &SandboxProfile, path: &Path) -> bool {
    if profile.drops_root && is_root() {
        // The program gets an id of no user.
        let found = fs::metadata(path);
        return found.is_ok_and(|found| found.permissions().mode() & READ_BY_ALL != 0);
    }
    geteuid().is_root() || access(path, Access::READ_OK).is_ok()
}

/// The files and folders below that not everybody may read. Root reads them, and other users may by their groups.
fn private_files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut left, mut seen) = (Vec::new(), vec![folder.to_owned()], 0_usize);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            // It is not followed through a link.
            let Ok(about) = entry.metadata() else {
                continue;
            };
            if about.is_symlink() {
                continue;
            }
            let mode = about.permissions().mode();
            let is_folder = about.is_dir();
            let needed = if is_folder {
                ENTERED_BY_ALL
            } else {
                READ_BY_ALL
            };
            if mode & needed == 0 {
                found.push(entry.path());
            } else if is_folder && seen < MOST_SETTINGS {
                left.push(entry.path());
            }
        }
    }
    found
}

/// Refuses a file that has a second name, under which it would be seen.
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
                "{} has a second name, under which it would be seen; remove one of them",
                path.display()
            );
            Err(Part::Places.lacks(words))
        }
    }
}
