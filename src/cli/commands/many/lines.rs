//! Where the runs of `run --contracts` come from: a folder, a list, or standard input, read no faster than runs are begun. Does not read
//! contracts.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use tokio::sync::mpsc::{self, error::TryRecvError};

use super::line::RunLine;
use crate::context::app::App;
use monolith_host::store::{is_handed_in, open_given};
use monolith_service::error::ServiceError;
use monolith_service::error::input::InputFault;
use monolith_service::error::system::SystemFault;
use monolith_service::text::escape::line;

/// The most bytes of a line.
const MAX_LINE_BYTES: u64 = 2 << 20;
/// The most bytes in which the first line of a list is looked for, where its name is that of a contract.
const MAX_HEAD_BYTES: u64 = 64 << 10;
/// The endings of contract files.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A run of a list: where it stands there, and what it is.
#[derive(Debug)]
pub(crate) struct ListedRun {
    /// As results name it: the line, or the file.
    pub(super) place: String,
    /// The rule that it breaks, where it breaks one.
    pub(super) line: Result<RunLine, String>,
    /// The number of the line, from 1 on; 0 of a file of a folder.
    number: u64,
}

impl ListedRun {
    /// Where it stands: in words, and as `--from` names it.
    pub(super) fn at(&self) -> (String, String) {
        let place = line(&self.place);
        match self.number {
            0 => (place.clone(), place),
            number => (place, number.to_string()),
        }
    }
}

/// The runs that are asked for, one after the other.
#[derive(Debug)]
pub(crate) enum Lines {
    /// The contract files of a folder, in the order of their names' bytes.
    Folder(VecDeque<PathBuf>),
    /// Lines that a thread reads: a reader that waits must not keep anything else from going on.
    Read {
        lines: mpsc::Receiver<ListedRun>,
        /// The number of the line behind the last one that was handed out.
        next: u64,
    },
}

