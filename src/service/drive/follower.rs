//! Follows a run while it is driven: its view, its accounting and its snapshots. Steps no machine and shows nothing itself.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::mpsc;

use super::accounts::Accounts;
use super::display::{Display, Quiet, ShownEntry};
use super::snapshots::Snapshots;
use crate::changes::Changes;
use crate::error::ServiceError;
use crate::service::Service;
use crate::source::Recorded;
use crate::text::escape::line;
use crate::text::narration::Transition;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{CallOrder, EntryDraft, EventKind, Run};
use monolith_core::message::{InferenceSeq, RunId, Scrubber};
use monolith_core::session::Control;
use monolith_core::transcript::SealedEntry;
use monolith_core::view::{Entry, RunView};
use monolith_host::driver::{Observer, RunRequest};
use monolith_host::store::Durability;
use monolith_host::telemetry::{AccountingLine, BillingFault};

/// Follows a run while it is driven. Clones follow the same run.
#[derive(Clone)]
pub struct Follower(Arc<Mutex<Following>>);

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

/// A call that waits for a person, or the question of its server.
#[derive(Clone, Debug)]
pub struct Question {
    /// Number of the question in the run, from 1: a server may ask the same again.
    pub number: u64,
    /// The call.
    pub order: CallOrder,
    /// The run that waits.
    pub run_id: RunId,
}

struct Following {
    /// The accounting file, and the number of lines that it has of this run.
    accounts: Option<(Accounts, usize)>,
    accounts_fault: Option<BillingFault>,
    awaited: Option<CallOrder>,
    /// Looks up what a call would change.
    changes: Option<Changes>,
    /// Child runs that are under way, each with its control.
    children: Vec<(Weak<Mutex<Following>>, mpsc::Sender<Control>)>,
    display: Box<dyn Display>,
    /// Set once the display was told that the view diverged.
    diverged: bool,
    /// First run of the line of forks, where that is known.
    origin: Option<RunId>,
    /// Number of questions that the run has had for a person.
    questions: u64,
    snapshots: Option<Snapshots>,
    /// Tool servers that are still starting.
    starting: BTreeSet<String>,
    /// The workflow and the step that the run belongs to.
    step_path: Option<String>,
    /// The run so far; none before entry 0.
    view: Option<RunView>,
}

impl Follower {
    /// Follows a run that is not accounted for.
    #[must_use]
    pub fn new(display: Box<dyn Display>) -> Self {
        Self::following(display, None)
    }

    /// Follows a run and accounts for it. `sessions` is the folder of snapshots that the layers of its contract name.
    pub fn accounting(
        service: &Service,
        display: Box<dyn Display>,
        sessions: Option<&Path>,
        durability: Durability,
    ) -> Result<Self, ServiceError> {
        let accounts = Accounts::new(service.billing(durability)?);
        let follower = Self::following(display, Some(accounts));
        follower.keeps_snapshots(service, sessions)?;
        Ok(follower)
    }

    /// Follows one of many runs, which nobody watches by itself.
    #[must_use]
    pub fn among_many(accounts: Accounts, display: Box<dyn Display>) -> Self {
        Self::following(display, Some(accounts))
    }

    fn following(display: Box<dyn Display>, accounts: Option<Accounts>) -> Self {
        Self(Arc::new(Mutex::new(Following {
            accounts: accounts.map(|accounts| (accounts, 0)),
            accounts_fault: None,
            awaited: None,
            changes: None,
            children: Vec::new(),
            display,
            diverged: false,
            origin: None,
            questions: 0,
            snapshots: None,
            starting: BTreeSet::new(),
            step_path: None,
            view: None,
        })))
    }

    /// Keeps snapshots of the run in the folder that the caller names, else in `own`, which the layers of its contract name.
    pub fn keeps_snapshots(
        &self,
        service: &Service,
        own: Option<&Path>,
    ) -> Result<(), ServiceError> {
        self.lock().snapshots = Snapshots::of(service, own)?;
        Ok(())
    }

    /// Keeps snapshots of a step's run in the folder that the layers of its contract name, unless the caller names one.
    pub fn keeps_snapshots_in(&self, folder: &Path, store: &Path) {
        let mut following = self.lock();
        let snapshots = &mut following.snapshots;
        snapshots.get_or_insert_with(|| Snapshots::within(folder, store));
    }

    /// Returns the folder of the run's snapshots.
    #[must_use]
    pub fn sessions_dir(&self) -> Option<PathBuf> {
        let following = self.lock();
        let snapshots = following.snapshots.as_ref();
        snapshots.map(|snapshots| snapshots.folder().to_owned())
    }

    /// Does something with the display, where it is of that type.
    pub fn with_display<D: Display, T>(&self, work: impl FnOnce(&mut D) -> T) -> Option<T> {
        let mut following = self.lock();
        let display: &mut dyn std::any::Any = following.display.as_mut();
        display.downcast_mut().map(work)
    }

