//! The files that the words of a command name, as they are at one moment. It starts nothing, and it does not know what is trusted.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::sandbox::{Way, is_in};
use crate::store::open_regular;
use monolith_core::message::{Digest, DigestBuilder};

/// Folders of the system's programs. Only root changes them, and an upgrade does not ask again.
const SYSTEM: [&str; 6] = ["/bin", "/lib", "/lib64", "/nix/store", "/sbin", "/usr"];
/// Characters that end a path within a word, such as one for `sh -c` or `--config=./x`.
const BREAKS: [char; 16] = [
    ' ', '\t', '\n', '"', '\'', '`', ';', '&', '|', '(', ')', '<', '>', '=', ',', ':',
];
/// Bytes of a first line that are read, which is more than systems read.
const MAX_FIRST_LINE: u64 = 512;
/// Suffixes of files that programs keep data in.
const DATA: [&str; 19] = [
    "csv", "db", "db3", "duckdb", "jsonl", "lock", "log", "markdown", "md", "ndjson", "parquet",
    "pid", "rst", "s3db", "sqlite", "sqlite3", "tmp", "tsv", "txt",
];
/// Suffixes of files that an interpreter runs, or that a program loads.
const PROGRAMS: [&str; 38] = [
    "awk", "bash", "bat", "cjs", "class", "cmd", "cts", "dart", "dll", "exe", "exs", "fish",
    "groovy", "jar", "js", "jsx", "kts", "lua", "mjs", "mts", "php", "pl", "pm", "ps1", "py",
    "pyc", "pyz", "r", "rb", "sh", "so", "tcl", "ts", "tsx", "vbs", "wasm", "zip", "zsh",
];

/// The use of a file that a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    /// Data: every program may write it.
    Data,
    /// Settings, or data: only the server that names it may write it.
    Settings,
    /// A program, or a file of monolith's own configuration: no tool and no server may write it.
    Program,
}

/// The content of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathState {
    /// No regular file.
    Absent,
    /// A regular file; `None` if it cannot be read, or need not be.
    File(Option<Digest>),
    Link(PathBuf),
}

/// The starts of unconfined servers that name a missing file.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    began: AtomicBool,
    made: AtomicBool,
}

/// A resolved path with its content.
#[derive(Clone, Debug)]
pub(crate) struct FoundName {
    pub kind: FileKind,
    pub path: PathBuf,
    /// Shared by all copies in this process.
    pub starts: Arc<Starts>,
    pub state: PathState,
}

/// A path that a command names: each link on the way, and its end last. Names of the system's folders are left out.
#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    pub names: Vec<FoundName>,
    pub path: PathBuf,
}

/// The files that a server's command names, as they must be when it is started. Its words decide which they are, so two servers with the same
/// words name the same files.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartFiles {
    files: Vec<NamedFile>,
    /// True if the sandbox confines the server.
    is_confined: bool,
}

/// The names without a file before a start.
#[derive(Debug, Default)]
pub(in crate::tools) struct MissingNames(Vec<FoundName>);

impl Starts {
    /// True if a server made the file while it started.
    pub(crate) fn made(&self) -> bool {
        self.made.load(Ordering::Relaxed)
    }
}

impl MissingNames {
    /// Notes that an unconfined server has started: settings that exist now are its own.
    pub(in crate::tools) fn note_start(self) {
        for name in self.0 {
            name.starts.began.store(true, Ordering::Relaxed);
            let is_made = name.path.is_file() && FileKind::of(&name.path) == FileKind::Settings;
            name.starts.made.fetch_or(is_made, Ordering::Relaxed);
        }
    }
}

impl PathState {
    /// The content of a path now.
    pub(crate) fn of(path: &Path) -> Self {
        if let Ok(target) = fs::read_link(path) {
            return Self::Link(target);
        }
        if path.is_file() {
            return Self::File(digest_of(path).ok());
        }
        Self::Absent
    }
}

impl fmt::Display for PathState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::File(Some(digest)) => write!(f, "file {digest}"),
            Self::File(None) => f.write_str("file"),
            Self::Link(target) => write!(f, "link {}", target.display()),
        }
    }
}

impl FileKind {
    /// The kind of a file that a command names, by its name, its mode and its first bytes.
    fn of(path: &Path) -> Self {
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        let suffix = suffix.unwrap_or_default().to_ascii_lowercase();
        let is = |suffixes: &[&str]| suffixes.contains(&suffix.as_str());
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        // A shell, node and others take variables that decide what they load from such a file.
        let is_environment = name.starts_with(b".env") || is(&["env"]);
        if is_environment || is(&PROGRAMS) || begins_as_program(path) {
            Self::Program
        } else if is(&DATA) {
            Self::Data
        } else if !is_json(path) && is_executable(path) {
            Self::Program
        } else {
            Self::Settings
        }
    }
}

