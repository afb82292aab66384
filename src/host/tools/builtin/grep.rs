//! The tool `grep`. Does not see outside of the workspace.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::beneath::OpenError;
use super::glob::{PathPattern, here, too_many};
use super::tree::{Selection, Skipped, Tree, named};
use super::workspace::{Refusal, Workspace};

/// Most matching lines that one call returns.
const LINES: usize = 500;
/// Most bytes of a line that are returned, and how many of them come before the match of a longer line.
const LINE_BYTES: usize = 500;
const LEAD_BYTES: usize = 100;
/// The longest line that is searched, about.
const SEARCHED_BYTES: usize = 64 * 1024 * 1024;
/// Most binary files that are named.
const BINARY_NAMES: usize = 10;
/// Most lines around a matching one.
const CONTEXT: u64 = 10;
/// Bounds of a compiled expression.
const EXPRESSION_BYTES: usize = 4 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    #[serde(default)]
    context: u64,
    #[serde(default)]
    everything: bool,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default = "here")]
    path: String,
    pattern: String,
}

pub(super) fn description() -> String {
    format!(
        "Searches the files of the workspace for a regular expression (the syntax of ripgrep), line by line. Each matching line is returned as \
         path:number:text, lines around it as path-number-text. Links, hidden files and what .gitignore names are left out; so are binary files, unless \
         path names one. At most {LINES} matching lines, of a long one at most {LINE_BYTES} bytes around the match; last lines in brackets say when there \
         are more, and what could not be searched."
    )
}

pub(super) fn properties() -> Value {
    json!({
        "pattern": {"type": "string", "description": "The regular expression."},
        "path": {"type": "string", "description": "The folder or file to search, relative to the workspace. Default: the workspace."},
        "glob": {"type": "string", "description": "Only files whose path matches, for example \"*.rs\"."},
        "ignore_case": {"type": "boolean", "description": "Whether upper and lower case are the same. Default false."},
        "context": {"type": "integer", "minimum": 0, "maximum": CONTEXT, "description": "Lines to return before and after each matching one. Default 0."},
        "everything": {"type": "boolean", "description": "Also hidden and ignored files. Default false."},
    })
}

pub(super) async fn perform(workspace: &Workspace, request: Grep) -> Result<String, Refusal> {
    let expression = expression(&request)?;
    let names = request.glob.as_deref();
    let names = names.map(|glob| PathPattern::parse(glob, workspace));
    let names = names.transpose()?;
    // A thread cannot be cancelled as this call can: it looks whether the call is still there.
    let call = Arc::new(());
    let awaited = Arc::downgrade(&call);
    let selection = Selection::of(request.everything);
    let context = usize::try_from(request.context.min(CONTEXT)).unwrap_or_default();
    let found = workspace.look(&request.path, move |beneath, start| {
        let mut found = Found::new(expression);
        match beneath.file(start) {
            // Somebody asked for this file: it is searched even if it is binary.
            Ok(file) => {
                let mut searcher = searcher(context, BinaryDetection::none());
                found.search(&mut searcher, start, Ok(file));
                return Ok((found, None));
            }
            Err(OpenError::NotAFile) => {}
            Err(fault) => return Err(fault),
        }
        let tree = Tree {
            awaited,
            beneath,
            selection,
        };
        let mut searcher = searcher(context, BinaryDetection::quit(0));
        let mut skipped = Skipped::default();
        let walked = tree.walk(start, &mut skipped, &mut |path: &Path| {
            if names
                .as_ref()
                .is_some_and(|names| !names.matches(start, path))
            {
                return ControlFlow::Continue(());
            }
            let path = start.join(path);
            found.search(&mut searcher, &path, beneath.file(&path));
            found.flow()
        })?;
        found.skipped.append(skipped);
        Ok((found, too_many(walked)))
    });
    let (found, unsearched) = found.await?;
    let mut lines = found.lines;
    if found.matches > LINES {
        lines.push(format!(
            "[the first {LINES} matching lines; there are more]"
        ));
    }
    if lines.is_empty() {
        lines.push("[no line matches]".to_owned());
    }
    lines.extend(unsearched);
    lines.extend(found.binary.line());
    lines.extend(found.skipped.lines());
    Ok(lines.join("\n"))
}

fn searcher(context: usize, binary: BinaryDetection) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(binary)
        .heap_limit(Some(SEARCHED_BYTES))
        .build()
}

fn expression(request: &Grep) -> Result<RegexMatcher, Refusal> {
    RegexMatcherBuilder::new()
        .case_insensitive(request.ignore_case)
        // `$` stands before both ends of a line, and a pattern may ask for the `\r`.
        .multi_line(true)
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .size_limit(EXPRESSION_BYTES)
        .dfa_size_limit(EXPRESSION_BYTES)
        .build(&request.pattern)
        .map_err(|fault| Refusal {
            code: "INVALID_PATTERN",
            message: format!("the pattern is no regular expression: {fault}"),
        })
}

/// The lines that were found so far.
#[derive(Debug)]
struct Found {
    binary: Binary,
    expression: Arc<RegexMatcher>,
    lines: Vec<String>,
    matches: usize,
    /// Of the file that is searched.
    name: String,
    skipped: Skipped,
}

