//! A run on the screen while it is driven: transitions, streamed text and progress.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::awaited::{running, waiting};
use crate::context::app::App;
use crate::context::departed::warned;
use crate::context::reach::unconfined_notes;
use crate::ui::screen::{Screen, Style};
use crate::ui::streamed::Streamed;
use crate::ui::wrap::cut;
use monolith_core::kernel::{BringUpCause, EventKind};
use monolith_core::message::InferenceSeq;
use monolith_core::session::Control;
use monolith_core::view::RunView;
use monolith_host::telemetry::{LogLine, thinking_line, verbose_lines};
use monolith_service::drive::display::{Display, ShownEntry};
use monolith_service::drive::follower::Follower;
use monolith_service::service::hint;
use monolith_service::text::escape::{brief, line, text};
use monolith_service::text::numbers::seconds;

/// Milliseconds without an event before the screen shows a spinner.
const PATIENCE_MS: u128 = 1000;
/// Characters of what a tool reports of its call.
const REPORT_CHARS: usize = 60;
/// Indent of a child run below its parent.
const INDENT: &str = "  ";
/// Wipes the line that the cursor stands in.
const WIPE: &str = "\r\u{1b}[2K";
const WHEEL: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Position of the cursor after the last output.
#[derive(Clone, Copy, Default)]
enum Cursor {
    AfterQuestion,
    AfterSpinner,
    AfterThinking,
    #[default]
    LineStart,
}

/// Shows a run on the screen of a command.
pub(crate) struct Watched {
    /// True once the run has an entry; stays false for a workflow.
    begun: bool,
    /// Shared with its child runs: all of them write to the same screen.
    cursor: Arc<Mutex<Cursor>>,
    /// Number of parent runs that this process drives.
    depth: usize,
    /// Prefix of the spinner once the run was asked to stop or to leave, such as `stopping`.
    leaves: &'static str,
    /// The beginning of each line of a child run, once it has an entry: indent, agent and run.
    prefix: String,
    /// The tool that reported last since the last entry, and its report.
    reported: Option<(String, String)>,
    screen: Screen,
    /// True if each transition is shown to the person who watches.
    shows_transitions: bool,
    since: Instant,
    /// Store that the caller names.
    store: Option<PathBuf>,
    /// Text of the answer while it arrives; `None` if it is not shown.
    streamed: Option<Streamed>,
    /// The response whose thinking was shown last.
    thinks: Option<InferenceSeq>,
    /// Thinking of a child run, which is shown with its next entry: the lines of several runs would mix.
    thought: String,
    /// The line before the thinking of the response that is awaited.
    thought_header: Option<LogLine>,
    ticks: usize,
    verbose: bool,
    /// The awaited thing in words; empty if there is none.
    waiting: String,
}

impl Watched {
    /// Shows a run of which only the transitions are shown.
    pub(crate) fn new(screen: Screen) -> Box<Self> {
        Box::new(Self {
            begun: false,
            cursor: Arc::default(),
            depth: 0,
            leaves: "",
            prefix: String::new(),
            reported: None,
            screen,
            shows_transitions: true,
            since: Instant::now(),
            store: None,
            streamed: None,
            thinks: None,
            thought: String::new(),
            thought_header: None,
            ticks: 0,
            verbose: false,
            waiting: "starting".to_owned(),
        })
    }

    /// Shows a run as the options of the command say.
    pub(crate) fn of_app(app: &App) -> Box<Self> {
        Box::new(Self {
            shows_transitions: app.shows_transitions,
            store: app.store.clone(),
            streamed: app.streams.then(Streamed::default),
            verbose: app.accounting.verbose,
            ..*Self::new(app.screen)
        })
    }

    /// Shows one of many runs: a person watches all of them, not this one.
    pub(crate) fn among_many(screen: Screen) -> Box<Self> {
        Self::new(screen.quieted())
    }

    /// Returns a command to type next.
    pub(super) fn hint(&self, words: &str) -> String {
        hint(self.store.as_deref(), words)
    }

