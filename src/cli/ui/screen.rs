//! The two streams of the process: what may be written where, in which style, and how wide. Does not know what is written.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use super::fault::{self, Snippet};
use super::stdout::stdout;
use super::whole::Whole;
use super::wrap::wrapped;
use monolith_host::driver::Environment;
use monolith_host::telemetry::{LogLine, Severity};
use monolith_service::text::command::KEPT;
use monolith_service::text::escape;

/// The output streams, and the styles allowed on each.
///
/// What is for people goes to stderr, and only where that is a terminal; what is for programs and the answer go to stdout. Text for
/// people has no line that is wider than their terminal. The answer, and what is copied from a terminal into a file or a program, keeps
/// its lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    err: Stream,
    out: Stream,
    quiet: bool,
}

/// One of the process's two streams.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a separate fact about the stream"
)]
struct Stream {
    color: bool,
    is_err: bool,
    is_terminal: bool,
    /// True if the terminal can erase a line that it has shown.
    redraws: bool,
}

/// The emphasis of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Bad,
    Bold,
    Dim,
    Good,
    Warn,
}

impl Screen {
    /// The process's streams.
    pub(crate) fn of_process(environment: &Environment) -> Self {
        let is_dumb = environment.get("TERM").is_some_and(|term| term == "dumb");
        let plain = is_dumb || environment.get("NO_COLOR").is_some();
        let stream = |is_err, is_terminal| Stream {
            color: is_terminal && !plain,
            is_err,
            is_terminal,
            redraws: is_terminal && !is_dumb,
        };
        Self {
            err: stream(true, io::stderr().is_terminal()),
            out: stream(false, io::stdout().is_terminal()),
            quiet: false,
        }
    }

    /// The same for a caller who wants to see errors alone.
    pub(crate) const fn quieted(self) -> Self {
        Self {
            quiet: true,
            ..self
        }
    }

    /// Returns the width of a stderr line in cells: at least 2, 80 if unknown, and unlimited in a pipe.
    pub(crate) fn width(self) -> usize {
        self.err.width()
    }

    /// Returns the width of a stdout line in cells.
    pub(crate) fn width_out(self) -> usize {
        self.out.width()
    }

    /// True if somebody watches stderr.
    pub(crate) const fn is_watched(self) -> bool {
        self.err.is_terminal && !self.quiet
    }

    /// True if a line of stderr may be redrawn in place, for somebody who watches.
    pub(crate) const fn redraws(self) -> bool {
        self.is_watched() && self.err.redraws
    }

