//! The parent of a run, and whether this store has it.

use super::{StoreError, StoreReader};
use monolith_core::kernel::ParentRun;
use monolith_core::message::{CallSeq, RunId};
use monolith_core::transcript::{ParentFound, TranscriptKind};

/// The origin of a run, and its presence in the same store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The parent named in entry 0.
    pub parent: ParentRun,
    /// The findings about it in this store.
    pub found: ParentFound,
    /// True if the parent had ended with that entry, and this run continues its conversation.
    pub is_continued: bool,
    /// The machine that it is of; none if the store does not have it. This run is a step of a workflow, or of a work item.
    pub kind: Option<TranscriptKind>,
}

impl Lineage {
    /// Returns true if the parent began the run, for a call of an agent, as a step of a workflow or for a work item, and resumes it.
    #[must_use]
    pub const fn is_below(&self) -> bool {
        self.parent.call.is_some() || self.is_step()
    }

    /// Returns true if the parent is a workflow, and this run a step of it.
    #[must_use]
    pub const fn is_workflow(&self) -> bool {
        matches!(self.kind, Some(TranscriptKind::Workflow))
    }

    /// Returns true if the parent is a workflow or a work item, whose runs are numbered.
    #[must_use]
    pub const fn is_step(&self) -> bool {
        matches!(
            self.kind,
            Some(TranscriptKind::Workflow | TranscriptKind::Work)
        )
    }

    /// Returns true if that run has the name that a run begun this way gets. A run with another name is no part of the tree,
    /// whatever it states.
    pub fn names(&self, run_id: &RunId) -> bool {
        let above = &self.parent.run_id;
        match self.parent.call {
            Some(call) => above.child(call) == *run_id,
            None if self.is_step() => {
                let number = run_id.as_str().rsplit('.').next();
                let number = number.and_then(|number| number.parse().ok());
                number.is_some_and(|number| above.step(number).is_ok_and(|step| step == *run_id))
            }
            None => true,
        }
    }

    /// Returns true if the store has the run that began it, for a call or as a step, with the named entry.
    const fn is_begun_here(&self) -> bool {
        self.is_below() && matches!(self.found, ParentFound::Entry(_))
    }

    /// Returns true if that run began it, for that call or as a step, and has the named entry. A run of another tree may have
    /// the same names.
    #[must_use]
    pub fn is_of(&self, parent: &RunId, call: Option<CallSeq>) -> bool {
        let named = self.parent.run_id == *parent && self.parent.call == call;
        named && matches!(self.found, ParentFound::Entry(_))
    }
}

/// The state of the run that began a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallerState {
    /// No run began it for a call, or as a step.
    None,
    /// It is in progress, or waits for a resume.
    Open,
    /// It has ended, and no longer waits for the run.
    Ended,
    /// The store does not have it.
    NotHere(RunId),
    /// The store has another run of its name.
    Another(RunId),
}

/// Maximum number of generations followed up the line of a run: people make no longer one.
const MOST_GENERATIONS: usize = 1_000;

impl StoreReader {
    /// A run and each one above it, with where it comes from, as far as the store has them: the last one is that whose parent is not here, or
    /// that comes from none, which is left out. Bounded, for a line may be a circle where a store was changed.
    pub fn ancestors(
        &self,
        run_id: &RunId,
    ) -> impl Iterator<Item = Result<(RunId, Lineage), StoreError>> {
        let mut next = Some(run_id.clone());
        let line = std::iter::from_fn(move || {
            let run = next.take()?;
            let lineage = self.lineage(&run).transpose()?;
            Some(lineage.map(|lineage| {
                let is_here = lineage.found != ParentFound::NotHere;
                next = is_here.then(|| lineage.parent.run_id.clone());
                (run, lineage)
            }))
        });
        line.take(MOST_GENERATIONS)
    }

    /// Returns the run to resume for a run: the highest open one above it. It is the run itself if its parent has ended, is not
    /// here, or is another run of that name.
    ///
    /// # Errors
    /// The faults of the file.
    pub fn goes_on_with(&self, run_id: &RunId) -> Result<RunId, StoreError> {
        let mut highest = run_id.clone();
        for above in self.callers(run_id) {
            let above = above?;
            if !self.is_open(&above)? {
                break;
            }
            highest = above;
        }
        Ok(highest)
    }

    /// The highest open run above a run, whatever has ended between the two; `None` if all above it have ended.
    ///
    /// # Errors
    /// The faults of the file.
    pub fn open_above(&self, run_id: &RunId) -> Result<Option<RunId>, StoreError> {
        let mut highest = None;
        for above in self.callers(run_id) {
            let above = above?;
            if self.is_open(&above)? {
                highest = Some(above);
            }
        }
        Ok(highest)
    }

