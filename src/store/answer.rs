use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Store, StoreError, StoreReader};
use crate::message::{CallSeq, Digest, RunId};

/// The most bytes of an answer that are read.
const ANSWER_BYTES: u64 = 1024;

/// A person's answer to a call that waits for one, left for the process that drives the run: a file of its own beside the
/// database, `<database>.answers/<run>`. It counts for the call and the arguments that it names and for no others, so an answer
/// that comes too late changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// Whether the call may be made.
    pub(crate) approved: bool,
    /// BLAKE3 over the exact argument text that the person saw.
    pub(crate) arguments_hash: Digest,
    /// Which call of the run.
    pub(crate) call: CallSeq,
}

impl StoreReader {
    /// The answer that was left for a run and not taken yet; none where there is nothing that can be read as one.
    pub(crate) fn left_answer(&self, run_id: &RunId) -> Option<Answer> {
        read_answer(&path_of(&self.path, run_id))
    }

    /// Leaves an answer; one that was left before and not taken is replaced.
    ///
    /// # Errors
    /// [`StoreError`] where the file cannot be written.
    pub(crate) fn leave_answer(&self, run_id: &RunId, answer: &Answer) -> Result<(), StoreError> {
        let path = path_of(&self.path, run_id);
        let refuse = |fault: io::Error| super::lock::refused(&path, &fault);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).map_err(refuse)?;
        // Whole or not at all: whoever takes it may look at any moment. No run is called so.
        let unfinished = folder.join(format!("_{}", std::process::id()));
        let text = serde_json::to_vec(answer).map_err(|fault| refuse(fault.into()))?;
        fs::write(&unfinished, text).map_err(refuse)?;
        fs::rename(&unfinished, &path).map_err(refuse)
    }
}

impl Store {
    /// Takes what was left for a run; none where there is nothing that can be read as an answer.
    pub(crate) fn take_answer(&self, run_id: &RunId) -> Option<Answer> {
        let path = path_of(self.path(), run_id);
        let answer = read_answer(&path);
        // What cannot be read as one is nobody's answer, and must not be looked at again and again.
        fs::remove_file(&path).ok()?;
        answer
    }
}

fn read_answer(path: &Path) -> Option<Answer> {
    let mut text = Vec::new();
    let mut file = File::open(path).ok()?.take(ANSWER_BYTES);
    file.read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn path_of(database: &Path, run_id: &RunId) -> PathBuf {
    let mut folder = OsString::from(database);
    folder.push(".answers");
    PathBuf::from(folder).join(run_id.as_str())
}
