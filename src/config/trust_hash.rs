//! The trust hash of a file: its place, its content, and the files that its commands name. It does not know what is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::message::{Digest, DigestBuilder, DigestContext};
use crate::store::open_regular;

/// The context of every trust hash.
static CONTEXT: DigestContext = DigestContext::new("monolith 2026 trust hash");
/// Folders of the system's programs. Only root changes them, and an upgrade does not ask again.
const SYSTEM: [&str; 6] = ["/bin", "/lib", "/lib64", "/nix/store", "/sbin", "/usr"];
/// Characters that end a path within a word, such as one for `sh -c` or `--config=./x`.
const BREAKS: [char; 16] = [
    ' ', '\t', '\n', '"', '\'', '`', ';', '&', '|', '(', ')', '<', '>', '=', ',', ':',
];

/// A trust hash in the making.
#[derive(Debug)]
pub(crate) struct TrustHash {
    /// Folders where the paths of words may begin.
    folders: Vec<PathBuf>,
    parts: Vec<Vec<u8>>,
}

impl TrustHash {
    /// Begins with the place of a file and the place that its links lead to: its commands begin at the first, its words come from the second.
    pub(crate) fn of(path: &Path) -> Self {
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
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.folders.push(target(folder));
        self
    }

    /// Adds a text under a name.
    pub(crate) fn add(&mut self, name: &str, text: &[u8]) {
        self.parts.push(name.as_bytes().to_vec());
        self.parts.push(text.to_vec());
    }

    /// Adds a path under a name.
    pub(crate) fn add_path(&mut self, name: &str, path: &Path) {
        self.add(name, path.as_os_str().as_encoded_bytes());
    }

    /// Adds each regular file that one of the words names: its place, its target and the digest of its content.
    pub(crate) fn add_files_of(&mut self, words: &BTreeSet<String>) {
        let pieces = words.iter().flat_map(|word| {
            let pieces = word.split(BREAKS).chain([word.as_str()]);
            pieces.filter(|piece| !piece.is_empty())
        });
        let mut found: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        for piece in pieces.collect::<BTreeSet<_>>() {
            for folder in &self.folders {
                let path = folder.join(piece);
                let real = target(&path);
                let of_system = SYSTEM.iter().any(|system| real.starts_with(system));
                if !of_system && real.is_file() {
                    found.insert(place(&path), real);
                }
            }
        }
        for (path, real) in found {
            self.add_path("file", &path);
            self.add_path("target", &real);
            // A file that cannot be read cannot be run, either; it is another one once it can be.
            let content =
                digest_of(&real).map_or_else(|_| String::new(), |found| found.to_string());
            self.add("content", content.as_bytes());
        }
    }

    /// The hash of everything that was added.
    #[must_use]
    pub(crate) fn finish(self) -> Digest {
        let parts: Vec<&[u8]> = self.parts.iter().map(Vec::as_slice).collect();
        CONTEXT.framed(&parts)
    }
}

/// The place of a file: its folder without links, and its own name. The file may be a link.
pub(crate) fn place(path: &Path) -> PathBuf {
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
        // A script behind a link is the script that the link leads to.
        fs::write(at("real/one"), "1").unwrap();
        fs::write(at("real/two"), "1").unwrap();
        link("a/run.sh", "real/one");
        let one = hash(&at("a/c.yaml"), &["./run.sh"]);
        link("a/run.sh", "real/two");
        assert_ne!(hash(&at("a/c.yaml"), &["./run.sh"]), one);
    }
}
