//! The sandbox of commands and tool servers, as far as this machine has it.

use super::finding::{Finding, missing, ok};
use crate::context::app::App;
use crate::context::reach::MEMORY_OF_EACH;
use monolith_core::message::MemoryScope;
use monolith_host::tools::{PartStatus, ProbeFault, SandboxKind};

const NAME: &str = "sandbox";

/// The parts that this system has, or the first that it lacks.
pub(super) fn confinement(app: &App) -> Finding {
    let fix = "commands of `shell` are refused here unless the contract has tools.sandbox: off; tool servers run unconfined unless they state a sandbox";
    let kinds = [SandboxKind::Shell, SandboxKind::Server];
    let reports = kinds.map(|kind| app.environment.sandbox(kind));
    let [shell, server] = &reports;
    // What a server needs, commands need, too.
    let report = if shell.result.is_ok() { server } else { shell };
    let here = report.parts.iter();
    let here = here.filter(|found| found.status == PartStatus::Here);
    let names: Vec<&str> = here.map(|found| found.part.name()).collect();
    let names = names.join(", ");
    match &report.result {
        Ok(strength) => {
            let memory = match strength.memory {
                Some(MemoryScope::Process) => format!("; {MEMORY_OF_EACH}"),
                Some(MemoryScope::Group) | None => String::new(),
            };
            ok(
                NAME,
                format!("{names}; landlock {}{memory}", strength.landlock),
            )
        }
        Err(ProbeFault::Lacking { part, reason }) => missing(
            NAME,
            format!("no {part}: {reason}; there are: {names}"),
            fix,
        ),
        Err(fault @ ProbeFault::Untried { .. }) => {
            let fix = "confined programs are not started until the sandbox can be tried";
            missing(NAME, fault.to_string(), fix)
        }
    }
}
