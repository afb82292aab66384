//! `monolith doctor`: prints what the checkup found, and ends with 1 where something is wrong.

use serde::Serialize;

use super::args::DoctorArgs;
use super::checkup::{Finding, Status, at_rest, checkup};
use super::render::report_text;
use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

#[derive(Serialize)]
struct Document<'d> {
    format: &'static str,
    healthy: bool,
    exit_code: u8,
    checks: Vec<&'d Finding>,
}

/// `monolith doctor`: ends with 0 where nothing is wrong, whatever is missing, else with 1.
pub(crate) fn doctor(app: &App, args: &DoctorArgs) -> Result<Exit, ServiceError> {
    let checkup = checkup(app, args);
    at_rest(app);
    let checkup = checkup?;
    let healthy = checkup
        .findings()
        .all(|found| found.status != Status::Wrong);
    let exit = if healthy { Exit::OK } else { Exit::FAILED };
    if args.json {
        app.screen.out_json(&Document {
            format: "monolith-doctor/1",
            healthy,
            exit_code: exit.0,
            checks: checkup.findings().collect(),
        })?;
        return Ok(exit);
    }
    app.screen
        .out(&report_text(app.screen, &checkup, args.contract.as_deref()))?;
    Ok(exit)
}
