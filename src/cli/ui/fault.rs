//! A fault and its help, laid out for a terminal or a pipe. Does not know which faults there are.

use std::fmt;

use miette::{Diagnostic, ReportHandler};

use super::escape;

/// A fault and what to do next, ready for a stream.
pub(in crate::cli::ui) fn rendered(message: &str, help: Option<String>, color: bool) -> String {
    let shown = Shown {
        message: one_paragraph(&escape::text(message)),
        help: help.map(|help| escape::help(&help)),
    };
    Report(&Plain { color }, &shown).to_string()
}

/// The message with its line feeds escaped but for those before an indented line, which continues it: a name that holds a line feed
/// begins no line of its own.
fn one_paragraph(message: &str) -> String {
    let mut lines = message.split('\n');
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        text.push_str(if line.starts_with("  ") { "\n" } else { "\\n" });
        text.push_str(line);
    }
    text
}

/// One fault as it is shown: what, and what to do next.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
struct Shown {
    message: String,
    #[help]
    help: Option<String>,
}

/// A fault as it stands in every terminal: what, then what to do next.
struct Plain {
    color: bool,
}

impl ReportHandler for Plain {
    fn debug(&self, fault: &dyn Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = if self.color {
            "\u{1b}[31merror\u{1b}[0m"
        } else {
            "error"
        };
        writeln!(f, "{error}: {fault}")?;
        match fault.help() {
            Some(help) => writeln!(f, "  = help: {help}"),
            None => Ok(()),
        }
    }
}

/// A diagnostic with its handler, so that it can be formatted.
struct Report<'d>(&'d Plain, &'d Shown);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(self.1, f)
    }
}
