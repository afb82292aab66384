//! Inputs of many runs: a folder, a list that is read no faster than runs are begun, or the open runs of a store. Does not read contracts.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use tokio::sync::mpsc::{self, error::TryRecvError};

use super::input::{Input, RunLine, Wanted};
use super::result::Rest;
use crate::error::ServiceError;
use crate::error::input::InputFault;
use crate::error::system::SystemFault;
use crate::service::Service;
use crate::text::escape::line;
use monolith_core::message::{BOM, RunId};
use monolith_core::transcript::TranscriptKind;
use monolith_host::store::{DamagedRow, RunFilter, is_handed_in, open_given};

/// The most bytes of a line.
const MAX_LINE_BYTES: u64 = 2 << 20;
/// The most bytes in which the first line of a list is looked for, where its name is that of a contract.
const MAX_HEAD_BYTES: u64 = 64 << 10;
/// The endings of contract files.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Inputs of many runs, one after the other.
#[derive(Debug)]
pub enum Inputs {
    /// The contract files of a folder, in the order of their names' bytes.
    Folder(VecDeque<PathBuf>),
    /// Lines that come from elsewhere, such as from a thread that reads them: a reader that waits must not keep anything else from going on.
    Read {
        /// The lines.
        lines: mpsc::Receiver<Input>,
        /// The number of the line behind the last one that was handed out.
        next: u64,
    },
    /// Runs of the store, or rows that cannot be read as one.
    Recorded(VecDeque<Result<RunId, DamagedRow>>),
}

impl Inputs {
    /// The runs of a folder, or of a list; `from` is the first of them, a file of the folder or the number of a line.
    ///
    /// # Errors
    /// [`SystemFault::NoContracts`], [`SystemFault::UnreadableList`], [`InputFault::NoSuchLine`], [`InputFault::PastTheEnd`] and
    /// [`InputFault::ContractForList`].
    pub fn of(service: &Service, given: &Path, from: Option<&str>) -> Result<Self, ServiceError> {
        let path = service.cwd.join(given);
        let refuse = |fault: io::Error| SystemFault::UnreadableList {
            path: given.to_owned(),
            reason: fault.to_string(),
        };
        if path.is_dir() {
            let mut files = contracts_in(&path).map_err(refuse)?;
            if files.is_empty() {
                let path = given.to_owned();
                return Err(SystemFault::NoContracts { path }.into());
            }
            if let Some(from) = from {
                let is_first = |file: &PathBuf| file.file_name() == Some(OsStr::new(from));
                let at = files.iter().position(is_first);
                drop(files.drain(..at.ok_or_else(|| no_such_line(given, from))?));
            }
            return Ok(Self::Folder(files));
        }
        let mut file = open_given(&path).map_err(refuse)?;
        if is_named_as_contract(&path) && !begins_as_list(&mut file).map_err(refuse)? {
            let path = given.to_owned();
            return Err(InputFault::ContractForList { path }.into());
        }
        refuse_equal_names(&mut file, given, from).map_err(|fault| match fault {
            Ok(equal) => equal.into(),
            Err(fault) => ServiceError::from(refuse(fault)),
        })?;
        let folder = path.parent().unwrap_or(&service.cwd);
        Self::lines(file, folder.to_owned(), given, from)
    }

    /// Lines of a reader, whose contract files are found from `folder`; `from` is the number of the first. The lines before are read here
    /// already, and the others by a thread.
    ///
    /// # Errors
    /// [`InputFault::NoSuchLine`] and [`InputFault::PastTheEnd`], which name the list `given`.
    pub fn lines(
        input: impl io::Read + Send + 'static,
        folder: PathBuf,
        given: &Path,
        from: Option<&str>,
    ) -> Result<Self, ServiceError> {
        let mut numbered = numbered(BufReader::new(input));
        let mut next = 1;
        let mut head = None;
        if let Some(from) = from {
            let first = from.parse().ok().filter(|number| *number > 0);
            next = first.ok_or_else(|| no_such_line(given, from))?;
            let mut lines = 0;
            // Behind a fault no later line would be reached: it is reported.
            let mut pass = |(number, read): &(u64, NextLine)| {
                lines = *number;
                *number >= next || matches!(read, NextLine::Unread(_))
            };
            let found = numbered.find(&mut pass);
            head = Some(found.ok_or_else(|| InputFault::PastTheEnd {
                first: next,
                lines,
                path: given.to_owned(),
            })?);
        }
        let (sender, lines) = mpsc::channel(1);
        // Where no thread can be had, the sender goes, and there are no lines.
        let thread = std::thread::Builder::new().name("lines".to_owned());
        drop(thread.spawn(move || {
            for (number, read) in head.into_iter().chain(numbered) {
                let is_last = matches!(read, NextLine::Unread(_));
                let parsed = match read {
                    NextLine::Read(bytes) => RunLine::parse(&bytes),
                    NextLine::TooLong => Err(format!("it is longer than {MAX_LINE_BYTES} bytes")),
                    NextLine::Unread(fault) => {
                        Err(format!("it could not be read, nor what follows: {fault}"))
                    }
                };
                let listed = Input {
                    number,
                    place: format!("line {number}"),
                    wanted: Wanted::New(parsed.and_then(|line| located(line, &folder))),
                };
                if sender.blocking_send(listed).is_err() || is_last {
                    return;
                }
            }
        }));
        Ok(Self::Read { lines, next })
    }