    /// True if somebody watches.
    pub(super) fn is_watched(&self) -> bool {
        self.screen.is_watched()
    }

    /// Returns the cells of a line.
    pub(super) fn width(&self) -> usize {
        self.screen.width()
    }

    /// Puts a question to the person who watches. The line stays free for the answer until the next entry.
    pub(super) fn ask(&mut self, question: &str) {
        self.wipe();
        self.waiting.clear();
        self.screen.write_err(question);
        if !question.ends_with('\n') {
            self.moved(Cursor::AfterQuestion);
        }
    }

    /// A line was typed after the question.
    pub(super) fn was_typed(&mut self) {
        self.moved(Cursor::LineStart);
    }

    fn cursor(&self) -> Cursor {
        *self.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes where the cursor is now; returns where it was.
    fn moved(&self, to: Cursor) -> Cursor {
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *cursor, to)
    }

    /// Shows the awaited thing once it takes longer than a second. Called about ten times a second.
    fn tick(&mut self) {
        let waited = self.since.elapsed().as_millis();
        let free = self.streamed.as_ref().is_none_or(|s| !s.is_open());
        let free = free && !matches!(self.cursor(), Cursor::AfterThinking);
        let slow = waited >= PATIENCE_MS && !self.waiting.is_empty();
        if self.screen.redraws() && slow && free {
            self.draw(waited);
        }
    }

    fn draw(&mut self, waited_ms: u128) {
        self.ticks = self.ticks.wrapping_add(1);
        let wheel = WHEEL.get(self.ticks % WHEEL.len()).copied().unwrap_or('·');
        let waited = seconds(u64::try_from(waited_ms).unwrap_or(u64::MAX) / 100 * 100);
        let leaves = match self.leaves {
            "" => String::new(),
            leaves => format!("{leaves}: "),
        };
        let reported = match &self.reported {
            None => String::new(),
            Some((tool, report)) if self.waiting == running(tool) => format!(": {report}"),
            Some((tool, report)) => format!(": {tool} {report}"),
        };
        let line = format!("{wheel} {waited}  {leaves}{}{reported}", self.waiting);
        // A line that wraps could not be wiped.
        let line = cut(&line, self.screen.width() - 1);
        let line = self.screen.paint(Style::Dim, &line);
        self.screen.write_err(&format!("{WIPE}{line}"));
        self.moved(Cursor::AfterSpinner);
    }

    /// Makes the line free for another one.
    fn wipe(&mut self) {
        self.leave_line();
        if let Some(streamed) = &mut self.streamed {
            streamed.close(self.screen);
        }
    }

    /// Wipes the spinner; a question stays, and thinking is closed by a line feed.
    fn leave_line(&self) {
        match self.moved(Cursor::LineStart) {
            Cursor::AfterQuestion | Cursor::AfterThinking => self.screen.write_err("\n"),
            Cursor::AfterSpinner => self.screen.write_err(WIPE),
            Cursor::LineStart => {}
        }
    }

    /// Shows how long the start took, if a spinner was shown: the times of the entries begin after it.
    fn show_start(&mut self, shown: &ShownEntry<'_>) {
        let is_first = shown.entry.action.seq == 0 && self.depth == 0;
        if !is_first || !matches!(self.cursor(), Cursor::AfterSpinner) {
            return;
        }
        let took = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.wipe();
        let words = format!("ready after {}; the run begins", seconds(took));
        let words = self.screen.paint(Style::Dim, &words);
        self.screen.write_err(&format!("{words}\n"));
    }

    /// Names the tools that requests leave out, and the tool servers whose tools differ from the contract's: calls of such tools are
    /// refused.
    fn show_changed_tools(&mut self, shown: &ShownEntry<'_>) {
        let event = shown.entry.event.map(|event| &event.event);
        if let Some(EventKind::RunStarted(started)) = event {
            let faults = started.bring_up.iter();
            for fault in faults.filter(|fault| fault.cause == Some(BringUpCause::LeftOut)) {
                self.wipe();
                let (server, detail) = (line(&fault.server), line(&fault.detail));
                self.screen
                    .write_err(&format!("note: {server}: {detail}\n"));
            }
        }
        let Some(EventKind::Resumed(resumed)) = event else {
            return;
        };
        for server in &resumed.bring_up {
            self.wipe();
            self.screen.write_err(&format!(
                "note: tool server {} offers other tools than the contract holds: {}\n",
                line(&server.server),
                line(&server.detail)
            ));
        }
    }

