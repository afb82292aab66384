//! A fault and its help, laid out for a terminal or a pipe. Does not know which faults there are.

use std::fmt;

use miette::{Diagnostic, ReportHandler};

use monolith_service::text::escape;

/// A fault and what to do next, ready for a stream. The message is one line: what it quotes begins none of its own.
pub(in crate::ui) fn rendered(message: &str, help: Option<String>, color: bool) -> String {
    let shown = Shown {
        message: escape::line(message),
        help: help.map(|help| escape::help(&help)),
    };
    Report(&Plain { color }, &shown).to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_quotes_begins_no_line() {
        let check = |message: &str, expect: &str| {
            assert_eq!(rendered(message, None, false), expect);
        };
        check("read a", "error: read a\n");
        check("read a\nerror: b", "error: read a\\nerror: b\n");
        check("read a\n  error: b", "error: read a\\n  error: b\n");
        let help = rendered("read a", Some("do b".to_owned()), false);
        assert_eq!(help, "error: read a\n  = help: do b\n");
    }
}
