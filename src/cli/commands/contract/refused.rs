//! The report of a file that gives no contract.

use super::check_report::CheckReport;
use crate::context::app::App;
use crate::context::error::CliError;
use crate::context::exit::Exit;

/// Reports of a file that cannot be read what is wrong with it, as `contract check` does.
pub(crate) fn refuse_file(app: &App, fault: CliError, json: bool) -> Result<Exit, CliError> {
    if json {
        app.screen.out_json(&CheckReport::refused(&fault))?;
    }
    Err(fault)
}
