//! The contracts that a person trusts though they were not named: by the path and the hash of each. Does not ask.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, SystemFault};
use crate::message::Digest;
use crate::store::{NewFile, open_regular};

/// What the file is called, in the state folder.
const FILE: &str = "trusted-contracts.jsonl";
/// How much of it is read.
const MOST_BYTES: u64 = 4 << 20;

/// The contracts that a person trusts. A contract is another one under another path, because its commands may be relative to it.
#[derive(Debug)]
pub(in crate::cli) struct Trusted {
    contracts: BTreeMap<PathBuf, Digest>,
    file: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    blake3: Digest,
    path: PathBuf,
}

impl Trusted {
    /// Reads the list; an empty one where there is none.
    pub(in crate::cli) fn of(app: &App) -> Result<Self, CliError> {
        let file = app.own_state()?.join(FILE);
        let mut text = String::new();
        let read = open_regular(&file)
            .and_then(|opened| opened.take(MOST_BYTES).read_to_string(&mut text));
        match read {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => {
                return Err(unreadable(file, fault.to_string()));
            }
            _ => {}
        }
        let mut contracts = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let read: Result<Line, _> = serde_json::from_str(line);
            let line = read
                .map_err(|fault| unreadable(file.clone(), format!("line {}: {fault}", at + 1)))?;
            contracts.insert(line.path, line.blake3);
        }
        Ok(Self { contracts, file })
    }

    /// Whether the contract at that path is trusted as it is, by the hash of its text with all that it includes.
    pub(in crate::cli) fn has(&self, path: &Path, hash: Digest) -> bool {
        self.contracts.get(&settled(path)) == Some(&hash)
    }

    /// Trusts the contracts at those paths as they are, and nothing else that was there.
    pub(in crate::cli) fn add<'c>(
        mut self,
        app: &App,
        contracts: impl IntoIterator<Item = (&'c Path, Digest)>,
    ) -> Result<(), CliError> {
        app.ready_state()?;
        for (path, hash) in contracts {
            self.contracts.insert(settled(path), hash);
        }
        self.write()
    }

    /// Trusts no contract at that path any more; whether one was.
    pub(in crate::cli) fn remove(mut self, path: &Path) -> Result<bool, CliError> {
        let there = self.contracts.remove(&settled(path)).is_some();
        if there {
            self.write()?;
        }
        Ok(there)
    }

    /// Every one, with whether the file there is still the one that is trusted.
    pub(in crate::cli) fn all(&self) -> impl Iterator<Item = (&Path, Digest)> {
        let contracts = self.contracts.iter();
        contracts.map(|(path, hash)| (path.as_path(), *hash))
    }

    fn write(&self) -> Result<(), CliError> {
        let mut text = String::new();
        for (path, blake3) in &self.contracts {
            let (path, blake3) = (path.clone(), *blake3);
            let line = serde_json::to_string(&Line { blake3, path }).map_err(io::Error::from)?;
            text.push_str(&line);
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

/// The path as every way to the file comes to it.
fn settled(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn unreadable(path: PathBuf, reason: String) -> CliError {
    SystemFault::UnreadableTrust { path, reason }.into()
}