    /// Returns the request of a run that is followed from its bring-up on.
    #[must_use]
    pub fn preparing(&self, request: RunRequest) -> RunRequest {
        let mut following = self.lock();
        following.starting = request.spec.tools.servers.keys().cloned().collect();
        following.show_starting();
        let withheld = request.environment.withheld().clone();
        following.changes = Changes::of(&request.spec, &request.contract_dir, withheld);
        let of_server = self.clone();
        let watch = move |name: &str| {
            let mut following = of_server.lock();
            if following.starting.remove(name) {
                following.show_starting();
            }
        };
        let of_tool = self.clone();
        let report = move |tool: &str, report: &str| of_tool.lock().display.progress(tool, report);
        let of_note = self.clone();
        let note = move |text: &str| of_note.lock().display.remark(text);
        let environment = request.environment.clone().with_server_watch(watch);
        request.in_environment(environment.with_call_watch(report).with_notes(note))
    }

    /// Removes secrets with `scrub` from everything that is shown of the run's files from now on.
    pub fn without_secrets(&self, scrub: Arc<dyn Scrubber>) {
        let mut following = self.lock();
        let changes = following.changes.take();
        following.changes = changes.map(|changes| changes.without_secrets(scrub));
    }

    /// Names the first run of the line of forks.
    pub fn originating_from(&self, first: RunId) {
        self.lock().origin = Some(first);
    }

    /// Takes in entries of an earlier process. Nothing of them is shown, and no line of accounting is written twice.
    pub fn recall(
        &self,
        contract: &Arc<ExecutionContract>,
        entries: &[SealedEntry],
    ) -> Result<(), ServiceError> {
        let mut following = self.lock();
        for entry in entries {
            let entry = Recorded::decode(entry)?;
            following.view(contract).take(entry.entry());
        }
        following.catch_up()?;
        Ok(())
    }

    /// Shows a line of monolith's own.
    pub fn note(&self, text: &str) {
        self.lock().display.note(text);
    }

    /// Shows that a step of a workflow began or ended.
    pub(crate) fn step(&self, text: &str) {
        self.lock().display.step(text);
    }

    /// Shows what the run is asked for.
    pub(crate) fn asked(&self, control: &Control) {
        self.lock().display.asked(control);
    }

    /// Shows a warning.
    pub fn warn(&self, text: &str) {
        self.lock().display.warn(text);
    }

    /// Returns what the run waits for a person with now.
    #[must_use]
    pub fn question(&self) -> Option<Question> {
        let following = self.lock();
        let run_id = following.view.as_ref().and_then(RunView::run_id);
        Some(Question {
            number: following.questions,
            order: following.awaited.clone()?,
            run_id: run_id?.clone(),
        })
    }

    /// Returns what looks up the changes that a call of the run would make.
    #[must_use]
    pub fn changes(&self) -> Option<Changes> {
        self.lock().changes.clone()
    }

    /// True if only answers that an approver has signed count.
    #[must_use]
    pub fn takes_signed_answers(&self) -> bool {
        let following = self.lock();
        let view = following.view.as_ref();
        view.is_some_and(|view| !view.contract().approvers.is_empty())
    }

    /// The run has ended, or will not begin.
    pub fn rest(&self) {
        let mut following = self.lock();
        following.display.rest();
        let synced = following.accounts.as_ref().map(|(file, _)| file.sync());
        if let Some(Err(fault)) = synced {
            following.warn_of(&fault);
        }
    }

    /// The run is left: shown text of an attempt without an end counts for nothing.
    pub fn left(&self) {
        let mut following = self.lock();
        let following = &mut *following;
        if let Some(view) = &following.view {
            following.display.left(view);
        }
    }

    /// Compares the view with the machine of the run.
    pub fn end(&self, run: &Run) {
        let mut following = self.lock();
        if let Some(view) = &mut following.view {
            view.end(run);
        }
        following.report_divergence();
    }

    /// True if the run has entries.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.lock().view.is_some()
    }

    /// Hands out the run so far, which is followed no further; `None` before entry 0.
    #[must_use]
    pub fn take_view(&self) -> Option<RunView> {
        self.lock().view.take()
    }

    /// Returns the child runs that are under way.
    #[must_use]
    pub fn children(&self) -> Vec<(Self, mpsc::Sender<Control>)> {
        let following = self.lock();
        let children = following.children.iter();
        let children =
            children.filter_map(|(run, control)| Some((Self(run.upgrade()?), control.clone())));
        children.collect()
    }

    /// True if both follow the same run.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Follows a child run. Its accounting goes where that of this one goes.
    #[must_use]
    pub fn follow_child(&self, control: mpsc::Sender<Control>) -> Self {
        let mut following = self.lock();
        let child = following.child();
        let view = following.view.as_ref();
        {
            let mut of_child = child.lock();
            of_child.origin = view.and_then(RunView::origin).cloned();
            of_child.step_path = view.and_then(RunView::step_path).map(str::to_owned);
            let first = view.and_then(RunView::run_id);
            let snapshots = following.snapshots.as_ref();
            of_child.snapshots = snapshots.map(|snapshots| snapshots.of_tree(first));
        }
        following.add_child(&child, control);
        child
    }

    /// Follows the run of a workflow's step. `first` is the workflow's run; `path` is `WORKFLOW:STEP`.
    #[must_use]
    pub fn follow_step(&self, first: RunId, path: String, control: mpsc::Sender<Control>) -> Self {
        let mut following = self.lock();
        let step = following.child();
        {
            let mut of_step = step.lock();
            of_step.origin = Some(first);
            of_step.step_path = Some(path);
            of_step.snapshots.clone_from(&following.snapshots);
        }
        following.add_child(&step, control);
        step
    }

    fn lock(&self) -> MutexGuard<'_, Following> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Follower {
    fn default() -> Self {
        Self::new(Box::new(Quiet))
    }
}

