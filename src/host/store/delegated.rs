//! The runs below a run: those that were begun for calls of its agents. Judges none.

use std::collections::BTreeSet;

use super::{StoreError, StoreReader};
use monolith_core::contract::{DelegationGrant, Label};
use monolith_core::kernel::{ChildEnd, EffectRecord, EventKind};
use monolith_core::message::{CallSeq, Digest, RunId, ToolOutcome};
use monolith_core::transcript::TranscriptKind;

/// A call of an agent, as the run says it that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegatedRun {
    /// The call.
    pub call: CallSeq,
    /// The end of its run; `None` if that is not recorded.
    pub end: Option<ChildEnd>,
    /// True if a result of it is recorded, even that no run was begun.
    pub answered: bool,
    /// The usage granted to it.
    pub grant: DelegationGrant,
    /// The labels that its task carries.
    pub labels: BTreeSet<Label>,
    /// The entry that first set it going.
    pub seq: u64,
    /// The exposed name of the agent's tool.
    pub tool: String,
    /// The hash of the contract that delegated.
    pub parent_contract: Digest,
    /// The result of the call with the end of its run; `None` if that is not recorded.
    pub result: Option<Box<ToolOutcome>>,
    /// Its run.
    pub run_id: RunId,
}

impl DelegatedRun {
    /// Returns true if its run must exist: its end is recorded, or the caller's end is, and nothing answered the call.
    pub const fn is_owed(&self, caller_has_ended: bool) -> bool {
        self.end.is_some() || (caller_has_ended && !self.answered)
    }
}

impl StoreReader {
    /// The calls of agents that a run has made, in call order. Entries that do not read back are for the verification.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], and the faults of the file.
    pub fn delegated(&mut self, run_id: &RunId) -> Result<Vec<DelegatedRun>, StoreError> {
        let stored = self.read_run(run_id)?;
        let parent_contract = stored.row().contract_hash;
        let mut found: Vec<DelegatedRun> = Vec::new();
        // Without agents nothing was delegated, and no entry has to be read.
        if stored.row().kind != TranscriptKind::Run
            || !stored.contract_text().contains("\"agents\":{")
        {
            return Ok(found);
        }
        for entry in stored {
            let entry = entry?;
            if let Ok(Some(event)) = entry.decode_event()
                && let EventKind::ToolReturned(returned) = event.event
                && let Some(known) = found.iter_mut().find(|one| one.call == returned.call)
            {
                known.answered = true;
                if known.end.is_none()
                    && let Some(child) = returned.child
                {
                    known.end = Some(*child);
                    known.result = Some(Box::new(returned.outcome));
                }
            }
            let Ok(action) = entry.decode_action() else {
                continue;
            };
            for effect in action.effects {
                if let EffectRecord::Delegate {
                    call,
                    grant,
                    labels,
                    name,
                    ..
                } = effect
                    && found.iter().all(|one| one.call != call)
                {
                    found.push(DelegatedRun {
                        answered: false,
                        call,
                        end: None,
                        grant,
                        labels,
                        parent_contract,
                        result: None,
                        run_id: run_id.child(call),
                        seq: entry.seq,
                        tool: name,
                    });
                }
            }
        }
        Ok(found)
    }

    /// The runs below a run that this store has: those of its agents or, of a workflow or a work item, those of its steps, each after the one that began it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], and the faults of the file.
    pub fn runs_below(&mut self, run_id: &RunId) -> Result<Vec<RunId>, StoreError> {
        let mut below = Vec::new();
        let mut next = vec![run_id.clone()];
        while let Some(parent) = next.pop() {
            let mut begun = self.steps(&parent)?;
            for one in self.delegated(&parent)? {
                if self.is_child_of(&one, &parent)? {
                    begun.push(one.run_id);
                }
            }
            below.extend_from_slice(&begun);
            next.extend(begun);
        }
        Ok(below)
    }

    /// The runs that have a name that one below that run would get: `lead.2` of `lead`, and `HASH.2` where that is too long. Whether they are
    /// below it, they say themselves.
    ///
    /// # Errors
    /// The faults of the file.
    pub fn named_below(&self, run_id: &RunId) -> Result<Vec<RunId>, StoreError> {
        let mut below = self.names_behind(run_id.as_str())?;
        let longest = run_id.child(CallSeq(u64::MAX));
        let short = longest.as_str().rsplit_once('.');
        if let Some((short, _)) = short.filter(|(short, _)| *short != run_id.as_str()) {
            below.extend(self.names_behind(short)?);
        }
        Ok(below)
    }

    /// The names of runs that consist of that, a point, and numbers with points between them.
    fn names_behind(&self, prefix: &str) -> Result<Vec<RunId>, StoreError> {
        let names = self.database.names_below(prefix)?;
        let begins = prefix.len().saturating_add(1);
        let is_number = |name: &String| {
            let number = name.get(begins..).unwrap_or_default();
            !number.is_empty()
                && number
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'.'))
        };
        // A name that is none is for the verification.
        let below = names.into_iter().filter(is_number);
        Ok(below
            .filter_map(|name| RunId::try_from(name).ok())
            .collect())
    }

    /// The step runs of a workflow or a work item, by their names and what they say of their parent; none of a run.
    fn steps(&self, workflow: &RunId) -> Result<Vec<RunId>, StoreError> {
        let mut steps = Vec::new();
        if !self.has_steps(workflow)? {
            return Ok(steps);
        }
        for run_id in self.named_below(workflow)? {
            let lineage = self.lineage(&run_id)?;
            if lineage.is_some_and(|found| found.is_step() && found.is_of(workflow, None)) {
                steps.push(run_id);
            }
        }
        Ok(steps)
    }

    /// Returns the open runs below a run or a workflow that has ended, unless another open run is above them; none for an open
    /// one.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], and the faults of the file.
    pub fn open_below(&mut self, run_id: &RunId) -> Result<Vec<RunId>, StoreError> {
        let (mut open, mut next) = (Vec::new(), vec![run_id.clone()]);
        while let Some(above) = next.pop() {
            if self.is_open(&above)? {
                if above != *run_id {
                    open.push(above);
                }
            } else if self.has_steps(&above)? {
                next.extend(self.steps(&above)?);
            } else {
                for one in self.delegated(&above)? {
                    if self.is_child_of(&one, &above)? {
                        next.push(one.run_id);
                    }
                }
            }
        }
        open.sort();
        Ok(open)
    }

    /// Returns true if the store has the run of that call: another one may have its name.
    pub fn is_child_of(&self, one: &DelegatedRun, parent: &RunId) -> Result<bool, StoreError> {
        let lineage = self.lineage(&one.run_id)?;
        Ok(lineage.is_some_and(|found| found.is_of(parent, Some(one.call))))
    }
}
