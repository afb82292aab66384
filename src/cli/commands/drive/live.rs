//! Follows a run while it is driven: transitions, streamed text, progress and accounting. Steps no machine of its own.

mod below;
mod billing;
mod entries;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::mpsc;

use super::accounts::Accounts;
use super::awaited::{Question, running};
use super::cursor::Cursor;
use super::snapshots::Snapshots;
use crate::context::app::{App, hint};
use crate::context::changes::Changes;
use crate::context::departed::warned;
use crate::context::error::CliError;
use crate::context::source::Recorded;
use crate::ui::escape::{brief, line};
use crate::ui::numbers::seconds;
use crate::ui::screen::{Screen, Style};
use crate::ui::streamed::Streamed;
use crate::ui::wrap::cut;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{CallOrder, EntryDraft, Run};
use monolith_core::message::{InferenceSeq, RunId, Scrubber};
use monolith_core::session::Control;
use monolith_core::transcript::SealedEntry;
use monolith_core::view::RunView;
use monolith_host::driver::{Observer, RunRequest};
use monolith_host::store::Durability;
use monolith_host::telemetry::BillingFault;

/// How long nothing may happen before the screen shows what is waited for.
const PATIENCE_MS: u128 = 1000;
/// Characters of what a tool reports of its call.
const REPORT_CHARS: usize = 60;
/// Wipes the line that the cursor stands in.
const WIPE: &str = "\r\u{1b}[2K";
const WHEEL: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Follows a run while it is driven: lines on stderr for the person who watches, and the result in the end.
#[derive(Clone)]
pub(crate) struct Live(Arc<Mutex<Following>>);

struct Following {
    awaited: Option<CallOrder>,
    /// Whether it is a run below the one that a person has begun.
    is_below: bool,
    /// How many questions the run has had for a person.
    questions: u64,
    /// The runs below it that are under way, and where each is asked for something. Who drives one keeps it.
    below: Vec<(Weak<Mutex<Following>>, mpsc::Sender<Control>)>,
    /// Where lines go once they are final, and how many of them went there.
    billing: Option<(Accounts, usize)>,
    billing_fault: Option<BillingFault>,
    cursor: Cursor,
    /// Where it is looked up what a call would change.
    changes: Option<Changes>,
    /// Whether it was reported that what is shown is not the machine's state.
    departed: bool,
    /// What the run was asked for while it was driven, such as `stopping`; empty before that.
    leaves: &'static str,
    /// The first run of the line that this one was forked along, where that is known.
    origin: Option<RunId>,
    /// The tool that reported last since the last entry, and what.
    reported: Option<(String, String)>,
    screen: Screen,
    /// Where a snapshot is kept each time that an agent has ended; `None` if none is asked for.
    snapshots: Option<Snapshots>,
    /// The workflow and the step that the run stands below.
    step_path: Option<String>,
    /// The store that the caller names.
    store: Option<PathBuf>,
    since: Instant,
    /// The tool servers that are not up yet.
    starting: BTreeSet<String>,
    /// What is shown of the answer while it arrives; `None` if it is not shown.
    streamed: Option<Streamed>,
    ticks: usize,
    verbose: bool,
    /// The run as far as it has come; none before entry 0.
    view: Option<RunView>,
    waiting: String,
}

impl Live {
    /// Follows a run that is being prepared, without accounting for it anywhere.
    pub(crate) fn new(screen: Screen) -> Self {
        Self::following(screen, false, None)
    }

    /// Follows a run that is about to be driven, and accounts for what it asks for and calls. `sessions` is the folder of snapshots that the
    /// layers of its contract name.
    pub(crate) fn accounting(
        app: &App,
        sessions: Option<&Path>,
        durability: Durability,
    ) -> Result<Self, CliError> {
        let billing = Accounts::new(app.billing(durability)?);
        let live = Self::following(app.screen, app.accounting.verbose, Some((billing, 0)));
        {
            let mut following = live.lock();
            following.store.clone_from(&app.store);
        }
        live.keeps_snapshots(app, sessions)?;
        Ok(if app.streams { live.streaming() } else { live })
    }

    /// Keeps snapshots of the run where the caller names a folder of them, else into `own`, that of the layers of its contract.
    pub(crate) fn keeps_snapshots(&self, app: &App, own: Option<&Path>) -> Result<(), CliError> {
        self.lock().snapshots = Snapshots::of(app, own)?;
        Ok(())
    }

    /// The folder of the snapshots of the run.
    pub(super) fn sessions_dir(&self) -> Option<PathBuf> {
        let following = self.lock();
        let snapshots = following.snapshots.as_ref();
        snapshots.map(|snapshots| snapshots.folder().to_owned())
    }

    /// Follows one of many runs: a person watches all of them, not this one.
    pub(crate) fn among_many(screen: Screen, accounts: Accounts) -> Self {
        Self::following(screen.quieted(), false, Some((accounts, 0)))
    }

