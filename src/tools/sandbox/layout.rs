//! Where what lies in the new root. It looks at the host's files, and mounts nothing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::part::{Fault, Part};
use super::{Base, SandboxProfile};

/// Folders of programs and of their settings.
const SYSTEM: [&str; 12] = [
    "/bin", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin",
    "/snap", "/usr",
];
/// What of the host's root is never shown as it is.
const OWN: [&str; 5] = ["dev", "proc", "run", "sys", "tmp"];
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Folders below the home that package runners write to.
const CACHES: [&str; 8] = [
    ".bun",
    ".cache",
    ".deno",
    ".local/share/pnpm",
    ".local/share/uv",
    ".npm",
    ".pnpm-store",
    ".yarn",
];
/// Those that are made where they are missing: package runners could not.
const MADE: [&str; 2] = [".cache", ".npm"];
/// What below the home holds credentials.
const CREDENTIALS: [&str; 24] = [
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/op",
    ".config/sops",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".netrc",
    ".password-store",
    ".pypirc",
    ".ssh",
    ".terraform.d",
    ".zsh_history",
];
/// What of a folder that may be written is run or obeyed by other programs.
const GUARDED: [&str; 2] = [".git", ".monolith"];
/// The most files of a hidden folder that are looked at.
const MOST_FILES: usize = 16_384;

/// What lies at a path of the new root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// A folder that is empty and may be written; its content is gone with the sandbox.
    Fresh,
    /// An empty file or folder that stays so.
    Hidden,
    Link(PathBuf),
    /// What the host has at that path. `as_owner`: the program runs as its owner there.
    Shown {
        as_owner: bool,
        writable: bool,
    },
}

/// What lies where; a folder comes before what lies in it.
pub(super) type Layout = BTreeMap<PathBuf, Put>;

const READ_ONLY: Put = Put::Shown {
    as_owner: false,
    writable: false,
};
const OWNED: Put = Put::Shown {
    as_owner: true,
    writable: false,
};
const WRITABLE: Put = Put::Shown {
    as_owner: true,
    writable: true,
};

/// The layout of a profile; what is put in later comes before what was.
pub(super) fn layout(profile: &SandboxProfile, search: Option<&OsStr>) -> Result<Layout, Fault> {
    let workspace = &profile.workspace;
    let mut layout = match profile.base {
        Base::System => system(profile, search),
        Base::Whole => whole(profile),
    };
    if profile.network
        && let Ok(names) = fs::canonicalize("/etc/resolv.conf")
    {
        layout.entry(names).or_insert(READ_ONLY);
    }
    if workspace.parent().is_none() {
        return Err(Part::Places.lacks("the workspace is the root of all files"));
    }
    let stated = profile.read.iter().chain(&profile.write);
    if stated.into_iter().any(|path| path.parent().is_none()) {
        let words = "`read` or `write` of the sandbox is the root of all files: name folders of it, or say `sandbox: off`";
        return Err(Part::Places.lacks(words));
    }
    // What lies in the workspace is shown as it is there.
    layout.retain(|path, put| !(path.starts_with(workspace) && *put == Put::Fresh));
    for path in &profile.read {
        layout.insert(path.clone(), OWNED);
    }
    let writable: Vec<&PathBuf> = profile.write.iter().chain([workspace]).collect();
    for path in &writable {
        layout.insert((*path).clone(), WRITABLE);
    }
    for folder in &writable {
        guard(&mut layout, folder)?;
    }
    hide(&mut layout, profile)?;
    Ok(layout)
}

