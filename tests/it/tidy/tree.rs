use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use super::rust_source::{SourceFile, read_sources};

/// The text files of the project, by path from the root with `/` between the parts.
#[derive(Debug, Default)]
pub struct Tree {
    files: Vec<(String, String)>,
    code: OnceLock<Vec<SourceFile>>,
}

/// Folders that tools fill: nothing in them is the project's.
const BUILT: [&str; 5] = [
    "target",
    "fuzz/artifacts",
    "fuzz/corpus",
    "fuzz/coverage",
    "fuzz/target",
];

/// The place of a broken rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// From the root.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// The rule, and what breaks it.
    pub what: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Tree {
    /// Reads the working tree without build products and without hidden folders, but with `.ci`.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub fn load() -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(Path::new(env!("CARGO_MANIFEST_DIR")), "")?;
        tree.files.sort();
        Ok(tree)
    }

    /// A tree made up for a sample.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let own = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        Self {
            files: files.iter().map(own).collect(),
            ..Self::default()
        }
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (&**path, &**text))
    }

    /// The Rust files of `src/`.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files()
            .filter(|(path, _)| path.starts_with("src/") && has_extension(path, &["rs"]))
    }

    /// The same files as syn reads them, which is done once.
    pub fn code(&self) -> &[SourceFile] {
        self.code.get_or_init(|| read_sources(self))
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files().find(|(p, _)| *p == path).map(|(_, text)| text)
    }

    /// True if `path` is a file of the tree, or a folder that holds one.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self
                .files()
                .any(|(p, _)| p == path || p.starts_with(&folder))
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if name == ".git" {
                continue; // a folder, or in a linked work tree a file
            }
            if kind.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci" && name != ".github";
                if !hidden && !BUILT.contains(&path.as_str()) {
                    self.read_folder(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file() {
                // Bytes that are no text are data: no rule reads them, but links may lead to them.
                let text = String::from_utf8(fs::read(entry.path())?).unwrap_or_default();
                self.files.push((path, text));
            }
        }
        Ok(())
    }
}

/// The path of a source file below `src/`, without the folder of a crate that consists of modules of the table.
pub fn place_of(path: &str) -> Option<&str> {
    let place = path.strip_prefix("src/")?;
    let layered = ["core/", "host/"];
    let inner = layered.iter().find_map(|name| place.strip_prefix(name));
    Some(inner.unwrap_or(place))
}

/// The module of the table in which a source file lies: a folder of `src/core` or `src/host`, or another crate of `src/`.
pub fn folder_of(path: &str) -> Option<&str> {
    Some(place_of(path)?.split_once('/')?.0)
}

/// True if the path ends in one of these extensions.
pub fn has_extension(path: &str, extensions: &[&str]) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, ext)| extensions.contains(&ext))
}

/// Runs a rule on a sample of one file and compares the lines it finds fault with.
pub fn check(rule: impl Fn(&Tree) -> Vec<Finding>, path: &str, text: &str, lines: &[usize]) {
    let findings = rule(&Tree::of(&[(path, text)]));
    let found: Vec<usize> = findings.iter().map(|f| f.line).collect();
    assert_eq!(found, lines, "{path}:\n{text}\n{findings:#?}");
}
