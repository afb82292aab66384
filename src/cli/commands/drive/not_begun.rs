//! The result document of a command that began no run.

use crate::cli::context::clock::unix_ms;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::ui::screen::Screen;
use crate::telemetry::AgentResult;

/// The result document of a command that began no run.
pub(in crate::cli) fn print_result(screen: Screen, fault: &CliError) {
    drop(screen.out_json(&result_of(fault)));
}

/// The result of a command that began no run.
pub(in crate::cli) fn result_of(fault: &CliError) -> AgentResult {
    let exit = Exit::from(fault);
    AgentResult::without_run(exit.0, fault.reason(), fault.summary(), unix_ms())
}
