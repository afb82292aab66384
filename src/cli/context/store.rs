//! Where runs are kept, and how a run is found by what a person calls it.

use std::path::PathBuf;

use super::app::App;
use super::error::{CliError, StateFault, TranscriptFault};
use super::source::{Source, is_named_as_transcript};
use crate::message::RunId;
use crate::store::{Durability, Store, StoreError, StoreReader, private_folder};
use crate::tools::Withheld;
use crate::transcript::ParentFound;

/// How many generations of forks are looked at; a longer line is none that people make.
const MOST_GENERATIONS: usize = 1_000;

impl App {
    /// The file that keeps runs: the caller's, else `runs.db` in `MONOLITH_HOME`, else in the platform's state folder.
    pub(in crate::cli) fn store_path(&self) -> Result<PathBuf, CliError> {
        if let Some(path) = &self.store {
            return Ok(self.cwd.join(path));
        }
        Ok(self.state_folder()?.join("runs.db"))
    }

    /// What no built-in tool reads: the state folder and the files of the store, wherever they are.
    pub(in crate::cli) fn withheld(&self) -> Result<Withheld, CliError> {
        let store = self.store_path()?;
        let beside = ["-wal", "-shm", "-journal", ".locks", ".answers"].map(|ending| {
            let mut name = store.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        });
        let mut paths = vec![self.state_folder()?, self.keys()?.path().to_owned(), store];
        paths.extend(beside);
        let open = vec![self.demo_folder()?, self.live_folder()?];
        Ok(Withheld { paths, open })
    }

    /// The file that keeps runs, ready to be made: the state folder is there, but not a folder that the caller names.
    pub(in crate::cli) fn ready_store(&self) -> Result<PathBuf, CliError> {
        let path = self.store_path()?;
        if let (None, Some(folder)) = (&self.store, path.parent()) {
            private_folder(folder).map_err(|fault| StateFault::StateFolder {
                path: folder.to_owned(),
                reason: fault.to_string(),
            })?;
        }
        Ok(path)
    }

    /// Opens the store for writing.
    pub(in crate::cli) fn open_store(&self, durability: Durability) -> Result<Store, CliError> {
        let store = Store::open(&self.ready_store()?, durability)?;
        if self.unsigned {
            return Ok(store);
        }
        Ok(store.signed_by(self.signer()?))
    }

    /// Opens the store for reading; none where nothing was ever kept.
    pub(in crate::cli) fn reader(&self) -> Result<Option<StoreReader>, CliError> {
        let path = self.store_path()?;
        let is_there = path.try_exists().map_err(|fault| StateFault::Unreachable {
            path: path.clone(),
            fault,
        })?;
        if !is_there {
            return match self.store {
                Some(_) => Err(StateFault::NoSuchStore { path }.into()),
                None => Ok(None),
            };
        }
        Ok(Some(StoreReader::open(&path)?))
    }

    /// What `RUN|FILE` names. A text with a folder or the ending `.jsonl` is a file; else a run comes first.
    pub(in crate::cli) fn source(&self, asked: &str) -> Result<Source, CliError> {
        let path = self.cwd.join(asked);
        if asked.contains(['/', '\\']) || is_named_as_transcript(asked) {
            return Ok(Source::File(path));
        }
        match self.run(asked) {
            Err(CliError::Store(StoreError::NoSuchRun { .. })) if path.is_file() => {
                Ok(Source::File(path))
            }
            found => found,
        }
    }

    /// What is asked for by its full name: a command that looks twice must not find another run the second time.
    pub(in crate::cli) fn settled(&self, asked: &str) -> Result<String, CliError> {
        Ok(match self.source(asked)? {
            Source::File(_) => asked.to_owned(),
            Source::Run(run_id, _) => run_id.to_string(),
        })
    }

    /// The run of that name, or of that unique prefix.
    pub(in crate::cli) fn run(&self, asked: &str) -> Result<Source, CliError> {
        let none = || StoreError::NoSuchRun {
            asked: asked.chars().take(80).collect(),
        };
        let reader = self.reader()?.ok_or_else(none)?;
        let found = reader.resolve(asked);
        if let Err(StoreError::NoSuchRun { .. }) = &found
            && let Some((by, reason)) = reader.deleted(asked, &self.trust(&[], &[], &[])?.keys)?
        {
            let run_id = asked.to_owned();
            return Err(TranscriptFault::Deleted { run_id, by, reason }.into());
        }
        Ok(Source::Run(found?, reader))
    }

    /// The first run of the line that this one was forked along, itself where it was not forked; none where a run of the line
    /// is not in the store.
    pub(in crate::cli) fn first_of(&self, run_id: &RunId) -> Result<Option<RunId>, CliError> {
        let Some(reader) = self.reader()? else {
            return Ok(None);
        };
        let mut first = run_id.clone();
        if reader.resolve(first.as_str()).is_err() {
            return Ok(None);
        }
        for _ in 0..MOST_GENERATIONS {
            match reader.lineage(&first)? {
                None => return Ok(Some(first)),
                Some(lineage) if lineage.found == ParentFound::NotHere => return Ok(None),
                Some(lineage) => first = lineage.parent.run_id,
            }
        }
        Ok(None)
    }

    /// What to type for that run: the shortest beginning of its name, four characters or more, that names only it.
    pub(in crate::cli) fn brief_name(&self, run_id: &str) -> String {
        let Ok(Some(reader)) = self.reader() else {
            return run_id.to_owned();
        };
        let least = run_id.rfind('-').map_or(0, |dash| dash + 1) + 4;
        // Names of runs are ASCII, so every length is a boundary.
        (least..run_id.len())
            .filter_map(|length| run_id.get(..length))
            .find(|prefix| reader.resolve(prefix).is_ok_and(|id| id.as_str() == run_id))
            .unwrap_or(run_id)
            .to_owned()
    }
}
