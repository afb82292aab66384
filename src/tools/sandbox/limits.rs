//! Limits of each process (setrlimit(2)). Does not know the program.

use rustix::process::{Resource, Rlimit, setrlimit};

use super::Limits;
use super::part::{Fault, Part};

/// Sets what the profile limits, for this process and all that it starts. None of them may raise it again.
pub(super) fn apply(limits: &Limits) -> Result<(), Fault> {
    let all = [
        (Resource::Cpu, "processor time", limits.cpu_s),
        (Resource::Fsize, "file size", limits.file_bytes),
        // What is reserved and never written does not count, as it would under RLIMIT_AS.
        (Resource::Data, "memory", limits.memory_bytes),
        (Resource::Nofile, "open files", limits.open_files),
        (Resource::Nproc, "processes", limits.processes),
        (Resource::Core, "core files", Some(0)),
    ];
    for (resource, name, limit) in all {
        let Some(limit) = limit else {
            continue;
        };
        let before = rustix::process::getrlimit(resource);
        let limit = before.maximum.map_or(limit, |most| most.min(limit));
        let both = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, both).map_err(Part::Limits.while_at(name))?;
    }
    Ok(())
}
