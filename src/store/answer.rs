//! Answers to calls that wait for approval: how they are left, found and taken. Whether an answer still counts is for the machine.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rusqlite::OptionalExtension as _;
use serde::{Deserialize, Serialize};

use super::lock::refused;
use super::new_file::replace_own;
use super::private::{open_own, own_folder, private_file, private_folder};
use super::schema::refusal;
use super::{Store, StoreError, StoreReader};
use crate::kernel::Approval;
use crate::message::{CallSeq, Digest, RunId};

/// The most bytes of an answer that are read.
const ANSWER_BYTES: u64 = 64 << 10;

/// A person's answer to a call that waits for one, left for the process that drives the run: a file of its own beside the
/// database, `<database>.answers/<run>`. It counts for the run, the call and the arguments that it names and for no others, so an answer
/// that comes too late changes nothing, and one that stayed behind answers no later run of that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// Whether the call may be made.
    pub(crate) approved: bool,
    /// Which call of the run, by the hash of the exact text that the person saw, and what the person says to it.
    pub(crate) approval: Approval,
    /// The hash of the run's first entry: another run of that name has another.
    pub(crate) first_entry: Digest,
}

impl Answer {
    /// Whether it allows that call; none where it is to another call, or to other arguments.
    pub(crate) fn to(&self, call: CallSeq, arguments_hash: Digest) -> Option<bool> {
        let to = (self.approval.call, self.approval.arguments_hash);
        (to == (call, arguments_hash)).then_some(self.approved)
    }

    /// Whether it is to what the other is to, whatever it says.
    pub(crate) fn is_to_the_same(&self, other: &Self) -> bool {
        let of = |answer: &Self| {
            let approval = &answer.approval;
            (approval.arguments_hash, approval.call, answer.first_entry)
        };
        of(self) == of(other)
    }

    /// Whether the signature that it has does not hold.
    pub(crate) fn is_forged(&self) -> bool {
        let checked = self
            .approval
            .check_signature(self.first_entry, self.approved);
        checked.is_err()
    }
}

impl StoreReader {
    /// Whether the answer that was left for a run, and not taken yet, allows that call; none where there is no answer to it.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there, and [`StoreError`] where the run cannot be read.
    pub(crate) fn answer_to(
        &self,
        run_id: &RunId,
        (call, arguments_hash): (CallSeq, Digest),
    ) -> Result<Option<bool>, StoreError> {
        let Some(left) = self.left_answer(run_id)? else {
            return Ok(None);
        };
        let same_run = self.first_entry(run_id)? == Some(left.first_entry);
        Ok(left.to(call, arguments_hash).filter(|_| same_run))
    }

    /// The answer that was left for a run and not taken yet; none where there is nothing that can be read as one.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there.
    pub(crate) fn left_answer(&self, run_id: &RunId) -> Result<Option<Answer>, StoreError> {
        let path = path_of(&self.path, run_id);
        read_answer(&path).map_err(|fault| refused(&path, &fault))
    }

    /// Leaves an answer in the place of the one that was found there, of none where none was. False where another one was left
    /// or taken since that look; nothing is changed then.
    ///
    /// # Errors
    /// [`StoreError`] where the file cannot be written, and [`StoreError::Lock`] where others can write what is there.
    pub(crate) fn leave_answer(
        &self,
        run_id: &RunId,
        answer: &Answer,
        found: Option<&Answer>,
    ) -> Result<bool, StoreError> {
        let path = path_of(&self.path, run_id);
        let refuse = |fault: io::Error| refused(&path, &fault);
        let folder = path.parent().unwrap_or(&path);
        private_folder(folder)
            .and_then(|()| own_folder(folder))
            .map_err(refuse)?;
        // Of two people who answer at once the second is told.
        let turn = turn_of(folder).map_err(refuse)?;
        turn.lock().map_err(refuse)?;
        if read_answer(&path).map_err(refuse)?.as_ref() != found {
            return Ok(false);
        }
        let text = serde_json::to_vec(answer).map_err(|fault| refuse(fault.into()))?;
        // Whole or not at all: the process that takes it may look at any moment.
        replace_own(&path, &text).map_err(refuse)?;
        Ok(true)
    }

