//! Names of runs.

use crate::driver::DriverError;
use monolith_core::message::RunId;

/// Sixteen random hex digits after `prefix`.
///
/// # Errors
/// [`DriverError::Randomness`] where the system gives none, or the prefix begins no name of a run.
pub fn random_run_id(prefix: &str) -> Result<RunId, DriverError> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|fault| DriverError::Randomness(fault.to_string()))?;
    let text = format!("{prefix}{:016x}", u64::from_be_bytes(bytes));
    RunId::try_from(text).map_err(|fault| DriverError::Randomness(fault.to_string()))
}
