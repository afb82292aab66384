//! The result document of a command that began no run.

use crate::ui::screen::Screen;
use monolith_host::telemetry::AgentResult;
use monolith_service::clock::unix_ms;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

/// The result document of a command that began no run.
pub(crate) fn print_result(screen: Screen, fault: &ServiceError) {
    drop(screen.out_json(&result_of(fault)));
}

/// The result of a command that began no run.
pub(crate) fn result_of(fault: &ServiceError) -> AgentResult {
    let exit = Exit::from(fault);
    AgentResult::without_run(exit.0, fault.reason(), fault.summary(), unix_ms())
}
