//! The steps of an item before publishing: its scratch tree, the agent's run, the comparison, and the tests. Each returns an event.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::agent::ItemAgent;
use super::answer::{Answer, Signals};
use super::attempt::{Attempt, interrupted_call};
use super::common::{Common, scan_for, success_of, terms_of};
use super::conflicts::{files_of, receipts_of};
use super::hunks::HunkCounter;
use super::level::{Frozen, Level, freeze};
use crate::drive::approvers::{Approvers, LOOK_EVERY};
use crate::drive::follower::Follower;
use crate::error::ServiceError;
use crate::secrets::without_secrets;
use monolith_core::kernel::ParentRun;
use monolith_core::message::{Digest, RunId};
use monolith_core::session::Control;
use monolith_core::work::{
    AgentEnd, AttemptCalls, Capsule, Deltas, Duplicate, PathChange, Receipt, TestCount, TestEnd,
    WorkEventKind, WorkItem, WorkPath, find_duplicate,
};
use monolith_host::driver::{
    ItemRequest, ItemRun, ItemRunEnd, StepTerms, Waiting, blocking, run_confined,
};
use monolith_host::work_tree::{WorkTree, WorkTreeError};

/// Maximum number of controls that may wait for a run.
const CONTROLS: usize = 8;
/// The most bytes of the output of tests in a receipt.
const MOST_OUTPUT: usize = 16 << 10;
/// Times that a copy is made while something writes the tree.
const MOST_COPIES: u32 = 3;

/// The subject of a step.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) agent: Arc<ItemAgent>,
    pub(super) common: Arc<Common>,
    pub(super) item: Arc<WorkItem>,
    /// The receipts of the items that it reconciles.
    pub(super) reconciled: Arc<[String]>,
    pub(super) work_id: RunId,
}

impl Subject {
    /// Makes the scratch tree, unless an equal item has succeeded or an input is missing.
    pub(super) async fn prepare(
        self,
        level: Arc<Level>,
        attempt: u32,
        signals: Signals,
    ) -> Result<Answer, ServiceError> {
        let common = &self.common;
        let aside = match self.reconciled_receipts().await {
            Ok(reconciled) => files_of(&reconciled),
            Err(fault) => return Ok(Answer::failed(&fault.summary())),
        };
        let mut stale = None;
        for left in (0..MOST_COPIES).rev() {
            let frozen = if attempt == 1 {
                level.frozen(common, &self.item, stale, &signals).await?
            } else {
                freeze(common, &self.item, &signals).await?
            };
            let frozen = match frozen {
                Ok(frozen) => frozen,
                Err(fault) => return Ok(signals.refused(fault)),
            };
            if attempt == 1 {
                match self.duplicate(&frozen, &signals).await? {
                    Ok(Some(event)) => return Ok(Answer::Event(event)),
                    Ok(None) => {}
                    Err(fault) => return Ok(signals.refused(fault)),
                }
            }
            let is_missing = |path: &&WorkPath| frozen.scan.manifest.get(path).is_none();
            let inputs = self.item.input_files.iter();
            let missing_inputs: Vec<_> = inputs.filter(is_missing).cloned().collect();
            let before = frozen.hash;
            if missing_inputs.is_empty() {
                let made = self.make_scratch(frozen, aside.clone(), &signals);
                match made.await? {
                    // Something else writes the tree: the items publish nothing before all of their level have their copies.
                    Err(WorkTreeError::Moved { .. }) if left > 0 => {
                        stale = Some(before);
                        continue;
                    }
                    Err(fault) => return Ok(signals.refused(fault)),
                    Ok(()) => {}
                }
            }
            return Ok(Answer::Event(WorkEventKind::Prepared {
                before,
                missing_inputs,
            }));
        }
        Ok(Answer::failed("the work tree changes all the time"))
    }

