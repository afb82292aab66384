//! The store of runs, and the lookup of a run by the name that a person uses.

use std::path::{Path, PathBuf};

use crate::error::ServiceError;
use crate::error::state::StateFault;
use crate::error::transcript::TranscriptFault;
use crate::origin;
use crate::service::{DEMO_PREFIX, Service};
use crate::source::{Source, is_named_as_transcript};
use crate::text::command::typed_word;
use monolith_core::message::RunId;
use monolith_core::transcript::TranscriptKind;
use monolith_host::store::{
    Durability, Store, StoreError, StoreReader, judge_new_folder, judge_to_write, network_system,
    places_of,
};
use monolith_host::tools::Withheld;

/// Random hexadecimal digits of a demo run's name.
const DEMO_DIGITS: usize = 8;
/// Random hexadecimal digits of the name of a run without a given name.
const RANDOM_DIGITS: usize = 16;

impl Service {
    /// The file that keeps runs: the caller's, else `runs.db` in `MONOLITH_HOME`, else in the platform's state folder.
    pub fn store_path(&self) -> Result<PathBuf, ServiceError> {
        if let Some(path) = &self.store {
            return Ok(self.cwd.join(path));
        }
        Ok(self.state_folder()?.join("runs.db"))
    }

    /// Returns the files that no built-in tool reads: the state folder and the files of the store, wherever they are.
    pub fn withheld(&self) -> Result<Withheld, ServiceError> {
        let mut paths = vec![self.state_folder()?, self.keys()?.path().to_owned()];
        let path = self.store_path()?;
        let store = places_of(&path);
        paths.extend(store.files);
        let open = vec![self.demo_folder()?, self.live_folder()?];
        let withheld = Withheld::new(paths, open).with_folders(store.folders);
        Ok(withheld.with_store(store.file, &path))
    }

    /// The file that keeps runs, ready to be made: the state folder is there, but not a folder that the caller names.
    pub fn ready_store(&self) -> Result<PathBuf, ServiceError> {
        if self.store.is_none() {
            self.ready_state()?;
        }
        self.store_path()
    }

    /// Opens the store for writing.
    pub fn open_store(&self, durability: Durability) -> Result<Store, ServiceError> {
        let store = Store::open(&self.ready_store()?, durability)?;
        if self.unsigned {
            return Ok(store);
        }
        Ok(store.signed_by(self.signer()?))
    }

    /// Returns the errors that prevent recording a run, as far as they show without creating anything.
    pub fn unusable_store(&self) -> Vec<ServiceError> {
        let state = self.own_state().and_then(|folder| {
            judge_new_folder(&folder).map_err(|fault| {
                let reason = fault.to_string();
                StateFault::StateFolder {
                    is_open: false,
                    path: folder.clone(),
                    reason,
                }
            })?;
            Ok(folder)
        });
        let is_there = self.store.is_some() || state.as_ref().is_ok_and(|folder| folder.is_dir());
        let store = is_there.then(|| {
            self.store_path()
                .and_then(|path| Ok(judge_to_write(&path)?))
        });
        let store = store.and_then(Result::err);
        state.err().into_iter().chain(store).collect()
    }

    /// The warning about a store that another machine serves; `None` for a local one.
    pub(crate) fn network_note(&self) -> Option<String> {
        let path = self.store_path().ok()?;
        network_system(&path).map(|found| network_note(&path, found))
    }

    /// Opens the store for reading; `None` if nothing was ever kept.
    pub fn reader(&self) -> Result<Option<StoreReader>, ServiceError> {
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
        if self.store.is_none() {
            self.own_state()?;
        }
        match StoreReader::open(&path) {
            // A first write that was cut off leaves an empty file. The next run takes it, so it is a store without runs.
            Err(StoreError::Empty { .. }) => Ok(None),
            opened => Ok(Some(opened?)),
        }
    }

    /// Returns the source that `RUN|FILE` names. A text with a folder or the ending `.jsonl` is a file; else a run comes first.
    pub fn source(&self, asked: &str) -> Result<Source, ServiceError> {
        let path = self.cwd.join(asked);
        if asked.contains(['/', '\\']) || is_named_as_transcript(asked) {
            return Ok(Source::File(path));
        }
        match self.run(asked) {
            Err(ServiceError::Store(StoreError::NoSuchRun { .. })) if path.is_file() => {
                Ok(Source::File(path))
            }
            found => found,
        }
    }

    /// Returns the full name: a command that looks twice must not find another run the second time.
    pub fn settled(&self, asked: &str) -> Result<String, ServiceError> {
        Ok(match self.source(asked)? {
            Source::File(_) => asked.to_owned(),
            Source::Run(run_id, _) => run_id.to_string(),
        })
    }