    /// The run that began a run, the one that began that, and so on, as far as the store has them.
    fn callers(&self, run_id: &RunId) -> impl Iterator<Item = Result<RunId, StoreError>> {
        let begun_there = |above: Result<(RunId, Lineage), StoreError>| match above {
            Ok((_, found)) if found.is_begun_here() => Some(Ok(found.parent.run_id)),
            Ok(_) => None,
            Err(fault) => Some(Err(fault)),
        };
        self.ancestors(run_id).map_while(begun_there)
    }

    /// Returns the state of the run that began a run.
    ///
    /// # Errors
    /// The faults of the file.
    pub(crate) fn caller_of(&self, run_id: &RunId) -> Result<CallerState, StoreError> {
        let found = self.lineage(run_id)?.filter(Lineage::is_below);
        let Some(Lineage { parent, found, .. }) = found else {
            return Ok(CallerState::None);
        };
        Ok(match found {
            ParentFound::NotHere => CallerState::NotHere(parent.run_id),
            ParentFound::NoSuchEntry => CallerState::Another(parent.run_id),
            ParentFound::Entry(_) if self.is_open(&parent.run_id)? => CallerState::Open,
            ParentFound::Entry(_) => CallerState::Ended,
        })
    }

    /// The first run of the tree that a run was begun in, as far as this store has it; the run itself where the one above is not here.
    ///
    /// # Errors
    /// The faults of the file.
    pub fn first_here(&self, run_id: &RunId) -> Result<RunId, StoreError> {
        let mut first = run_id.clone();
        for above in self.ancestors(run_id) {
            let (_, found) = above?;
            if !found.is_below() || found.found == ParentFound::NotHere {
                break;
            }
            first = found.parent.run_id;
        }
        Ok(first)
    }

    /// Returns true if the store has that run, without an end.
    ///
    /// # Errors
    /// The faults of the file.
    pub fn is_open(&self, run_id: &RunId) -> Result<bool, StoreError> {
        let standing = self.database.standing(run_id)?;
        Ok(standing.is_some_and(|found| found.is_open))
    }

    /// Returns true if the store has that run, as a workflow.
    ///
    /// # Errors
    /// The faults of the file.
    pub fn is_workflow(&self, run_id: &RunId) -> Result<bool, StoreError> {
        Ok(self.kind_of(run_id)? == Some(TranscriptKind::Workflow))
    }

    /// Returns true if the store has that run, as a workflow or a work item: one that begins runs by number.
    ///
    /// # Errors
    /// The faults of the file.
    pub fn has_steps(&self, run_id: &RunId) -> Result<bool, StoreError> {
        let kind = self.kind_of(run_id)?;
        Ok(kind.is_some_and(|kind| kind != TranscriptKind::Run))
    }

    /// The machine of the run of that name; none if the store has none.
    ///
    /// # Errors
    /// The faults of the file.
    pub fn kind_of(&self, run_id: &RunId) -> Result<Option<TranscriptKind>, StoreError> {
        let standing = self.database.standing(run_id)?;
        Ok(standing.map(|found| found.kind))
    }

    /// The parent of a run; none if it has none.
    pub fn lineage(&self, run_id: &RunId) -> Result<Option<Lineage>, StoreError> {
        let Some(parent) = self.database.parent(run_id)? else {
            return Ok(None);
        };
        let found = self.database.find_entry(&parent.run_id, parent.head)?;
        let standing = self.database.standing(&parent.run_id)?;
        let kind = standing.map(|found| found.kind);
        let is_continued = match (found, standing) {
            (ParentFound::Entry(seq), Some(there))
                if parent.call.is_none() && there.kind == TranscriptKind::Run =>
            {
                !there.is_open && there.last == Some(seq)
            }
            _ => false,
        };
        Ok(Some(Lineage {
            parent,
            found,
            is_continued,
            kind,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::message::Digest;

    #[test]
    fn a_run_below_has_the_name_that_its_call_or_its_step_gives() {
        let named = |name: &str| RunId::try_from(name.to_owned()).unwrap();
        let check = |call: Option<u64>, kind, name: &str, expect: bool| {
            let lineage = Lineage {
                parent: ParentRun {
                    call: call.map(CallSeq),
                    head: Digest::ZERO,
                    run_id: named("w"),
                },
                found: ParentFound::Entry(1),
                is_continued: false,
                kind: Some(kind),
            };
            assert_eq!(lineage.names(&named(name)), expect, "{name}");
        };
        check(Some(5), TranscriptKind::Run, "w.5", true);
        check(Some(5), TranscriptKind::Run, "w.6", false);
        check(Some(5), TranscriptKind::Run, "evil", false);
        check(None, TranscriptKind::Workflow, "w.2", true);
        check(None, TranscriptKind::Work, "w.2", true);
        check(None, TranscriptKind::Work, "w.02", false);
        check(None, TranscriptKind::Workflow, "w.02", false);
        check(None, TranscriptKind::Workflow, "evil", false);
        check(None, TranscriptKind::Run, "any", true);
    }
}