    fn following(screen: Screen, verbose: bool, billing: Option<(Accounts, usize)>) -> Self {
        Self(Arc::new(Mutex::new(Following {
            awaited: None,
            is_below: false,
            questions: 0,
            below: Vec::new(),
            billing,
            billing_fault: None,
            changes: None,
            cursor: Cursor::InAFreeLine,
            departed: false,
            leaves: "",
            origin: None,
            reported: None,
            screen,
            snapshots: None,
            step_path: None,
            since: Instant::now(),
            starting: BTreeSet::new(),
            store: None,
            streamed: None,
            ticks: 0,
            verbose,
            view: None,
            waiting: "starting".to_owned(),
        })))
    }

    /// Shows text on stdout as it is released.
    fn streaming(self) -> Self {
        self.lock().streamed = Some(Streamed::default());
        self
    }

    /// Whether that text is on the screen already.
    pub(crate) fn has_shown(&self, answer: &str) -> bool {
        let following = self.lock();
        following.streamed.as_ref().is_some_and(|s| s.is(answer))
    }

    /// The run is left: text of an attempt without an end counts for nothing.
    pub(crate) fn left_text(&self) {
        let mut following = self.lock();
        let following = &mut *following;
        if let (Some(streamed), Some(view)) = (&mut following.streamed, &following.view) {
            streamed.leave(following.screen, view);
        }
    }

    /// The request of a run that is followed from its bring-up on: which tool servers are not up yet is shown.
    pub(crate) fn preparing(&self, request: RunRequest) -> RunRequest {
        let mut following = self.lock();
        following.starting = request.spec.tools.servers.keys().cloned().collect();
        following.await_servers();
        let withheld = request.environment.withheld().clone();
        following.changes = Changes::of(&request.spec, &request.contract_dir, withheld);
        let live = self.clone();
        let watch = move |name: &str| {
            let mut following = live.lock();
            if following.starting.remove(name) {
                following.await_servers();
            }
        };
        let live = self.clone();
        let report = move |tool: &str, report: &str| live.report(tool, report);
        let live = self.clone();
        let note = move |text: &str| live.remark(text);
        let environment = request.environment.clone().with_server_watch(watch);
        request.in_environment(environment.with_call_watch(report).with_notes(note))
    }

    /// Removes secrets with `scrub` from everything that is shown of the run's files from now on.
    pub(crate) fn without_secrets(&self, scrub: Arc<dyn Scrubber>) {
        let mut following = self.lock();
        let changes = following.changes.take();
        following.changes = changes.map(|changes| changes.without_secrets(scrub));
    }

    /// A tool that runs reports of it: the newest report is shown with what is waited for.
    fn report(&self, tool: &str, report: &str) {
        self.lock().reported = Some((line(tool), brief(report, REPORT_CHARS)));
    }

    /// Says which run was the first of the line that this one was forked along.
    pub(crate) fn originating_from(&self, first: RunId) {
        self.lock().origin = Some(first);
    }

    /// Takes in what was recorded before this process: nothing of it is shown, and what of it is accounted for already is not
    /// accounted for again.
    pub(crate) fn recall(
        &self,
        contract: &Arc<ExecutionContract>,
        entries: &[SealedEntry],
    ) -> Result<(), CliError> {
        let mut following = self.lock();
        for entry in entries {
            let entry = Recorded::decode(entry)?;
            following.view(contract).take(entry.entry());
        }
        following.catch_up()?;
        Ok(())
    }

    /// Called about ten times a second: shows what is waited for once that takes longer than a second.
    pub(crate) fn tick(&self) {
        let mut following = self.lock();
        let waited = following.since.elapsed().as_millis();
        let free = following.streamed.as_ref().is_none_or(|s| !s.is_open());
        let slow = waited >= PATIENCE_MS && !following.waiting.is_empty();
        if following.screen.redraws() && slow && free {
            following.draw(waited);
        }
    }

    /// Writes a line of monolith's own between those of the run.
    pub(crate) fn note(&self, line: &str) {
        let mut following = self.lock();
        following.wipe();
        following.screen.note(line);
    }

    /// Writes what is to be known of a tool server, in a pipe too.
    fn remark(&self, text: &str) {
        let mut following = self.lock();
        following.wipe();
        following.screen.remark(&format!("note: {}", line(text)));
    }

    /// The run is asked to come to an end, or to be left: what is waited for is shown behind that word.
    pub(crate) fn leaves(&self, word: &'static str) {
        self.lock().leaves = word;
    }

    /// What the run waits for a person with now, where it does.
    pub(crate) fn question(&self) -> Option<Question> {
        let following = self.lock();
        let run_id = following.view.as_ref().and_then(RunView::run_id);
        Some(Question {
            number: following.questions,
            order: following.awaited.clone()?,
            run_id: run_id?.clone(),
        })
    }

