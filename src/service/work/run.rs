//! A file of work items, run level by level. Decides which items begin; what becomes of one is for `item`.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};

use super::common::{Common, Wanted, success_of};
use super::contents::needed_of;
use super::end::Unmet;
pub use super::end::{EndedItem, ItemEnd, LeftItem, WorkSummary};
use super::file::{PlannedItem, WorkFile};
use super::item::ItemTask;
use super::leftovers::{is_of_file, left_items, remove_leftovers, settled_items};
use super::level::Level;
use super::receipt_files::{keep, keep_all};
use super::receipts::changes_of;
use super::settle::settle;
use super::steps::Subject;
use super::surface::WorkSurface;
use crate::drive::accounts::Accounts;
use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::error::work::WorkFault;
use crate::panics::caught_in;
use crate::secrets;
use crate::service::Service;
use crate::view::item::kept_folder;
use monolith_core::message::RunId;
use monolith_core::work::{Receipt, WorkStatus};
use monolith_host::driver::{Shared, blocking, random_run_id};
use monolith_host::store::{Durability, Store, places_of};
use monolith_host::work_tree::{OpenGate, Purpose, Recovered, TreePlaces, WorkTree};

/// The most tool servers that the runs of all items have up at once.
const MOST_SERVERS: usize = 256;
/// Requests that may wait for an item.
const CONTROLS: usize = 8;

/// The status of an item and its receipt; `None` for one that was left or not begun.
type Ended = Option<(WorkStatus, String)>;

/// The terms of all items of a file.
pub struct WorkTerms {
    /// True if an item that succeeded before runs all the same.
    pub again: bool,
    /// Durability of entries and of accounting.
    pub durability: Durability,
    /// Time that calls in flight have after a suspension.
    pub grace: Duration,
    /// Items that work at once; one for each core if `None`.
    pub jobs: Option<NonZeroUsize>,
    /// The place that they are run in.
    pub service: Service,
    /// The surface.
    pub surface: Box<dyn WorkSurface>,
}

/// The items of a file, about to be run: their work tree is locked.
pub struct WorkRun {
    common: Arc<Common>,
    /// The attempts that an earlier process left, by the indexes of their items.
    left: BTreeMap<usize, RunId>,
    /// The notes for people about publications that killed processes left.
    recovered: Option<String>,
    /// The receipts of items that do not run again, by their ids: a left item reconciles them, or they were published by a killed process.
    settled: BTreeMap<String, Receipt>,
}

impl WorkRun {
    /// Reads a file, locks its work tree, and completes or takes back what a killed process left there.
    ///
    /// # Errors
    /// The file or a contract breaks a rule, another process has the tree, or a dependency outside of the file has not succeeded.
    pub fn open(name: &Path, terms: WorkTerms) -> Result<Self, ServiceError> {
        let WorkTerms {
            again,
            durability,
            grace,
            jobs,
            service,
            surface,
        } = terms;
        let file = WorkFile::read(&service, name)?;
        let store = service.open_store(durability)?;
        let (tree, recovered) = lock(&service, &store, &file.root)?;
        let published = settle(&store, &tree)?;
        let mut reader = store.reader()?;
        for warning in keep_all(&service, &mut reader, &tree)? {
            surface.warn(&warning);
        }
        let receipts = reader.receipts()?;
        for planned in &file.items {
            judge_outside(planned, &tree, &receipts)?;
        }
        let left = left_items(&file, &mut reader)?;
        let mut settled = settled_items(&file, &left, (&mut reader, receipts.as_slice()))?;
        let recovered = recovered_note(recovered.as_ref(), &published);
        let of_file = published.into_iter();
        let of_file = of_file.filter(|receipt| is_of_file(&file, receipt));
        settled.extend(of_file.map(|receipt| (receipt.item.id.clone(), receipt)));
        remove_leftovers((&service, &tree), &left, &mut reader)?;
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let jobs = jobs.map_or(cores, NonZeroUsize::get);
        let accounts = Accounts::in_groups(service.billing(durability)?);
        let shared = Shared::of_many(MOST_SERVERS);
        let common = Common {
            accounts,
            again,
            earlier: Mutex::new(receipts.iter().filter_map(success_of).collect()),
            environment: service.environment.clone().sharing(shared),
            file,
            grace,
            leaving: AtomicBool::new(false),
            open: Mutex::default(),
            permits: Arc::new(Semaphore::new(jobs.min(Semaphore::MAX_PERMITS))),
            service: service.during_a_run(),
            store,
            surface,
            tree: Arc::new(tree),
        };
        Ok(Self {
            common: Arc::new(common),
            left,
            recovered,
            settled,
        })
    }

