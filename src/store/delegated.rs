//! The runs below a run: those that were begun for calls of its agents. Judges none.

use super::{StoreError, StoreReader};
use crate::contract::DelegationGrant;
use crate::kernel::{ChildEnd, EffectRecord, EventKind};
use crate::message::{CallSeq, Digest, RunId};

/// A call of an agent, as the run says it that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DelegatedRun {
    /// The call.
    pub(crate) call: CallSeq,
    /// How its run ended; none where that is not recorded.
    pub(crate) end: Option<ChildEnd>,
    /// What it might use.
    pub(crate) grant: DelegationGrant,
    /// The entry that first set it going.
    pub(crate) seq: u64,
    /// The hash of the contract that delegated.
    pub(crate) parent_contract: Digest,
    /// Its run.
    pub(crate) run_id: RunId,
}

impl StoreReader {
    /// The calls of agents that a run has made, in call order. Entries that do not read back are for the verification.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], and the faults of the file.
    pub(crate) fn delegated(&mut self, run_id: &RunId) -> Result<Vec<DelegatedRun>, StoreError> {
        let stored = self.read_run(run_id)?;
        let parent_contract = stored.row().contract_hash;
        let mut found: Vec<DelegatedRun> = Vec::new();
        // Without agents nothing was delegated, and no entry has to be read.
        if !stored.contract_text().contains("\"agents\":{") {
            return Ok(found);
        }
        for entry in stored {
            let entry = entry?;
            if let Ok(Some(event)) = entry.decode_event()
                && let EventKind::ToolReturned(returned) = event.event
                && let Some(child) = returned.child
                && let Some(known) = found.iter_mut().find(|one| one.call == returned.call)
            {
                known.end.get_or_insert(*child);
            }
            let Ok(action) = entry.decode_action() else {
                continue;
            };
            for effect in action.effects {
                if let EffectRecord::Delegate { call, grant, .. } = effect
                    && found.iter().all(|one| one.call != call)
                {
                    found.push(DelegatedRun {
                        call,
                        end: None,
                        grant,
                        parent_contract,
                        run_id: run_id.child(call),
                        seq: entry.seq,
                    });
                }
            }
        }
        Ok(found)
    }

    /// The runs below a run that this store has, each after the one that delegated to it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], and the faults of the file.
    pub(crate) fn runs_below(&mut self, run_id: &RunId) -> Result<Vec<RunId>, StoreError> {
        let mut below = Vec::new();
        let mut next = vec![run_id.clone()];
        while let Some(parent) = next.pop() {
            for one in self.delegated(&parent)? {
                if self.is_child_of(&one, &parent)? {
                    below.push(one.run_id.clone());
                    next.push(one.run_id);
                }
            }
        }
        Ok(below)
    }

    /// Whether the store has the run of that call: another one may have its name.
    pub(crate) fn is_child_of(
        &self,
        one: &DelegatedRun,
        parent: &RunId,
    ) -> Result<bool, StoreError> {
        let lineage = self.lineage(&one.run_id)?;
        Ok(lineage.is_some_and(|found| {
            found.parent.run_id == *parent && found.parent.call == Some(one.call)
        }))
    }
}
