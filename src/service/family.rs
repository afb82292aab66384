//! The origin of each run of the store: calls of agents, steps of workflows, forks. Draws nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ServiceError;
use crate::text::branch::Branch;
use crate::text::escape::line;
use crate::workflow_entries::{fork_parent, view_of};
use monolith_core::agent::WorkflowView;
use monolith_core::kernel::ParentRun;
use monolith_core::message::RunId;
use monolith_core::transcript::ParentFound;
use monolith_host::store::{DamagedRow, RunFilter, RunRow, StoreError, StoreReader};

/// Maximum number of runs of the store that are read.
const MOST_RUNS: usize = 100_000;
/// Maximum depth of a drawn tree.
const MOST_DEPTH: usize = 64;

/// The runs of a store by name, and who came from whom.
#[derive(Default)]
pub struct Family {
    children: BTreeMap<String, Vec<String>>,
    /// The names, the newest first.
    newest: Vec<String>,
    parents: BTreeMap<String, Above>,
    rows: BTreeMap<String, RunRow>,
    /// The workflows that were asked for, by name; `None` for one that cannot be read.
    workflows: BTreeMap<String, Option<WorkflowView>>,
}

/// The origin of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Above {
    /// The run that began it.
    pub parent: ParentRun,
    /// True if that is a workflow or a work item, and this run a step of it.
    pub is_step: bool,
}

/// A run where it is drawn.
pub struct Placed {
    /// Place in the drawn tree.
    pub branch: Branch,
    /// True if something is drawn below it.
    pub has_more: bool,
    /// Name.
    pub name: String,
}

impl Family {
    /// All that the store knows of them, and the rows that cannot be read.
    pub fn read(reader: &mut StoreReader) -> Result<(Self, Vec<DamagedRow>), ServiceError> {
        let (mut family, mut damaged) = (Self::default(), Vec::new());
        for row in reader.list_rows(MOST_RUNS, RunFilter::All)? {
            let known = row.and_then(|row| {
                let run = row.run_id.as_str().to_owned();
                let above = above(reader, &row);
                above
                    .map(|above| (row, above))
                    .map_err(|fault| DamagedRow { run, fault })
            });
            match known {
                Ok((row, above)) => family.add(row, above),
                Err(row) => damaged.push(row),
            }
        }
        family.in_order();
        Ok((family, damaged))
    }

    /// The runs of one tree, each after the one that began it.
    pub fn of_tree(reader: &mut StoreReader, runs: &[RunId]) -> Result<Self, ServiceError> {
        let mut family = Self::default();
        for run_id in runs.iter().rev() {
            let row = reader.read_run(run_id)?.row().clone();
            let above = above(reader, &row)?;
            family.add(row, above);
        }
        family.in_order();
        Ok(family)
    }

    /// All were added: children stand in the order in which they were begun.
    pub fn in_order(&mut self) {
        for children in self.children.values_mut() {
            children.reverse();
        }
    }

    /// Adds an older run than those before.
    pub fn add(&mut self, row: RunRow, above: Option<Above>) {
        let name = row.run_id.as_str().to_owned();
        if let Some(above) = above {
            let siblings = self.children.entry(above.parent.run_id.as_str().to_owned());
            siblings.or_default().push(name.clone());
            self.parents.insert(name.clone(), above);
        }
        self.newest.push(name.clone());
        self.rows.insert(name, row);
    }

    /// The row of that run.
    pub fn row(&self, name: &str) -> Option<&RunRow> {
        self.rows.get(name)
    }