    /// Names the tool servers that this machine cannot confine.
    fn show_unconfined(&mut self, shown: &ShownEntry<'_>) {
        let confinement = match shown.entry.event.map(|event| &event.event) {
            Some(EventKind::RunStarted(started)) => &started.confinement,
            Some(EventKind::Resumed(resumed)) => &resumed.confinement,
            _ => return,
        };
        // The notes of a person's own run stand above.
        let details = self.verbose || self.depth == 0 && self.screen.is_watched();
        let notes = unconfined_notes(confinement, shown.view.contract(), details);
        if !notes.is_empty() {
            self.wipe();
            self.screen.write_err(&notes);
        }
    }

    /// Shows a line of `--verbose`, in the colour of its severity.
    fn log(&self, logged: &LogLine) {
        let words = self.screen.paint_log(logged);
        self.screen.write_err(&format!("{}{words}\n", self.prefix));
    }

    /// Shows what a child run has thought since its last entry.
    fn show_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        if thought.is_empty() {
            return;
        }
        if let Some(header) = self.thought_header.take() {
            self.log(&header);
        }
        for words in thought.lines() {
            let words = self.screen.paint(Style::Dim, &line(words));
            self.screen.write_err(&format!("{}{words}\n", self.prefix));
        }
    }

    /// True if an entry changes what is on the screen. A chat shows the run of a message as a spinner, and hides its child runs.
    fn shows_entries(&self) -> bool {
        let is_watched = self.screen.is_watched() && (self.shows_transitions || self.depth == 0);
        is_watched || self.verbose
    }
}

/// Returns the beginning of each line of a child run (001 §1): indented below its parent, with the agent, or the step, and the run.
fn prefix_of_child(depth: usize, view: &RunView) -> String {
    let agent = view.agent_id().map(line);
    let agent = agent.map(|agent| format!("agent:{agent}"));
    let run = view.run_id().map(ToString::to_string);
    let words: Vec<String> = agent.into_iter().chain(run).collect();
    format!("{}{}  ", INDENT.repeat(depth), words.join(" "))
}

impl Display for Watched {
    /// A person watches a child below its parent. In a pipe, and below a workflow that shows its steps in a line each, it is shown only
    /// where every transition of every run is asked for.
    fn child(&self) -> Box<dyn Display> {
        let screen = if self.verbose || self.begun && self.screen.is_watched() {
            self.screen
        } else {
            self.screen.quieted()
        };
        Box::new(Self {
            cursor: Arc::clone(&self.cursor),
            depth: self.depth.saturating_add(1),
            shows_transitions: self.shows_transitions,
            verbose: self.verbose,
            ..*Self::new(screen)
        })
    }

    fn entry(&mut self, shown: &ShownEntry<'_>) {
        if !std::mem::replace(&mut self.begun, true) && self.depth > 0 {
            self.prefix = prefix_of_child(self.depth, shown.view);
        }
        self.show_changed_tools(shown);
        self.show_unconfined(shown);
        if !self.shows_entries() {
            return;
        }
        if self.shows_transitions {
            self.show_start(shown);
        }
        self.wipe();
        if let Some(streamed) = &mut self.streamed {
            streamed.judge(self.screen, shown.view);
        }
        if self.verbose {
            self.show_thought();
            for verbose in verbose_lines(shown.view, shown.entry, shown.run) {
                self.log(&verbose);
            }
            self.thought_header = thinking_line(shown.view);
        }
        let prefix = &self.prefix;
        if let Some(transition) = shown.transition.as_ref().filter(|_| self.shows_transitions) {
            let transition = if self.verbose {
                transition.numbered_line()
            } else {
                transition.line()
            };
            let transition = self.screen.paint(Style::Dim, &transition);
            self.screen.write_err(&format!("{prefix}{transition}\n"));
        }
        if let Some(waiting) = waiting(shown.run.contract(), shown.entry.action) {
            self.waiting = waiting;
        }
        self.reported = None;
        self.since = Instant::now();
    }

