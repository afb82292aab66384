//! The prompt_names of a prompt (001 §3). Does not know their values.

use std::collections::BTreeSet;

use crate::contract::ReportFormat;

/// Delimiters of a placeholder.
const FORMS: [(&str, &str); 2] = [("${", "}"), ("{{", "}}")];

/// The prompt with the value of each placeholder that is known. What is not known, or is called otherwise, stays as it is written.
pub(in crate::contract::spec) fn expanded(
    body: &str,
    value: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(found) = next(rest) {
        out.push_str(rest.get(..found.at).unwrap_or_default());
        match value(found.name) {
            Some(value) => out.push_str(&value),
            None => out.push_str(found.written),
        }
        rest = rest
            .get(found.at + found.written.len()..)
            .unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The names of the prompt_names of a text.
pub fn prompt_names(text: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut rest = text;
    while let Some(found) = next(rest) {
        names.insert(found.name);
        rest = rest
            .get(found.at + found.written.len()..)
            .unwrap_or_default();
    }
    names
}

/// Placeholders of ai-agent, and of prompts of the command line, that an agent's file does not have (001 §3).
const ELSEWHERE: [&str; 8] = [
    "ARCH",
    "CD",
    "HOSTNAME",
    "KERNEL",
    "MAX_TOOLS",
    "OS",
    "TIMESTAMP",
    "USER",
];

/// The note about those placeholders that an expanded prompt still has.
pub(in crate::contract::spec) fn kept_names(system: &str) -> Option<String> {
    let mut names = prompt_names(system);
    names.retain(|name| ELSEWHERE.contains(name));
    let first = *names.first()?;
    let written: Vec<String> = names.iter().map(|name| format!("${{{name}}}")).collect();
    Some(format!(
        "the prompt keeps {} as written; --set prompt.{first}=VALUE gives a value",
        written.join(", ")
    ))
}

/// A placeholder of a text.
struct Found<'t> {
    at: usize,
    name: &'t str,
    written: &'t str,
}

/// The next thing that is written like a placeholder.
fn next(text: &str) -> Option<Found<'_>> {
    let mut from = 0;
    while let Some(rest) = text.get(from..) {
        let starts = FORMS
            .iter()
            .filter_map(|(begin, end)| Some((rest.find(begin)?, *begin, *end)));
        let (start, begin, end) = starts.min()?;
        let at = from + start;
        let inner = text.get(at + begin.len()..)?;
        let length = inner
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(inner.len());
        let name = inner.get(..length)?;
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_name && inner.get(length..)?.starts_with(end) {
            let written = text.get(at..at + begin.len() + length + end.len())?;
            return Some(Found { at, name, written });
        }
        from = at + begin.len();
    }
    None
}

/// The words that replace `FORMAT`.
pub(in crate::contract::spec) fn format_words(format: ReportFormat, has_schema: bool) -> String {
    let words = match format {
        ReportFormat::Json if has_schema => "JSON that matches the schema of the final report",
        ReportFormat::Json => "JSON",
        ReportFormat::Markdown => "GitHub-flavoured Markdown",
        ReportFormat::MarkdownMermaid => {
            "GitHub-flavoured Markdown, with Mermaid diagrams where they help"
        }
        ReportFormat::Pipe => {
            "plain text that another program reads: no Markdown, no colours, lines not wrapped"
        }
        ReportFormat::SlackBlockKit => {
            "Slack Block Kit: a JSON list of messages, no text around it and no Markdown"
        }
        ReportFormat::SubAgent => "the form that the agent which asked for it expects",
        ReportFormat::Text => "plain text without markup",
        ReportFormat::Tty => {
            "plain text for a terminal: monospaced, no Markdown, ANSI colours where they help"
        }
    };
    words.to_owned()
}

/// The instructions for the session's own tools (001 §1).
const TOOL_INSTRUCTIONS: &str = "## Final report\n\nWhen the task is done, call agent__final_report exactly once, with the \
     whole answer in it. Text outside it is not read.";

/// The prompt of an agent whose requests do not describe the report themselves: the instructions follow it, once.
pub(in crate::contract::spec) fn with_tool_instructions(prompt: &str) -> String {
    format!("{}\n\n{TOOL_INSTRUCTIONS}", prompt.trim_end())
}

/// The line before and after the front matter.
const FENCE: &str = "---";

/// An agent's file in its parts.
pub(in crate::contract::spec) struct Parts<'t> {
    /// The prompt, without blank lines around it.
    pub(in crate::contract::spec) body: &'t str,
    /// The front matter in a text as long as the file, so that every place in it is one of the file; `None` if the file has none.
    pub(in crate::contract::spec) front: Option<String>,
}

impl Parts<'_> {
    /// The byte of that text at which the prompt begins.
    pub(in crate::contract::spec) fn body_at(&self, text: &str) -> usize {
        text.trim_end().len().saturating_sub(self.body.len())
    }
}

/// The parts of an agent's file: an optional line `#!…`, front matter between two lines `---`, and the prompt.
///
/// # Errors
/// The byte at which front matter begins that is not closed.
pub(in crate::contract::spec) fn split(text: &str) -> Result<Parts<'_>, usize> {
    let begin = if text.starts_with("#!") {
        text.find('\n').map_or(text.len(), |end| end + 1)
    } else {
        0
    };
    let rest = text.get(begin..).unwrap_or_default();
    let opens = rest.len() - rest.trim_start().len();
    let mut lines = rest.get(opens..).unwrap_or_default().split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(FENCE) {
        let body = rest.trim();
        return Ok(Parts { body, front: None });
    }
    let first = begin + opens;
    let after = text.get(first..).unwrap_or_default();
    let inside = after.find('\n').map_or(after.len(), |end| end + 1);
    let mut at = first + inside;
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
        if line.trim_end() == FENCE {
            let front = text.get(first + inside..at).unwrap_or_default();
            let body = text.get(at + line.len()..).unwrap_or_default().trim();
            return Ok(Parts {
                body,
                front: Some(blanked(text.get(..first + inside).unwrap_or_default()) + front),
            });
        }
        at += line.len();
    }
    Err(first)
}

/// Blanks a text: returns as many bytes and the same lines.
fn blanked(text: &str) -> String {
    let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
    text.bytes().map(blank).collect()
}
