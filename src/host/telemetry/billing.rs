//! The billing file: accounting lines of all runs, appended under a lock. Does not compute a line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::AccountingLine;
use crate::store::{judge_folder, open_own, private_file};
use monolith_core::message::RunId;

/// The most bytes of one line that are looked at; a longer one is none of ours.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// The file that keeps the accounting of all runs: one JSON document a line, only ever added to (001 §12).
///
/// Several processes may share it: each line is written whole, under a lock of the operating system. A line that a crash has
/// cut is closed by the next writer, and is no JSON.
#[derive(Debug)]
pub struct BillingFile {
    durable: bool,
    /// The start of a line: the length of the file after this process's last addition.
    end: Option<u64>,
    file: Arc<File>,
    path: PathBuf,
    /// Set while added lines may be lost with the power.
    unsynced: bool,
}

/// The reason why the accounting cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("use the accounting file {}: it cannot be {action}: {reason}", path.display())]
pub struct BillingFault {
    /// The attempted action.
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    pub reason: String,
}

/// The reason for leaving a file with other contents as it is.
const NO_LINES: &str =
    "it does not begin with a line of accounting, so it is another file than one of accounting";
/// The beginnings of a line.
const LINE_BEGINS: [&[u8]; 2] = [br#"{"type":"llm""#, br#"{"type":"tool""#];
/// Maximum number of bytes of white space before the first one.
const MOST_WHITE: u64 = 4096;

/// Returns true if a file is empty, or begins as a file of lines does: other contents are not ours to add to.
fn begins_as_lines(mut file: &File) -> io::Result<bool> {
    let mut begin = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MOST_WHITE).read_to_end(&mut begin)?;
    let begin = begin.trim_ascii_start();
    // A crash may have cut a line at any place, and the next one stands behind it then.
    for line in begin.split(|byte| *byte == b'\n') {
        if LINE_BEGINS.iter().any(|begin| line.starts_with(begin)) {
            return Ok(true);
        }
        if !LINE_BEGINS.iter().any(|begin| begin.starts_with(line)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The members of a line that identify its entry.
#[derive(Deserialize)]
struct Named {
    index: u64,
    #[serde(rename = "txnId")]
    txn_id: String,
}

impl BillingFile {
    /// Opens the file to add to it; it is made where it is not there, for its owner alone. `durable` lines survive the loss of
    /// power once [`Self::sync`] has returned, others the death of the process.
    ///
    /// # Errors
    /// [`BillingFault`] if the path is a link or no regular file, if others can write it, or if it cannot be opened.
    pub fn open(path: &Path, durable: bool) -> Result<Self, BillingFault> {
        let refuse = |reason: String| BillingFault {
            action: "opened",
            path: path.to_owned(),
            reason,
        };
        let mut options = private_file();
        let options = options.read(true).append(true).create(true);
        let file = open_own(options, path).map_err(|fault| refuse(fault.to_string()))?;
        let begins = begins_as_lines(&file).map_err(|fault| refuse(fault.to_string()))?;
        if !begins {
            return Err(refuse(NO_LINES.to_owned()));
        }
        Ok(Self {
            durable,
            end: None,
            file: Arc::new(file),
            path: path.to_owned(),
            unsynced: false,
        })
    }

    /// Judges whether lines can be added to the file of that path, as far as that is seen without making it.
    ///
    /// # Errors
    /// [`BillingFault`], as of [`Self::open`].
    pub fn refusal(path: &Path) -> Result<(), BillingFault> {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let begins = match open_own(private_file().read(true).append(true), path) {
            // It will be made.
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                let folder = folder.unwrap_or(Path::new("."));
                if folder.is_dir() {
                    judge_folder(folder).map(|()| true)
                } else {
                    Err(fault)
                }
            }
            file => file.and_then(|file| begins_as_lines(&file)),
        };
        let reason = match begins {
            Ok(true) => return Ok(()),
            Ok(false) => NO_LINES.to_owned(),
            Err(fault) => fault.to_string(),
        };
        Err(BillingFault {
            action: "opened",
            path: path.to_owned(),
            reason,
        })
    }

    /// Adds lines, all of them or none.
    ///
    /// # Errors
    /// [`BillingFault`] where the file cannot be locked or written.
    pub fn append<'l>(
        &mut self,
        lines: impl IntoIterator<Item = &'l AccountingLine>,
    ) -> Result<(), BillingFault> {
        let mut text = Vec::new();
        for line in lines {
            // Strings, numbers and words only: serialising a line cannot fail.
            text.extend(serde_json::to_vec(line).unwrap_or_default());
            text.push(b'\n');
        }
        if text.is_empty() {
            return Ok(());
        }
        // Another's write can be seen in part without it.
        let written = self.file.lock().and_then(|()| {
            let written = self.add(&mut text);
            self.file.unlock()?;
            written
        });
        written.map_err(|fault| self.fault("written", &fault))
    }

    /// Appends text to the file, which is locked.
    fn add(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        if !self.begins_a_line(end)? {
            text.insert(0, b'\n');
        }
        // Unknown until all of it is written.
        self.end = None;
        if let Err(fault) = (&*self.file).write_all(text) {
            // What was written of it is no line. If that fails too, the next writer closes it.
            drop(self.file.set_len(end));
            return Err(fault);
        }
        self.end = u64::try_from(text.len())
            .ok()
            .and_then(|added| end.checked_add(added));
        self.unsynced = true;
        Ok(())
    }

    /// Lets what was added survive the loss of power, where lines are to be durable. Called when a run ends or is left: until then
    /// the transcript has every line, and a process that resumes the run adds what is missing.
    ///
    /// # Errors
    /// [`BillingFault`] where the system cannot say that all of it is on disk.
    pub fn sync(&mut self) -> Result<(), BillingFault> {
        let Some(unsynced) = self.unsynced() else {
            return Ok(());
        };
        unsynced.sync().inspect_err(|_| self.keep_unsynced())
    }

    /// Returns the additions that may be lost with the power, for a caller who lets others append meanwhile; `None` if there
    /// are none.
    pub fn unsynced(&mut self) -> Option<Unsynced> {
        let is_unsynced = std::mem::take(&mut self.unsynced) && self.durable;
        is_unsynced.then(|| Unsynced {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
        })
    }

    /// Notes that additions may still be lost with the power.
    pub const fn keep_unsynced(&mut self) {
        self.unsynced = true;
    }

    /// Returns true if a line begins at the end of the file. Only looks it up if others have written since.
    fn begins_a_line(&mut self, end: u64) -> io::Result<bool> {
        let Some(last) = end.checked_sub(1).filter(|_| self.end != Some(end)) else {
            return Ok(true);
        };
        let mut byte = [0];
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(last))?;
        file.read_exact(&mut byte)?;
        Ok(byte == *b"\n")
    }

    /// The numbers of the entries of that run which stand in the file already. Lines that are none are passed over.
    ///
    /// # Errors
    /// [`BillingFault`] where the file cannot be read.
    pub fn entries_of(&self, run_id: &RunId) -> Result<BTreeSet<u64>, BillingFault> {
        let mut found = BTreeSet::new();
        let read = self.read_entries(0, |named| {
            if named.txn_id == run_id.as_str() {
                found.insert(named.index);
            }
        });
        read.map_err(|fault| self.fault("read", &fault))?;
        Ok(found)
    }

    /// Reads on where `lines` were read to: each line of the file is read once for all runs, also those that are added meanwhile.
    ///
    /// # Errors
    /// [`BillingFault`] where the file cannot be read.
    pub fn read_on(&self, lines: &mut RecordedLines) -> Result<(), BillingFault> {
        let RecordedLines { found, read_to } = lines;
        let read = self.read_entries(*read_to, |named| {
            if let Some(found) = found.get_mut(named.txn_id.as_str()) {
                found.insert(named.index);
            }
        });
        *read_to = read.map_err(|fault| self.fault("read", &fault))?;
        Ok(())
    }

    /// Hands on what identifies each entry that stands behind `from`, where a line begins; where the first line begins that is not whole yet.
    fn read_entries(&self, from: u64, mut take: impl FnMut(Named)) -> io::Result<u64> {
        // Of the file that was judged, whatever has its name now. It is only ever written at its end.
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(from))?;
        let mut reader = BufReader::new(file);
        let (mut line, mut begins_at, mut at) = (Vec::new(), from, from);
        loop {
            line.clear();
            let read = (&mut reader)
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(begins_at);
            }
            at = at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            if line.ends_with(b"\n") {
                begins_at = at;
            }
            if let Ok(named) = serde_json::from_slice::<Named>(&line) {
                take(named);
            }
        }
    }

    fn fault(&self, action: &'static str, fault: &io::Error) -> BillingFault {
        fault_of(&self.path, action, fault)
    }
}

