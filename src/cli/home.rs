use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use super::error::CliError;
use super::recorded::Source;
use super::screen::Screen;
use crate::driver::Environment;
use crate::store::{Durability, Store, StoreError, StoreReader};

/// What a command stands in: the folder, the environment, the streams, and where runs are kept.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) cwd: PathBuf,
    pub(super) environment: Environment,
    pub(super) screen: Screen,
    /// The store that the caller names.
    pub(super) store: Option<PathBuf>,
}

impl Home {
    /// The file that keeps runs: the caller's, else `runs.db` in `MONOLITH_HOME`, else in the platform's state folder.
    pub(super) fn store_path(&self) -> Result<PathBuf, CliError> {
        if let Some(path) = &self.store {
            return Ok(self.cwd.join(path));
        }
        if let Some(folder) = self.environment.get("MONOLITH_HOME") {
            return Ok(self.cwd.join(folder).join("runs.db"));
        }
        let folders = ProjectDirs::from("", "", "monolith").ok_or(CliError::NoStateFolder)?;
        let state = folders
            .state_dir()
            .unwrap_or_else(|| folders.data_local_dir());
        Ok(state.join("runs.db"))
    }

    /// Opens the store for writing; makes the state folder, but not a folder that the caller names.
    pub(super) fn open_store(&self, durability: Durability) -> Result<Store, CliError> {
        let path = self.store_path()?;
        if let (None, Some(folder)) = (&self.store, path.parent()) {
            std::fs::create_dir_all(folder).map_err(|fault| CliError::StateFolder {
                path: folder.to_owned(),
                reason: fault.to_string(),
            })?;
        }
        Ok(Store::open(&path, durability)?)
    }

    /// Opens the store for reading; none where nothing was ever kept.
    pub(super) fn reader(&self) -> Result<Option<StoreReader>, CliError> {
        let path = self.store_path()?;
        if !path.exists() {
            return match self.store {
                Some(_) => Err(CliError::NoSuchStore { path }),
                None => Ok(None),
            };
        }
        Ok(Some(StoreReader::open(&path)?))
    }

    /// What `RUN|FILE` names. A text with a folder or the ending `.jsonl` is a file; else a run comes first.
    pub(super) fn source(&self, asked: &str) -> Result<Source, CliError> {
        let path = self.cwd.join(asked);
        if asked.contains(['/', '\\']) || has_ending(asked) {
            return Ok(Source::File(path));
        }
        match self.run(asked) {
            Err(CliError::Store(StoreError::NoSuchRun { .. })) if path.is_file() => {
                Ok(Source::File(path))
            }
            found => found,
        }
    }

    /// The run of that name, or of that unique prefix.
    pub(super) fn run(&self, asked: &str) -> Result<Source, CliError> {
        let none = || StoreError::NoSuchRun {
            asked: asked.chars().take(80).collect(),
        };
        let reader = self.reader()?.ok_or_else(none)?;
        Ok(Source::Run(reader.resolve(asked)?, reader))
    }

    /// A command to type next; it names the store where this one did.
    pub(super) fn hint(&self, command: &str) -> String {
        match &self.store {
            Some(path) => format!("monolith {command} --store {}", path.display()),
            None => format!("monolith {command}"),
        }
    }

    /// What to type for that run: the shortest beginning of its name, four characters or more, that names only it.
    pub(super) fn brief_name(&self, run_id: &str) -> String {
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

fn has_ending(asked: &str) -> bool {
    Path::new(asked)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl"))
}
