//! The files of signing keys: made once, rotated, readable by their owner. Does not know what is signed.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::key_file_error::KeyFileError;
use super::key_lock::KeyLock;
use super::key_text::{read_public, read_secret, refuse};
use super::old_secret::OldSecret;
use crate::store::{Exposure, NewFile, private_file, private_folder};
use monolith_core::transcript::{KeyError, KeyRing, Note, PublicKey, SecretKey};

/// The name of the file of the redaction key without its ending; no signing key may have it.
pub(super) const REDACTION: &str = "redaction";

/// The folder that keeps this machine's keys, outside the store: for each name `NAME.key`, the secret, readable by its owner
/// alone, and `NAME.pub`, the first public key and a signed record of every rotation since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFolder(PathBuf);

/// The files of one key.
pub(super) struct Files {
    name: String,
    pub(super) public: PathBuf,
    pub(super) secret: PathBuf,
}

impl KeyFolder {
    /// The keys in that folder, which need not be there yet.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The key of that name; it is made where there is none.
    ///
    /// # Errors
    /// [`KeyFileError`], also where others may read the key.
    pub fn load_or_make(&self, name: &str) -> Result<SecretKey, KeyFileError> {
        if let Some(key) = self.load(name)? {
            return Ok(key);
        }
        match self.generate(name) {
            // Another process was first.
            Err(KeyFileError::Exists { .. }) => self.show(name),
            made => made,
        }
    }

    /// The key of that name.
    ///
    /// # Errors
    /// [`KeyFileError::None`] where there is none.
    pub fn show(&self, name: &str) -> Result<SecretKey, KeyFileError> {
        self.load(name)?.ok_or_else(|| none(name))
    }

