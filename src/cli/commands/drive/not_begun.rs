//! The result document of a command that began no run.

use crate::context::clock::unix_ms;
use crate::context::error::CliError;
use crate::context::exit::Exit;
use crate::ui::screen::Screen;
use monolith_host::telemetry::AgentResult;

/// The result document of a command that began no run.
pub(crate) fn print_result(screen: Screen, fault: &CliError) {
    drop(screen.out_json(&result_of(fault)));
}

/// The result of a command that began no run.
pub(crate) fn result_of(fault: &CliError) -> AgentResult {
    let exit = Exit::from(fault);
    AgentResult::without_run(exit.0, fault.reason(), fault.summary(), unix_ms())
}
