//! The files that a person trusts although they were not named: contracts, agents and layers, each by its path and its trust hash. Of contracts and
//! agents it keeps the trusted text, to show later changes. Does not ask.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::service::Service;
use monolith_core::contract::FileTrust;
use monolith_core::message::Digest;
use monolith_host::config::place;
use monolith_host::store::{NewFile, open_regular, private_folder};

/// The name of the file in the state folder.
const FILE: &str = "trusted-contracts.jsonl";
/// Maximum number of bytes that are read of it, or of a text.
const MOST_BYTES: u64 = 4 << 20;
/// The folder of the trusted texts, in the state folder: each has the trust hash of its file as its name.
const TEXTS: &str = "trusted-texts";

/// The files that a person trusts. Commands may be relative to a path, so the same content under another path is another file.
#[derive(Debug)]
pub struct Trusted {
    file: PathBuf,
    files: BTreeMap<Key, Digest>,
}

/// The place of a file and, of a layer, the folder of the contracts that use it.
type Key = (PathBuf, Option<PathBuf>);

impl Trusted {
    /// Reads the list; an empty one where there is none.
    pub fn of(service: &Service) -> Result<Self, ServiceError> {
        let file = service.own_state()?.join(FILE);
        let mut text = String::new();
        let read = open_regular(&file)
            .and_then(|opened| opened.take(MOST_BYTES).read_to_string(&mut text));
        match read {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => {
                return Err(service.or_unwritable(unreadable(file, fault.to_string())));
            }
            _ => {}
        }
        let mut files = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let read: Result<FileTrust, _> = serde_json::from_str(line);
            let line = read
                .map_err(|fault| unreadable(file.clone(), format!("line {}: {fault}", at + 1)))?;
            files.insert((line.path, line.folder), line.blake3);
        }
        Ok(Self { file, files })
    }

    /// True if the file is trusted as it is.
    pub fn has(&self, file: &FileTrust) -> bool {
        let key = (file.path.clone(), file.folder.clone());
        self.files.get(&key) == Some(&file.blake3)
    }

    /// Trusts the files as they are, and no earlier content of theirs. `texts` are those of contracts and agents, by their places.
    pub fn add(
        mut self,
        service: &Service,
        files: impl IntoIterator<Item = FileTrust>,
        texts: &BTreeMap<PathBuf, String>,
    ) -> Result<(), ServiceError> {
        service.ready_state()?;
        for file in files {
            let text = texts.get(&file.path).filter(|_| file.folder.is_none());
            if let Some(text) = text {
                self.keep_text(file.blake3, text)?;
            }
            let before = self.files.insert((file.path, file.folder), file.blake3);
            self.drop_text(before.filter(|before| *before != file.blake3));
        }
        self.write()
    }

    /// The text of a contract or an agent as it was trusted, if it was kept.
    pub(crate) fn text_of(&self, path: &Path) -> Option<String> {
        let blake3 = self.files.get(&(path.to_owned(), None))?;
        let file = open_regular(&self.text_file(*blake3)).ok()?;
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    }

    fn text_file(&self, blake3: Digest) -> PathBuf {
        let folder = self.file.with_file_name(TEXTS);
        folder.join(blake3.to_string())
    }

    fn keep_text(&self, blake3: Digest, text: &str) -> Result<(), ServiceError> {
        let path = self.text_file(blake3);
        let keep = || {
            if let Some(folder) = path.parent() {
                private_folder(folder)?;
            }
            replace(&path, text)
        };
        Ok(keep().map_err(|fault| cannot_write(&path, &fault))?)
    }

    /// Removes a text that no trusted file has. One that stays is never read.
    fn drop_text(&self, blake3: Option<Digest>) {
        if let Some(blake3) = blake3 {
            drop(fs::remove_file(self.text_file(blake3)));
        }
    }

    /// Forgets the file at that path; true if it was trusted.
    pub fn remove(mut self, path: &Path) -> Result<bool, ServiceError> {
        let path = place(path);
        let of_path = self.files.iter().filter(|((known, _), _)| *known == path);
        let removed: Vec<Digest> = of_path.map(|(_, blake3)| *blake3).collect();
        if removed.is_empty() {
            return Ok(false);
        }
        self.files.retain(|(known, _), _| *known != path);
        self.write()?;
        for blake3 in removed {
            self.drop_text(Some(blake3));
        }
        Ok(true)
    }

    /// Every file as it was trusted.
    pub fn all(&self) -> impl Iterator<Item = FileTrust> {
        let files = self.files.iter();
        files.map(|((path, folder), blake3)| FileTrust {
            blake3: *blake3,
            folder: folder.clone(),
            path: path.clone(),
        })
    }

    fn write(&self) -> Result<(), ServiceError> {
        let mut text = String::new();
        for file in self.all() {
            text.push_str(&serde_json::to_string(&file).map_err(io::Error::from)?);
            text.push('\n');
        }
        let written = replace(&self.file, &text);
        Ok(written.map_err(|fault| cannot_write(&self.file, &fault))?)
    }
}

/// Writes a file for its owner alone.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut new = NewFile::private(path)?;
    new.file().write_all(text.as_bytes())?;
    new.replace()
}

fn cannot_write(path: &Path, fault: &io::Error) -> SystemFault {
    SystemFault::CannotWrite {
        path: path.to_owned(),
        reason: fault.to_string(),
    }
}

fn unreadable(path: PathBuf, reason: String) -> ServiceError {
    SystemFault::UnreadableTrust { path, reason }.into()
}