/// Files that were not searched to the end since they have a NUL byte.
#[derive(Debug, Default)]
struct Binary {
    names: Vec<String>,
    total: usize,
}

impl Binary {
    fn add(&mut self, name: &str) {
        self.total += 1;
        if self.names.len() < BINARY_NAMES {
            self.names.push(name.to_owned());
        }
    }

    fn line(self) -> Option<String> {
        let names = self.names.join(", ");
        let more = self.total - self.names.len();
        let more = (more > 0).then(|| format!(" and {more} more"));
        let more = more.unwrap_or_default();
        (self.total > 0).then(|| {
            format!("[not searched, binary: {names}{more}; give the path of one to search it]")
        })
    }
}

impl Found {
    fn new(expression: RegexMatcher) -> Self {
        Self {
            binary: Binary::default(),
            expression: Arc::new(expression),
            lines: Vec::new(),
            matches: 0,
            name: String::new(),
            skipped: Skipped::default(),
        }
    }

    /// Searches one file, or notes why it cannot be searched.
    fn search(&mut self, searcher: &mut Searcher, path: &Path, file: Result<File, OpenError>) {
        self.name = named(path);
        let expression = Arc::clone(&self.expression);
        let outcome = match file {
            Ok(file) => searcher.search_file(&*expression, &file, &mut *self),
            Err(fault) => return self.skipped.add(path, fault),
        };
        if let Err(fault) = outcome {
            // The only error that is not the system's is that of a line beyond the bound.
            let reason = match fault.raw_os_error() {
                Some(_) => fault.to_string(),
                None => format!("a line has more than {SEARCHED_BYTES} bytes"),
            };
            self.skipped
                .add_reason(format!("{:?}: {reason}", self.name));
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.matches > LINES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn add(&mut self, between: char, number: Option<u64>, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let at = self.expression.find(line).ok().flatten();
        let text = part_around(line, at.map_or(0, |at| at.start()));
        let (name, number) = (&self.name, number.unwrap_or_default());
        self.lines
            .push(format!("{name}{between}{number}{between}{text}"));
    }
}

/// The line, of a long one the part around a place.
fn part_around(line: &[u8], at: usize) -> String {
    let is_inside = |byte: Option<&u8>| byte.is_some_and(|byte| byte & 0xC0 == 0x80);
    let last_start = line.len().saturating_sub(LINE_BYTES);
    let mut start = at.saturating_sub(LEAD_BYTES).min(last_start);
    let mut end = (start + LINE_BYTES).min(line.len());
    // No character is cut.
    for _ in 0..3 {
        start -= usize::from(start > 0 && is_inside(line.get(start)));
        end -= usize::from(end > start && is_inside(line.get(end)));
    }
    let part = String::from_utf8_lossy(line.get(start..end).unwrap_or_default());
    let part = part.replace('\0', "\\0");
    let before = if start > 0 { "[…] " } else { "" };
    let after = if end < line.len() { " […]" } else { "" };
    format!("{before}{part}{after}")
}

impl Sink for &mut Found {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        if self.matches > LINES {
            return Ok(false);
        }
        self.add(':', found.line_number(), found.bytes());
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        self.add('-', around.line_number(), around.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.lines.push("--".to_owned());
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        if end.binary_byte_offset().is_some() {
            let name = std::mem::take(&mut self.name);
            self.binary.add(&name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_the_part_around_the_match_is_shown() {
        let check = |line: &str, at: usize, expect: &str| {
            assert_eq!(part_around(line.as_bytes(), at), expect);
        };
        check("short", 3, "short");
        let long = format!("{}needle{}", "a".repeat(1_000), "b".repeat(1_000));
        let around = format!("[…] {}needle{} […]", "a".repeat(100), "b".repeat(394));
        check(&long, 1_000, &around);
        let at_end = format!("{}needle", "a".repeat(1_000));
        check(&at_end, 1_000, &format!("[…] {}needle", "a".repeat(494)));
        // Of `é` no half is left.
        let wide = "é".repeat(1_000);
        let shown = part_around(wide.as_bytes(), 1_001);
        assert!(!shown.contains('\u{fffd}'), "{shown}");
        check("a\0b", 0, "a\\0b");
    }

    /// A file of one line that is too long, and one with a NUL byte, are named and not passed over.
    #[test]
    fn a_file_that_cannot_be_searched_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, bytes: u64, binary: BinaryDetection, expect: &str| {
            let path = folder.path().join(name);
            File::create(&path).unwrap().set_len(bytes).unwrap();
            let request = serde_json::from_str(r#"{"pattern":"x"}"#).unwrap();
            let mut found = Found::new(expression(&request).unwrap());
            let file = Ok(File::open(&path).unwrap());
            found.search(&mut searcher(0, binary), Path::new(name), file);
            let lines: Vec<String> = found
                .binary
                .line()
                .into_iter()
                .chain(found.skipped.lines())
                .collect();
            assert_eq!(lines, [expect]);
        };
        check(
            "long",
            66 << 20,
            BinaryDetection::none(),
            "[not searched: \"long\": a line has more than 67108864 bytes]",
        );
        check(
            "zero",
            1,
            BinaryDetection::quit(0),
            "[not searched, binary: zero; give the path of one to search it]",
        );
    }
}
