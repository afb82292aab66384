//! One item, driven from its start or from where its transcript ends: steps become events, and events become entries. Decides nothing.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, sleep_until};

use super::answer::{Answer, Signals};
use super::clock::ItemClock;
use super::common::Wanted;
use super::end::{EndedItem, ItemEnd, LeftItem, Unmet};
use super::level::Level;
use super::publishing::Publication;
use super::receipt_files::{keep, keep_history};
use super::sealing::facts_of;
use super::steps::Subject;
use super::surface::ItemNow;
use crate::clock::unix_ms;
use crate::error::ServiceError;
use crate::error::advice::Advice as _;
use crate::error::work::WorkFault;
use monolith_core::kernel::ParentRun;
use monolith_core::message::{Digest, RunId};
use monolith_core::work::{
    PathChange, Receipt, ReceiptFacts, Work, WorkEffect, WorkEntryKind, WorkEvent, WorkEventKind,
    WorkStarted, WorkState, WorkStatus,
};
use monolith_host::driver::{blocking, random_run_id};
use monolith_host::store::{Invocation, WorkRecord};

/// An item of a level, and all that it needs.
pub(super) struct ItemTask {
    pub(super) controls: mpsc::Receiver<Wanted>,
    pub(super) level: Arc<Level>,
    pub(super) permit: OwnedSemaphorePermit,
    /// An attempt that an earlier process left.
    pub(super) resumed: Option<RunId>,
    pub(super) subject: Subject,
    /// The dependencies that have ended without success.
    pub(super) unmet: Vec<Unmet>,
}

impl ItemTask {
    /// Drives the item to its end, or until it is left.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(super) async fn drive(self) -> Result<ItemEnd, ServiceError> {
        let Self {
            controls,
            level,
            permit,
            resumed,
            subject,
            unmet,
        } = self;
        let store = subject.common.store.clone();
        let work_id = match &resumed {
            Some(work_id) => work_id.clone(),
            None => random_run_id("")?,
        };
        // It is held until the item has ended, or is left.
        let lock = store.lock_run(&work_id)?;
        let subject = Subject {
            work_id: work_id.clone(),
            ..subject
        };
        let (record, work, first) = if resumed.is_some() {
            let (record, work) = WorkRecord::resume(&store, &work_id).await?;
            (record, work, First::Resume)
        } else {
            let (started, invocation) = started(&subject, &unmet);
            let (work, draft) = Work::start(started);
            let mut record = WorkRecord::begin(&store, work.started(), Some(invocation));
            record.append(&draft).await?;
            (record, work, First::Effect(draft.action.effect))
        };
        let mut driving = Driving {
            clock: ItemClock::starting_at(work.elapsed_ms()),
            controls,
            is_leaving: false,
            is_stopped: false,
            level,
            permit: Some(permit),
            receipt: None,
            record,
            subject,
            tested_on: None,
            work,
        };
        let ended = driving.until_done(first, unmet).await?;
        if driving.work.end().is_some() {
            lock.discard();
        } else {
            drop(lock);
        }
        Ok(ended)
    }
}

/// The start data of a new item.
fn started(subject: &Subject, unmet: &[Unmet]) -> (WorkStarted, Invocation) {
    let started = WorkStarted {
        contract_hash: subject.agent.contract_hash,
        dependencies: unmet.iter().map(|unmet| unmet.id.clone()).collect(),
        item: (*subject.item).clone(),
        started_unix_ms: unix_ms(),
        work_id: subject.work_id.clone(),
    };
    let file = &subject.common.file;
    let invocation = Invocation {
        base_dir: file.root.clone(),
        config: None,
        contract_file: file.path.clone(),
        files: None,
        sets: Vec::new(),
    };
    (started, invocation)
}

/// The first work in this process.
enum First {
    Effect(Option<WorkEffect>),
    Resume,
}

/// The result of waiting for something else.
enum Waited {
    /// It is there.
    Ready,
    /// The item is left, or has ended.
    Over,
}

struct Driving<'s> {
    clock: ItemClock,
    controls: mpsc::Receiver<Wanted>,
    is_leaving: bool,
    /// True once a person has asked it to end.
    is_stopped: bool,
    level: Arc<Level>,
    /// The right to work; none while the item waits for its turn.
    permit: Option<OwnedSemaphorePermit>,
    receipt: Option<Receipt>,
    record: WorkRecord<'s>,
    subject: Subject,
    /// The tree hash of the work tree on which the last tests ran.
    tested_on: Option<Digest>,
    work: Work,
}

