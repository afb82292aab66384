//! Answers as files beside the database, `<database>.answers/<run>`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::lock::refused;
use super::reader::SqliteReader;
use super::schema::refusal;
use super::store_file::answers_folder;
use crate::store::StoreError;
use crate::store::answer::Answer;
use crate::store::new_file::replace_own;
use crate::store::private::{open_own, own_folder, private_file, private_folder};
use monolith_core::kernel::Approval;
use monolith_core::message::RunId;

/// The most bytes of an answer that are read.
const ANSWER_BYTES: u64 = 64 << 10;

impl SqliteReader {
    /// Leaves an answer in place of the one that was found there, if any, when the run had that many entries. False if
    /// another one was left or taken since that look, or the run went on; nothing is changed then.
    ///
    /// # Errors
    /// [`StoreError`] where the file cannot be written, and [`StoreError::Lock`] where others can write what is there.
    pub(super) fn leave_answer(
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

    /// Returns the number of entries of a run; 0 if there is no such run.
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
}

/// The answer that was left for a run.
///
/// # Errors
/// [`StoreError::Lock`] where others can write what is there.
pub(super) fn left(database: &Path, run_id: &RunId) -> Result<Option<Answer>, StoreError> {
    let path = path_of(database, run_id);
    read_own(&path).map_err(|fault| refused(&path, &fault))
}

/// Removes what was left as an answer to what this one answers, now that it is recorded. Where a person is at it this moment, it stays.
///
/// # Errors
/// [`StoreError::Lock`] where others can write what is there.
pub(super) fn drop_answer(
    database: &Path,
    run_id: &RunId,
    approval: &Approval,
) -> Result<(), StoreError> {
    let path = path_of(database, run_id);
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

/// Removes whatever was left for a run.
///
/// # Errors
/// [`StoreError::Lock`] where others can write what is there.
pub(super) fn drop_any(database: &Path, run_id: &RunId) -> Result<(), StoreError> {
    let path = path_of(database, run_id);
    if !is_there(&path) {
        return Ok(());
    }
    let dropped = own_folder(path.parent().unwrap_or(&path)).and_then(|()| fs::remove_file(&path));
    dropped.map_err(|fault| refused(&path, &fault))
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
    use crate::store::{Durability, Store, StoreReader, wait};
    use monolith_core::message::{CallSeq, Digest};
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
