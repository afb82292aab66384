//! Answers to calls that wait for approval: how they are left, found and taken. Whether an answer still counts is for the machine.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rusqlite::OptionalExtension as _;
use serde::{Deserialize, Serialize};

use super::lock::refused;
use super::new_file::replace_own;
use super::private::{open_own, own_folder, private_file, private_folder};
use super::schema::refusal;
use super::store_file::answers_folder;
use super::{Store, StoreError, StoreReader};
use monolith_core::kernel::Approval;
use monolith_core::message::{CallSeq, Digest, RunId};

/// The most bytes of an answer that are read.
const ANSWER_BYTES: u64 = 64 << 10;

/// A person's answer to a call that waits for one, left for the process that drives the run: a file of its own beside the
/// database, `<database>.answers/<run>`. It counts for the run, the call and the arguments that it names and for no others, so an answer
/// that comes too late changes nothing, and one that stayed behind answers no later run of that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Whether the call may be made.
    pub approved: bool,
    /// Which call of the run, by the hash of the exact text that the person saw, and what the person says to it.
    pub approval: Approval,
    /// The hash of the run's first entry: another run of that name has another.
    pub first_entry: Digest,
}

impl Answer {
    /// Whether it is to that call, with those arguments.
    fn is_to(&self, call: CallSeq, arguments_hash: Digest) -> bool {
        (self.approval.call, self.approval.arguments_hash) == (call, arguments_hash)
    }

    /// Whether it is to what the other is to, whatever it says.
    pub fn is_to_the_same(&self, other: &Self) -> bool {
        let of = |answer: &Self| {
            let approval = &answer.approval;
            (approval.arguments_hash, approval.call, answer.first_entry)
        };
        of(self) == of(other)
    }

    /// Whether the signature that it has does not hold.
    pub fn is_forged(&self) -> bool {
        let checked = self
            .approval
            .check_signature(self.first_entry, self.approved);
        checked.is_err()
    }
}

impl StoreReader {
    /// The answer that was left for a run to that call; `None` if nothing there can be read as one. It stays until the run has
    /// recorded it, or any other answer to the call: a process that ends before loses nothing.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there: it stays, and answers nothing. [`StoreError`] where the run cannot be
    /// read.
    pub fn answer_to(
        &self,
        run_id: &RunId,
        (call, arguments_hash): (CallSeq, Digest),
    ) -> Result<Option<Answer>, StoreError> {
        let left = self.left_answer(run_id)?;
        let Some(left) = left.filter(|left| left.is_to(call, arguments_hash)) else {
            return Ok(None);
        };
        let is_of_run = self.first_entry(run_id)? == Some(left.first_entry);
        Ok(is_of_run.then_some(left))
    }

    /// The answer that was left for a run and not taken yet; `None` if nothing there can be read as one.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there.
    pub fn left_answer(&self, run_id: &RunId) -> Result<Option<Answer>, StoreError> {
        let path = path_of(&self.path, run_id);
        read_own(&path).map_err(|fault| refused(&path, &fault))
    }

    /// Leaves an answer in place of the one that was found there, if any, when the run had that many entries. False if
    /// another one was left or taken since that look, or the run went on; nothing is changed then.
    ///
    /// # Errors
    /// [`StoreError`] where the file cannot be written, and [`StoreError::Lock`] where others can write what is there.
    pub fn leave_answer(
        &self,
        run_id: &RunId,
        answer: &Answer,
        (found, entries): (Option<&Answer>, u64),
    ) -> Result<bool, StoreError> {
        let path = path_of(&self.path, run_id);
        let refuse = |fault: io::Error| refused(&path, &fault);
        let folder = path.parent().unwrap_or(&path);
        private_folder(folder)
            .and_then(|()| own_folder(folder))
            .map_err(refuse)?;
        // Of two people who answer at once, the second gets `false`.
        let turn = turn_of(folder).map_err(refuse)?;
        turn.lock().map_err(refuse)?;
        // An answer is removed behind the entry that has it, and not while this turn is taken.
        if read_answer(&path).map_err(refuse)?.as_ref() != found
            || self.entries_of(run_id)? != entries
        {
            return Ok(false);
        }
        let text = serde_json::to_vec(answer).map_err(|fault| refuse(fault.into()))?;
        // Whole or not at all: the process that takes it may look at any moment.
        replace_own(&path, &text).map_err(refuse)?;
        Ok(true)
    }

