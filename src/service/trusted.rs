//! The files that a person trusts though they were not named: contracts, agents and layers, each by its path and its trust hash. Does not ask.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::service::Service;
use monolith_core::contract::FileTrust;
use monolith_core::message::Digest;
use monolith_host::config::place;
use monolith_host::store::{NewFile, open_regular};

/// The name of the file in the state folder.
const FILE: &str = "trusted-contracts.jsonl";
/// Maximum number of bytes that are read of it.
const MOST_BYTES: u64 = 4 << 20;

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
                return Err(unreadable(file, fault.to_string()));
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

    /// Trusts the files as they are, and no earlier content of theirs.
    pub fn add(
        mut self,
        service: &Service,
        files: impl IntoIterator<Item = FileTrust>,
    ) -> Result<(), ServiceError> {
        service.ready_state()?;
        for file in files {
            self.files.insert((file.path, file.folder), file.blake3);
        }
        self.write()
    }

    /// Forgets the file at that path; true if it was trusted.
    pub fn remove(mut self, path: &Path) -> Result<bool, ServiceError> {
        let path = place(path);
        let before = self.files.len();
        self.files.retain(|(known, _), _| *known != path);
        let removed = self.files.len() < before;
        if removed {
            self.write()?;
        }
        Ok(removed)
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
        let write = || {
            let mut new = NewFile::private(&self.file)?;
            new.file().write_all(text.as_bytes())?;
            new.replace()
        };
        Ok(
            write().map_err(|fault: io::Error| SystemFault::CannotWrite {
                path: self.file.clone(),
                reason: fault.to_string(),
            })?,
        )
    }
}

fn unreadable(path: PathBuf, reason: String) -> ServiceError {
    SystemFault::UnreadableTrust { path, reason }.into()
}