    /// Text for stderr in that style, where colours are wanted there.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        self.err.paint(style, text)
    }

    /// A line of `--verbose` for stderr in the colour of its severity (001 §1), where colours are wanted there.
    pub(crate) fn paint_log(self, logged: &LogLine) -> String {
        let style = match logged.severity {
            Severity::Error => Style::Bad,
            Severity::Warning => Style::Warn,
            Severity::Final => Style::Bold,
            Severity::Verbose | Severity::Thinking => Style::Dim,
        };
        self.paint(style, &escape::line(&logged.to_string()))
    }

    /// Text for stdout in that style, where colours are wanted there.
    pub(crate) fn paint_out(self, style: Style, text: &str) -> String {
        self.out.paint(style, text)
    }

    /// Writes a line for people who watch; nothing if none do. `line` is escaped already.
    pub(crate) fn note(self, line: &str) {
        if self.is_watched() {
            self.write_err(&format!("{line}\n"));
        }
    }

    /// Writes a line to stderr unless the caller wants to see errors alone. `line` is escaped already.
    pub(crate) fn remark(self, line: &str) {
        if !self.quiet {
            self.write_err(&format!("{line}\n"));
        }
    }

    /// Writes text for people to stderr. A stderr that cannot be written leaves no reader.
    pub(crate) fn write_err(self, text: &str) {
        drop(self.err.write(&self.err.fitted(text)));
    }

    /// Shows a fault, and what to do next where that is known.
    pub(crate) fn fault(self, message: &str, next: Option<&str>) {
        self.write_err(&fault::rendered(message, next, self.err.color));
    }

    /// Shows a fault with the line of the file that it is about.
    pub(crate) fn fault_at(self, message: &str, snippet: Snippet, next: Option<&str>) {
        let is_terminal = self.err.is_terminal;
        self.write_err(&fault::rendered_at(message, snippet, next, is_terminal));
    }

    /// Writes text for people to stdout. A reader that has gone away has what it wanted.
    pub(crate) fn out(self, text: &str) -> io::Result<()> {
        self.out_whole(&self.out.fitted(text))
    }

    /// Writes to stdout as it is: what is copied from there must be what it was.
    pub(crate) fn out_whole(self, text: &str) -> io::Result<()> {
        unless_gone(self.out.write(text))
    }

    /// Writes text that comes from a model to stdout: as it is into a pipe, escaped onto a terminal.
    pub(crate) fn out_foreign(self, text: &str) -> io::Result<()> {
        unless_gone(self.answer(text))
    }

    /// [`Self::out_foreign`] for a reader who must have it: one that has gone away is an error.
    pub(crate) fn answer(self, text: &str) -> io::Result<()> {
        if self.out.is_terminal {
            self.out.write(&escape::text(text))
        } else {
            self.out.write(text)
        }
    }

    /// Writes one JSON document and a line feed to stdout.
    pub(crate) fn out_json(self, document: &impl serde::Serialize) -> io::Result<()> {
        unless_gone(self.answer_json(document))
    }

    /// [`Self::out_json`] for a reader who must have it: one that has gone away is an error.
    pub(crate) fn answer_json(self, document: &impl serde::Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string(document).map_err(io::Error::from)?;
        text.push('\n');
        self.out_json_read(&text)
    }

    /// Writes JSON text to stdout as the same JSON: without unsafe characters onto a terminal; into a pipe, which may end at one,
    /// without control characters and directions.
    pub(crate) fn out_json_text(self, text: &str) -> io::Result<()> {
        unless_gone(self.out_json_read(text))
    }

    /// [`Self::out_json_text`] for a reader who must have it: one that has gone away is an error.
    pub(crate) fn out_json_read(self, text: &str) -> io::Result<()> {
        if self.out.is_terminal {
            self.out.write(&escape::json(text))
        } else {
            self.out.write(&escape::piped_json(text))
        }
    }

    /// True if stdout is a terminal.
    pub(crate) const fn is_shown(self) -> bool {
        self.out.is_terminal
    }
}

/// Ignores the error of a reader that has gone away.
fn unless_gone(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// The cells of a line of help, at most so many: those of a terminal that a stream of the process is, else what `COLUMNS` says. The
/// parser of the command line breaks its own lines at the same cell.
pub(crate) fn help_width(most: usize) -> usize {
    #[cfg(unix)]
    let columns = {
        use rustix::termios::tcgetwinsize;
        let sizes = [
            tcgetwinsize(io::stdout()),
            tcgetwinsize(io::stderr()),
            tcgetwinsize(io::stdin()),
        ];
        let columns = sizes.into_iter().flatten().map(|size| size.ws_col);
        columns.map(usize::from).find(|columns| *columns > 0)
    };
    #[cfg(not(unix))]
    let columns: Option<usize> = None;
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    columns.or_else(said).unwrap_or(most).min(most)
}

impl Stream {
    fn write(self, text: &str) -> io::Result<()> {
        if self.is_err {
            return Whole(io::stderr().lock()).write_all(text.as_bytes());
        }
        let mut stdout = stdout()?;
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// The text with lines that fit.
    fn fitted(self, text: &str) -> Cow<'_, str> {
        let text = if self.is_terminal {
            Cow::Owned(wrapped(text, self.width()))
        } else {
            Cow::Borrowed(text)
        };
        if text.contains(KEPT) {
            Cow::Owned(text.replace(KEPT, " "))
        } else {
            text
        }
    }

    fn width(self) -> usize {
        if !self.is_terminal {
            return usize::MAX;
        }
        #[cfg(unix)]
        let size = if self.is_err {
            rustix::termios::tcgetwinsize(io::stderr())
        } else {
            rustix::termios::tcgetwinsize(io::stdout())
        };
        #[cfg(unix)]
        let columns = size.map(|size| size.ws_col);
        #[cfg(not(unix))]
        let columns: Result<u16, io::Error> = Ok(80);
        columns.map_or(80, |columns| match columns {
            0 => 80,
            columns => usize::from(columns).max(2),
        })
    }

    fn paint(self, style: Style, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let code = match style {
            Style::Bad => "31",
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Warn => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