    /// The runs of the store that have no end, the oldest first. A child run is resumed with its parent, and a step with its workflow.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn unfinished(service: &Service) -> Result<Self, ServiceError> {
        let mut runs = VecDeque::new();
        if let Some(reader) = service.reader()? {
            let goes_with_another = |run_id: &RunId| {
                let first = reader.goes_on_with(run_id);
                first.is_ok_and(|first| first != *run_id)
            };
            reader.each_row(RunFilter::Open, |row| {
                match row {
                    // `monolith work run` continues an item.
                    Ok(row) if row.kind == TranscriptKind::Work => {}
                    Ok(row) if row.is_imported() || goes_with_another(&row.run_id) => {}
                    Ok(row) => runs.push_front(Ok(row.run_id)),
                    Err(damaged) => runs.push_front(Err(damaged)),
                }
                true
            })?;
        }
        Ok(Self::Recorded(runs))
    }

    /// The next input.
    pub(super) async fn next(&mut self) -> Option<Input> {
        match self {
            Self::Folder(files) => {
                let path = files.pop_front()?;
                let name = path.file_name().unwrap_or(path.as_os_str());
                Some(Input {
                    number: 0,
                    place: name.to_string_lossy().into_owned(),
                    wanted: Wanted::New(Ok(RunLine::under(path))),
                })
            }
            Self::Read { lines, next } => {
                let listed = lines.recv().await?;
                *next = listed.number.saturating_add(1);
                Some(listed)
            }
            Self::Recorded(runs) => {
                let run = runs.pop_front()?;
                Some(Input {
                    number: 0,
                    place: match &run {
                        Ok(run_id) => format!("run {run_id}"),
                        Err(damaged) => format!("run {}", damaged.run),
                    },
                    wanted: Wanted::Recorded(run),
                })
            }
        }
    }

    /// The number of inputs that are left, where that is known.
    #[must_use]
    pub fn left(&self) -> Option<usize> {
        match self {
            Self::Folder(files) => Some(files.len()),
            Self::Read { .. } => None,
            Self::Recorded(runs) => Some(runs.len()),
        }
    }

    /// The inputs that were not handed out; `None` if there are none. A reader that is still waiting may have some.
    pub(super) fn rest(&mut self) -> Option<Rest> {
        match self {
            Self::Folder(files) => {
                let name = line(&files.front()?.file_name()?.to_string_lossy());
                Some(Rest::of_list((name.clone(), name), false))
            }
            Self::Read { lines, next } => {
                let is_closed = matches!(lines.try_recv(), Err(TryRecvError::Disconnected));
                let at = (format!("line {next}"), next.to_string());
                (!is_closed).then(|| Rest::of_list(at, false))
            }
            Self::Recorded(runs) => (!runs.is_empty()).then_some(Rest::Runs(runs.len())),
        }
    }
}

fn no_such_line(given: &Path, from: &str) -> InputFault {
    InputFault::NoSuchLine {
        from: from.to_owned(),
        path: given.to_owned(),
    }
}

/// The line with its contract file found from `folder`.
fn located(line: RunLine, folder: &Path) -> Result<RunLine, String> {
    let contract = folder.join(&line.contract);
    if is_handed_in(&contract) {
        // It can be read once, and standard input may be the list itself.
        let name = line.contract.display();
        return Err(format!(
            "the contract of a run is a file, and {name} is none"
        ));
    }
    Ok(RunLine { contract, ..line })
}

/// True if the name has a contract file's extension.
fn is_named_as_contract(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// True if the name is that of a file of pins next to a contract, `NAME.pins.json`.
fn is_named_as_pins(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.ends_with(".pins.json"))
}

/// Returns true if the first line names a contract. Each line of a list does so, but no contract does. An empty file is an
/// empty list.
fn begins_as_list(file: &mut fs::File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(MAX_HEAD_BYTES).read_to_end(&mut head)?;
    file.rewind()?;
    let head = head.strip_prefix(BOM).unwrap_or(&head);
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty());
    let key = b"\"contract\"";
    Ok(first.is_none_or(|line| {
        line.starts_with(b"{") && line.windows(key.len()).any(|bytes| bytes == key)
    }))
}

