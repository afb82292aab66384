//! The folder of models: files by hash, notes by name. Does not run models.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::partial::{open_lock, own_place};
use super::sums::{Sums, copy, new_part, sums_of};
use super::{ModelStoreError, Partial, PullError, check_space};
use crate::inference::{ModelHeader, Reading};
use crate::store::{open_own, replace_own};
use monolith_core::message::Digest;

/// The longest note of a stored model.
const MAX_NOTE_BYTES: u64 = 64 * 1024;

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
    /// Its name in contracts.
    pub name: String,
    /// Its origin.
    pub source: String,
}

impl StoredModel {
    /// Returns the error for storing another file under this one's name.
    #[must_use]
    pub fn taken(&self) -> ModelStoreError {
        ModelStoreError::NameTaken {
            name: self.name.clone(),
            stored: self.blake3,
        }
    }
}

/// The description of a file to store.
#[derive(Clone, Copy, Debug)]
pub struct NewModel<'e> {
    /// The only hash that is taken, where one is known.
    pub expected: Option<Digest>,
    /// Under what terms it may be used; none leaves it to the file's own header.
    pub licence: Option<&'e str>,
    /// Its name in contracts.
    pub name: &'e str,
    /// Its origin.
    pub source: &'e str,
}

/// Model files by their BLAKE3, with a note for each name: `blobs/<hash>.gguf`, `<name>.json`.
///
/// Every change holds the lock of the store, and a note is there only once its file is whole.
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
            Err(fault) => return Err(ModelStoreError::io(&self.folder, fault)),
        };
        let mut models = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|fault| ModelStoreError::io(&self.folder, fault))?;
            let path = entry.path();
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

    /// Returns the model stored under that name; none if there is none.
    ///
    /// # Errors
    /// [`ModelStoreError::Name`] and [`ModelStoreError::Io`].
    pub fn stored(&self, name: &str) -> Result<Option<StoredModel>, ModelStoreError> {
        match self.note(name) {
            Ok(model) => Ok(Some(model)),
            Err(ModelStoreError::Unknown(_)) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Returns the folder of incomplete files.
    #[must_use]
    pub fn pulling(&self) -> PathBuf {
        self.folder.join("pulling")
    }

    /// Takes a copy of a file. One that has not the expected hash is refused, and nothing of it stays.
    ///
    /// # Errors
    /// Why it was not taken.
    pub fn add(
        &self,
        file: &Path,
        entry: NewModel<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<StoredModel, PullError> {
        self.note_path(entry.name)?;
        let header = header_of(file)?;
        let blobs = self.blobs()?;
        let size = fs::metadata(file).map_err(|fault| ModelStoreError::io(file, fault))?;
        let (part, target) = {
            let _lock = self.lock()?;
            new_part(&blobs)?
        };
        let taken = check_space(&blobs, size.len()).and_then(|()| {
            let sums = copy(file, (&part, target), reading)?;
            let what = file.display().to_string();
            Ok(self.take_sums(&part, &what, header, &sums, entry)?)
        });
        if taken.is_err() {
            let _ = fs::remove_file(&part);
        }
        taken
    }

    /// Takes a file that was fetched. One that is not what the hub says, or not what was expected, is removed.
    ///
    /// # Errors
    /// Why it was not taken.
    pub fn take(
        &self,
        partial: Partial,
        entry: NewModel<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<StoredModel, PullError> {
        let what = partial.what().to_owned();
        let path = partial.path().to_owned();
        let sums = sums_of(&path, reading).map_err(PullError::from);
        let taken = sums.and_then(|sums| {
            partial.check_sha256(&sums.sha256)?;
            let header = header_of(&path)?;
            self.blobs()?;
            Ok(self.take_sums(&path, &what, header, &sums, entry)?)
        });
        match &taken {
            // A taken name is no fault of the file: it is kept for another try.
            Err(PullError::Store(
                ModelStoreError::NameTaken { .. }
                | ModelStoreError::Io { .. }
                | ModelStoreError::Stopped { .. },
            )) => {}
            _ => partial.remove(),
        }
        taken
    }

    fn take_sums(
        &self,
        part: &Path,
        what: &str,
        header: ModelHeader,
        sums: &Sums,
        entry: NewModel<'_>,
    ) -> Result<StoredModel, ModelStoreError> {
        if let Some(expected) = entry.expected.filter(|expected| *expected != sums.blake3) {
            return Err(ModelStoreError::Hash {
                what: what.to_owned(),
                got: sums.blake3,
                expected,
            });
        }
        let model = StoredModel {
            blake3: sums.blake3,
            bytes: sums.bytes,
            licence: entry.licence.map(str::to_owned).or(header.license),
            name: entry.name.to_owned(),
            source: entry.source.to_owned(),
        };
        let _lock = self.lock()?;
        self.check_name(entry.name, model.blake3)?;
        let blob = self.blob(model.blake3);
        fs::rename(part, &blob).map_err(|fault| ModelStoreError::io(&blob, fault))?;
        self.write_note(&model)?;
        Ok(model)
    }

    /// Refuses a name that another file has.
    fn check_name(&self, name: &str, blake3: Digest) -> Result<(), ModelStoreError> {
        match self.stored(name)? {
            Some(stored) if stored.blake3 != blake3 => Err(stored.taken()),
            _ => Ok(()),
        }
    }

    fn write_note(&self, model: &StoredModel) -> Result<(), ModelStoreError> {
        let path = self.note_path(&model.name)?;
        // A note of strings and integers serialises.
        let text = serde_json::to_string_pretty(model).unwrap_or_default();
        replace_own(&path, text.as_bytes()).map_err(|fault| ModelStoreError::io(&path, fault))
    }

    /// Forgets a name, and its file where no other name has it.
    ///
    /// # Errors
    /// [`ModelStoreError::Unknown`] where nothing of that name is stored.
    pub fn remove(&self, name: &str) -> Result<StoredModel, ModelStoreError> {
        self.note(name)?;
        let _lock = self.lock()?;
        let model = self.note(name)?;
        let note_path = self.note_path(name)?;
        fs::remove_file(&note_path).map_err(|fault| ModelStoreError::io(&note_path, fault))?;
        if self
            .list()?
            .iter()
            .all(|other| other.blake3 != model.blake3)
        {
            let blob = self.blob(model.blake3);
            fs::remove_file(&blob).map_err(|fault| ModelStoreError::io(&blob, fault))?;
        }
        Ok(model)
    }

    /// Reads a model's file again and compares.
    ///
    /// # Errors
    /// [`ModelStoreError::Hash`] where it is not what it was.
    pub fn verify(
        &self,
        name: &str,
        reading: &mut Reading<'_>,
    ) -> Result<StoredModel, ModelStoreError> {
        let model = self.note(name)?;
        let got = sums_of(&self.blob(model.blake3), reading)?.blake3;
        if got == model.blake3 {
            return Ok(model);
        }
        Err(ModelStoreError::Hash {
            what: format!("`{name}`"),
            got,
            expected: model.blake3,
        })
    }

    /// Waits until no other process changes the store; what is returned keeps others out.
    fn lock(&self) -> Result<File, ModelStoreError> {
        let path = self.folder.join("lock");
        own_place(&self.folder)
            .and_then(|()| open_lock(&path))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|fault| ModelStoreError::io(&path, fault))
    }

    fn note(&self, name: &str) -> Result<StoredModel, ModelStoreError> {
        let path = self.note_path(name)?;
        let mut text = String::new();
        let read = open_own(OpenOptions::new().read(true), &path)
            .and_then(|file| file.take(MAX_NOTE_BYTES).read_to_string(&mut text));
        match read {
            Ok(_) => serde_json::from_str(&text)
                .map_err(|fault| ModelStoreError::io(&path, fault.into())),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                Err(ModelStoreError::Unknown(name.to_owned()))
            }
            Err(fault) => Err(ModelStoreError::io(&path, fault)),
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

    /// The folder of the files, made where it is not there.
    fn blobs(&self) -> Result<PathBuf, ModelStoreError> {
        let blobs = self.folder.join("blobs");
        for folder in [&self.folder, &blobs] {
            own_place(folder).map_err(|fault| ModelStoreError::io(folder, fault))?;
        }
        Ok(blobs)
    }

    fn blob(&self, hash: Digest) -> PathBuf {
        self.folder.join("blobs").join(format!("{hash}.gguf"))
    }
}

fn header_of(file: &Path) -> Result<ModelHeader, ModelStoreError> {
    ModelHeader::read(file).map_err(|fault| ModelStoreError::NoModel {
        path: file.to_owned(),
        fault,
    })
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

    const fn entry(name: &str, expected: Option<Digest>) -> NewModel<'_> {
        NewModel {
            expected,
            licence: None,
            name,
            source: "a test",
        }
    }

    /// A reading that is never cancelled.
    const fn whole(_: u64) -> bool {
        true
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
        let added = store.add(&file, entry("small", None), &mut whole).unwrap();
        store
            .add(&file, entry("same", Some(added.blake3)), &mut whole)
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
        assert_eq!(
            store.verify("same", &mut whole).unwrap().blake3,
            added.blake3
        );
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
            .add(&file, entry("small", Some(Digest::ZERO)), &mut whole)
            .unwrap_err();
        assert!(
            matches!(wrong, PullError::Store(ModelStoreError::Hash { .. })),
            "{wrong}"
        );
        assert_eq!((files(&store.folder), store.list().unwrap().len()), (0, 0));
        let html = folder.path().join("b.gguf");
        fs::write(&html, "<html>").unwrap();
        let fault = store
            .add(&html, entry("small", None), &mut whole)
            .unwrap_err();
        assert!(
            fault
                .to_string()
                .ends_with("it is no GGUF file: it does not begin with \"GGUF\"")
        );
        store.add(&file, entry("small", None), &mut whole).unwrap();
        fs::write(store.find("small").unwrap(), "other").unwrap();
        let fault = store.verify("small", &mut whole).unwrap_err().to_string();
        assert!(fault.starts_with("the hash of `small` is "), "{fault}");
        for name in ["", ".x", "a/b", "..", "ä"] {
            assert!(
                matches!(store.find(name), Err(ModelStoreError::Name(_))),
                "{name}"
            );
        }
    }

    #[test]
    fn a_name_is_one_file_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = ModelStore::new(folder.path().join("models"));
        let (one, two) = (
            model(folder.path(), "a.gguf", 1),
            model(folder.path(), "b.gguf", 2),
        );
        store.add(&one, entry("small", None), &mut whole).unwrap();
        store.add(&one, entry("small", None), &mut whole).unwrap();
        let fault = store
            .add(&two, entry("small", None), &mut whole)
            .unwrap_err();
        assert!(
            matches!(fault, PullError::Store(ModelStoreError::NameTaken { .. })),
            "{fault}"
        );
        assert_eq!((files(&store.folder), store.list().unwrap().len()), (1, 1));
        store.remove("small").unwrap();
        store.add(&two, entry("small", None), &mut whole).unwrap();
    }

    #[test]
    fn a_copy_that_is_ended_or_was_killed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = ModelStore::new(folder.path().join("models"));
        let file = model(folder.path(), "a.gguf", 1);
        let stopped = store.add(&file, entry("small", None), &mut |have| have == 0);
        let stopped = stopped.unwrap_err();
        assert!(
            matches!(stopped, PullError::Store(ModelStoreError::Stopped { .. })),
            "{stopped}"
        );
        assert_eq!((files(&store.folder), store.list().unwrap().len()), (0, 0));
        // What a killed process left goes with the next copy; what another one is writing stays.
        let blobs = store.folder.join("blobs");
        fs::write(blobs.join("1.part"), "left").unwrap();
        let writing = File::create(blobs.join("2.part")).unwrap();
        writing.lock().unwrap();
        store.add(&file, entry("small", None), &mut whole).unwrap();
        assert_eq!(files(&store.folder), 2);
        assert!(blobs.join("2.part").exists());
        let stopped = store.verify("small", &mut |_| false).unwrap_err();
        assert!(
            matches!(stopped, ModelStoreError::Stopped { .. }),
            "{stopped}"
        );
    }
}
