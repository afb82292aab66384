//! A fault and its help, laid out for a terminal or a pipe. Does not know which faults there are.

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use unicode_width::UnicodeWidthChar as _;

use monolith_service::text::escape;

/// The columns around the number of a line.
const GUTTER: usize = 4;
/// Maximum number of cells of a line that are shown.
const MOST_CELLS: usize = 120;

/// Renders an error and its help for a stream. The message is one line: quoted text in it cannot start a new one.
pub(in crate::ui) fn rendered(message: &str, help: Option<&str>, color: bool) -> String {
    let error = if color {
        "\u{1b}[31merror\u{1b}[0m"
    } else {
        "error"
    };
    let message = escape::line(message);
    format!("{error}: {message}\n{}", help_line(help))
}

/// The same of a fault in a line of a file, which is drawn below the message.
pub(in crate::ui) fn rendered_at(
    message: &str,
    snippet: Snippet,
    help: Option<&str>,
    is_terminal: bool,
) -> String {
    let mut theme = if is_terminal {
        GraphicalTheme::unicode_nocolor()
    } else {
        GraphicalTheme::none()
    };
    "error:".clone_into(&mut theme.characters.error);
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_context_lines(0)
        .with_wrap_lines(false);
    let handler = if snippet.has_column {
        handler.with_primary_span_start()
    } else {
        handler.without_primary_span_start()
    };
    let shown = Shown {
        message: escape::line(message),
        span: snippet.span,
        snippet,
    };
    let mut drawn = String::new();
    // Writing to a String cannot fail.
    let _ = handler.render_report(&mut drawn, &shown);
    format!("{}{}", escape::text(drawn.trim_start()), help_line(help))
}

fn help_line(help: Option<&str>) -> String {
    help.map_or_else(String::new, |help| {
        format!("  = help: {}\n", escape::help(help))
    })
}

/// A fault in a line of a file.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
struct Shown {
    message: String,
    #[source_code]
    snippet: Snippet,
    #[label]
    span: SourceSpan,
}

/// A line of a file, and the part of it that a fault is about.
#[derive(Debug)]
pub(crate) struct Snippet {
    /// Column of the fault in the file, from 0.
    column: usize,
    /// True if the place is named with line and column.
    has_column: bool,
    /// Line of the file, from 0.
    line: usize,
    /// Name of the file.
    name: String,
    /// The part in `text`.
    span: SourceSpan,
    /// The cells of the line around the fault.
    text: String,
}

impl Snippet {
    /// Returns the part of a line that fits into a width, around `len` bytes at a column in characters, from 1.
    pub(crate) fn around(line: &str, (column, len): (usize, usize), width: usize) -> Self {
        let most = width.saturating_sub(GUTTER).clamp(2, MOST_CELLS);
        let before = column.saturating_sub(1);
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        // A wide character takes two cells.
        let cells = |c: char| c.width().unwrap_or(0);
        let mut beside: usize = line.chars().take(before).map(cells).sum();
        let mut skip = 0;
        if beside >= most {
            for c in line.chars().take(before) {
                if beside <= most / 2 {
                    break;
                }
                beside = beside.saturating_sub(cells(c));
                skip += 1;
            }
        }
        let mut left = most;
        let fits = |c: &char| {
            let room = left.checked_sub(cells(*c));
            left = room.unwrap_or(0);
            room.is_some()
        };
        let shown = line.chars().map(visible).skip(skip).take_while(fits);
        let mut shown: String = shown.collect();
        let bytes = |text: &str, count: usize| text.chars().take(count).map(char::len_utf8).sum();
        let begin: usize = bytes(&shown, before - skip);
        let marked: String = line.chars().skip(before).collect();
        let wanted = marked
            .char_indices()
            .take_while(|(at, _)| *at < len)
            .count();
        let rest = shown.get(begin..).unwrap_or_default();
        let marked: usize = bytes(rest, wanted);
        // A fault at the end of a line is marked behind it.
        if begin == shown.len() {
            shown.push(' ');
        }
        Self {
            column: 0,
            has_column: false,
            line: 0,
            name: String::new(),
            span: (begin, marked).into(),
            text: shown,
        }
    }

    /// Names the place of the line; line and column are from 1.
    pub(crate) fn at(self, name: &str, place: Option<(usize, usize)>) -> Self {
        let (line, column) = place.unwrap_or((1, 1));
        Self {
            column: column.saturating_sub(1),
            has_column: place.is_some(),
            line: line.saturating_sub(1),
            name: name.to_owned(),
            ..self
        }
    }

    /// Takes secrets out of the line. The whole line is marked where that moved the part.
    pub(crate) fn scrubbed(self, scrub: impl Fn(&str) -> String) -> Self {
        let text = scrub(&self.text);
        let span = if text == self.text {
            self.span
        } else {
            (0, text.len()).into()
        };
        Self { span, text, ..self }
    }
}

impl SourceCode for Snippet {
    fn read_span<'a>(
        &'a self,
        _: &SourceSpan,
        _: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let whole = SourceSpan::from((0, self.text.len()));
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            self.text.as_bytes(),
            whole,
            self.line,
            self.column,
            1,
        )))
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
        let help = rendered("read a", Some("do b"), false);
        assert_eq!(help, "error: read a\n  = help: do b\n");
    }

    fn drawn(line: &str, place: (usize, usize), width: usize, is_terminal: bool) -> String {
        let snippet = Snippet::around(line, place, width).at("c.yaml", Some((3, place.0)));
        rendered_at("a: bad", snippet, Some("do b"), is_terminal)
    }

    #[test]
    fn a_part_of_a_line_is_marked_below_it() {
        let ascii =
            "error: a: bad\n   ,-[c.yaml:3:4]\n 3 | a: é b\n   :    ^\n   `----\n  = help: do b\n";
        assert_eq!(drawn("a: é b", (4, 2), usize::MAX, false), ascii);
        let boxes = "error: a: bad\n   ╭─[c.yaml:3:4]\n 3 │ a: 漢 b\n   ·    ──\n   ╰────\n  = help: do b\n";
        assert_eq!(drawn("a: 漢 b", (4, 3), usize::MAX, true), boxes);
        let end =
            "error: a: bad\n   ,-[c.yaml:3:3]\n 3 | a: \n   :   ^\n   `----\n  = help: do b\n";
        assert_eq!(drawn("a:", (3, 0), usize::MAX, false), end);
    }

    #[test]
    fn a_long_line_is_shown_around_the_fault() {
        let line = format!("{}b{}", "a".repeat(100), "c".repeat(100));
        let expect = "error: a: bad\n   ,-[c.yaml:3:101]\n 3 | aaaaabcccc\n   :      ^\n   `----\n  = help: do b\n";
        assert_eq!(drawn(&line, (101, 1), 14, false), expect);
    }
}
