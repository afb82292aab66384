//! The tool `grep`. Does not see outside of the workspace.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde::Deserialize;
use serde_json::{Value, json};

use super::glob::{here, matcher, too_many};
use super::tree::{Selection, Tree, named};
use super::workspace::{Refusal, Workspace};
use monolith_core::message::char_prefix;

/// Most matching lines that one call returns.
const LINES: usize = 500;
/// Most bytes of a line that are returned.
const LINE_BYTES: usize = 500;
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
         path:number:text, lines around it as path-number-text. Links, hidden files, binary files and what .gitignore names are left out. At most \
         {LINES} matching lines of at most {LINE_BYTES} bytes; a last line in brackets says when there are more."
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
    let names = request.glob.as_deref().map(matcher).transpose()?;
    // A thread cannot be cancelled as this call can: it looks whether the call is still there.
    let call = Arc::new(());
    let awaited = Arc::downgrade(&call);
    let selection = Selection::of(request.everything);
    let context = usize::try_from(request.context.min(CONTEXT)).unwrap_or_default();
    let found = workspace.look(&request.path, move |beneath, start| {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(64 * 1024 * 1024))
            .build();
        let mut found = Found::default();
        let mut search = |path: &Path| {
            // A file that cannot be opened or read is searched no further, as ripgrep does.
            if let Ok(file) = beneath.file(path) {
                found.name = named(path);
                let _ended = searcher.search_file(&expression, &file, &mut found);
            }
            found.flow()
        };
        if beneath.file(start).is_ok() {
            let _more = search(start);
            return Ok((found, None));
        }
        let tree = Tree {
            awaited,
            beneath,
            selection,
        };
        let walked = tree.walk(start, &mut |path: &Path| {
            if names.as_ref().is_some_and(|names| !names.is_match(path)) {
                return ControlFlow::Continue(());
            }
            search(&start.join(path))
        })?;
        Ok((found, too_many(walked)))
    });
    let (found, unsearched) = found.await?;
    let mut lines = found.lines;
    if found.matches > LINES {
        lines.push(format!(
            "[the first {LINES} matching lines; there are more]"
        ));
    }
    lines.extend(unsearched);
    if lines.is_empty() {
        lines.push("[no line matches]".to_owned());
    }
    Ok(lines.join("\n"))
}

fn expression(request: &Grep) -> Result<RegexMatcher, Refusal> {
    RegexMatcherBuilder::new()
        .case_insensitive(request.ignore_case)
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
#[derive(Debug, Default)]
struct Found {
    lines: Vec<String>,
    matches: usize,
    /// Of the file that is searched.
    name: String,
}

impl Found {
    fn flow(&self) -> ControlFlow<()> {
        if self.matches > LINES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn add(&mut self, between: char, number: Option<u64>, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\n', '\r']);
        let cut = char_prefix(text, LINE_BYTES);
        let more = if cut.len() < text.len() { " […]" } else { "" };
        let number = number.unwrap_or_default();
        let name = &self.name;
        self.lines
            .push(format!("{name}{between}{number}{between}{cut}{more}"));
    }
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
}