fn system(profile: &SandboxProfile, search: Option<&OsStr>) -> Layout {
    let mut layout = Layout::new();
    for folder in SYSTEM {
        show_as_it_is(&mut layout, Path::new(folder));
    }
    let home = profile.home.iter().cloned();
    for fresh in TEMPORARY.iter().map(PathBuf::from).chain(home) {
        layout.insert(fresh, Put::Fresh);
    }
    for folder in search.into_iter().flat_map(std::env::split_paths) {
        let Ok(folder) = fs::canonicalize(folder) else {
            continue;
        };
        let fresh = |(path, put): (&PathBuf, &Put)| *put == Put::Fresh && path.starts_with(&folder);
        let known = folder
            .ancestors()
            .any(|above| layout.get(above) == Some(&READ_ONLY));
        // Programs of the home need more of it than one folder; without any, one of the system is found.
        let at_home = profile.home.iter().any(|home| folder.starts_with(home));
        let too_wide = at_home
            || folder.parent().is_none()
            || layout.iter().any(fresh)
            || profile.workspace.starts_with(&folder)
            || profile
                .hidden
                .iter()
                .any(|hidden| hidden.starts_with(&folder));
        if !known && !too_wide {
            layout.insert(folder, READ_ONLY);
        }
    }
    layout
}

fn whole(profile: &SandboxProfile) -> Layout {
    let mut layout = Layout::new();
    for entry in fs::read_dir("/").into_iter().flatten().flatten() {
        if !OWN.iter().any(|own| entry.file_name() == *own) {
            show_as_it_is(&mut layout, &entry.path());
        }
    }
    layout.insert(PathBuf::from("/sys"), READ_ONLY);
    for folder in TEMPORARY {
        if Path::new(folder).is_dir() {
            layout.insert(PathBuf::from(folder), WRITABLE);
        }
    }
    if let Some(home) = &profile.home {
        for name in MADE {
            // What cannot be made is not there, as without a sandbox.
            let _ = fs::create_dir(home.join(name));
        }
        for (names, put) in [(CREDENTIALS.as_slice(), Put::Hidden), (&CACHES, WRITABLE)] {
            for name in names {
                let path = home.join(name);
                let Ok(found) = fs::symlink_metadata(&path) else {
                    continue;
                };
                if !found.is_symlink() {
                    layout.insert(path, put.clone());
                } else if put == Put::Hidden
                    && let Ok(target) = fs::canonicalize(path)
                    && !is_needed(profile, &target)
                {
                    // Keys in a folder of settings elsewhere, which a link leads to.
                    layout.insert(target, Put::Hidden);
                }
            }
        }
    }
    for folder in TEMPORARY {
        for path in reachable_sockets(Path::new(folder)) {
            if !is_needed(profile, &path) {
                layout.insert(path, Put::Hidden);
            }
        }
    }
    layout
}

/// Whether something that the program has lies there.
fn is_needed(profile: &SandboxProfile, path: &Path) -> bool {
    let named = profile.read.iter().chain(&profile.write);
    let mut had = named.chain(&profile.home).chain([&profile.workspace]);
    had.any(|had| had.starts_with(path))
}

/// The sockets in a folder for temporary files, and the folders of it that hold one: those of an agent for keys, of a screen, of an editor.
fn reachable_sockets(folder: &Path) -> Vec<PathBuf> {
    let is_socket = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_socket());
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.take(MOST_FILES)
    };
    let holds_one = |entry: &fs::DirEntry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && entries(&entry.path()).any(|inner| is_socket(&inner))
    };
    let found = entries(folder).filter(|entry| is_socket(entry) || holds_one(entry));
    found.map(|entry| entry.path()).collect()
}

fn show_as_it_is(layout: &mut Layout, path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else {
        return;
    };
    if !found.is_symlink() {
        layout.insert(path.to_owned(), READ_ONLY);
    } else if let Ok(target) = fs::read_link(path) {
        layout.insert(path.to_owned(), Put::Link(target));
    }
}

