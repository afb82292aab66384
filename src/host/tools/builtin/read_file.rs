//! The tool `read_file`. Does not see outside of the workspace.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Weak};

use serde::Deserialize;
use serde_json::{Value, json};

use super::workspace::{Refusal, Workspace, refusal};

/// Most bytes that one call returns.
const RESULT_BYTES: usize = 16 * 1024 * 1024;
/// The buffer of a call: as long as the file, within these bounds. Each byte of it is written before anything is read into it.
const BUFFER_BYTES: std::ops::RangeInclusive<usize> = 1024..=256 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    limit: Option<u64>,
    #[serde(default)]
    offset: u64,
    path: String,
}

pub(super) fn description() -> String {
    format!(
        "Returns the text of a file of the workspace, exactly as it stands. The file must be UTF-8. offset and limit \
         count lines; without them the whole file is returned. One call returns at most {RESULT_BYTES} bytes."
    )
}

pub(super) fn properties() -> Value {
    json!({
        "path": {"type": "string", "description": "Path of the file, relative to the workspace."},
        "offset": {"type": "integer", "minimum": 0, "description": "Lines to skip before the first one returned. Default 0."},
        "limit": {"type": "integer", "minimum": 1, "description": "Lines to return. Default: to the end of the file."},
    })
}

/// Reads the selected lines and nothing more of the file than is needed to find them.
pub(super) async fn perform(workspace: &Workspace, request: ReadFile) -> Result<String, Refusal> {
    // A thread cannot be cancelled as this call can: it looks whether the call is still there.
    let call = Arc::new(());
    let awaited = Arc::downgrade(&call);
    let path = request.path.clone();
    let read = move |file: File| {
        let length = file.metadata().map_or(u64::MAX, |file| file.len());
        // The byte more shows that nothing follows.
        let length = usize::try_from(length).map_or(usize::MAX, |length| length.saturating_add(1));
        let bytes = length.clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end());
        let source = Awaited { awaited, file };
        lines_of(&mut BufReader::with_capacity(bytes, source), &request)
    };
    workspace.file(&path, read).await
}

/// The whole text of a file.
pub(super) async fn whole_text(workspace: &Workspace, path: &str) -> Result<String, Refusal> {
    let request = ReadFile {
        limit: None,
        offset: 0,
        path: path.to_owned(),
    };
    perform(workspace, request).await
}

/// A file that is read as long as the call waits for it.
struct Awaited {
    awaited: Weak<()>,
    file: File,
}

impl Read for Awaited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.awaited.strong_count() == 0 {
                return Err(io::Error::other("the call was given up"));
            }
            match self.file.read(buffer) {
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

fn lines_of(file: &mut impl BufRead, request: &ReadFile) -> Result<String, Refusal> {
    let path = request.path.as_str();
    let skipped = skip_lines(file, path, request.offset)?;
    if skipped < request.offset {
        return Err(Refusal {
            code: "OFFSET_BEYOND_END",
            message: format!("{path:?} has {skipped} lines, offset is {}", request.offset),
        });
    }
    let bytes = take_lines(file, path, request.limit)?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let lines = error.as_bytes().iter().take(good).filter(|b| **b == b'\n');
        Refusal {
            code: "NOT_UTF8",
            message: format!(
                "{path:?} is not UTF-8 text: line {} holds an invalid byte",
                request
                    .offset
                    .saturating_add(lines.count() as u64)
                    .saturating_add(1)
            ),
        }
    })
}

/// Skips `count` lines and returns how many there were to skip; a last line without an end counts.
fn skip_lines(file: &mut impl BufRead, path: &str, count: u64) -> Result<u64, Refusal> {
    let (mut skipped, mut in_line) = (0, false);
    while skipped < count {
        let chunk = file.fill_buf().map_err(|error| refusal(path, &error))?;
        if chunk.is_empty() {
            return Ok(skipped + u64::from(in_line));
        }
        let end = chunk.iter().position(|b| *b == b'\n');
        let used = end.map_or(chunk.len(), |at| at + 1);
        in_line = end.is_none();
        skipped += u64::from(end.is_some());
        file.consume(used);
    }
    Ok(skipped)
}

fn take_lines(file: &mut impl BufRead, path: &str, limit: Option<u64>) -> Result<Vec<u8>, Refusal> {
    let mut taken = Vec::new();
    let mut left = limit;
    while left != Some(0) {
        let chunk = file.fill_buf().map_err(|error| refusal(path, &error))?;
        if chunk.is_empty() {
            break;
        }
        let part = match &mut left {
            None => chunk,
            Some(left) => match chunk.iter().position(|b| *b == b'\n') {
                Some(at) => {
                    *left -= 1;
                    chunk.get(..=at).unwrap_or(chunk)
                }
                None => chunk,
            },
        };
        if taken.len() + part.len() > RESULT_BYTES {
            return Err(Refusal {
                code: "TOO_LARGE",
                message: format!(
                    "the selected part of {path:?} has more than {RESULT_BYTES} bytes; select fewer lines with offset and limit"
                ),
            });
        }
        taken.extend_from_slice(part);
        let used = part.len();
        file.consume(used);
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_no_further_once_its_call_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("endless");
        std::fs::write(&path, "line\n".repeat(1 << 18)).unwrap();
        let call = Arc::new(());
        let awaited = Arc::downgrade(&call);
        let file = File::open(&path).unwrap();
        let mut file = BufReader::with_capacity(1 << 18, Awaited { awaited, file });
        assert_eq!(skip_lines(&mut file, "endless", 1).unwrap(), 1);
        drop(call);
        let given_up = skip_lines(&mut file, "endless", u64::MAX).unwrap_err();
        assert!(
            given_up.message.contains("given up"),
            "{}",
            given_up.message
        );
    }
}
