use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::error::CliError;
use super::narrator::{Narrator, target_name};
use super::numbers::seconds;
use super::recorded::Recorded;
use super::screen::{Screen, Style};
use crate::contract::ExecutionContract;
use crate::driver::Observer;
use crate::kernel::{CallOrder, EffectRecord, EntryDraft, Predicate, Run, State};
use crate::message::RunId;
use crate::telemetry::{BillingFault, BillingFile, Ledger};
use crate::transcript::SealedEntry;

/// How long nothing may happen before somebody who watches is told what is waited for.
const PATIENCE_MS: u128 = 1000;
const WHEEL: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Follows a run while it is driven: lines on stderr for whoever watches, and the result in the end.
#[derive(Clone)]
pub(super) struct Live(Arc<Mutex<Following>>);

struct Following {
    awaited: Option<CallOrder>,
    /// Where lines go once they are final, and how many of them went there.
    billing: Option<(BillingFile, usize)>,
    billing_fault: Option<BillingFault>,
    drawn: bool,
    ledger: Ledger,
    narrator: Narrator,
    predicate: Option<Predicate>,
    screen: Screen,
    since: Instant,
    ticks: usize,
    verbose: bool,
    waiting: String,
}

impl Live {
    /// Follows a run that is being prepared, without accounting for it anywhere.
    pub(super) fn new(screen: Screen) -> Self {
        Self::following(screen, false, None)
    }

    /// Follows a run that is being prepared. What it asks for and calls goes into that file.
    pub(super) fn accounting(screen: Screen, verbose: bool, billing: BillingFile) -> Self {
        Self::following(screen, verbose, Some((billing, 0)))
    }

    fn following(screen: Screen, verbose: bool, billing: Option<(BillingFile, usize)>) -> Self {
        Self(Arc::new(Mutex::new(Following {
            awaited: None,
            billing,
            billing_fault: None,
            drawn: false,
            ledger: Ledger::new(),
            narrator: Narrator::default(),
            predicate: None,
            screen,
            since: Instant::now(),
            ticks: 0,
            verbose,
            waiting: "starting tool servers".to_owned(),
        })))
    }

    /// Says which run was the first of the line that this one was forked along.
    pub(super) fn originating_from(&self, first: RunId) {
        self.lock().ledger.originating_from(first);
    }

    /// Takes in what was recorded before this process: nothing of it is shown, and what of it is accounted for already is not
    /// accounted for again.
    pub(super) fn recall(
        &self,
        contract: &ExecutionContract,
        entries: &[SealedEntry],
    ) -> Result<(), CliError> {
        let mut following = self.lock();
        for entry in entries {
            let (action, event) = Recorded::decode(entry)?;
            let ledger = &mut following.ledger;
            ledger.take(contract, &action, event.as_ref(), entry.hash);
            following.narrator.take(contract, &action, event.as_ref());
            following.predicate = action.predicate.or(following.predicate);
        }
        following.catch_up()?;
        Ok(())
    }

    /// Called about ten times a second: shows what is waited for once that takes longer than a second.
    pub(super) fn tick(&self) {
        let mut following = self.lock();
        let waited = following.since.elapsed().as_millis();
        if following.screen.is_watched() && waited >= PATIENCE_MS && !following.waiting.is_empty() {
            following.draw(waited);
        }
    }

    /// Writes a line of monolith's own between those of the run.
    pub(super) fn say(&self, line: &str) {
        let mut following = self.lock();
        following.wipe();
        following.screen.note(line);
    }

    /// The call that waits for a person now, where one does.
    pub(super) fn awaited(&self) -> Option<(CallOrder, RunId)> {
        let following = self.lock();
        following
            .awaited
            .clone()
            .zip(following.ledger.run_id().cloned())
    }

    /// Whether somebody watches.
    pub(super) fn is_watched(&self) -> bool {
        self.lock().screen.is_watched()
    }

    /// Puts a question to whoever watches. The line stays free for the answer until the next entry.
    pub(super) fn ask(&self, question: &str) {
        let mut following = self.lock();
        following.wipe();
        following.waiting.clear();
        following.screen.write_err(question);
    }

