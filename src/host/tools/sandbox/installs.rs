//! The folders that programs are installed in, found on the host once: those of `PATH`, of a command, and of the files that its links and its first
//! line lead to. Mounts nothing. A link in a folder that a confined process can write leads to nothing here.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::places::{BROAD, CACHES, KERNEL, PROGRAMS, SETTINGS, SYSTEM, TEMPORARY};
use super::profile::Cache;
use super::way::{GrantedFolders, Way, is_in, words_of};
use super::{SandboxProfile, SearchFolder};

/// Folders of programs within an installation.
const OF_PROGRAMS: [&str; 4] = ["bin", "sbin", "shims", "Scripts"];
/// The folder of an installed package's dependencies.
const DEPENDENCIES: &str = "node_modules";
/// Files at the top of a project.
const TOP_FILES: [&str; 4] = ["package.json", "pyproject.toml", "pyvenv.cfg", "setup.py"];
/// Folders above a script that are looked at for one of them.
const MOST_ABOVE: usize = 6;
/// Endings of programs that another program runs.
const SCRIPTS: [&str; 9] = ["cjs", "jar", "js", "mjs", "php", "py", "rb", "sh", "ts"];
/// Words of an argument that are looked at, and bytes of a path (PATH_MAX of linux/limits.h).
const MOST_WORDS: usize = 512;
const MOST_PATH: usize = 4_096;
/// Links of a program, and interpreters of interpreters, that are followed.
const MOST_STEPS: usize = 8;
/// Bytes of a first line (BINPRM_BUF_SIZE of linux/binfmts.h).
const FIRST_LINE: u64 = 256;
/// Bytes of a script of a shell that are looked at.
const SCRIPT: u64 = 16_384;

/// Installations, found one after the other.
#[derive(Debug)]
pub(crate) struct Installs {
    /// Folders that no installation may contain: the home, what may be written, what is hidden.
    apart: Vec<PathBuf>,
    home: Option<PathBuf>,
    links: BTreeSet<(PathBuf, PathBuf)>,
    /// Folders in which a confined process may have planted a link.
    planted: GrantedFolders,
    /// Installations of which only the code is shown.
    prefixes: BTreeSet<PathBuf>,
    programs: BTreeSet<PathBuf>,
    search: Vec<SearchFolder>,
    /// Programs that were looked at.
    seen: BTreeSet<PathBuf>,
    /// Folders that confined processes can write, resolved.
    writable: Vec<PathBuf>,
}

impl Installs {
    /// Finds the installations that `PATH` names. A relative folder of it begins in `workspace`. Confined processes can write the first folders and
    /// could write the second ones in earlier runs. All paths are resolved.
    pub(crate) fn find(
        search: &OsStr,
        workspace: &Path,
        home: Option<&Path>,
        (writable, earlier): (&[PathBuf], &GrantedFolders),
        hidden: &[PathBuf],
    ) -> Self {
        let mut apart = [writable, hidden].concat();
        apart.extend(home.map(Path::to_owned));
        let mut found = Self {
            apart,
            home: home.map(Path::to_owned),
            links: BTreeSet::new(),
            planted: earlier.and(writable.to_owned()),
            prefixes: BTreeSet::new(),
            programs: BTreeSet::new(),
            search: Vec::new(),
            seen: BTreeSet::new(),
            writable: writable.to_owned(),
        };
        for folder in std::env::split_paths(search) {
            let given = workspace.join(folder);
            match found.resolved(&given) {
                Some(path) if path.is_dir() && !found.planted.contain(&path) => {
                    found.show_prefix(&path.join("_"));
                    let is_writable = false;
                    found.search.push(SearchFolder { is_writable, path });
                }
                Some(path) if !path.is_dir() => {}
                _ => found.search.push(SearchFolder {
                    is_writable: true,
                    path: given,
                }),
            }
        }
        found
    }

    /// Adds what package managers install below the home; the caches of package runners there, and the settings that exist.
    pub(crate) fn of_home(&mut self) -> (Vec<Cache>, Vec<PathBuf>) {
        let Some(home) = self.home.clone() else {
            return (Vec::new(), Vec::new());
        };
        for name in PROGRAMS {
            let found = self.existing(&home, name);
            self.programs.extend(found);
        }
        let caches = CACHES.iter().filter_map(|(name, has_programs)| {
            let path = self.existing(&home, name).filter(|path| path.is_dir())?;
            let has_programs = *has_programs;
            Some(Cache { has_programs, path })
        });
        let caches: Vec<Cache> = caches.collect();
        let settings = SETTINGS.iter();
        let settings = settings.filter_map(|name| self.existing(&home, name));
        (caches, settings.collect())
    }

