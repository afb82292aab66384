use super::clock::unix_ms;
use super::error::CliError;
use super::exit::Exit;
use super::screen::Screen;
use crate::telemetry::AgentResult;

/// The result document of a command that began no run.
pub(super) fn print_result(screen: Screen, fault: &CliError) {
    drop(screen.out_json(&result_of(fault)));
}

/// The result of a command that began no run.
pub(super) fn result_of(fault: &CliError) -> AgentResult {
    let exit = Exit::from(fault);
    AgentResult::without_run(exit.0, fault.reason(), fault.summary(), unix_ms())
}