impl NamedFile {
    /// Follows an absolute path.
    pub(crate) fn of(path: &Path) -> Self {
        let way = Way::follow(path);
        let links = way.links.into_iter().map(|(path, target)| FoundName {
            kind: FileKind::Program,
            path,
            starts: Arc::default(),
            state: PathState::Link(target),
        });
        let end = FoundName {
            kind: FileKind::of(&way.end),
            starts: Arc::default(),
            state: PathState::Absent,
            path: way.end,
        };
        let system = SYSTEM.map(PathBuf::from);
        let names = links.chain([end]);
        let mut names: Vec<FoundName> = names.filter(|name| !is_in(&name.path, &system)).collect();
        if let Some(end) = names
            .last_mut()
            .filter(|end| end.state == PathState::Absent)
        {
            end.state = match end.kind {
                FileKind::Program => PathState::of(&end.path),
                // Data may be large, and its content is not compared.
                FileKind::Data | FileKind::Settings if end.path.is_file() => PathState::File(None),
                FileKind::Data | FileKind::Settings => PathState::Absent,
            };
        }
        Self {
            names,
            path: path.to_owned(),
        }
    }

    /// True if a regular file is at its end, or a program of the system that a link leads to.
    pub(crate) fn is_file(&self) -> bool {
        match self.names.last().map(|name| &name.state) {
            Some(PathState::File(_)) => true,
            Some(PathState::Link(_)) => self.path.is_file(),
            Some(PathState::Absent) | None => false,
        }
    }

    /// True if a start may use the file, which was like `was` when it was decided on.
    fn is_as(&self, was: &Self, is_confined: bool) -> bool {
        let is_same = |(now, was): (&FoundName, &FoundName)| {
            let may_differ = match was.state {
                PathState::Absent => match now.kind {
                    FileKind::Data => true,
                    FileKind::Program => false,
                    // The server may have made them itself.
                    FileKind::Settings => is_confined || was.starts.began.load(Ordering::Relaxed),
                },
                PathState::File(_) => was.kind != FileKind::Program,
                PathState::Link(_) => false,
            };
            now.path == was.path && (now.state == was.state || may_differ)
        };
        self.names.len() == was.names.len() && self.names.iter().zip(&was.names).all(is_same)
    }
}

impl StartFiles {
    pub(crate) const fn new(files: Vec<NamedFile>, is_confined: bool) -> Self {
        Self { files, is_confined }
    }

    /// Returns the missing names that an unconfined server may make.
    ///
    /// # Errors
    /// The first file that differs now.
    pub(in crate::tools) fn check(&self) -> Result<MissingNames, PathBuf> {
        let mut missing = Vec::new();
        for was in &self.files {
            let now = NamedFile::of(&was.path);
            if !now.is_as(was, self.is_confined) {
                return Err(was.path.clone());
            }
            let names = now.names.iter().zip(&was.names);
            let absent = names.filter(|(now, _)| now.state == PathState::Absent);
            missing.extend(absent.map(|(_, was)| was.clone()));
        }
        if self.is_confined {
            missing.clear();
        }
        Ok(MissingNames(missing))
    }
}

