//! A file of work items as it is run: its items, their tree, and the agent of each item. Starts nothing.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::agent::ItemAgent;
use crate::agents::Agents;
use crate::error::ServiceError;
use crate::error::work::WorkFault;
use crate::service::Service;
use monolith_core::message::Digest;
use monolith_core::work::{WorkItem, WorkPlan};
use monolith_host::store::open_given;
use monolith_host::work_tree::pattern_fault;

/// The most bytes of a file: its reader refuses more.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// A file of work items.
#[derive(Debug)]
pub struct WorkFile {
    pub(super) items: Vec<PlannedItem>,
    /// The indexes of the items, level by level.
    pub(super) levels: Vec<Vec<usize>>,
    /// The file, absolute.
    pub(super) path: PathBuf,
    /// The work tree, resolved.
    pub(super) root: PathBuf,
}

/// An item with its agent.
#[derive(Clone, Debug)]
pub(super) struct PlannedItem {
    pub(super) agent: Arc<ItemAgent>,
    pub(super) item: Arc<WorkItem>,
    /// Its dependencies within the file.
    pub(super) needs: Vec<String>,
    /// Its dependencies outside of the file.
    pub(super) needs_outside: Vec<String>,
}

impl WorkFile {
    /// Reads a file, and the contract of every agent that it names.
    ///
    /// # Errors
    /// The file or a contract breaks a rule, or cannot be read.
    pub fn read(service: &Service, name: &Path) -> Result<Self, ServiceError> {
        let path = service.cwd.join(name);
        let text = text_of(&path, name)?;
        let agents = Agents::of(service)?;
        let is_registered = |id: &str| agents.all().iter().any(|agent| agent.id.as_str() == id);
        let shown = name.display().to_string();
        let plan = WorkPlan::parse(&shown, &text, &is_registered, &pattern_fault)?;
        let folder = path.parent().unwrap_or(&service.cwd).to_owned();
        let named = plan.work_tree.as_deref().unwrap_or(".");
        if named.is_empty() {
            return Err(WorkFault::Unreadable {
                path: name.to_owned(),
                reason: "`work_tree` is empty; name a folder, or leave it out for that of the file"
                    .to_owned(),
            }
            .into());
        }
        let root = folder.join(named);
        let none = |reason: String| WorkFault::NoTree {
            file: name.to_owned(),
            path: root.clone(),
            reason,
        };
        let found = root.canonicalize();
        let found = found.map_err(|fault| none(fault.to_string()))?;
        if !found.is_dir() {
            return Err(none("not a folder".to_owned()).into());
        }
        let root = found;
        let outside = plan.external();
        let planned = plan.items.iter().map(|item| {
            let named = plan
                .agents
                .get(&item.agent_id)
                .map(|file| folder.join(file));
            let agent = ItemAgent::find(service, item, named, &agents)?;
            let (needs_outside, needs) = item
                .dependencies
                .iter()
                .cloned()
                .partition(|id| outside.contains(id.as_str()));
            Ok(PlannedItem {
                agent: Arc::new(agent),
                item: Arc::new(item.clone()),
                needs,
                needs_outside,
            })
        });
        let items = planned.collect::<Result<_, ServiceError>>()?;
        Ok(Self {
            items,
            levels: plan.levels(),
            path,
            root,
        })
    }

    /// The index of an item, if the file has it unchanged and with an unchanged contract.
    pub(super) fn position(&self, item: &WorkItem, contract_hash: Digest) -> Option<usize> {
        self.items.iter().position(|planned| {
            *planned.item == *item && planned.agent.contract_hash == contract_hash
        })
    }

    /// The number of its levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// The number of its items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True without an item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

fn text_of(path: &Path, name: &Path) -> Result<String, WorkFault> {
    let mut text = String::new();
    let read =
        open_given(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text));
    read.map_err(|fault| WorkFault::Unreadable {
        path: name.to_owned(),
        reason: fault.to_string(),
    })?;
    Ok(text)
}