    /// The hash of a run's first entry, which tells it from another run of its name; none where there is no such run, or it has none.
    fn first_entry(&self, run_id: &RunId) -> Result<Option<Digest>, StoreError> {
        let found = self
            .conn
            .prepare_cached(
                "SELECT hash FROM entries WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = ?1)",
            )
            .and_then(|mut select| {
                select
                    .query_row([run_id.as_str()], |row| row.get(0))
                    .optional()
            });
        let found = found.map_err(|fault| refusal(&self.conn, &self.path, &fault))?;
        Ok(found.map(Digest::from_bytes))
    }
}

impl Store {
    /// What was left for a run as an answer to that call; none where there is nothing that can be read as one. It stays until the run has
    /// recorded it, or any other answer to the call: a process that ends before loses nothing.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there: it stays, and answers nothing. [`StoreError`] where the run cannot be
    /// read.
    pub(crate) fn answer_to(
        &self,
        run_id: &RunId,
        (call, arguments_hash): (CallSeq, Digest),
    ) -> Result<Option<Answer>, StoreError> {
        let path = path_of(self.path(), run_id);
        let refuse = |fault: io::Error| refused(&path, &fault);
        let Some(_turn) = turn_at(&path).map_err(refuse)? else {
            return Ok(None);
        };
        let first_entry = self.reader()?.first_entry(run_id)?;
        let answer = read_answer(&path).map_err(refuse)?;
        let Some(answer) = answer.filter(|answer| Some(answer.first_entry) == first_entry) else {
            // What is no answer to this run must not be looked at again and again.
            fs::remove_file(&path).map_err(refuse)?;
            return Ok(None);
        };
        let is_to_it = answer.to(call, arguments_hash).is_some();
        Ok(is_to_it.then_some(answer))
    }

    /// Removes what was left as an answer to what this one answers.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn drop_answer(
        &self,
        run_id: &RunId,
        approval: &Approval,
    ) -> Result<(), StoreError> {
        let path = path_of(self.path(), run_id);
        let refuse = |fault: io::Error| refused(&path, &fault);
        let Some(_turn) = turn_at(&path).map_err(refuse)? else {
            return Ok(());
        };
        let left = read_answer(&path).map_err(refuse)?;
        let is_to_it = |left: &Answer| left.to(approval.call, approval.arguments_hash).is_some();
        if left.as_ref().is_some_and(is_to_it) {
            fs::remove_file(&path).map_err(refuse)?;
        }
        Ok(())
    }
}

/// The turn of who looks at that answer; none where there is none. An answer that is being put in another's place is not lost between the look
/// and the removal. A run does not wait for who is at it: it looks again soon.
fn turn_at(path: &Path) -> io::Result<Option<File>> {
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let folder = path.parent().unwrap_or(path);
    own_folder(folder)?;
    let turn = turn_of(folder)?;
    match turn.try_lock() {
        Ok(()) => Ok(Some(turn)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(fault)) => Err(fault),
    }
}

/// Who has locked it changes answers: they do it one after the other. No run is called so.
fn turn_of(folder: &Path) -> io::Result<File> {
    let mut turn = private_file();
    let turn = turn.create(true).truncate(false).write(true);
    open_own(turn, &folder.join("_turn"))
}