/// The words of a command decide which files it names, and those are compared.
impl PartialEq for StartFiles {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for StartFiles {}

impl Hash for StartFiles {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The paths that words may name, relative ones in each of those folders, and the interpreters that those files begin with.
pub(crate) fn named_paths(words: &BTreeSet<String>, folders: &[PathBuf]) -> BTreeSet<PathBuf> {
    let in_folders = |words: &BTreeSet<String>| -> BTreeSet<PathBuf> {
        let pieces = pieces_of(words);
        let paths = pieces
            .iter()
            .flat_map(|piece| folders.iter().map(move |folder| folder.join(piece)));
        paths.collect()
    };
    let mut paths = in_folders(words);
    let interpreters = paths.iter().filter_map(|path| first_line(path));
    let interpreters = in_folders(&interpreters.collect());
    paths.extend(interpreters);
    paths
}

/// The paths that words may name below the home of a server.
pub(crate) fn paths_at_home(words: &BTreeSet<String>, home: &Path) -> BTreeSet<PathBuf> {
    let pieces = pieces_of(words);
    let paths = pieces
        .iter()
        .filter_map(|piece| Some(home.join(piece.strip_prefix("~/")?)));
    paths.collect()
}

fn pieces_of(words: &BTreeSet<String>) -> BTreeSet<&str> {
    // A path may hold one of the breaks, such as a blank between quotes: `python3 'my tools/run.py'`.
    let pieces = words.iter().flat_map(|word| {
        let at_one = BREAKS.iter().flat_map(|mark| word.split(*mark));
        word.split(BREAKS).chain(at_one)
    });
    let pieces = pieces.flat_map(|piece| [Some(piece), attached(piece)]);
    pieces.flatten().filter(|piece| !piece.is_empty()).collect()
}

/// The value that is attached to a flag of one letter (`-r./hook.js`), or the file of arguments that `@` names.
fn attached(piece: &str) -> Option<&str> {
    match piece.strip_prefix('-') {
        Some(flag) if !flag.starts_with('-') => {
            let mut letters = flag.chars();
            letters.next()?;
            Some(letters.as_str())
        }
        Some(_) => None,
        None => Some(piece.strip_prefix('@')?.trim_start_matches('@')),
    }
}

/// The words after `#!` of a script.
fn first_line(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    let file = open_regular(path).ok()?;
    file.take(MAX_FIRST_LINE).read_to_end(&mut head).ok()?;
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "json")
}

fn begins_as_program(path: &Path) -> bool {
    let mut head = [0; 4];
    let read = open_regular(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && (head.starts_with(b"#!") || head == *b"\x7fELF")
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let found = fs::metadata(path);
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut file = open_regular(path)?;
    let (mut hash, mut buffer) = (DigestBuilder::new(), vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut buffer)?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
            return Ok(hash.digest());
        };
        hash.update(part);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_its_mode_or_its_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, text: &str, mode: u32, expect: FileKind| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(FileKind::of(&path), expect, "{name} {mode:o}");
        };
        check("server.py", "", 0o644, FileKind::Program);
        check("index.MJS", "", 0o644, FileKind::Program);
        check("run", "", 0o755, FileKind::Program);
        check("run", "#!/bin/sh\n", 0o644, FileKind::Program);
        check("notes.txt", "#!/bin/sh\n", 0o644, FileKind::Program);
        check("run", "", 0o644, FileKind::Settings);
        check("servers.yaml", "", 0o644, FileKind::Settings);
        check("memory.json", "", 0o755, FileKind::Settings);
        check("runs.db", "", 0o755, FileKind::Data);
        check(".env", "", 0o644, FileKind::Program);
        check(".env.txt", "", 0o644, FileKind::Program);
        check("notes.md", "", 0o644, FileKind::Data);
        assert_eq!(
            FileKind::of(&folder.path().join("none")),
            FileKind::Settings
        );
    }

    #[test]
    fn a_start_refuses_a_changed_program_and_a_changed_link_and_takes_changed_data() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let set = || {
            for name in ["run.py", "other.py", "state.json", "data.db"] {
                fs::write(at(name), "1").unwrap();
            }
            let _ = fs::remove_file(at("link"));
            symlink("run.py", at("link")).unwrap();
            for name in ["made.py", "made", "made.db", ".env.local"] {
                let _ = fs::remove_file(at(name));
            }
        };
        set();
        let names = [
            "run.py",
            "link",
            "state.json",
            "data.db",
            "made",
            "made.py",
            "made.db",
            ".env.local",
        ];
        let files = || names.map(|name| NamedFile::of(&at(name))).to_vec();
        let check = |change: &dyn Fn(), expect: [Option<&str>; 2]| {
            let own = StartFiles::new(files(), false);
            let missing = own.check().unwrap();
            change();
            let first = own.check().err();
            missing.note_start();
            let found = [first, own.check().err()];
            assert_eq!(found, expect.map(|name| name.map(at)));
            set();
        };
        check(&|| {}, [None; 2]);
        for data in ["state.json", "data.db", "made.db"] {
            check(&|| fs::write(at(data), "2").unwrap(), [None; 2]);
        }
        check(
            &|| fs::write(at("run.py"), "2").unwrap(),
            [Some("run.py"); 2],
        );
        let link = || {
            fs::remove_file(at("link")).unwrap();
            symlink("other.py", at("link")).unwrap();
        };
        check(&link, [Some("link"); 2]);
        for program in ["made.py", ".env.local"] {
            let made = || fs::write(at(program), "2").unwrap();
            check(&made, [Some(program); 2]);
        }
        let made = || fs::write(at("made"), "2").unwrap();
        check(&made, [Some("made"), None]);
        // A confined server may have made its settings in any run.
        let confined = StartFiles::new(files(), true);
        made();
        assert!(confined.check().is_ok());
        fs::write(at("made.py"), "2").unwrap();
        assert_eq!(confined.check().unwrap_err(), at("made.py"));
    }

    #[test]
    fn attached_values_the_home_and_interpreters_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("run"), "#! .venv/bin/python3 -s\n").unwrap();
        let words = [
            "-r./hook.js",
            "-Ilib",
            "@@args",
            "~/x.sh",
            "run",
            "--long",
            "cd x; exec python3 'my tools/run.py' \"my data/a,b\"",
            "--config=my settings",
        ];
        let words: BTreeSet<String> = words.map(str::to_owned).into();
        let named = named_paths(&words, &[folder.path().to_owned()]);
        for name in [
            "./hook.js",
            "lib",
            "args",
            ".venv/bin/python3",
            "run",
            "my tools/run.py",
            "my data/a,b",
            "my settings",
        ] {
            assert!(named.contains(&at(name)), "{name}: {named:?}");
        }
        let named = paths_at_home(&words, folder.path());
        assert_eq!(named, BTreeSet::from([at("x.sh")]));
    }
}