    /// Returns what was done about a publication that a killed process left, for people.
    #[must_use]
    pub fn recovered(&self) -> Option<&str> {
        self.recovered.as_deref()
    }

    /// The number of levels, and of items.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.common.file.levels(), self.common.file.len())
    }

    /// Ends every item under way: none of them publishes any more, and no further one begins.
    pub fn stop(&self) {
        self.common.broadcast(Wanted::Stop);
    }

    /// Leaves every item under way to another process, and begins no further one.
    pub fn suspend(&self) {
        self.common.broadcast(Wanted::Suspend);
    }

    /// Runs the items, level by level. `each` takes each end.
    ///
    /// Must be called inside a multi-threaded tokio runtime.
    ///
    /// # Errors
    /// The store cannot be written. The other items are left.
    pub async fn drive(
        &self,
        mut each: impl AsyncFnMut(ItemEnd),
    ) -> Result<WorkSummary, ServiceError> {
        let mut summary = WorkSummary::default();
        let mut statuses = BTreeMap::new();
        let mut fault = None;
        for (number, level) in self.common.file.levels.iter().enumerate() {
            let mut take = async |id: String, end: ItemEnd| {
                let ended = match &end {
                    ItemEnd::Ended(ended) => {
                        let result = &ended.result;
                        Some((result.status, result.receipt_id.clone()))
                    }
                    ItemEnd::Left(_) | ItemEnd::NotBegun(_) => None,
                };
                summary.take(&end);
                each(end).await;
                (id, ended)
            };
            let driven = self.level(number, level, &statuses, &mut take).await;
            match driven {
                Ok(ended) => statuses.extend(ended),
                Err(broken) => {
                    fault = Some(broken);
                    break;
                }
            }
        }
        let synced = self.common.accounts.sync_all();
        if let Some(fault) = fault {
            return Err(fault);
        }
        synced?;
        self.collect().await?;
        Ok(summary)
    }

    /// Runs the items of one level; returns their ends by their ids.
    async fn level(
        &self,
        number: usize,
        indexes: &[usize],
        statuses: &BTreeMap<String, Ended>,
        take: &mut impl AsyncFnMut(String, ItemEnd) -> (String, Ended),
    ) -> Result<BTreeMap<String, Ended>, ServiceError> {
        let items = || {
            let all = &self.common.file.items;
            let indexes = indexes.iter();
            indexes.filter_map(move |index| Some((*index, all.get(*index)?)))
        };
        let ids = items().map(|(_, planned)| planned.item.id.clone());
        let level = Arc::new(Level::new(number, ids));
        let mut tasks = JoinSet::<(usize, String, Result<ItemEnd, ServiceError>)>::new();
        let (mut ended, mut fault) = (BTreeMap::new(), None);
        for receipt in items().filter_map(|(_, planned)| self.settled.get(&planned.item.id)) {
            level.ended(&receipt.item.id);
            let end = self.settled_end(receipt.clone()).await?;
            let (id, status) = (*take)(receipt.item.id.clone(), end).await;
            ended.insert(id, status);
        }
        let is_open =
            |(_, planned): &(usize, &PlannedItem)| !self.settled.contains_key(&planned.item.id);
        let mut waiting = items().filter(is_open);
        let mut next = waiting.next();
        loop {
            let permit = Arc::clone(&self.common.permits).acquire_owned();
            tokio::select! {
                biased;
                Some(done) = tasks.join_next() => match done {
                    Ok((index, id, Ok(end))) => {
                        self.common.open().remove(&index);
                        level.ended(&id);
                        let (id, status) = (*take)(id, end).await;
                        ended.insert(id, status);
                    }
                    Ok((index, id, Err(broken))) => {
                        self.common.open().remove(&index);
                        level.ended(&id);
                        fault.get_or_insert(broken);
                        self.suspend();
                    }
                    Err(lost) => {
                        fault.get_or_insert(panicked(&lost));
                        self.suspend();
                    }
                },
                permit = permit, if next.is_some() => {
                    let (Some((index, planned)), Ok(permit)) = (next.take(), permit) else {
                        continue;
                    };
                    next = waiting.next();
                    let id = planned.item.id.clone();
                    let unmet = unmet(planned, statuses);
                    let Some(unmet) = unmet.filter(|_| !self.common.is_leaving()) else {
                        level.ended(&id);
                        let (id, status) = (*take)(id.clone(), ItemEnd::NotBegun(id)).await;
                        ended.insert(id, status);
                        continue;
                    };
                    let (control, controls) = mpsc::channel(CONTROLS);
                    self.common.open().insert(index, control);
                    let task = ItemTask {
                        controls,
                        level: Arc::clone(&level),
                        permit,
                        resumed: self.left.get(&index).cloned(),
                        subject: self.subject(planned)?,
                        unmet,
                    };
                    // The secrets of its contract need not be known once it has ended.
                    tasks.spawn(secrets::scoped(async move {
                        // Its future is large.
                        let end = caught_in(Box::pin(task.drive())).await;
                        (index, id, end)
                    }));
                }
                else => break,
            }
        }
        match fault {
            Some(fault) => Err(fault),
            None => Ok(ended),
        }
    }

    /// The end of an item that does not run again.
    async fn settled_end(&self, receipt: Receipt) -> Result<ItemEnd, ServiceError> {
        let common = Arc::clone(&self.common);
        let keeping = move || {
            let result = keep(&common.service, &receipt, &common.file.root)?;
            Ok::<_, ServiceError>(EndedItem::new(&receipt, result))
        };
        Ok(ItemEnd::Ended(Box::new(blocking(keeping).await?)))
    }

    /// Removes the kept contents that no item needs any more.
    async fn collect(&self) -> Result<(), ServiceError> {
        let common = Arc::clone(&self.common);
        let collected = self
            .common
            .on_tree(move |tree| Ok(tree.collect(|| needed_of(&common.store))));
        if let Err(fault) = collected.await?.map_err(WorkFault::from)? {
            let text = format!("old contents of trees stay: {fault}");
            self.common.surface.warn(&text);
        }
        Ok(())
    }

    fn subject(&self, planned: &PlannedItem) -> Result<Subject, ServiceError> {
        Ok(Subject {
            agent: Arc::clone(&planned.agent),
            common: Arc::clone(&self.common),
            item: Arc::clone(&planned.item),
            reconciled: Arc::default(),
            // It is replaced by the name of the attempt.
            work_id: random_run_id("")?,
        })
    }
}