    /// How many entries a run has; 0 if there is no such run.
    fn entries_of(&self, run_id: &RunId) -> Result<u64, StoreError> {
        let count = self
            .conn
            .prepare_cached(
                "SELECT coalesce(max(seq) + 1, 0) FROM entries WHERE run = (SELECT id FROM runs WHERE run_id = ?1)",
            )
            .and_then(|mut select| select.query_row([run_id.as_str()], |row| row.get::<_, i64>(0)));
        let count = count.map(|count| u64::try_from(count).unwrap_or_default());
        count.map_err(|fault| refusal(&self.conn, &self.path, &fault))
    }

    /// The hash of a run's first entry, which distinguishes it from another run of its name; `None` if there is no such run or entry.
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
    /// As [`StoreReader::answer_to`]. Where nothing was left, the database is not opened.
    pub fn answer_to(
        &self,
        run_id: &RunId,
        call: (CallSeq, Digest),
    ) -> Result<Option<Answer>, StoreError> {
        if is_there(&path_of(self.path(), run_id)) {
            return self.reader()?.answer_to(run_id, call);
        }
        Ok(None)
    }

    /// Removes what was left as an answer to what this one answers, now that it is recorded. Where a person is at it this moment, it stays.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there.
    pub fn drop_answer(&self, run_id: &RunId, approval: &Approval) -> Result<(), StoreError> {
        let path = path_of(self.path(), run_id);
        let refuse = |fault: io::Error| refused(&path, &fault);
        if !is_there(&path) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&path);
        // Between this look and the removal no other answer may be put in its place. A run does not wait for that.
        let turn = own_folder(folder).and_then(|()| turn_of(folder));
        match turn.map_err(refuse)?.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(fault)) => return Err(refuse(fault)),
        }
        let left = read_answer(&path).map_err(refuse)?;
        let is_to_it = |left: &Answer| left.is_to(approval.call, approval.arguments_hash);
        if left.as_ref().is_some_and(is_to_it) {
            fs::remove_file(&path).map_err(refuse)?;
        }
        Ok(())
    }

    /// Removes whatever was left for a run that is about to ask: no one can have answered that yet.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there.
    pub(crate) fn drop_earlier_answer(&self, run_id: &RunId) -> Result<(), StoreError> {
        let path = path_of(self.path(), run_id);
        if !is_there(&path) {
            return Ok(());
        }
        let dropped =
            own_folder(path.parent().unwrap_or(&path)).and_then(|()| fs::remove_file(&path));
        dropped.map_err(|fault| refused(&path, &fault))
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// As [`read_answer`], in a folder that no one else can write.
fn read_own(path: &Path) -> io::Result<Option<Answer>> {
    if !is_there(path) {
        return Ok(None);
    }
    own_folder(path.parent().unwrap_or(path))?;
    read_answer(path)
}

/// Who has locked it changes answers: they do it one after the other. No run is called so.
fn turn_of(folder: &Path) -> io::Result<File> {
    let mut turn = private_file();
    let turn = turn.create(true).truncate(false).write(true);
    open_own(turn, &folder.join("_turn"))
}

/// The answer that is left there; `None` if there is none that can be read. The file is opened by its own name, and judged
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
    answers_folder(database).join(run_id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Durability, wait};
    use monolith_testkit::sample::SampleRun;

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
        assert!(reader.leave_answer(&run, &answer(true), (None, 0)).unwrap());
        assert!(
            !reader
                .leave_answer(&run, &answer(false), (None, 0))
                .unwrap()
        );
        assert_eq!(reader.left_answer(&run), Ok(Some(answer(true))));
        let found = Some(answer(true));
        assert!(
            reader
                .leave_answer(&run, &answer(false), (found.as_ref(), 0))
                .unwrap()
        );
        assert_eq!(reader.left_answer(&run), Ok(Some(answer(false))));
    }

    /// A store with a run that has an entry, and an answer to its call 1 that may be left.
    struct Left {
        answer: Answer,
        folder: tempfile::TempDir,
        run: RunId,
        store: Store,
    }

    const CALL: CallSeq = CallSeq(1);

    impl Left {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runs.db");
            let store = Store::open(&path, Durability::Normal).unwrap();
            let sample = SampleRun::new("r1");
            let run = sample.run_id;
            let mut handle = wait(store.create_run(&run, &sample.contract, 1)).unwrap();
            let first = sample.entries.first().unwrap().clone();
            let answer = Answer {
                approved: true,
                approval: Approval::to(CALL, Digest::of(b"{}")),
                first_entry: first.hash,
            };
            wait(store.append(&mut handle, vec![first], Vec::new())).unwrap();
            Self {
                answer,
                folder,
                run,
                store,
            }
        }

        fn leave(&self, answer: &Answer) {
            let reader = self.store.reader().unwrap();
            assert!(reader.leave_answer(&self.run, answer, (None, 1)).unwrap());
        }

        fn found(&self, call: CallSeq) -> Result<Option<Answer>, StoreError> {
            self.store.answer_to(&self.run, (call, Digest::of(b"{}")))
        }

        fn file(&self) -> PathBuf {
            path_of(&self.folder.path().join("runs.db"), &self.run)
        }
    }

    #[test]
    fn an_answer_stays_until_it_is_recorded_and_answers_that_call_of_that_run_alone() {
        let left = Left::new();
        left.leave(&left.answer);
        for _ in 0..2 {
            assert_eq!(left.found(CALL), Ok(Some(left.answer.clone())));
        }
        assert_eq!(left.found(CallSeq(2)), Ok(None));
        let later = Approval::to(CallSeq(2), Digest::of(b"{}"));
        left.store.drop_answer(&left.run, &later).unwrap();
        assert!(left.file().exists());
        left.store
            .drop_answer(&left.run, &left.answer.approval)
            .unwrap();
        assert_eq!(left.found(CALL), Ok(None));
        let other = Answer {
            first_entry: Digest::of(b"another run of that name"),
            ..left.answer.clone()
        };
        left.leave(&other);
        assert_eq!(left.found(CALL), Ok(None));
    }

    #[test]
    fn a_run_waits_for_no_one_who_is_at_an_answer_and_takes_none_from_before_its_question() {
        let left = Left::new();
        left.leave(&left.answer);
        let turn = turn_of(left.file().parent().unwrap()).unwrap();
        turn.lock().unwrap();
        assert_eq!(left.found(CALL), Ok(Some(left.answer.clone())));
        left.store
            .drop_answer(&left.run, &left.answer.approval)
            .unwrap();
        assert!(
            left.file().exists(),
            "it is dropped before the next question"
        );
        left.store.drop_earlier_answer(&left.run).unwrap();
        assert!(!left.file().exists());
        left.store.drop_earlier_answer(&left.run).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn no_answer_is_taken_from_a_folder_that_others_can_write() {
        use std::os::unix::fs::PermissionsExt as _;

        let left = Left::new();
        left.leave(&left.answer);
        let answers = left.folder.path().join("runs.db.answers");
        let mode = |mode| fs::set_permissions(&answers, fs::Permissions::from_mode(mode)).unwrap();
        let Left {
            answer, run, store, ..
        } = &left;
        for open in [0o777, 0o770, 0o702] {
            mode(open);
            assert!(left.found(CALL).is_err(), "{open:o}");
            assert!(store.drop_answer(run, &answer.approval).is_err());
            assert!(store.drop_earlier_answer(run).is_err());
            let again = store
                .reader()
                .unwrap()
                .leave_answer(run, answer, (Some(answer), 1));
            assert!(again.is_err(), "{open:o}");
        }
        mode(0o700);
        assert_eq!(left.found(CALL), Ok(Some(answer.clone())));
    }
}