    /// Judges rule 4. An equal item may have changed the ignore rules: those that counted before it decide what it left.
    async fn duplicate(
        &self,
        frozen: &Arc<Frozen>,
        signals: &Signals,
    ) -> Result<Result<Option<WorkEventKind>, WorkTreeError>, ServiceError> {
        let key = self.item.duplicate_key(self.agent.contract_hash);
        let mut earlier = self.common.earlier().clone();
        earlier.retain(|success| success.key == key && !self.common.again);
        let (item, frozen) = (Arc::clone(&self.item), Arc::clone(frozen));
        let watch = signals.watch();
        let judged = self.common.on_tree(move |tree| {
            for success in &mut earlier {
                let (scan, terms) = (&frozen.scan, terms_of(&item));
                // A tree that cannot be compared is another one.
                let hash = match tree.hash_by(success.before, scan, terms, &watch) {
                    Err(WorkTreeError::Stopped) => return Err(WorkTreeError::Stopped),
                    hash => hash.ok().flatten(),
                };
                if hash == Some(success.after) {
                    success.after = frozen.hash;
                }
            }
            Ok(match find_duplicate(key, frozen.hash, &earlier, false) {
                Duplicate::New => None,
                Duplicate::Done { receipt_id } => Some(WorkEventKind::AlreadyDone { receipt_id }),
                Duplicate::Denied(denial) => Some(WorkEventKind::Refused(denial)),
            })
        });
        judged.await
    }

    async fn make_scratch(
        &self,
        frozen: Arc<Frozen>,
        aside: Vec<(PathBuf, Digest)>,
        signals: &Signals,
    ) -> Result<Result<(), WorkTreeError>, ServiceError> {
        let (item, id) = (Arc::clone(&self.item), self.work_id.clone());
        let watch = signals.watch();
        let made = self.common.on_tree(move |tree| {
            let terms = (id.as_str(), item.max_copy_bytes);
            let scratch = tree.make_scratch(&frozen.scan, terms, &watch)?;
            tree.put_aside(scratch.path(), &aside)
        });
        made.await
    }

    /// The receipts of the items that it reconciles.
    async fn reconciled_receipts(&self) -> Result<Vec<Receipt>, ServiceError> {
        let subject = self.clone();
        let read = move || {
            let mut reader = subject.common.store.reader()?;
            receipts_of(&mut reader, &subject.reconciled)
        };
        blocking(read).await
    }

