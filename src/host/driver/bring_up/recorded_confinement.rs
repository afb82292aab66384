//! The recorded confinement of a tree of runs, and its comparison with this machine. Decides nothing for a run that begins.

use super::confinement_decision::check_confinement;
use crate::driver::{ConfinementError, Environment};
use crate::store::{StoreError, StoreReader};
use monolith_core::kernel::EventKind;
use monolith_core::message::{RunId, ServerConfinement};
use monolith_core::transcript::SealedEntry;

/// The last recorded decisions of some runs. A process that resumes them must confine as much.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct RecordedConfinement(Vec<(RunId, Vec<ServerConfinement>)>);

impl RecordedConfinement {
    /// Adds a run by its entries. A run that was recorded without any decision adds nothing: what it had is not known.
    pub(in crate::driver) fn add(&mut self, run_id: &RunId, entries: &[SealedEntry]) {
        let mut known = Vec::new();
        for entry in entries {
            // What cannot be decoded keeps the run from being resumed in any case.
            match entry.decode_event().ok().flatten().map(|event| event.event) {
                Some(EventKind::RunStarted(started)) => {
                    ServerConfinement::update(&mut known, &started.confinement);
                }
                Some(EventKind::Resumed(resumed)) => {
                    ServerConfinement::update(&mut known, &resumed.confinement);
                }
                _ => {}
            }
        }
        if !known.is_empty() {
            self.0.push((run_id.clone(), known));
        }
    }

    /// Adds every open child run: a process that resumes the parent resumes them.
    ///
    /// # Errors
    /// The faults of the store.
    pub(in crate::driver) fn add_below(
        &mut self,
        reader: &mut StoreReader,
        run_id: &RunId,
    ) -> Result<(), StoreError> {
        for below in reader.runs_below(run_id)? {
            if reader.is_open(&below)? {
                let entries: Vec<SealedEntry> =
                    reader.read_run(&below)?.collect::<Result<_, _>>()?;
                self.add(&below, &entries);
            }
        }
        Ok(())
    }

    /// Compares all of them with this machine, which is probed where one of them was confined.
    ///
    /// # Errors
    /// [`ConfinementError`].
    pub(in crate::driver) fn check(
        &self,
        environment: &Environment,
    ) -> Result<(), ConfinementError> {
        self.0
            .iter()
            .try_for_each(|(run_id, recorded)| check_confinement(run_id, recorded, environment))
    }
}
