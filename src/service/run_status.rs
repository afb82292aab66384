//! The status of a run that has no end yet: its process lives, or it died.

use std::process;

use monolith_core::message::RunId;
use monolith_host::store::{RunRow, StoreError, StoreReader};

/// The status of a run without a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// A process drives it.
    Running {
        /// Its id, where it is known.
        pid: Option<u32>,
    },
    /// No process drives it, because it died or suspended the run: `resume` continues it.
    Died,
    /// It was driven elsewhere, and came as a file.
    Elsewhere,
}

impl RunStatus {
    /// The status of the run of that row; `None` if it has ended, be it since the row was read.
    pub fn of(reader: &mut StoreReader, row: &RunRow) -> Result<Option<Self>, StoreError> {
        if row.outcome.is_some() {
            return Ok(None);
        }
        if row.is_imported() {
            return Ok(Some(Self::Elsewhere));
        }
        if let Some(driver) = reader.driver_of(&row.run_id)? {
            return Ok(Some(Self::Running { pid: driver.pid }));
        }
        // A process that has ended its run lets it go after the seal is written.
        let ended = reader.read_run(&row.run_id)?.row().outcome.is_some();
        Ok((!ended).then_some(Self::Died))
    }
}

/// True if another process drives the run, or the parent run that resumes it.
pub fn is_driven(reader: &StoreReader, run_id: &RunId) -> Result<bool, StoreError> {
    for run in [run_id, &reader.goes_on_with(run_id)?] {
        let driver = reader.driver_of(run)?;
        if driver.is_some_and(|driver| driver.pid != Some(process::id())) {
            return Ok(true);
        }
    }
    Ok(false)
}