    /// Where it is looked up what a call of the run would change.
    pub(crate) fn changes(&self) -> Option<Changes> {
        self.lock().changes.clone()
    }

    /// Whether answers to calls that wait count only where an approver has signed them.
    pub(crate) fn takes_signed_answers(&self) -> bool {
        let following = self.lock();
        let view = following.view.as_ref();
        view.is_some_and(|view| !view.contract().approvers.is_empty())
    }

    /// A command to type next.
    pub(crate) fn hint(&self, words: &str) -> String {
        hint(self.lock().store.as_deref(), words)
    }

    /// Whether somebody watches.
    pub(crate) fn is_watched(&self) -> bool {
        self.lock().screen.is_watched()
    }

    /// How many cells a line has.
    pub(crate) fn width(&self) -> usize {
        self.lock().screen.width()
    }

    /// Puts a question to the person who watches. The line stays free for the answer until the next entry.
    pub(crate) fn ask(&self, question: &str) {
        let mut following = self.lock();
        following.wipe();
        following.waiting.clear();
        following.screen.write_err(question);
        if !question.ends_with('\n') {
            following.cursor = Cursor::BehindAQuestion;
        }
    }

    /// A line was typed behind the question: the cursor stands in the next one.
    pub(crate) fn was_typed(&self) {
        self.lock().cursor = Cursor::InAFreeLine;
    }

    /// The run has ended, or will not begin: nothing is waited for any longer.
    pub(crate) fn rest(&self) {
        let mut following = self.lock();
        following.wipe();
        following.waiting.clear();
        let synced = following.billing.as_ref().map(|(file, _)| file.sync());
        if let Some(Err(fault)) = synced {
            following.warn_of(&fault);
        }
    }

    /// The run has come so far: what was shown is held against its machine.
    pub(crate) fn end(&self, run: &Run) {
        let mut following = self.lock();
        if let Some(view) = &mut following.view {
            view.end(run);
        }
        following.report_departure();
    }

    /// Whether there are entries of the run.
    pub(crate) fn has_begun(&self) -> bool {
        self.lock().view.is_some()
    }

    /// Hands out the run as far as it has come: it is followed no further. None before entry 0.
    pub(crate) fn take_view(&self) -> Option<RunView> {
        self.lock().view.take()
    }

    fn lock(&self) -> MutexGuard<'_, Following> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Live {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        self.lock().entry(draft, sealed, run);
    }

    fn text(&mut self, inference: InferenceSeq, text: &str) {
        self.lock().text(inference, text);
    }

    fn below(&mut self, _: &RunId, control: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(self.follow_below(control))
    }

    fn recorded(&mut self, contract: &Arc<ExecutionContract>, entries: &[SealedEntry]) {
        if let Err(fault) = self.recall(contract, entries) {
            self.note(&line(&fault.summary()));
        }
    }
}

impl Following {
    /// Names the tool servers that are still waited for.
    fn await_servers(&mut self) {
        let servers: Vec<String> = self.starting.iter().map(|name| line(name)).collect();
        self.waiting = match servers.as_slice() {
            [] => "starting".to_owned(),
            servers => format!("starting tool servers: {}", servers.join(", ")),
        };
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

    /// The view of the run, which is made with its first entry.
    fn view(&mut self, contract: &Arc<ExecutionContract>) -> &mut RunView {
        let (origin, step_path) = (&mut self.origin, &mut self.step_path);
        self.view.get_or_insert_with(|| {
            let mut view = RunView::following(Arc::clone(contract));
            if let Some(path) = step_path.take() {
                view.below_step(path);
            }
            if let Some(origin) = origin.take() {
                view.originating_from(origin);
            }
            view
        })
    }

    /// Reports once that what is shown is not the machine's state.
    fn report_departure(&mut self) {
        let departs = |view: &RunView| view.departure().is_some();
        if self.departed || !self.view.as_ref().is_some_and(departs) {
            return;
        }
        self.wipe();
        self.departed = self
            .view
            .as_ref()
            .and_then(|view| warned(self.screen, view))
            .is_some();
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
        self.cursor = Cursor::BehindWhatIsWaitedFor;
    }

    /// Makes the line free for another one.
    fn wipe(&mut self) {
        self.leave_line();
        if let Some(streamed) = &mut self.streamed {
            streamed.close(self.screen);
        }
    }

    /// What is waited for is wiped, a question stays.
    fn leave_line(&mut self) {
        if self.is_below && self.screen.redraws() {
            // The run above waits, and may have said so.
            self.screen.write_err(WIPE);
        }
        match std::mem::take(&mut self.cursor) {
            Cursor::BehindAQuestion => self.screen.write_err("\n"),
            Cursor::BehindWhatIsWaitedFor => self.screen.write_err(WIPE),
            Cursor::InAFreeLine => {}
        }
    }
}