/// Lines that were added and may be lost with the power.
#[derive(Debug)]
pub struct Unsynced {
    file: Arc<File>,
    path: PathBuf,
}

impl Unsynced {
    /// Lets them survive it.
    ///
    /// # Errors
    /// [`BillingFault`] where the system cannot say that all of it is on disk.
    pub fn sync(&self) -> Result<(), BillingFault> {
        let synced = self.file.sync_data();
        synced.map_err(|fault| fault_of(&self.path, "written", &fault))
    }
}

/// The lines of some runs in a file, as far as they were read.
#[derive(Debug)]
pub struct RecordedLines {
    found: BTreeMap<String, BTreeSet<u64>>,
    /// The start of the first line that was not read whole.
    read_to: u64,
}

impl RecordedLines {
    /// Returns an empty record for those runs.
    pub fn of(runs: impl IntoIterator<Item = RunId>) -> Self {
        let found = runs.into_iter().map(|run| (run.into(), BTreeSet::new()));
        Self {
            found: found.collect(),
            read_to: 0,
        }
    }

    /// The numbers of the entries of that run; from now on its lines are not looked for any more.
    pub fn take(&mut self, run_id: &RunId) -> Option<BTreeSet<u64>> {
        self.found.remove(run_id.as_str())
    }
}