    /// The run of that name, or of that unique prefix.
    pub fn run(&self, asked: &str) -> Result<Source, ServiceError> {
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

    /// The first run of the line that this one was forked along, itself where it was not forked; `None` if a run of the line
    /// is not in the store.
    pub fn first_of(&self, run_id: &RunId) -> Result<Option<RunId>, ServiceError> {
        let Some(reader) = self.reader()? else {
            return Ok(None);
        };
        if reader.resolve(run_id.as_str()).is_err() {
            return Ok(None);
        }
        origin::first_of(&reader, run_id)
    }

    /// Returns the run to resume that one with: the first of its tree, as long as that is open.
    fn goes_on_with(&self, run_id: &RunId) -> Result<RunId, ServiceError> {
        match self.reader()? {
            Some(reader) => Ok(reader.goes_on_with(run_id)?),
            None => Ok(run_id.clone()),
        }
    }

    /// Returns the words of the command that resumes a run: `resume` with the first run of its tree, or `work run` with the file of
    /// the work item that begins its runs.
    #[must_use]
    pub fn resume_words(&self, run_id: &RunId) -> String {
        let first = self.goes_on_with(run_id).unwrap_or_else(|_| run_id.clone());
        match self.items_of(&first) {
            Some(file) => format!("work run {file}"),
            None => format!("resume {}", self.brief_name(first.as_str())),
        }
    }

    /// Returns the file of the work item that a run is of, as a person types it; `None` for any other run.
    pub(crate) fn items_above(&self, run_id: &RunId) -> Option<String> {
        let lineage = self.reader().ok()??.lineage(run_id).ok()??;
        let is_below = lineage.is_step() && lineage.names(run_id);
        is_below
            .then(|| self.items_of(&lineage.parent.run_id))
            .flatten()
    }

    /// Returns the file of a work item as a person types it, `FILE` if it is not recorded; `None` for anything but a work item.
    fn items_of(&self, run_id: &RunId) -> Option<String> {
        let reader = self.reader().ok()??;
        let kind = reader.kind_of(run_id).ok()??;
        let begun = reader.invocation(run_id).ok().flatten();
        let file = begun.map(|begun| {
            let file = begun.contract_file.strip_prefix(&self.cwd);
            let file = file.unwrap_or(&begun.contract_file);
            typed_word(&file.display().to_string())
        });
        (kind == TranscriptKind::Work).then(|| file.unwrap_or_else(|| "FILE".to_owned()))
    }

    /// Returns the shortest word to type for that run. A name that a person chose is never cut. One that monolith made (a
    /// demo's, too) is cut to the shortest prefix, with four of its random digits or more, that names only this run.
    pub fn brief_name(&self, run_id: &str) -> String {
        let Some(first_digit) = first_random_digit(run_id) else {
            return run_id.to_owned();
        };
        let Ok(Some(reader)) = self.reader() else {
            return run_id.to_owned();
        };
        let least = first_digit + 4;
        // Names of runs are ASCII, so every length is a boundary.
        (least..run_id.len())
            .filter_map(|length| run_id.get(..length))
            .find(|prefix| reader.resolve(prefix).is_ok_and(|id| id.as_str() == run_id))
            .unwrap_or(run_id)
            .to_owned()
    }
}

fn network_note(store: &Path, system: &str) -> String {
    format!(
        "the store {} is on a network file system ({system}), where its locks do not hold and two machines can damage it; keep it on a local disk with --store or MONOLITH_HOME",
        store.display()
    )
}

/// Returns the position of the random digits in a name that monolith made; `None` if a person chose it. A chosen one that looks
/// like a made one is cut like it.
fn first_random_digit(run_id: &str) -> Option<usize> {
    let (begins_at, digits) = match run_id.strip_prefix(DEMO_PREFIX) {
        Some(random) => (DEMO_PREFIX.len(), random),
        None => (0, run_id),
    };
    let expected = if begins_at == 0 {
        RANDOM_DIGITS
    } else {
        DEMO_DIGITS
    };
    let is_random = digits.len() == expected
        && digits
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_random.then_some(begins_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_monolith_made_has_random_digits() {
        let check = |name: &str, expect| assert_eq!(first_random_digit(name), expect, "{name}");
        check("41a36005a8da852a", Some(0));
        check("demo-f28c1d02", Some(5));
        check("nightly-build", None);
        check("deadbeef", None);
        check("demo-monday00", None);
        check("build-41a36005a8da852a", None);
    }
}