    /// The first run of the tree that one stands in, and the parent of that where the store has it not.
    pub fn root_of<'f>(&'f self, run: &'f str) -> (&'f str, Option<&'f str>) {
        let mut root = run;
        let mut seen = BTreeSet::from([run]);
        while let Some(above) = self.parents.get(root) {
            let parent = above.parent.run_id.as_str();
            if !self.rows.contains_key(parent) {
                return (root, Some(parent));
            }
            if !seen.insert(parent) {
                break;
            }
            root = parent;
        }
        (root, None)
    }

    /// The first runs of all trees, the newest first.
    pub fn roots(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let roots = self.newest.iter().map(|name| self.root_of(name).0);
        let mut roots: Vec<&str> = roots.filter(|root| seen.insert(*root)).collect();
        let places: BTreeMap<&str, usize> = self
            .newest
            .iter()
            .enumerate()
            .map(|(at, name)| (name.as_str(), at))
            .collect();
        roots.sort_by_key(|root| places.get(root).copied());
        roots
    }

    /// The runs of a tree, each after the one above it; of those alone that are to be drawn, or have one below them that is.
    pub fn placed(&self, root: &str, wanted: &mut dyn FnMut(&RunRow) -> bool) -> Vec<Placed> {
        let mut kept = BTreeSet::new();
        self.keep(root, 0, &mut BTreeSet::new(), wanted, &mut kept);
        let mut placed = Vec::new();
        if kept.contains(root) {
            let mut seen = BTreeSet::new();
            self.place(root, &Branch::root(), &kept, &mut seen, &mut placed);
        }
        placed
    }

    fn keep<'f>(
        &'f self,
        name: &'f str,
        depth: usize,
        seen: &mut BTreeSet<&'f str>,
        wanted: &mut dyn FnMut(&RunRow) -> bool,
        kept: &mut BTreeSet<String>,
    ) -> bool {
        let Some(row) = self.rows.get(name).filter(|_| depth <= MOST_DEPTH) else {
            return false;
        };
        if !seen.insert(name) {
            return false;
        }
        let mut is_kept = wanted(row);
        for child in self.below(name) {
            is_kept |= self.keep(child, depth.saturating_add(1), seen, wanted, kept);
        }
        if is_kept {
            kept.insert(name.to_owned());
        }
        is_kept
    }

    fn place<'f>(
        &'f self,
        name: &'f str,
        branch: &Branch,
        kept: &BTreeSet<String>,
        seen: &mut BTreeSet<&'f str>,
        placed: &mut Vec<Placed>,
    ) {
        if !seen.insert(name) {
            return;
        }
        let below = self.below(name).iter().map(String::as_str);
        let below: Vec<&str> = below
            .filter(|child| kept.contains(*child) && !seen.contains(child))
            .collect();
        placed.push(Placed {
            branch: branch.clone(),
            has_more: !below.is_empty(),
            name: name.to_owned(),
        });
        for (at, child) in below.iter().enumerate() {
            let is_last = at.saturating_add(1) == below.len();
            self.place(child, &branch.below(is_last), kept, seen, placed);
        }
    }

    fn below(&self, name: &str) -> &[String] {
        self.children.get(name).map_or(&[], Vec::as_slice)
    }

    /// Describes how a run comes from its parent; `None` if it has no parent.
    pub fn link(&mut self, reader: &mut StoreReader, name: &str) -> Option<String> {
        let above = self.parents.get(name)?.clone();
        let ParentRun { call, head, run_id } = above.parent;
        if let Some(call) = call {
            return Some(format!("call {call}"));
        }
        if !above.is_step {
            return Some(format!("from head {}", head.short(8)));
        }
        let view = self.workflows.entry(run_id.as_str().to_owned());
        let view = view.or_insert_with(|| view_of(reader, &run_id).ok());
        let number = name.rsplit('.').next().unwrap_or(name);
        let own = view.as_ref().and_then(|view| view.step_of(name));
        Some(own.map_or_else(
            || format!("step {number}"),
            |step| {
                let undoes = step.compensates.map(|of| format!(", undoes {of}"));
                let (place, state) = (line(&step.place), step.state.as_str());
                format!(
                    "step {number} {place}{}: {state}",
                    undoes.unwrap_or_default()
                )
            },
        ))
    }
}

/// Returns the origin of a run from its first entry; `None` if it has none or cannot be read.
fn above(reader: &mut StoreReader, row: &RunRow) -> Result<Option<Above>, StoreError> {
    if row.is_workflow() {
        let parent = fork_parent(reader, &row.run_id)?;
        return Ok(parent.map(|parent| Above {
            is_step: false,
            parent,
        }));
    }
    let lineage = reader.lineage(&row.run_id)?;
    // One of another tree stands below none of this store, though that has the name; nor does one whose name no call and no step gives.
    let lineage = lineage.filter(|found| {
        !found.is_below() || found.found != ParentFound::NoSuchEntry && found.names(&row.run_id)
    });
    Ok(lineage.map(|found| Above {
        is_step: found.is_step() && found.parent.call.is_none(),
        parent: found.parent,
    }))
}