    /// Adds the installation of a command, a name or an absolute path.
    pub(crate) fn add_command(&mut self, command: &Path) {
        if let Some(file) = lookup(&self.search, command) {
            self.add_program(&file, 0);
        }
    }

    /// Adds the files and folders outside of the workspace that an argument or a variable names, also as a word of a line for a shell.
    pub(crate) fn add_named(&mut self, text: &str, workspace: &Path) {
        self.add_words(text, workspace, 0);
    }

    fn add_words(&mut self, text: &str, folder: &Path, depth: usize) {
        for word in words_of(text).take(MOST_WORDS) {
            let is_path = word.contains('/') && word.len() < MOST_PATH && !word.contains('\0');
            if is_path && let Some(path) = self.resolved(&folder.join(word)) {
                self.add_path(path, depth);
            }
        }
    }

    fn add_path(&mut self, path: PathBuf, depth: usize) {
        let extension = path.extension().and_then(OsStr::to_str);
        let is_script = extension.is_some_and(|extension| SCRIPTS.contains(&extension));
        if path.is_file() && (is_script || is_program(&path)) {
            self.add_program(&path, depth);
        } else if path.is_file() || (path.is_dir() && self.fits(&path)) {
            self.show(path);
        }
    }

    /// Adds programs, the links on the way to them, and the folders of `PATH` to a profile.
    pub(crate) fn add_to(self, profile: &mut SandboxProfile) {
        profile.prefixes = self.prefixes.into_iter().collect();
        profile.programs = self.programs.into_iter().collect();
        profile.links = self.links.into_iter().collect();
        profile.search = self.search;
    }

    /// Returns the folders of `PATH`.
    pub(crate) fn into_search(self) -> Vec<SearchFolder> {
        self.search
    }

    /// The resolved path; none where a link on the way or the path itself lies in a folder that a confined process can write.
    fn resolved(&mut self, path: &Path) -> Option<PathBuf> {
        let way = Way::follow(path);
        if way.first_link(|link| self.planted.contain(link)).is_some()
            || is_in(&way.end, &self.writable)
        {
            return None;
        }
        self.links.extend(way.links);
        Some(way.end)
    }

    fn existing(&mut self, home: &Path, name: &str) -> Option<PathBuf> {
        let found = self.resolved(&home.join(name))?;
        let mut own = self.writable.iter().chain(&self.home);
        let fits = !own.any(|own| own.starts_with(&found));
        (fits && found.exists()).then_some(found)
    }

    fn add_program(&mut self, file: &Path, depth: usize) {
        if depth > MOST_STEPS || !self.seen.insert(file.to_owned()) {
            return;
        }
        let mut at = file.to_owned();
        for _ in 0..MOST_STEPS {
            let folder = at.parent().and_then(|folder| self.resolved(folder));
            let (Some(folder), Some(name)) = (folder, at.file_name()) else {
                return;
            };
            at = folder.join(name);
            self.show_prefix(&at);
            match fs::read_link(&at) {
                Ok(_) if self.planted.contain(&at) => return,
                Ok(target) => at = folder.join(target),
                Err(_) => break,
            }
        }
        // The words of a file that a confined process could write lead to nothing, either.
        if self.planted.contain(&at) {
            return;
        }
        let Some(interpreter) = first_line(&at) else {
            return;
        };
        if interpreter.ends_with("sh") {
            // A script that starts another program names it.
            let text = beginning(&at, SCRIPT).unwrap_or_default();
            self.add_words(&text, Path::new("/"), depth + 1);
        }
        if let Some(file) = lookup(&self.search, Path::new(&interpreter)) {
            self.add_program(&file, depth + 1);
        }
    }

