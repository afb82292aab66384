//! The report of a file that gives no contract.

use crate::context::app::App;
use monolith_service::check::check_report::CheckReport;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

/// Reports of a file that cannot be read what is wrong with it, as `contract check` does.
pub(crate) fn refuse_file(
    app: &App,
    fault: ServiceError,
    json: bool,
) -> Result<Exit, ServiceError> {
    if json {
        app.screen.out_json(&CheckReport::refused(&fault))?;
    }
    Err(fault)
}