fn fault_of(path: &Path, action: &'static str, fault: &io::Error) -> BillingFault {
    BillingFault {
        action,
        path: path.to_owned(),
        reason: fault.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{AccountingStatus, ToolLine};

    fn line(run: &str, index: u64) -> AccountingLine {
        AccountingLine::Tool(ToolLine {
            mcp_server: "builtin".to_owned(),
            command: "echo".to_owned(),
            status: AccountingStatus::Ok,
            latency: 1,
            index,
            turn: 1,
            attempt: 1,
            agent_id: None,
            call_path: None,
            txn_id: Some(RunId::try_from(run.to_owned()).unwrap()),
            parent_txn_id: None,
            origin_txn_id: None,
            timestamp: 0,
            characters_in: 1,
            characters_out: 1,
            source: None,
            dropped: None,
            error: Some("line\nfeed".to_owned()),
        })
    }

    fn numbers(file: &BillingFile, run: &str) -> Vec<u64> {
        let found = file
            .entries_of(&RunId::try_from(run.to_owned()).unwrap())
            .unwrap();
        found.into_iter().collect()
    }

    /// 001/12.snapshots.5
    #[test]
    fn lines_are_added_whole_and_found_again_by_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounting.jsonl");
        let mut one = BillingFile::open(&path, true).unwrap();
        let mut other = BillingFile::open(&path, false).unwrap();
        one.append([&line("a", 0), &line("a", 1)]).unwrap();
        other.append([&line("b", 0)]).unwrap();
        one.append([&line("a", 2)]).unwrap();
        one.append([]).unwrap();
        assert_eq!(numbers(&other, "a"), [0, 1, 2]);
        assert_eq!(numbers(&one, "b"), [0]);
        assert_eq!(numbers(&one, "c"), [0; 0]);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 4);
    }

    #[test]
    fn a_line_that_a_crash_has_cut_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounting.jsonl");
        let whole = serde_json::to_string(&line("a", 0)).unwrap();
        for cut in 0..=whole.len() {
            let before = format!("{whole}\n{}", &whole[..cut]);
            std::fs::write(&path, &before).unwrap();
            let mut file = BillingFile::open(&path, false).unwrap();
            file.append([&line("a", 7)]).unwrap();
            assert_eq!(numbers(&file, "a"), [0, 7], "cut at {cut}");
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with(&before), "what stood there stays");
        }
    }

    /// 001/11.direct.10
    #[test]
    fn another_file_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ai");
        for (text, is_ours) in [
            ("---\nmodels: [a/b]\n---\nHi", false),
            ("{\n  \"task\": \"t\"\n}", false),
            ("[]", false),
            ("\0", false),
            ("", true),
            ("\n", true),
            ("{", true),
            ("\n{\"type\":\"to", true),
            ("{\"type\":\"l\n{\"type\":\"tool\"}\n", true),
            ("{\"type\":\"llm\",\"model\":\"m\"}\n", true),
            ("{\"type\":\"module\"}", false),
            ("{\"mcpServers\":{}}", false),
        ] {
            std::fs::write(&path, text).unwrap();
            let said = BillingFile::open(&path, false).map(drop);
            let said = said.map_err(|fault| fault.to_string()).err();
            assert_eq!(said.is_none(), is_ours, "{text:?}: {said:?}");
            assert!(said.is_none_or(|said| said.contains("another file than one of accounting")));
            assert_eq!(BillingFile::refusal(&path).is_ok(), is_ours, "{text:?}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert!(BillingFile::refusal(&folder.path().join("none")).is_ok());
        let below = BillingFile::refusal(&folder.path().join("none/below"));
        assert!(below.unwrap_err().reason.contains("No such file"));
    }

    /// 001/11.direct.4
    #[cfg(unix)]
    #[test]
    fn what_cannot_be_opened_is_known_before_a_run() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (open, link) = (folder.path().join("open"), folder.path().join("link"));
        std::fs::write(&open, "").unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o666)).unwrap();
        std::os::unix::fs::symlink("elsewhere", &link).unwrap();
        for path in [Path::new("/dev/null"), &open, &link] {
            let opened = BillingFile::open(path, false).unwrap_err();
            let refused = BillingFile::refusal(path).unwrap_err();
            assert_eq!(refused.to_string(), opened.to_string(), "{path:?}");
        }
        assert!(!folder.path().join("elsewhere").exists());
    }

    #[test]
    fn many_writers_never_mix_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounting.jsonl");
        let names = ["a", "b", "c", "d"];
        std::thread::scope(|scope| {
            for name in names {
                let path = &path;
                scope.spawn(move || {
                    let mut file = BillingFile::open(path, false).unwrap();
                    for index in 0..50 {
                        file.append([&line(name, index)]).unwrap();
                    }
                });
            }
        });
        let file = BillingFile::open(&path, false).unwrap();
        for name in names {
            assert_eq!(numbers(&file, name), (0..50).collect::<Vec<_>>());
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 200);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners_and_a_folder_is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounting.jsonl");
        BillingFile::open(&path, false).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let fault = BillingFile::open(folder.path(), false).unwrap_err();
        assert!(fault.to_string().contains("Is a directory"), "{fault}");
        let fault = BillingFile::open(&folder.path().join("none/x"), false).unwrap_err();
        assert!(fault.to_string().contains("cannot be opened"), "{fault}");
    }
}