    /// Shows the installation that a file lies in, as much of it as holds nothing else.
    fn show_prefix(&mut self, file: &Path) {
        let Some(folder) = file.parent() else {
            return;
        };
        let is_of_programs = folder
            .file_name()
            .is_some_and(|name| OF_PROGRAMS.iter().any(|known| name == *known));
        let dependencies = file
            .ancestors()
            .filter(|above| above.ends_with(DEPENDENCIES))
            .last();
        let whole = folder.parent().filter(|_| is_of_programs);
        let has_top_file = |above: &&Path| TOP_FILES.iter().any(|name| above.join(name).is_file());
        let project = folder
            .ancestors()
            .take(MOST_ABOVE)
            .take_while(|above| self.fits(above))
            .find(has_top_file);
        let candidates = [dependencies, whole, project, Some(folder)];
        let prefix = candidates
            .into_iter()
            .flatten()
            .find(|prefix| self.fits(prefix))
            .unwrap_or(file);
        let is_installation = whole == Some(prefix);
        if is_installation && !self.is_known(prefix) {
            self.prefixes.insert(prefix.to_owned());
        } else if self.prefixes.contains(prefix) {
            self.show(file.to_owned());
        } else if !is_installation {
            self.show(prefix.to_owned());
        }
    }

    fn show(&mut self, path: PathBuf) {
        if !self.is_known(&path) {
            self.programs.insert(path);
        }
    }

    /// True if a path is shown as a whole already.
    fn is_known(&self, path: &Path) -> bool {
        let of_system = SYSTEM.iter().chain(&KERNEL);
        let of_system = of_system.into_iter().any(|folder| path.starts_with(folder));
        of_system || path.ancestors().any(|above| self.programs.contains(above))
    }

    /// True if a folder may be shown for one program in it.
    fn fits(&self, folder: &Path) -> bool {
        let is_deep = folder.components().count() > 2;
        let holds_other = self.apart.iter().any(|apart| apart.starts_with(folder));
        let home = self.home.as_deref();
        let is_broad = home.is_some_and(|home| {
            // Homes of other people lie beside this one.
            folder.parent() == home.parent() || BROAD.iter().any(|name| folder == home.join(name))
        });
        let is_temporary = TEMPORARY.iter().any(|known| folder == Path::new(known));
        is_deep && !holds_other && !is_broad && !is_temporary
    }
}