impl Observer for Follower {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        self.lock().entry(draft, sealed, run);
    }

    fn text(&mut self, inference: InferenceSeq, text: &str) {
        self.lock().display.text(inference, text);
    }

    fn thinking(&mut self, inference: InferenceSeq, text: &str) {
        self.lock().display.thinking(inference, text);
    }

    fn below(&mut self, _: &RunId, control: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(self.follow_child(control))
    }

    fn recorded(&mut self, contract: &Arc<ExecutionContract>, entries: &[SealedEntry]) {
        if let Err(fault) = self.recall(contract, entries) {
            self.note(&line(&fault.summary()));
        }
    }
}

impl Following {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        let entry = Entry::sealed(draft, sealed.hash);
        let view = self.view(run.contract());
        view.take(entry);
        let transition = Transition::of(view, entry);
        self.report_divergence();
        let awaited = run.awaited();
        let is_new = awaited.is_some() && awaited != self.awaited;
        self.questions = self.questions.saturating_add(u64::from(is_new));
        self.awaited = awaited;
        self.account();
        self.keep_snapshot(entry);
        if let Some(view) = &self.view {
            self.display.entry(&ShownEntry {
                entry,
                run,
                transition,
                view,
            });
        }
    }

    fn show_starting(&mut self) {
        self.display.starting(&self.starting);
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

    fn report_divergence(&mut self) {
        let Some(view) = self.view.as_ref().filter(|_| !self.diverged) else {
            return;
        };
        if view.departure().is_some() {
            self.diverged = true;
            self.display.diverged(view);
        }
    }

    fn child(&self) -> Follower {
        let accounts = self.accounts.as_ref().map(|(file, _)| file.clone());
        Follower::following(self.display.child(), accounts)
    }

    fn add_child(&mut self, run: &Follower, control: mpsc::Sender<Control>) {
        self.children.retain(|(run, _)| run.strong_count() > 0);
        self.children.push((Arc::downgrade(&run.0), control));
    }

    /// Writes the lines that have become final. Lines that cannot be written now are tried again with the next.
    fn account(&mut self) {
        // After an error a part of the lines may be in the file.
        let written = if self.accounts_fault.is_some() {
            self.catch_up()
        } else {
            self.account_ended()
        };
        match written {
            Ok(()) => self.accounts_fault = None,
            Err(fault) => {
                if self.accounts_fault.is_none() {
                    self.warn_of(&fault);
                }
                self.accounts_fault = Some(fault);
            }
        }
    }

    fn account_ended(&mut self) -> Result<(), BillingFault> {
        let (Some((file, written)), Some(view)) = (&mut self.accounts, &self.view) else {
            return Ok(());
        };
        file.append(&AccountingLine::of_ended(view, *written))?;
        *written = view.ended().len();
        // A run that has ended is not resumed: nothing would add these lines again.
        if view.outcome().is_some() {
            file.sync()?;
        }
        Ok(())
    }

    /// Writes the lines of an earlier process that it did not live to write.
    fn catch_up(&mut self) -> Result<(), BillingFault> {
        let (Some((file, written)), Some(view)) = (&mut self.accounts, &self.view) else {
            return Ok(());
        };
        let Some(run_id) = view.run_id() else {
            return Ok(());
        };
        let there = file.entries_of(run_id)?;
        let mut lines = AccountingLine::of_ended(view, 0);
        lines.retain(|line| !there.contains(&line.index()));
        file.append(&lines)?;
        *written = view.ended().len();
        Ok(())
    }

    /// Keeps a snapshot of the session once an agent that the run called has ended (001 §12).
    fn keep_snapshot(&mut self, entry: Entry<'_>) {
        let Some(EventKind::ToolReturned(returned)) = entry.event.map(|event| &event.event) else {
            return;
        };
        let run_id = self.view.as_ref().and_then(RunView::run_id);
        if let (Some(snapshots), Some(run_id), Some(_)) = (&self.snapshots, run_id, &returned.child)
            && let Err(fault) = snapshots.keep_of(run_id)
        {
            self.display
                .warn(&format!("{}; the run continues", fault.summary()));
        }
    }

    fn warn_of(&mut self, fault: &BillingFault) {
        self.display.warn(&format!(
            "failed to {fault}; the run continues, and its transcript keeps everything"
        ));
    }
}