    /// Drives the agent's run in the scratch tree, whatever of it has happened before.
    pub(super) async fn run(
        self,
        parent: ParentRun,
        (attempt, timeout_ms): (u32, u64),
        signals: Signals,
    ) -> Result<Answer, ServiceError> {
        let common = Arc::clone(&self.common);
        let id = self.work_id.clone();
        let scratch = common.on_tree(move |tree| {
            let scratch = tree.open_scratch(id.as_str())?;
            Ok(scratch.map(|scratch| scratch.path().to_owned()))
        });
        let workspace = match scratch.await? {
            Ok(Some(path)) => path,
            Ok(None) => return Ok(Answer::failed("its scratch tree is gone")),
            Err(fault) => return Ok(fault.into()),
        };
        let run_id = match self.work_id.step(u64::from(attempt)) {
            Ok(run_id) => run_id,
            Err(fault) => return Ok(Answer::failed(&fault.to_string())),
        };
        let interrupted = self.interrupted(run_id.clone()).await?;
        let reconciled = match self.reconciled_receipts().await {
            Ok(reconciled) => reconciled,
            Err(fault) => return Ok(Answer::failed(&fault.summary())),
        };
        let request: Arc<ItemRequest> = {
            let subject = self.clone();
            Arc::new(move |begun| {
                let Common {
                    environment,
                    service,
                    ..
                } = &*subject.common;
                let terms = (workspace.as_path(), timeout_ms);
                let places = (service, environment);
                let item = (&*subject.item, reconciled.as_slice());
                let built = subject.agent.request(places, item, terms, begun);
                built.map_err(|fault| fault.summary())
            })
        };
        let root = Follower::among_many(common.accounts.clone(), common.surface.display());
        let (control, controls) = mpsc::channel(CONTROLS);
        let path = format!("work:{}", self.item.id);
        let observer = root.follow_step(self.work_id.clone(), path, control.clone());
        let (waiting, report) = Waiting::alone();
        let run = ItemRun {
            control: control.clone(),
            controls,
            environment: common.environment.clone(),
            observer: Box::new(observer),
            parent,
            request,
            run_id: run_id.clone(),
            terms: StepTerms {
                grace: common.grace,
                max_inferences: None,
            },
            waiting: report,
            was_begun: true,
        };
        if interrupted.is_some() {
            // What is in the scratch tree is not known, so the run is of no use any more. The queue is empty.
            drop(control.try_send(Control::Abort));
        }
        // Its future is large.
        let mut driving = Box::pin(run.drive(&common.store));
        let mut approvers = Approvers::among_many(&common.store, &root);
        let mut tick = interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_stopped, mut is_left) = (false, false);
        let ended = loop {
            let ask = tokio::select! {
                biased;
                ended = &mut driving => break ended,
                () = signals.stop.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    Some(Control::Abort)
                }
                () = signals.suspend.cancelled(), if !is_left => {
                    is_left = true;
                    Some(Control::Suspend)
                }
                _ = tick.tick() => approvers.look(waiting.of_all(1)).await,
            };
            if let Some(ask) = ask {
                approvers.hand(ask, &control);
            }
        };
        drop(driving);
        drop(approvers);
        root.rest();
        match ended {
            // It may be resumed once its cause is gone.
            Err(fault) => Ok(Answer::Broken(Box::new(fault.into()))),
            Ok(ItemRunEnd::Left) => Ok(Answer::Event(WorkEventKind::RunSuspended)),
            Ok(ItemRunEnd::NotBegun(reason)) => {
                Ok(Answer::Event(WorkEventKind::RunEnded(Box::new(AgentEnd {
                    calls: AttemptCalls::default(),
                    failure: Some(without_secrets(&reason)),
                    head: None,
                    run_id,
                }))))
            }
            Ok(ItemRunEnd::Ended) => {
                let mut end = self.attempt(run_id).await?.end;
                end.calls.interrupted = end.calls.interrupted.or(interrupted);
                Ok(Answer::Event(WorkEventKind::RunEnded(Box::new(end))))
            }
        }
    }

    /// The tool whose call an earlier process left without an end.
    async fn interrupted(&self, run_id: RunId) -> Result<Option<String>, ServiceError> {
        let common = Arc::clone(&self.common);
        blocking(move || interrupted_call(&mut common.store.reader()?, &run_id)).await
    }

    async fn attempt(&self, run_id: RunId) -> Result<Attempt, ServiceError> {
        let subject = self.clone();
        let read = move || {
            let mut reader = subject.common.store.reader()?;
            let own = subject.agent.own_timeout_ms;
            Attempt::read(&mut reader, &run_id, &subject.item, own)
        };
        blocking(read).await
    }

    /// Compares the scratch tree with its beginning, and keeps the new contents.
    pub(super) async fn compare(
        self,
        run_id: RunId,
        signals: Signals,
    ) -> Result<Answer, ServiceError> {
        let attempt = self.attempt(run_id).await?;
        let (item, id) = (Arc::clone(&self.item), self.work_id.clone());
        let watch = signals.watch();
        let compared = self.common.on_tree(move |tree| {
            let Some(scratch) = tree.open_scratch(id.as_str())? else {
                return Ok(None);
            };
            let compared = tree.compare(&scratch, terms_of(&item), &watch)?;
            tree.keep_changes(&scratch, &compared.changes, &watch)?;
            let changes = compared.changes;
            let deltas = deltas_of(tree, &changes, attempt.outside)?;
            let discarded: BTreeSet<&WorkPath> = compared.discarded.iter().collect();
            let touched = attempt.touched.into_iter();
            let touched = touched.filter(|path| !discarded.contains(path)).collect();
            let after = scratch.manifest().with(&changes);
            let is_missing = |path: &&WorkPath| after.get(path).is_none();
            let outputs = item.output_files.iter();
            Ok(Some(Capsule {
                deltas,
                missing_outputs: outputs.filter(is_missing).cloned().collect(),
                output_hash: after.hash(),
                touched,
                discarded: compared.discarded,
                changes,
            }))
        });
        Ok(match compared.await? {
            Ok(Some(capsule)) => Answer::Event(WorkEventKind::Compared(Box::new(capsule))),
            Ok(None) => Answer::failed("its scratch tree is gone"),
            Err(fault) => signals.refused(fault),
        })
    }

    /// Runs the test command on a copy of the work tree with the changes.
    pub(super) async fn test(
        self,
        (changes, before): (Arc<[PathChange]>, Option<Digest>),
        signals: Signals,
    ) -> Result<Answer, ServiceError> {
        let Some(command) = self.item.test_command.clone() else {
            return Ok(Answer::failed("it has no tests"));
        };
        let (item, id) = (Arc::clone(&self.item), self.work_id.clone());
        let watch = signals.watch();
        let copy = self.common.on_tree(move |tree| {
            let mut left = MOST_COPIES;
            loop {
                left -= 1;
                let scan = scan_for(tree, &item, before, &watch)?;
                let terms = (id.as_str(), item.max_copy_bytes);
                match tree.make_test_copy(&scan, terms, &changes, &watch) {
                    Err(WorkTreeError::Moved { .. }) if left > 0 => {}
                    copy => return Ok((copy?, scan.manifest.hash())),
                }
            }
        });
        let (copy, on) = match copy.await? {
            Ok(copy) => copy,
            Err(fault) => return Ok(signals.refused(fault)),
        };
        let subject = self.clone();
        let request = move || {
            let Common {
                environment,
                service,
                ..
            } = &*subject.common;
            let places = (service, environment);
            subject.agent.test_request(places, &subject.item, &copy)
        };
        let request = match blocking(request).await {
            Ok(request) => request,
            Err(fault) => return Ok(Answer::failed(&fault.summary())),
        };
        let running = run_confined(request, command, &signals.stop);
        let ended = tokio::select! {
            biased;
            () = signals.suspend.cancelled() => return Ok(Answer::Left),
            ended = running => ended,
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(reason) => {
                let reason = format!("the tests did not start: {reason}");
                return Ok(Answer::failed(&reason));
            }
        };
        let output = without_secrets(&String::from_utf8_lossy(&ended.output));
        let count = TestCount::in_output(&output);
        let tests = TestEnd {
            exit_code: ended.exit_code,
            failed: count.map(|count| count.failed),
            output: end_of(&output, MOST_OUTPUT).to_owned(),
            output_blob: (!output.is_empty()).then(|| Digest::of(output.as_bytes())),
            output_digest: ended.output_digest,
            passed: count.map(|count| count.passed),
        };
        Ok(Answer::Tested {
            end: Box::new(tests),
            on,
            output,
        })
    }

    /// Adds the item to those that rule 4 is judged by.
    pub(super) fn remember(&self, receipt: &Receipt) {
        self.common.earlier().extend(success_of(receipt));
    }
}

/// Counts the state changes of changed paths.
fn deltas_of(
    tree: &WorkTree,
    changes: &[PathChange],
    outside: u64,
) -> Result<Deltas, WorkTreeError> {
    let (mut counter, mut unread) = (HunkCounter::default(), None);
    let hunks = |change: &PathChange| {
        let count = counter.of_change(tree, change);
        count.unwrap_or_else(|fault| {
            let path = change.path.to_string();
            unread = Some(WorkTreeError::Io { path, fault });
            1
        })
    };
    let deltas = Deltas::of_changes(changes, hunks, outside);
    unread.map_or(Ok(deltas), Err)
}

/// The end of a text, at most so many bytes.
fn end_of(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    text.get(from.unwrap_or_default()..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_begins_at_a_character() {
        assert_eq!(end_of("abc", 8), "abc");
        assert_eq!(end_of("aäb", 2), "b");
        assert_eq!(end_of("aäb", 3), "äb");
    }
}
