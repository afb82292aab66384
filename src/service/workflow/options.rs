//! Options of commands that drive a run, where that is a workflow: what has no meaning there is refused by its name.

use crate::error::ServiceError;
use crate::error::input::InputFault;

/// Refuses what is kept of one run alone.
pub fn refuse_options(saves: bool, workflow: &str) -> Result<(), ServiceError> {
    if !saves {
        return Ok(());
    }
    let why = "each of its steps has a conversation of its own";
    let help = Some("--save-all DIR writes that of each step");
    Err(InputFault::of_a_run("--save", workflow, why, help).into())
}

/// Refuses changes of the file.
pub fn as_written(
    workflow: &str,
    mut changes: impl Iterator<Item = String>,
) -> Result<(), ServiceError> {
    let Some(change) = changes.next() else {
        return Ok(());
    };
    let (why, help) = ("it is run as it is written", Some("change the file itself"));
    Err(InputFault::of_a_run(&change, workflow, why, help).into())
}