/// Refuses a list in which two lines from `from` on have the same run id, before any of them begins a run. Lines that come from elsewhere than
/// a file can be read once only.
fn refuse_equal_names(
    file: &mut fs::File,
    given: &Path,
    from: Option<&str>,
) -> Result<(), Result<InputFault, io::Error>> {
    if !file.metadata().map_err(Err)?.is_file() {
        return Ok(());
    }
    let from: u64 = from.and_then(|from| from.parse().ok()).unwrap_or(0);
    let mut lines = HashMap::new();
    for (number, read) in numbered(BufReader::new(&mut *file)) {
        let NextLine::Read(bytes) = read else {
            continue;
        };
        let run_id = RunLine::parse(&bytes).ok().and_then(|line| line.run_id);
        let Some(run_id) = run_id.filter(|_| number >= from) else {
            continue;
        };
        if let Some(first) = lines.insert(run_id.clone(), number) {
            let path = given.to_owned();
            return Err(Ok(InputFault::EqualRunIds {
                first,
                path,
                run_id,
                second: number,
            }));
        }
    }
    file.rewind().map_err(Err)
}

/// The lines that are not blank, each with its number from 1 on.
fn numbered(mut input: impl BufRead) -> impl Iterator<Item = (u64, NextLine)> {
    let lines = (1_u64..).map_while(move |number| {
        let mut read = next_line(&mut input)?;
        if let (1, NextLine::Read(bytes)) = (number, &mut read)
            && bytes.starts_with(BOM)
        {
            bytes.drain(..BOM.len());
        }
        Some((number, read))
    });
    lines
        .filter(|(_, read)| !matches!(read, NextLine::Read(bytes) if bytes.trim_ascii().is_empty()))
}

/// The next item of a list.
#[derive(Debug)]
enum NextLine {
    Read(Vec<u8>),
    TooLong,
    /// The input fails; behind that no later line would be reached either.
    Unread(io::Error),
}

/// The next line; none at the end of the input.
fn next_line(input: &mut impl BufRead) -> Option<NextLine> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes);
    match read {
        Ok(1..) if bytes.ends_with(b"\n") || input.fill_buf().is_ok_and(<[u8]>::is_empty) => {
            Some(NextLine::Read(bytes))
        }
        Ok(1..) => {
            // The rest of it is not a separate line.
            drop(input.skip_until(b'\n'));
            Some(NextLine::TooLong)
        }
        Ok(0) => None,
        Err(fault) => Some(NextLine::Unread(fault)),
    }
}

fn contracts_in(folder: &Path) -> io::Result<VecDeque<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if is_named_as_contract(&path) && !is_named_as_pins(&path) && path.is_file() {
            files.push(path);
        }
    }
    files.sort_by(|a, b| {
        a.as_os_str()
            .as_encoded_bytes()
            .cmp(b.as_os_str().as_encoded_bytes())
    });
    Ok(files.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_one_line_and_the_next_is_read() {
        let long = vec![b'x'; usize::try_from(MAX_LINE_BYTES).unwrap() * 2];
        let mut input = &[&long[..], b"\n{}\nlast"].concat()[..];
        let mut next = || next_line(&mut input);
        assert!(matches!(next(), Some(NextLine::TooLong)));
        assert!(matches!(next(), Some(NextLine::Read(line)) if line == b"{}\n"));
        assert!(matches!(next(), Some(NextLine::Read(line)) if line == b"last"));
        assert!(next().is_none());
    }

    #[tokio::test]
    async fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let text = "\u{feff}{\"contract\": \"c.yaml\"}\n";
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file.rewind().unwrap();
        assert!(begins_as_list(&mut file).unwrap());
        let (folder, given) = (PathBuf::from("/lists"), Path::new("list"));
        let mut lines = Inputs::lines(file, folder, given, None).unwrap();
        let first = lines.next().await.unwrap();
        assert!(matches!(
            first.wanted,
            Wanted::New(Ok(line)) if line.contract == Path::new("/lists/c.yaml")
        ));
    }

    #[tokio::test]
    async fn a_list_that_cannot_be_read_on_says_so_at_that_line_and_ends() {
        struct Failing;
        impl io::Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let input = b"{\"contract\": \"c.yaml\"}\n".chain(Failing);
        let (folder, given) = (PathBuf::from("/lists"), Path::new("list"));
        let mut lines = Inputs::lines(input, folder, given, None).unwrap();
        let first = lines.next().await.unwrap();
        assert!(matches!(
            first.wanted,
            Wanted::New(Ok(line)) if line.contract == Path::new("/lists/c.yaml")
        ));
        let broken = lines.next().await.unwrap();
        let why = "it could not be read, nor what follows: the disk is gone";
        assert_eq!(broken.place, "line 2");
        assert!(matches!(broken.wanted, Wanted::New(Err(rule)) if rule == why));
        assert!(lines.next().await.is_none());
    }
}