/// What lies in a folder that may be written, and may not be itself.
fn guard(layout: &mut Layout, folder: &Path) -> Result<(), Fault> {
    for name in GUARDED {
        let path = folder.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let words = format!(
                    "{} is a link, which cannot be kept from being replaced",
                    path.display()
                );
                return Err(Part::Places.lacks(words));
            }
            Ok(_) => {
                layout.insert(path, OWNED);
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Hides what no program sees. Where it lies in a folder that may be written, the folders between become mounts of their own: none of them can be
/// renamed then, which would give it another path the next time.
fn hide(layout: &mut Layout, profile: &SandboxProfile) -> Result<(), Fault> {
    let checked = profile.hidden.iter().map(|path| (path, true));
    let folders = profile.hidden_folders.iter().map(|path| (path, false));
    for (given, is_checked) in checked.chain(folders) {
        let Ok(hidden) = fs::canonicalize(given) else {
            continue;
        };
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
            return Err(Part::Places.lacks("the workspace lies in monolith's own state"));
        }
        if is_checked {
            check_names(&hidden)?;
        }
        let below: Vec<PathBuf> = layout
            .keys()
            .filter(|path| path.starts_with(&hidden))
            .cloned()
            .collect();
        for path in below {
            layout.remove(&path);
        }
        // What lies in nothing that is shown is hidden already.
        if !is_shown(layout, &hidden) {
            continue;
        }
        let writable = |above: &Path| layout.get(above) == Some(&WRITABLE);
        let depth = hidden.ancestors().skip(1).position(writable);
        let between = hidden.ancestors().skip(1).take(depth.unwrap_or(0));
        let between: Vec<PathBuf> = between.map(Path::to_owned).collect();
        for folder in between {
            layout.entry(folder).or_insert(WRITABLE);
        }
        layout.insert(hidden, Put::Hidden);
    }
    Ok(())
}

/// Whether what the host has at that path is there.
fn is_shown(layout: &Layout, path: &Path) -> bool {
    let nearest = path.ancestors().skip(1).find_map(|above| layout.get(above));
    matches!(nearest, Some(Put::Shown { .. }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::SandboxStrength;
    use crate::tools::sandbox::{Confined, Limits};

    fn profile(workspace: &Path, base: Base) -> SandboxProfile {
        SandboxProfile {
            base,
            confined: Confined::Always(SandboxStrength::default()),
            drops_root: true,
            home: None,
            hidden: Vec::new(),
            hidden_folders: Vec::new(),
            joined_output: true,
            limits: Limits::default(),
            network: false,
            open: Vec::new(),
            read: Vec::new(),
            workspace: workspace.to_owned(),
            write: Vec::new(),
        }
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    #[test]
    fn the_workspace_is_writable_and_its_repository_is_not() {
        let (_folder, at) = folder();
        fs::create_dir(at.join(".git")).unwrap();
        let layout = layout(&profile(&at, Base::System), None).unwrap();
        assert_eq!(layout[&at], WRITABLE);
        assert_eq!(layout[&at.join(".git")], OWNED);
        assert_eq!(layout[Path::new("/usr")], READ_ONLY);
        assert_eq!(layout[Path::new("/tmp")], Put::Fresh);
        assert!(!layout.contains_key(Path::new("/root")));
    }

    #[test]
    fn keys_that_a_link_leads_to_and_sockets_for_temporary_files_are_hidden() {
        let (_folder, at) = folder();
        for made in ["home", "dotfiles/ssh", "work"] {
            fs::create_dir_all(at.join(made)).unwrap();
        }
        std::os::unix::fs::symlink("../dotfiles/ssh", at.join("home/.ssh")).unwrap();
        std::os::unix::fs::symlink("../work", at.join("home/.kube")).unwrap();
        let mut profile = profile(&at.join("work"), Base::Whole);
        profile.home = Some(at.join("home"));
        // The agent of ssh makes such a folder.
        let agent = tempfile::Builder::new().prefix("ssh-").tempdir_in("/tmp");
        let agent = agent.unwrap();
        let socket = agent.path().join("agent.1");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let layout = layout(&profile, None).unwrap();
        assert_eq!(layout[&at.join("dotfiles/ssh")], Put::Hidden);
        assert_eq!(layout[&at.join("work")], WRITABLE);
        assert_eq!(layout[agent.path()], Put::Hidden);
        profile.write = vec![socket];
        let layout = super::layout(&profile, None).unwrap();
        assert!(!layout.contains_key(agent.path()));
    }

    #[test]
    fn the_root_of_all_files_is_refused_with_the_way_out() {
        let (_folder, at) = folder();
        for (read, write) in [("/", "/usr"), ("/usr", "/")] {
            let mut profile = profile(&at, Base::Whole);
            profile.read = vec![read.into()];
            profile.write = vec![write.into()];
            let fault = layout(&profile, None).unwrap_err();
            assert!(fault.reason.contains("say `sandbox: off`"), "{fault}");
        }
    }

    #[test]
    fn a_repository_that_is_a_link_is_refused() {
        let (_folder, at) = folder();
        std::os::unix::fs::symlink("elsewhere", at.join(".git")).unwrap();
        let fault = layout(&profile(&at, Base::System), None).unwrap_err();
        assert!(fault.reason.contains("is a link"), "{fault}");
    }

    #[test]
    fn what_is_hidden_in_the_workspace_cannot_be_moved_either() {
        let (_folder, at) = folder();
        fs::create_dir_all(at.join("a/b/state")).unwrap();
        let mut profile = profile(&at, Base::System);
        profile.hidden = vec![at.join("a/b/state"), at.join("none")];
        profile.read = vec![at.join("a/b/state/inner")];
        let layout = layout(&profile, None).unwrap();
        for folder in ["a", "a/b"] {
            assert_eq!(layout[&at.join(folder)], WRITABLE, "{folder}");
        }
        assert_eq!(layout[&at.join("a/b/state")], Put::Hidden);
        assert!(!layout.contains_key(&at.join("a/b/state/inner")));
        assert!(!layout.contains_key(&at.join("none")));
    }

    #[test]
    fn a_workspace_in_what_is_hidden_must_be_opened() {
        let (_folder, at) = folder();
        fs::create_dir_all(at.join("state/demo/work")).unwrap();
        let mut profile = profile(&at.join("state/demo/work"), Base::System);
        profile.hidden = vec![at.join("state")];
        assert!(layout(&profile, None).is_err());
        profile.open = vec![at.join("state/demo")];
        assert!(layout(&profile, None).is_ok());
    }

    #[test]
    fn a_hidden_file_with_a_second_name_is_refused() {
        let (_folder, at) = folder();
        fs::create_dir_all(at.join("work")).unwrap();
        fs::create_dir_all(at.join("keys")).unwrap();
        fs::write(at.join("keys/local.key"), "secret").unwrap();
        let mut profile = profile(&at.join("work"), Base::System);
        profile.hidden = vec![at.join("keys")];
        assert!(layout(&profile, None).is_ok());
        fs::hard_link(at.join("keys/local.key"), at.join("work/other")).unwrap();
        let fault = layout(&profile, None).unwrap_err();
        assert!(fault.reason.contains("second name"), "{fault}");
    }

    #[test]
    fn folders_of_the_search_path_are_shown_unless_they_hold_more() {
        let (_folder, at) = folder();
        for made in ["home/bin", "work", "tools"] {
            fs::create_dir_all(at.join(made)).unwrap();
        }
        let mut profile = profile(&at.join("work"), Base::System);
        profile.home = Some(at.join("home"));
        let search = std::env::join_paths([
            at.join("home/bin"),
            at.join("tools"),
            at.clone(),
            at.join("none"),
        ]);
        let layout = layout(&profile, Some(&search.unwrap())).unwrap();
        assert_eq!(layout[&at.join("home")], Put::Fresh);
        assert!(!layout.contains_key(&at.join("home/bin")));
        assert_eq!(layout[&at.join("tools")], READ_ONLY);
        assert!(!layout.contains_key(&at));
    }
}