/// The dependencies that ended without success; `None` if one has not ended.
fn unmet(planned: &PlannedItem, statuses: &BTreeMap<String, Ended>) -> Option<Vec<Unmet>> {
    let mut unmet = Vec::new();
    for id in &planned.needs {
        let (status, receipt_id) = statuses.get(id)?.clone()?;
        if status != WorkStatus::Success {
            let id = id.clone();
            unmet.push(Unmet {
                id,
                receipt_id,
                status,
            });
        }
    }
    Some(unmet)
}

/// Locks a work tree for this process.
pub(super) fn lock(
    service: &Service,
    store: &Store,
    root: &Path,
) -> Result<(WorkTree, Option<Recovered>), ServiceError> {
    let state = kept_folder(store.path());
    let withheld = [vec![service.state_folder()?], places_of(store.path()).files].concat();
    let places = TreePlaces {
        state: &state,
        tree: root,
        withheld: &withheld,
    };
    Ok(WorkTree::lock(places, Arc::new(OpenGate)).map_err(WorkFault::from)?)
}

/// Describes the recovery of a publication that a killed process left, and the items that had none of it in their entries.
fn recovered_note(recovered: Option<&Recovered>, published: &[Receipt]) -> Option<String> {
    let items = published.iter().map(|receipt| {
        let (item, id) = (&receipt.item.id, receipt.id());
        format!("item {item} ended as published: receipt {id}")
    });
    let notes: Vec<String> = recovered
        .map(recovery_note)
        .into_iter()
        .chain(items)
        .collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn recovery_note(recovered: &Recovered) -> String {
    let what = match recovered.purpose {
        Purpose::Publish => "the publication of an item",
        Purpose::Thaw => "a thaw",
    };
    let how = if recovered.is_complete {
        "completed"
    } else {
        "taken back"
    };
    let mut text = format!("{what} that a killed process left was {how}");
    if !recovered.left.is_empty() {
        let paths: Vec<String> = recovered.left.iter().map(ToString::to_string).collect();
        let paths = paths.join(", ");
        text = format!("{text}; something else has changed {paths}, which stay as they are");
    }
    text
}

/// Refuses an item that depends on one which is not in the file and whose changes are not in the tree.
fn judge_outside(
    planned: &PlannedItem,
    tree: &WorkTree,
    receipts: &[Receipt],
) -> Result<(), ServiceError> {
    if planned.needs_outside.is_empty() {
        return Ok(());
    }
    for dependency in &planned.needs_outside {
        let of_item = receipts.iter().filter(|it| it.item.id == *dependency);
        let mut is_met = false;
        for changes in of_item.filter_map(changes_of) {
            is_met |= tree.has(changes).map_err(WorkFault::from)?;
        }
        if !is_met {
            return Err(WorkFault::NoDependency {
                dependency: dependency.clone(),
                item: planned.item.id.clone(),
            }
            .into());
        }
    }
    Ok(())
}

fn panicked(lost: &JoinError) -> ServiceError {
    SystemFault::Runtime {
        reason: lost.to_string(),
    }
    .into()
}