/// What is left there; none where it is not there, or cannot be read as an answer. The file is opened by its own name, and judged
/// as it was opened.
fn read_answer(path: &Path) -> io::Result<Option<Answer>> {
    let file = match open_own(OpenOptions::new().read(true), path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(fault),
    };
    let mut text = Vec::new();
    file.take(ANSWER_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}

pub(super) fn path_of(database: &Path, run_id: &RunId) -> PathBuf {
    let mut folder = OsString::from(database);
    folder.push(".answers");
    PathBuf::from(folder).join(run_id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Durability;

    #[test]
    fn an_answer_that_was_left_since_the_look_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        drop(Store::open(&path, Durability::Normal).unwrap());
        let reader = StoreReader::open(&path).unwrap();
        let run = RunId::try_from("r1".to_owned()).unwrap();
        let answer = |approved| Answer {
            approved,
            approval: Approval::to(CallSeq(1), Digest::of(b"{}")),
            first_entry: Digest::of(b"first"),
        };
        assert!(reader.leave_answer(&run, &answer(true), None).unwrap());
        assert!(!reader.leave_answer(&run, &answer(false), None).unwrap());
        assert_eq!(reader.left_answer(&run), Ok(Some(answer(true))));
        let found = Some(answer(true));
        assert!(
            reader
                .leave_answer(&run, &answer(false), found.as_ref())
                .unwrap()
        );
        assert_eq!(reader.left_answer(&run), Ok(Some(answer(false))));
    }

    #[test]
    fn a_run_does_not_wait_for_who_is_at_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = Store::open(&path, Durability::Normal).unwrap();
        let run = RunId::try_from("r1".to_owned()).unwrap();
        let answer = Answer {
            approved: true,
            approval: Approval::to(CallSeq(1), Digest::of(b"{}")),
            first_entry: Digest::of(b"first"),
        };
        let reader = store.reader().unwrap();
        assert!(reader.leave_answer(&run, &answer, None).unwrap());
        let place = path_of(&path, &run);
        let turn = turn_of(place.parent().unwrap()).unwrap();
        turn.lock().unwrap();
        let call = (CallSeq(1), Digest::of(b"{}"));
        assert_eq!(store.answer_to(&run, call), Ok(None));
        assert!(place.exists(), "it is looked at again");
        turn.unlock().unwrap();
        // There is no such run.
        assert_eq!(store.answer_to(&run, call), Ok(None));
        assert!(!place.exists());
    }

    #[cfg(unix)]
    #[test]
    fn no_answer_is_taken_from_a_folder_that_others_can_write() {
        use std::os::unix::fs::PermissionsExt as _;

        use crate::store::wait;
        use crate::transcript::sample::SampleRun;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = Store::open(&path, Durability::Normal).unwrap();
        let reader = StoreReader::open(&path).unwrap();
        let sample = SampleRun::new("r1");
        let run = sample.run_id;
        let mut handle = wait(store.create_run(&run, &sample.contract, 1)).unwrap();
        let first = sample.entries.first().unwrap().clone();
        let first_entry = first.hash;
        wait(store.append(&mut handle, vec![first], Vec::new())).unwrap();
        let answer = Answer {
            approved: true,
            approval: Approval::to(CallSeq(1), Digest::of(b"{}")),
            first_entry,
        };
        assert!(reader.leave_answer(&run, &answer, None).unwrap());
        let answers = folder.path().join("runs.db.answers");
        let call = (CallSeq(1), Digest::of(b"{}"));
        let mode = |mode| fs::set_permissions(&answers, fs::Permissions::from_mode(mode)).unwrap();
        for open in [0o777, 0o770, 0o702] {
            mode(open);
            assert!(store.answer_to(&run, call).is_err(), "{open:o}");
            assert!(store.drop_answer(&run, &answer.approval).is_err());
            let again = reader.leave_answer(&run, &answer, Some(&answer));
            assert!(again.is_err(), "{open:o}");
        }
        mode(0o700);
        // It stays until it is recorded, and answers no other call.
        for _ in 0..2 {
            assert_eq!(store.answer_to(&run, call), Ok(Some(answer.clone())));
        }
        let later = Approval::to(CallSeq(2), Digest::of(b"{}"));
        assert_eq!(
            store.answer_to(&run, (later.call, later.arguments_hash)),
            Ok(None)
        );
        store.drop_answer(&run, &later).unwrap();
        assert_eq!(reader.left_answer(&run), Ok(Some(answer.clone())));
        store.drop_answer(&run, &answer.approval).unwrap();
        assert_eq!(reader.left_answer(&run), Ok(None));
        let other = Answer {
            first_entry: Digest::of(b"another run of that name"),
            ..answer.clone()
        };
        assert!(reader.leave_answer(&run, &other, None).unwrap());
        assert_eq!(store.answer_to(&run, call), Ok(None));
        assert_eq!(reader.left_answer(&run), Ok(None));
    }
}