impl Driving<'_> {
    async fn until_done(
        &mut self,
        first: First,
        unmet: Vec<Unmet>,
    ) -> Result<ItemEnd, ServiceError> {
        self.show();
        let (mut next, dependencies) = match first {
            First::Effect(effect) => (effect, unmet.iter().map(Unmet::event).collect()),
            First::Resume => {
                let dependencies = self.awaited(&unmet);
                let effect = self.happened(WorkEventKind::Resumed).await?;
                (effect, dependencies)
            }
        };
        for ended in dependencies {
            next = self.happened(ended).await?;
        }
        loop {
            if let Some(receipt) = self.receipt.take() {
                return self.ended(receipt).await;
            }
            let Some(effect) = next.take().filter(|_| !self.is_leaving) else {
                return Ok(self.left(None));
            };
            if !matches!(effect, WorkEffect::Prepare { .. }) {
                self.level.prepared(&self.subject.item.id);
            }
            if let Waited::Over = self.ready_for(&effect).await? {
                continue;
            }
            let answer = self.perform(effect).await?;
            if self.receipt.is_some() {
                // It has ended meanwhile: the answer is none to it.
                continue;
            }
            match answer {
                Answer::Event(event) => next = self.happened(event).await?,
                Answer::Tested { end, on, output } => {
                    self.tested_on = Some(on);
                    if end.output_blob.is_some() {
                        self.record.keep_output(output.into_bytes());
                    }
                    next = self.happened(WorkEventKind::Tested(end)).await?;
                }
                Answer::Left => return Ok(self.left(None)),
                Answer::Broken(fault) => return Ok(self.left(Some(*fault))),
            }
        }
    }

    /// The ends of the dependencies that an item which was left still waits for: all others have succeeded.
    fn awaited(&self, unmet: &[Unmet]) -> Vec<WorkEventKind> {
        if self.work.state() != WorkState::Blocked {
            return Vec::new();
        }
        let awaited = self.work.started().dependencies.iter();
        let ended = awaited.map(|id| {
            let unmet = unmet.iter().find(|unmet| unmet.id == *id);
            unmet.map_or_else(
                || WorkEventKind::DependencyEnded {
                    id: id.clone(),
                    receipt_id: None,
                    status: WorkStatus::Success,
                },
                Unmet::event,
            )
        });
        ended.collect()
    }

    /// Waits until the effect may begin: publishing for its turn, work for a place among those that work. The clock stands still.
    async fn ready_for(&mut self, effect: &WorkEffect) -> Result<Waited, ServiceError> {
        let publishes = matches!(effect, WorkEffect::Publish);
        if publishes {
            self.permit = None;
        } else if self.permit.is_some() || *effect == WorkEffect::RollBack {
            return Ok(Waited::Ready);
        }
        self.clock.pause();
        let (level, subject) = (Arc::clone(&self.level), self.subject.clone());
        let waiting = async move {
            if publishes {
                level.turn_of(&subject.item.id).await;
                return None;
            }
            let permits = Arc::clone(&subject.common.permits);
            permits.acquire_owned().await.ok()
        };
        let mut waiting = Box::pin(waiting);
        let permit = loop {
            tokio::select! {
                biased;
                Some(wanted) = self.controls.recv() => {
                    if wanted == Wanted::Suspend {
                        self.is_leaving = true;
                        return Ok(Waited::Over);
                    }
                    self.is_stopped = true;
                    self.happened(WorkEventKind::StopRequested).await?;
                    if self.receipt.is_some() {
                        return Ok(Waited::Over);
                    }
                }
                permit = &mut waiting => break permit,
            }
        };
        self.permit = permit;
        self.clock.resume();
        Ok(Waited::Ready)
    }

    /// Performs an effect, and takes requests and the deadline meanwhile.
    async fn perform(&mut self, effect: WorkEffect) -> Result<Answer, ServiceError> {
        let signals = Signals::default();
        if self.is_stopped {
            signals.stop.cancel();
        }
        let mut performing = self.begun(&effect, signals.clone());
        let mut is_open = true;
        loop {
            let due = self.work.next_deadline();
            let due = due.and_then(|at_ms| self.clock.instant_of(at_ms));
            let event = tokio::select! {
                biased;
                answer = &mut performing => return answer,
                wanted = self.controls.recv(), if is_open => match wanted {
                    Some(Wanted::Stop) => {
                        self.is_stopped = true;
                        WorkEventKind::StopRequested
                    }
                    Some(Wanted::Suspend) => {
                        self.is_leaving = true;
                        signals.suspend.cancel();
                        continue;
                    }
                    None => {
                        is_open = false;
                        continue;
                    }
                },
                () = at(due) => WorkEventKind::TimerFired,
            };
            if self.happened(event).await? == Some(WorkEffect::Stop) {
                signals.stop.cancel();
            }
            if self.receipt.is_some() {
                // Its answer changes nothing any more, but it must not work on.
                signals.stop.cancel();
                return performing.await;
            }
        }
    }

    /// Begins an effect. What it needs of the item is its own.
    fn begun(
        &self,
        effect: &WorkEffect,
        signals: Signals,
    ) -> BoxFuture<'static, Result<Answer, ServiceError>> {
        let subject = Subject {
            reconciled: self.work.reconciled().into(),
            ..self.subject.clone()
        };
        let before = self.work.before();
        let changes = || -> Arc<[PathChange]> {
            let capsule = self.work.capsule();
            capsule
                .map_or_else(Vec::new, |capsule| capsule.changes.clone())
                .into()
        };
        match *effect {
            WorkEffect::Prepare { attempt } => {
                Box::pin(subject.prepare(Arc::clone(&self.level), attempt, signals))
            }
            WorkEffect::Run {
                attempt,
                timeout_ms,
            } => {
                let parent = ParentRun {
                    call: None,
                    head: self.record.head(),
                    run_id: subject.work_id.clone(),
                };
                Box::pin(subject.run(parent, (attempt, timeout_ms), signals))
            }
            WorkEffect::Compare => match self.work.run() {
                Some(run) => Box::pin(subject.compare(run.run_id.clone(), signals)),
                None => Box::pin(async { Ok(Answer::failed("no run has ended")) }),
            },
            WorkEffect::Test { .. } => Box::pin(subject.test((changes(), before), signals)),
            WorkEffect::Publish => {
                let publication = Publication {
                    before,
                    changes: changes(),
                    tested_on: self.tested_on,
                };
                Box::pin(subject.publish(publication, signals))
            }
            WorkEffect::RollBack => Box::pin(subject.roll_back(changes())),
            // It ends an effect, and begins none.
            WorkEffect::Stop => Box::pin(async { Ok(Answer::Left) }),
        }
    }

    /// Lets the machine decide about an event, and makes its entry durable. Returns the effect that begins.
    async fn happened(&mut self, event: WorkEventKind) -> Result<Option<WorkEffect>, ServiceError> {
        let at_ms = self.clock.now_ms();
        let Some(draft) = self.work.step(WorkEvent { at_ms, event }) else {
            return Ok(None);
        };
        if draft.action.kind == WorkEntryKind::Seal {
            let facts = self.facts().await?;
            let receipt = self.record.seal(&draft, &self.work, &facts).await?;
            self.receipt = Some(receipt);
        } else {
            self.record.append(&draft).await?;
        }
        if draft.action.from != draft.action.to {
            self.show();
        }
        Ok(draft.action.effect)
    }

    fn show(&self) {
        let (id, level) = (self.subject.item.id.as_str(), self.level.number);
        let common = &self.subject.common;
        common.surface.item(ItemNow {
            id,
            level,
            levels: common.file.levels(),
            state: self.work.state(),
        });
    }

    /// The facts of the receipt that the machine does not know.
    async fn facts(&self) -> Result<ReceiptFacts, ServiceError> {
        let (work, is_stopped) = (self.work.clone(), self.is_stopped);
        let common = &self.subject.common;
        let facts = common.on_tree(move |tree| facts_of(tree, &work, is_stopped));
        Ok(facts.await?.map_err(WorkFault::from)?)
    }

    /// Writes the files of the receipt, and removes the scratch tree.
    async fn ended(&mut self, receipt: Receipt) -> Result<ItemEnd, ServiceError> {
        let subject = &self.subject;
        subject.remember(&receipt);
        let (common, id) = (Arc::clone(&subject.common), subject.work_id.clone());
        let removed = common.on_tree(move |tree| {
            // Its end is durable: nobody needs to be told that it was published.
            tree.acknowledge(id.as_str())?;
            tree.remove_scratch(id.as_str())
        });
        let removed = removed.await?;
        if let Err(fault) = removed {
            let item = &subject.item.id;
            let text = format!("item {item}: its scratch tree stays: {fault}");
            common.surface.warn(&text);
        }
        let keeping = move || {
            if let Some(warning) = keep_history(&common.service, &common.tree, &receipt) {
                common.surface.warn(&warning);
            }
            let result = keep(&common.service, &receipt, &common.file.root)?;
            Ok::<_, ServiceError>(EndedItem::new(&receipt, result))
        };
        Ok(ItemEnd::Ended(Box::new(blocking(keeping).await?)))
    }

    fn left(&self, fault: Option<ServiceError>) -> ItemEnd {
        let run_id = match self.work.under_way() {
            Some(WorkEffect::Run { attempt, .. }) => {
                self.subject.work_id.step(u64::from(*attempt)).ok()
            }
            _ => None,
        };
        ItemEnd::Left(Box::new(LeftItem {
            fault: fault.map(|fault| (fault.summary(), fault.help())),
            id: self.subject.item.id.clone(),
            run_id,
        }))
    }
}

/// Waits for that moment; for ever if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