    /// The run has ended, or will not begin: nothing is waited for any longer.
    pub(super) fn rest(&self) {
        let mut following = self.lock();
        following.wipe();
        following.waiting.clear();
    }

    /// What the entries came to so far, and the predicate that fired last.
    pub(super) fn seen(&self) -> (Ledger, Option<Predicate>) {
        let following = self.lock();
        (following.ledger.clone(), following.predicate)
    }

    fn lock(&self) -> MutexGuard<'_, Following> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Live {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        self.lock().entry(draft, sealed, run);
    }
}

impl Following {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        let action = &draft.action;
        let contract = run.contract();
        self.ledger
            .take(contract, action, draft.event.as_ref(), sealed.hash);
        let told = self.narrator.take(contract, action, draft.event.as_ref());
        self.predicate = action.predicate.or(self.predicate);
        self.awaited = run.awaited();
        self.bill();
        if !self.screen.is_watched() && !self.verbose {
            return;
        }
        self.wipe();
        if let Some(told) = told {
            self.screen.write_err(&format!("{}\n", told.line()));
        }
        if let Some(waiting) = waiting(draft, run) {
            self.waiting = waiting;
        }
        self.since = Instant::now();
    }

    /// Writes the lines that have become final. What cannot be written now is tried again with the next.
    fn bill(&mut self) {
        let Some((file, billed)) = &mut self.billing else {
            return;
        };
        let all = self.ledger.closed().count();
        match file.append(self.ledger.closed().skip(*billed)) {
            Ok(()) => {
                *billed = all;
                self.billing_fault = None;
            }
            Err(fault) => {
                if self.billing_fault.is_none() {
                    let line = format!(
                        "warning: {fault}; the run goes on, and its transcript keeps everything\n"
                    );
                    self.screen.write_err(&super::escape::text(&line));
                }
                self.billing_fault = Some(fault);
            }
        }
    }

    /// Writes those lines of a run begun by another process that it did not live to write.
    fn catch_up(&mut self) -> Result<(), BillingFault> {
        let (Some((file, billed)), Some(run_id)) = (&mut self.billing, self.ledger.run_id()) else {
            return Ok(());
        };
        let there = file.entries_of(run_id)?;
        let missing = self
            .ledger
            .closed()
            .filter(|line| !there.contains(&line.index()));
        file.append(missing)?;
        *billed = self.ledger.closed().count();
        Ok(())
    }

    fn draw(&mut self, waited_ms: u128) {
        self.ticks = self.ticks.wrapping_add(1);
        let wheel = WHEEL.get(self.ticks % WHEEL.len()).copied().unwrap_or('·');
        let waited = seconds(u64::try_from(waited_ms).unwrap_or(u64::MAX) / 100 * 100);
        let line = format!("{wheel} {waited}  {}", self.waiting);
        let line = self.screen.paint(Style::Dim, &line);
        self.screen.write_err(&format!("\r\u{1b}[2K{line}"));
        self.drawn = true;
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.drawn) {
            self.screen.write_err("\r\u{1b}[2K");
        }
    }
}

/// What the run waits for after this entry, where the entry changes that.
fn waiting(draft: &EntryDraft, run: &Run) -> Option<String> {
    let action = &draft.action;
    let mut calls = Vec::new();
    let mut waiting = None;
    for effect in &action.effects {
        match effect {
            EffectRecord::Probe => waiting = Some("asking whether the models answer".to_owned()),
            EffectRecord::Infer { target, .. } => {
                waiting = Some(format!(
                    "waiting for {}",
                    target_name(run.contract(), *target)
                ));
            }
            EffectRecord::Execute { name, .. } => calls.push(super::escape::line(name)),
            EffectRecord::AwaitApproval { .. } => {
                waiting = Some("waiting for an approval".to_owned());
            }
            EffectRecord::Wait { .. } => {
                waiting = Some("waiting before the next attempt".to_owned());
            }
            EffectRecord::Cancel | EffectRecord::Finish => {}
        }
    }
    if !calls.is_empty() {
        return Some(format!("running {}", calls.join(", ")));
    }
    if action.to == State::Terminate {
        return Some("closing".to_owned());
    }
    waiting
}