/// Finds a program: a path is taken as it is, a name is looked up in the folders of `PATH` that no confined process can write.
fn lookup(search: &[SearchFolder], command: &Path) -> Option<PathBuf> {
    if command.components().count() > 1 {
        return Some(command.to_owned());
    }
    let folders = search.iter().filter(|folder| !folder.is_writable);
    let mut files = folders.map(|folder| folder.path.join(command));
    files.find(|file| is_program(file))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// The first bytes of a file.
fn beginning(file: &Path, bytes: u64) -> Option<String> {
    let mut read = Vec::new();
    let opened = fs::File::open(file).ok().filter(|_| file.is_file())?;
    opened.take(bytes).read_to_end(&mut read).ok()?;
    Some(String::from_utf8_lossy(&read).into_owned())
}

/// The program that the first line of a script names, by its path or its name.
fn first_line(file: &Path) -> Option<String> {
    let text = beginning(file, FIRST_LINE)?;
    let mut words = text.strip_prefix("#!")?.lines().next()?.split_whitespace();
    let program = words.next()?;
    if !program.ends_with("/env") {
        return Some(program.to_owned());
    }
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    named.map(str::to_owned)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    struct Host {
        at: PathBuf,
        _folder: tempfile::TempDir,
    }

    impl Host {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path().canonicalize().unwrap();
            fs::create_dir_all(at.join("me/work")).unwrap();
            Self {
                at,
                _folder: folder,
            }
        }

        fn program(&self, path: &str, text: &str) -> PathBuf {
            let path = self.at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn link(&self, target: &str, path: &str) {
            let path = self.at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target, path).unwrap();
        }

        fn found(&self, search: &[&str], commands: &[&str], named: &[&str]) -> Vec<String> {
            let search = search.iter().map(|folder| self.at.join(folder));
            let search = std::env::join_paths(search).unwrap();
            let (home, work) = (self.at.join("me"), self.at.join("me/work"));
            let hidden = [home.join(".cargo/credentials")];
            let writable = [work.clone()];
            let mut found = {
                let earlier = GrantedFolders::default().and([self.at.join("before")]);
                let folders = (writable.as_slice(), &earlier);
                Installs::find(&search, &work, Some(&home), folders, &hidden)
            };
            for command in commands {
                let path = self.at.join(command);
                let path = if path.exists() { path } else { command.into() };
                found.add_command(&path);
            }
            for text in named {
                found.add_named(&text.replace('@', self.at.to_str().unwrap()), &work);
            }
            let below = |path: &PathBuf| {
                let below = path.strip_prefix(&self.at).ok()?;
                below.to_str().map(str::to_owned)
            };
            let shown = found.programs.union(&found.prefixes);
            shown.filter_map(below).collect()
        }
    }

    #[test]
    fn the_installation_of_a_program_is_shown_and_the_home_is_not() {
        let host = Host::new();
        host.program(
            "me/.nvm/versions/node/v22/lib/npx.js",
            "#!/usr/bin/env node\n",
        );
        host.program("me/.nvm/versions/node/v22/bin/node", "");
        host.link("../lib/npx.js", "me/.nvm/versions/node/v22/bin/npx");
        host.program("me/.local/bin/uvx", "");
        host.program("me/.cargo/bin/cargo", "");
        host.program("me/bin/own", "");
        let search = [
            "me/.nvm/versions/node/v22/bin",
            "me/.local/bin",
            "me/.cargo/bin",
            "me/bin",
        ];
        assert_eq!(
            host.found(&search, &["npx"], &[]),
            [
                "me/.cargo/bin",
                "me/.local/bin",
                "me/.nvm/versions/node/v22",
                "me/.nvm/versions/node/v22/lib",
                "me/bin"
            ]
        );
    }

    #[test]
    fn a_program_beside_the_folders_of_its_installation_is_shown_alone() {
        let host = Host::new();
        host.program("me/.fly/flyctl", "");
        host.link("../flyctl", "me/.fly/bin/fly");
        let found = host.found(&["me/.fly/bin"], &["fly"], &[]);
        assert_eq!(found, ["me/.fly", "me/.fly/flyctl"]);
    }

    #[test]
    fn links_and_first_lines_are_followed() {
        let host = Host::new();
        host.program("me/.pyenv/versions/3.12/bin/python3.12", "");
        host.link(
            "../../../.pyenv/versions/3.12/bin/python3.12",
            "me/venvs/x/bin/python",
        );
        let line = format!("#!{}\n", host.at.join("me/venvs/x/bin/python").display());
        host.program("me/venvs/x/bin/serve", &line);
        host.link("../../venvs/x/bin/serve", "me/.local/bin/serve");
        let line = format!(
            "#!/bin/sh\nexec {} \"$@\"\n",
            host.at.join("me/.local/bin/serve").display()
        );
        host.program("tools/start", &line);
        assert_eq!(
            host.found(&[], &["tools/start"], &[]),
            ["me/.pyenv/versions/3.12", "me/venvs/x", "tools/start"]
        );
    }

    #[test]
    fn a_link_in_a_folder_that_may_be_written_leads_to_nothing() {
        let host = Host::new();
        host.program("me/keys/bin/python", "");
        host.link("../../keys/bin/python", "me/work/bin/python");
        host.link("../keys/bin", "me/work/other");
        host.program("me/work/bin/serve", "#!/usr/bin/env python\n");
        // Programs in a folder of an earlier run are shown, the targets of its links are not.
        host.program("before/bin/serve", "");
        host.link("../../me/keys/bin/python", "before/bin/python");
        let found = host.found(&[], &["before/bin/serve", "before/bin/python"], &[]);
        assert_eq!(found, ["before/bin"]);
        let search = ["me/work/bin", "me/work/other"];
        let commands = ["python", "me/work/bin/python", "me/work/bin/serve"];
        let named = [
            "@/me/work/other",
            "../work/other/python",
            "--x=@/me/work/other",
        ];
        assert_eq!(host.found(&search, &commands, &named), [""; 0]);
    }

    #[test]
    fn what_arguments_name_is_shown_as_far_as_it_holds_nothing_else() {
        let host = Host::new();
        host.program("me/src/server/package.json", "{}");
        host.program("me/src/server/dist/index.js", "");
        host.program("tools/node_modules/a/dist/index.js", "");
        host.program("me/single.py", "");
        host.program("me/my tools/run.py", "");
        host.program("me/data/list.txt", "");
        let plain = fs::Permissions::from_mode(0o644);
        fs::set_permissions(host.at.join("me/data/list.txt"), plain).unwrap();
        host.program("me/docs/page", "");
        let named = [
            "@/me/src/server/dist/index.js",
            "@/tools/node_modules/a/dist/index.js",
            "../single.py",
            "cd x; exec python3 '@/me/my tools/run.py' 1",
            "--list=@/me/data/list.txt",
            "@/me/docs",
            "@/me",
            "@",
            "/",
            "@/me/none",
        ];
        assert_eq!(
            host.found(&[], &[], &named),
            [
                "me/data/list.txt",
                "me/docs",
                "me/my tools",
                "me/single.py",
                "me/src/server",
                "tools/node_modules"
            ]
        );
    }
}
