//! The number of requests that a run's ancestors had answered, read from the store. Plays no script itself.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use super::DriverError;
use crate::store::{StoreError, StoreReader};
use monolith_core::contract::{ExecutionContract, Label, ProviderType};
use monolith_core::kernel::{EntryKind, ParentRun, RunStarted};
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::{BlobSource, Fork, ForkPoint};
use monolith_core::transcript::SealedEntry;

/// The most generations that are followed.
const MOST_PARENTS: usize = 1_000;

/// Counts the requests that each provider had answered in all parent runs before this run began. Its scripts resumed from
/// there. Runs without a script need no count.
///
/// # Errors
/// [`DriverError::NoParent`] where a run of the line is not in the store as it was.
pub fn answered_before(
    reader: &mut StoreReader,
    contract: &ExecutionContract,
    started: &RunStarted,
) -> Result<BTreeMap<String, usize>, DriverError> {
    let child = &started.run_id;
    // The script of a delegated run is its own.
    let parent = started.parent.clone().filter(|from| from.call.is_none());
    answered_by(reader, contract, child, parent)
}

/// The same for a run that is to begin at a point of another one: what that one's parents had answered is added to the point.
///
/// # Errors
/// [`DriverError::NoParent`] where a run of the line is not in the store as it was.
pub fn played_from_the_first(
    reader: &mut StoreReader,
    contract: &ExecutionContract,
    point: &mut ForkPoint,
) -> Result<(), DriverError> {
    let parent = point.parent.clone().filter(|from| from.call.is_none());
    for (provider, count) in answered_by(reader, contract, &point.run_id, parent)? {
        let all = point.answered.entry(provider).or_default();
        *all = all.saturating_add(count);
    }
    Ok(())
}

/// Returns the number of requests played of each target's script, given its provider. Scripts count by provider: the first
/// target of each represents all.
pub(super) fn by_target<'t>(
    providers: impl Iterator<Item = &'t String>,
    mut answered: BTreeMap<String, usize>,
) -> Vec<usize> {
    providers
        .map(|provider| answered.remove(provider).unwrap_or(0))
        .collect()
}

fn answered_by(
    reader: &mut StoreReader,
    contract: &ExecutionContract,
    child: &RunId,
    mut parent: Option<ParentRun>,
) -> Result<BTreeMap<String, usize>, DriverError> {
    let mut answered = BTreeMap::new();
    let mut providers = contract.providers.values();
    if !providers.any(|provider| provider.provider_type == ProviderType::Scripted) {
        return Ok(answered);
    }
    let mut child = child.clone();
    for _ in 0..MOST_PARENTS {
        let Some(from) = parent else {
            break;
        };
        // A workflow or a work item asks no model itself, and its runs begin their scripts at the first record.
        if reader.has_steps(&from.run_id)? {
            break;
        }
        let point = point_of(reader, &from)?.ok_or_else(|| DriverError::NoParent {
            child: child.clone(),
            parent: from.run_id.clone(),
        })?;
        for (provider, count) in point.answered {
            let all: &mut usize = answered.entry(provider).or_default();
            *all = all.saturating_add(count);
        }
        child = from.run_id;
        parent = point.parent.filter(|from| from.call.is_none());
    }
    Ok(answered)
}

/// The point at which another run began from that one; none if the store does not have it so.
fn point_of(reader: &mut StoreReader, from: &ParentRun) -> Result<Option<ForkPoint>, DriverError> {
    let stored = match reader.read_run(&from.run_id) {
        Err(StoreError::NoSuchRun { .. } | StoreError::Erased { .. }) => return Ok(None),
        stored => stored?,
    };
    let contract = stored.contract()?;
    let entries: Vec<SealedEntry> = stored.collect::<Result<_, _>>()?;
    let Some(at) = entries.iter().find(|entry| entry.hash == from.head) else {
        return Ok(None);
    };
    let is_seal = at
        .decode_action()
        .is_ok_and(|action| action.kind == EntryKind::Seal);
    let mut fork = if is_seal {
        Fork::at_end(contract, from.run_id.clone())
    } else {
        Fork::new(contract, from.run_id.clone(), at.seq)
    };
    let blobs = Blobs(&*reader);
    for entry in &entries {
        fork.take(entry, &blobs);
    }
    Ok(fork.finish().ok())
}

/// Returns the labels of everything that a run had seen where another one began from it; `None` if the store lacks that run or entry.
///
/// # Errors
/// If the store cannot be read.
pub fn labels_at(
    reader: &mut StoreReader,
    from: &ParentRun,
) -> Result<Option<BTreeSet<Label>>, DriverError> {
    Ok(point_of(reader, from)?.map(|point| point.labels))
}

/// The blobs of the store.
pub(super) struct Blobs<R>(pub(super) R);

impl<R: Borrow<StoreReader>> BlobSource for Blobs<R> {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.borrow().blob(hash).ok().flatten()
    }
}
