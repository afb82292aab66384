//! The trust hash of a file: its place, its content, and the files that its commands name. It does not know what is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tools::{NamedFile, PathState, named_paths};
use monolith_core::message::{Digest, DigestContext};

/// The context of every trust hash.
static CONTEXT: DigestContext = DigestContext::new("monolith 2026 trust hash");
/// A trust hash in the making.
#[derive(Debug)]
pub struct TrustHash {
    /// Folders where the paths of words may begin.
    folders: Vec<PathBuf>,
    parts: Vec<Vec<u8>>,
}

impl TrustHash {
    /// Begins with the place of a file and the place that its links lead to: its commands begin at the first, its words come from the second.
    pub fn of(path: &Path) -> Self {
        let mut hash = Self {
            folders: Vec::new(),
            parts: Vec::new(),
        };
        hash.add_path("place", &place(path));
        hash.add_path("target", &target(path));
        hash
    }

    /// Adds a folder where relative paths of words may begin.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.folders.push(target(folder));
        self
    }

    /// Adds a text under a name.
    pub fn add(&mut self, name: &str, text: &[u8]) {
        self.parts.push(name.as_bytes().to_vec());
        self.parts.push(text.to_vec());
    }

    /// Adds a path under a name.
    pub(crate) fn add_path(&mut self, name: &str, path: &Path) {
        self.add(name, path.as_os_str().as_encoded_bytes());
    }

    /// Adds each file that one of the words names: the links on the way, its place and the digest of its content.
    pub fn add_files_of(&mut self, words: &BTreeSet<String>) {
        let files = named_paths(words, &self.folders).into_iter();
        let files = files.map(|path| NamedFile::of(&path));
        let files: Vec<NamedFile> = files.filter(NamedFile::is_file).collect();
        let names = files.iter().flat_map(|file| &file.names);
        let names: BTreeMap<&Path, String> = names
            .map(|name| (name.path.as_path(), PathState::of(&name.path).to_string()))
            .collect();
        for (path, state) in names {
            self.add_path("file", path);
            // A file that cannot be read cannot be run, either; it is another one once it can be.
            self.add("state", state.as_bytes());
        }
    }

    /// The hash of everything that was added.
    #[must_use]
    pub fn finish(self) -> Digest {
        let parts: Vec<&[u8]> = self.parts.iter().map(Vec::as_slice).collect();
        CONTEXT.framed(&parts)
    }
}

/// The place of a file: its folder without links, and its own name. The file may be a link.
pub fn place(path: &Path) -> PathBuf {
    let folder = path.parent().map(|folder| folder.join("."));
    let folder = folder.and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The path that a path leads to; the path itself where nothing is there.
pub(super) fn target(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn hash(file: &Path, words: &[&str]) -> Digest {
        let folder = file.parent().unwrap();
        let mut hash = TrustHash::of(file).in_folder(folder);
        hash.add_files_of(&words.iter().map(|word| (*word).to_owned()).collect());
        hash.finish()
    }

    #[test]
    fn a_script_counts_wherever_a_word_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("bin")).unwrap();
        for words in [
            &["./run.sh"][..],
            &["run.sh"],
            &["sh", "-c", "cd x && ./run.sh; true"],
            &["--config=run.sh"],
            &["bin/../run.sh"],
        ] {
            fs::write(at("run.sh"), "one").unwrap();
            let one = hash(&at("c.yaml"), words);
            assert_eq!(one, hash(&at("c.yaml"), words), "{words:?}");
            fs::write(at("run.sh"), "two").unwrap();
            assert_ne!(one, hash(&at("c.yaml"), words), "{words:?}");
        }
        let none = hash(&at("c.yaml"), &["other", "/usr/bin/env"]);
        fs::write(at("run.sh"), "three").unwrap();
        assert_eq!(none, hash(&at("c.yaml"), &["other", "/usr/bin/env"]));
        // A file that comes to be later counts as well.
        fs::write(at("other"), "").unwrap();
        assert_ne!(none, hash(&at("c.yaml"), &["other", "/usr/bin/env"]));
    }

    #[test]
    #[cfg(unix)]
    fn the_place_of_a_link_and_its_target_both_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "b", "real"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("real/c.yaml"), "").unwrap();
        fs::write(at("real/d.yaml"), "").unwrap();
        let link = |from: &str, to: &str| {
            let _ = fs::remove_file(at(from));
            std::os::unix::fs::symlink(at(to), at(from)).unwrap();
            hash(&at(from), &[])
        };
        let first = link("a/c.yaml", "real/c.yaml");
        assert_eq!(link("a/c.yaml", "real/c.yaml"), first);
        assert_ne!(link("b/c.yaml", "real/c.yaml"), first);
        assert_ne!(link("a/c.yaml", "real/d.yaml"), first);
        assert_ne!(hash(&at("real/c.yaml"), &[]), first);
        // A program of the system behind a link counts by the link.
        let link_to = |target: &str| {
            let _ = fs::remove_file(at("a/run.sh"));
            std::os::unix::fs::symlink(target, at("a/run.sh")).unwrap();
            hash(&at("a/c.yaml"), &["./run.sh"])
        };
        assert_ne!(link_to("/bin/sh"), link_to("/usr/bin/env"));
        fs::remove_file(at("a/run.sh")).unwrap();
        // A script behind a link is the script that the link leads to.
        fs::write(at("real/one"), "1").unwrap();
        fs::write(at("real/two"), "1").unwrap();
        link("a/run.sh", "real/one");
        let one = hash(&at("a/c.yaml"), &["./run.sh"]);
        link("a/run.sh", "real/two");
        assert_ne!(hash(&at("a/c.yaml"), &["./run.sh"]), one);
    }
}