    /// Makes a key of that name.
    ///
    /// # Errors
    /// [`KeyFileError::Exists`] where there is one.
    pub fn generate(&self, name: &str) -> Result<SecretKey, KeyFileError> {
        let files = self.files(name)?;
        let key = random_key(name)?;
        self.make()?;
        let _lock = KeyLock::of(&self.0)?;
        self.settle(&files)?;
        let secret = format!("{}\n", key.secret_text());
        // What is there is not replaced, so of two processes one makes the key.
        match write_beside(&files.secret, &secret)?.take_name() {
            Ok(()) => {
                append(&files.public, &format!("{}\n", key.public()))?;
                Ok(key)
            }
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
                Err(KeyFileError::Exists {
                    name: name.to_owned(),
                })
            }
            Err(fault) => Err(refuse(&files.secret, &fault)),
        }
    }

    /// Replaces a key; returns the record of it, signed by the old key and the new. The old secret is gone then. Of two processes the
    /// second replaces what the first has made.
    ///
    /// # Errors
    /// [`KeyFileError::None`] where there is none of that name.
    pub fn rotate(&self, name: &str) -> Result<(PublicKey, Note), KeyFileError> {
        let files = self.files(name)?;
        // Without a key there may be no folder to lock.
        self.show(name)?;
        if files.secret.is_symlink() {
            let path = files.secret;
            return Err(KeyFileError::Link { path });
        }
        let _lock = KeyLock::of(&self.0)?;
        self.settle(&files)?;
        let old = self.read(&files)?.ok_or_else(|| none(name))?;
        let new = random_key(name)?;
        let record = old.rotated_to(&new);
        let secret = write_beside(&files.secret, &format!("{}\n", new.secret_text()))?;
        publish(&files, secret, &record)?;
        Ok((new.public(), record))
    }

    /// Every public key of the folder, and what they were replaced by.
    ///
    /// # Errors
    /// [`KeyFileError`] where a file cannot be read.
    pub fn ring(&self) -> Result<KeyRing, KeyFileError> {
        let mut ring = KeyRing::default();
        self.own()?;
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(ring),
            Err(fault) => return Err(refuse(&self.0, &fault)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(|fault| refuse(&self.0, &fault))?.path());
        }
        paths.sort();
        for path in paths {
            if path.extension().is_some_and(|ending| ending == "pub") {
                let text = read_public(&path)?;
                let broken = |fault| KeyFileError::BrokenRing {
                    path: path.clone(),
                    fault,
                };
                ring.read(&text).map_err(broken)?;
            }
        }
        Ok(ring)
    }

    fn load(&self, name: &str) -> Result<Option<SecretKey>, KeyFileError> {
        let files = self.files(name)?;
        self.own()?;
        self.settle_left(&files)?;
        let Some(key) = self.read(&files)? else {
            return Ok(None);
        };
        // Who has made it may not have come so far.
        if !files.public.exists() {
            let _lock = KeyLock::of(&self.0)?;
            if !files.public.exists() {
                append(&files.public, &format!("{}\n", key.public()))?;
            }
        }
        Ok(Some(key))
    }

    /// The secret key of these files.
    pub(super) fn read(&self, files: &Files) -> Result<Option<SecretKey>, KeyFileError> {
        self.own()?;
        let text = match read_secret(&files.secret) {
            Ok(text) => text,
            Err(KeyFileError::None { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let broken = |fault| KeyFileError::Broken {
            path: files.secret.clone(),
            fault,
        };
        let key: SecretKey = text.trim_end().parse().map_err(broken)?;
        if key.public().name() != files.name {
            let rule = "its name is that of its file";
            return Err(broken(KeyError { rule }));
        }
        Ok(Some(key))
    }

    pub(super) fn files(&self, name: &str) -> Result<Files, KeyFileError> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        let taken = name == REDACTION;
        if taken || !starts_well || name.len() > 64 || !name.chars().all(allowed) {
            return Err(KeyFileError::Name {
                name: name.chars().take(80).collect(),
            });
        }
        Ok(Files {
            name: name.to_owned(),
            public: self.0.join(format!("{name}.pub")),
            secret: self.0.join(format!("{name}.key")),
        })
    }

    /// Returns the path of the redaction secret.
    pub(super) fn redaction_path(&self) -> PathBuf {
        self.0.join(format!("{REDACTION}.key"))
    }

    /// Makes the folder, for its owner alone.
    pub(super) fn make(&self) -> Result<(), KeyFileError> {
        private_folder(&self.0).map_err(|fault| refuse(&self.0, &fault))?;
        self.own()
    }

    /// Refuses a folder that others can write.
    pub(super) fn own(&self) -> Result<(), KeyFileError> {
        let path = || self.0.clone();
        match Exposure::to_write(&self.0) {
            None => Ok(()),
            Some(Exposure::Mode(mode)) => Err(KeyFileError::Folder { path: path(), mode }),
            Some(Exposure::Owner(uid)) => Err(KeyFileError::Owner { path: path(), uid }),
        }
    }
}

fn none(name: &str) -> KeyFileError {
    KeyFileError::None {
        name: name.to_owned(),
    }
}

pub(super) fn random_key(name: &str) -> Result<SecretKey, KeyFileError> {
    let mut seed = [0_u8; 32];
    getrandom::fill(&mut seed).map_err(|fault| KeyFileError::Randomness(fault.to_string()))?;
    SecretKey::from_seed(name, &seed).map_err(|_| KeyFileError::Name {
        name: name.to_owned(),
    })
}

/// Writes a secret beside its file, readable by its owner alone.
pub(super) fn write_beside(path: &Path, text: &str) -> Result<NewFile, KeyFileError> {
    let mut new = NewFile::private(path).map_err(|fault| refuse(path, &fault))?;
    let written = new.file().write_all(text.as_bytes());
    written.map_err(|fault| refuse(path, &fault))?;
    Ok(new)
}

/// Adds the record of a rotation to the public keys, and replaces the old secret with the new one. If that fails, the new
/// secret is kept: its public key is already published.
fn publish(files: &Files, mut secret: NewFile, record: &Note) -> Result<(), KeyFileError> {
    // The record first: a key that is not published must not sign.
    append(&files.public, &record.to_string())?;
    match replace(&files.secret, || secret.replace()) {
        Ok(None) => Ok(()),
        Ok(Some(old)) => old.erase().map_err(|fault| refuse(&files.secret, &fault)),
        Err(fault) => Err(KeyFileError::NotReplaced {
            path: files.secret.clone(),
            reason: fault.to_string(),
            secret: secret.keep(),
        }),
    }
}

/// Replaces a secret with a file; returns the old one, to be overwritten.
pub(super) fn replace(
    secret: &Path,
    replace: impl FnOnce() -> io::Result<()>,
) -> io::Result<Option<OldSecret>> {
    let old = OldSecret::of(secret)?;
    match (replace(), old) {
        (Ok(()), old) => Ok(old),
        (Err(fault), None) => Err(fault),
        (Err(fault), Some(old)) => {
            old.keep()?;
            Err(fault)
        }
    }
}

/// Adds a text to a file, or leaves it as it was.
pub(super) fn append(path: &Path, text: &str) -> Result<(), KeyFileError> {
    let mut options = private_file();
    let written = options.append(true).create(true).open(path);
    written
        .and_then(|mut file| {
            let before = file.metadata()?.len();
            let added = file
                .write_all(text.as_bytes())
                .and_then(|()| file.sync_all());
            // A part of a record would make the whole file unreadable.
            added.inspect_err(|_| drop(file.set_len(before)))
        })
        .map_err(|fault| refuse(path, &fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, KeyFolder) {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFolder::new(folder.path().join("keys"));
        (folder, keys)
    }

    #[test]
    fn a_key_file_that_is_too_long_is_refused_and_not_read_in_part() {
        let (folder, keys) = folder();
        keys.load_or_make("local").unwrap();
        let path = folder.path().join("keys/local.pub");
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str(&"\n".repeat(1 << 20));
        fs::write(&path, text).unwrap();
        let fault = keys.ring().unwrap_err().to_string();
        assert!(
            fault.ends_with("it is longer than 1048576 bytes"),
            "{fault}"
        );
    }

    #[test]
    fn a_key_is_made_once_and_found_again() {
        let (_folder, keys) = folder();
        let none = keys.show("local").map(|_| ());
        assert!(matches!(none, Err(KeyFileError::None { .. })));
        assert_eq!(keys.ring().unwrap().trusted(), []);
        let made = keys.load_or_make("local").unwrap().public();
        assert_eq!(keys.load_or_make("local").unwrap().public(), made);
        assert_eq!(keys.ring().unwrap().trusted(), std::slice::from_ref(&made));
        let again = keys.generate("local").map(|_| ());
        assert!(matches!(again, Err(KeyFileError::Exists { .. })));
        assert_eq!(keys.show("local").unwrap().public(), made);
        let files = fs::read_dir(&keys.0).unwrap().count();
        assert_eq!(files, 3, "key, public key and lock: nothing is left over");
    }

    #[test]
    fn a_rotated_key_signs_in_place_of_the_old_one_and_both_are_trusted() {
        let (_folder, keys) = folder();
        let first = keys.generate("local").unwrap().public();
        let (second, _) = keys.rotate("local").unwrap();
        let (third, record) = keys.rotate("local").unwrap();
        assert_eq!(keys.show("local").unwrap().public(), third);
        let expect = [first, second.clone(), third.clone()];
        assert_eq!(keys.ring().unwrap().trusted(), expect);
        let mut ring = KeyRing::of(vec![second.clone()]);
        ring.read(&record.to_string()).unwrap();
        assert_eq!(ring.trusted(), [second, third]);
    }

    #[test]
    fn a_secret_that_cannot_take_its_place_is_kept_once_its_key_is_published() {
        let (_folder, keys) = folder();
        let old = keys.generate("local").unwrap();
        let new = random_key("local").unwrap();
        let record = old.rotated_to(&new);
        let files = |public: &str, secret: &str| Files {
            name: "local".to_owned(),
            public: keys.0.join(public),
            secret: keys.0.join(secret),
        };
        fs::create_dir_all(keys.0.join("folder/in it")).unwrap();
        let count = || fs::read_dir(&keys.0).unwrap().count();
        let before = count();
        let publish = |files: &Files| {
            let text = format!("{}\n", new.secret_text());
            publish(files, write_beside(&files.secret, &text).unwrap(), &record)
        };
        // What is not published is not kept.
        assert!(publish(&files("folder", "local.key")).is_err());
        assert_eq!(count(), before);
        let kept = publish(&files("local.pub", "folder"));
        let Err(KeyFileError::NotReplaced { secret, .. }) = kept else {
            panic!("{kept:?}");
        };
        assert!(keys.ring().unwrap().trusted().contains(&new.public()));
        fs::rename(secret, keys.0.join("local.key")).unwrap();
        assert_eq!(keys.show("local").unwrap().public(), new.public());
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, keys) = folder();
        keys.generate("local").unwrap();
        let path = keys.0.join("local.key");
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        for mode in [0o640, 0o604, 0o620, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let fault = keys.load_or_make("local").map(|_| ());
            let path = path.clone();
            assert_eq!(fault, Err(KeyFileError::Permissions { path, mode }));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, keys) = folder();
        keys.generate("local").unwrap();
        keys.redaction_key().unwrap();
        for mode in [0o777, 0o770, 0o702] {
            fs::set_permissions(&keys.0, fs::Permissions::from_mode(mode)).unwrap();
            let path = keys.0.clone();
            let refused = KeyFileError::Folder { path, mode };
            assert_eq!(keys.show("local").map(drop), Err(refused.clone()));
            assert_eq!(keys.ring().map(drop), Err(refused.clone()));
            assert_eq!(keys.redaction_key().map(drop), Err(refused.clone()));
            assert_eq!(keys.generate("other").map(drop), Err(refused));
        }
        fs::set_permissions(&keys.0, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(keys.show("local").is_ok());
    }

    #[test]
    fn names_that_are_no_file_and_files_that_are_no_key_are_refused() {
        let (_folder, keys) = folder();
        for name in ["", "../x", "A", ".x", "a+b", "a/b"] {
            let fault = keys.generate(name).map(|_| ());
            assert!(matches!(fault, Err(KeyFileError::Name { .. })), "{name}");
        }
        let one = keys.generate("one").unwrap();
        keys.generate("two").unwrap();
        fs::copy(keys.0.join("one.key"), keys.0.join("two.key")).unwrap();
        let fault = keys.show("two").map(|_| ());
        assert!(
            matches!(fault, Err(KeyFileError::Broken { .. })),
            "{fault:?}"
        );
        fs::write(keys.0.join("one.key"), "x").unwrap();
        let fault = keys.show("one").map(|_| ());
        assert!(
            matches!(fault, Err(KeyFileError::Broken { .. })),
            "{fault:?}"
        );
        assert!(keys.ring().unwrap().trusted().contains(&one.public()));
    }
}