    fn text(&mut self, inference: InferenceSeq, text: &str) {
        if self.streamed.is_none() {
            return;
        }
        self.leave_line();
        if let Some(streamed) = &mut self.streamed {
            streamed.add(self.screen, inference, text);
        }
        self.since = Instant::now();
    }

    /// Shows thinking in grey on stderr (001 §1). The next output closes it with a line feed.
    fn thinking(&mut self, inference: InferenceSeq, piece: &str) {
        if self.depth > 0 {
            if self.verbose {
                self.thought.push_str(piece);
            }
            return;
        }
        if !self.screen.is_watched() && !self.verbose {
            return;
        }
        let is_new = self.thinks.replace(inference) != Some(inference);
        if is_new || !matches!(self.cursor(), Cursor::AfterThinking) {
            self.wipe();
        }
        if let Some(header) = self.thought_header.take().filter(|_| is_new) {
            self.log(&header);
        }
        let grey = self.screen.paint(Style::Dim, &text(piece));
        self.screen.write_err(&grey);
        self.moved(if piece.ends_with('\n') {
            Cursor::LineStart
        } else {
            Cursor::AfterThinking
        });
        self.since = Instant::now();
    }

    fn starting(&mut self, servers: &BTreeSet<String>) {
        let servers: Vec<String> = servers.iter().map(|name| line(name)).collect();
        self.waiting = match servers.as_slice() {
            [] => "starting".to_owned(),
            servers => format!("starting tool servers: {}", servers.join(", ")),
        };
    }

    fn progress(&mut self, tool: &str, report: &str) {
        self.reported = Some((line(tool), brief(report, REPORT_CHARS)));
    }

    fn remark(&mut self, text: &str) {
        self.wipe();
        let prefix = &self.prefix;
        self.screen.remark(&format!("{prefix}note: {}", line(text)));
    }

    fn note(&mut self, line: &str) {
        self.wipe();
        self.screen.note(line);
    }

    fn step(&mut self, text: &str) {
        if self.verbose {
            self.screen.write_err(&format!("{text}\n"));
        } else {
            self.screen.note(text);
        }
    }

    fn asked(&mut self, control: &Control) {
        let (leaves, note) = match control {
            Control::Stop => (
                "stopping",
                "stopping: the run is brought to its end; Ctrl-C again ends it at once",
            ),
            Control::Abort => ("ending", "ending the run at once"),
            Control::Suspend if self.leaves != "suspending" => (
                "suspending",
                "suspending: calls in flight may still finish; a second signal exits at once",
            ),
            _ => return,
        };
        self.note(note);
        self.leaves = leaves;
    }

    fn warn(&mut self, warning: &str) {
        self.wipe();
        self.screen
            .write_err(&text(&format!("warning: {warning}\n")));
    }

    fn diverged(&mut self, view: &RunView) {
        self.wipe();
        let _ = warned(self.screen, view);
    }

    fn rest(&mut self) {
        self.wipe();
        self.waiting.clear();
    }

    fn left(&mut self, view: &RunView) {
        if let Some(streamed) = &mut self.streamed {
            streamed.leave(self.screen, view);
        }
    }
}

/// The screen of a run that is followed.
pub(crate) trait OnScreen {
    /// True if that answer is on the screen already.
    fn has_shown(&self, answer: &str) -> bool;

    /// Shows the awaited thing once it takes longer than a second. Called about ten times a second.
    fn tick(&self);
}

impl OnScreen for Follower {
    fn has_shown(&self, answer: &str) -> bool {
        let has = |shown: &mut Watched| shown.streamed.as_ref().is_some_and(|s| s.is(answer));
        self.with_display(has).unwrap_or_default()
    }

    fn tick(&self) {
        let _ = self.with_display(Watched::tick);
    }
}
