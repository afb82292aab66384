//! The tool `read_file`. Does not see outside of the workspace.

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::refusal::Refusal;
use super::workspace::{Workspace, refusal};

/// Most bytes that one call returns.
const RESULT_BYTES: usize = 16 * 1024 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;

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
    let path = request.path.as_str();
    let file = File::from_std(workspace.file(path).await?);
    let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
    let skipped = skip_lines(&mut file, path, request.offset).await?;
    if skipped < request.offset {
        return Err(Refusal {
            code: "OFFSET_BEYOND_END",
            message: format!("{path:?} has {skipped} lines, offset is {}", request.offset),
        });
    }
    let bytes = take_lines(&mut file, path, request.limit).await?;
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
async fn skip_lines(file: &mut BufReader<File>, path: &str, count: u64) -> Result<u64, Refusal> {
    let (mut skipped, mut in_line) = (0, false);
    while skipped < count {
        let chunk = file
            .fill_buf()
            .await
            .map_err(|error| refusal(path, &error))?;
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

async fn take_lines(
    file: &mut BufReader<File>,
    path: &str,
    limit: Option<u64>,
) -> Result<Vec<u8>, Refusal> {
    let mut taken = Vec::new();
    let mut left = limit;
    while left != Some(0) {
        let chunk = file
            .fill_buf()
            .await
            .map_err(|error| refusal(path, &error))?;
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