impl Lines {
    /// The runs of a folder, of a list, or of standard input (`-`); `from` is the first of them, a file of the folder or the number of a line.
    ///
    /// # Errors
    /// [`SystemFault::NoContracts`], [`SystemFault::UnreadableList`], [`InputFault::NoSuchLine`], [`InputFault::PastTheEnd`] and
    /// [`InputFault::ContractForList`].
    pub(crate) fn of(app: &App, given: &Path, from: Option<&str>) -> Result<Self, ServiceError> {
        let no_line = || InputFault::NoSuchLine {
            from: from.unwrap_or_default().to_owned(),
            path: given.to_owned(),
        };
        let first = || match from {
            None => Ok(None),
            Some(from) => {
                let number = from.parse().ok().filter(|number| *number > 0);
                number.map(Some).ok_or_else(no_line)
            }
        };
        let past_the_end = |first, lines| InputFault::PastTheEnd {
            first,
            lines,
            path: given.to_owned(),
        };
        if given == Path::new("-") {
            let first = first()?;
            let lines = Self::read(io::stdin(), app.cwd.clone(), first);
            return lines.map_err(|lines| past_the_end(first.unwrap_or(1), lines).into());
        }
        let path = app.cwd.join(given);
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
                let at = files.iter().position(is_first).ok_or_else(no_line)?;
                drop(files.drain(..at));
            }
            return Ok(Self::Folder(files));
        }
        let first = first()?;
        let mut file = open_given(&path).map_err(refuse)?;
        if is_named_as_contract(&path) && !begins_as_list(&mut file).map_err(refuse)? {
            let path = given.to_owned();
            return Err(InputFault::ContractForList { path }.into());
        }
        let folder = path.parent().unwrap_or(&app.cwd);
        let lines = Self::read(file, folder.to_owned(), first);
        lines.map_err(|lines| past_the_end(first.unwrap_or(1), lines).into())
    }

    /// Lines from that one on, whose contract files are found from `folder`. The lines before are read here already.
    ///
    /// # Errors
    /// How many lines there are, where none of them is at `first` or behind it.
    fn read(
        input: impl io::Read + Send + 'static,
        folder: PathBuf,
        first: Option<u64>,
    ) -> Result<Self, u64> {
        let mut numbered = numbered(BufReader::new(input));
        let head = match first {
            Some(first) => {
                let mut lines = 0;
                // Behind a fault no later line would be reached: it is reported.
                let mut pass = |(number, read): &(u64, NextLine)| {
                    lines = *number;
                    *number >= first || matches!(read, NextLine::Unread(_))
                };
                let found = numbered.find(&mut pass);
                Some(found.ok_or(lines)?)
            }
            None => None,
        };
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
                let listed = ListedRun {
                    line: parsed.and_then(|line| located(line, &folder)),
                    number,
                    place: format!("line {number}"),
                };
                if sender.blocking_send(listed).is_err() || is_last {
                    return;
                }
            }
        }));
        let next = first.unwrap_or(1);
        Ok(Self::Read { lines, next })
    }

    /// The next run.
    pub(super) async fn next(&mut self) -> Option<ListedRun> {
        match self {
            Self::Folder(files) => {
                let path = files.pop_front()?;
                let name = path.file_name().unwrap_or(path.as_os_str());
                Some(ListedRun {
                    place: name.to_string_lossy().into_owned(),
                    line: Ok(RunLine::under(path)),
                    number: 0,
                })
            }
            Self::Read { lines, next } => {
                let listed = lines.recv().await?;
                *next = listed.number.saturating_add(1);
                Some(listed)
            }
        }
    }

    /// Whether there are more. A reader that is still waiting may have some.
    pub(super) fn has_more(&mut self) -> bool {
        match self {
            Self::Folder(files) => !files.is_empty(),
            Self::Read { lines, .. } => {
                !matches!(lines.try_recv(), Err(TryRecvError::Disconnected))
            }
        }
    }

    /// How many are left, where that is known.
    pub(super) fn left(&self) -> Option<usize> {
        match self {
            Self::Folder(files) => Some(files.len()),
            Self::Read { .. } => None,
        }
    }

    /// Which one comes next: in words, and as `--from` names it.
    pub(super) fn rest(&self) -> (String, String) {
        match self {
            Self::Folder(files) => {
                let name = files.front().and_then(|path| path.file_name());
                let name = name.map(OsStr::to_string_lossy).unwrap_or_default();
                (line(&name), line(&name))
            }
            Self::Read { next, .. } => (format!("line {next}"), next.to_string()),
        }
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

/// Whether the name is that of a contract file.
fn is_named_as_contract(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Whether the first line names a contract, as each line of a list does and no contract; an empty file is an empty list.
fn begins_as_list(file: &mut fs::File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(MAX_HEAD_BYTES).read_to_end(&mut head)?;
    file.rewind()?;
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty());
    let key = b"\"contract\"";
    Ok(first.is_none_or(|line| {
        line.starts_with(b"{") && line.windows(key.len()).any(|bytes| bytes == key)
    }))
}

/// The lines that are not blank, each with its number from 1 on.
fn numbered(mut input: impl BufRead) -> impl Iterator<Item = (u64, NextLine)> {
    let lines = (1_u64..).map_while(move |number| Some((number, next_line(&mut input)?)));
    lines
        .filter(|(_, read)| !matches!(read, NextLine::Read(bytes) if bytes.trim_ascii().is_empty()))
}

/// What comes next in a list.
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
            // The rest of it is no line of its own.
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
        if is_named_as_contract(&path) && path.is_file() {
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
    async fn a_list_that_cannot_be_read_on_says_so_at_that_line_and_ends() {
        struct Failing;
        impl io::Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let input = b"{\"contract\": \"c.yaml\"}\n".chain(Failing);
        let mut lines = Lines::read(input, PathBuf::from("/lists"), None).unwrap();
        let first = lines.next().await.unwrap();
        assert_eq!(first.line.unwrap().contract, Path::new("/lists/c.yaml"));
        let broken = lines.next().await.unwrap();
        let rule = "it could not be read, nor what follows: the disk is gone";
        assert_eq!(
            (broken.place.as_str(), broken.line),
            ("line 2", Err(rule.to_owned()))
        );
        assert!(lines.next().await.is_none());
    }
}
