//! Limits of each process (setrlimit(2)). Does not know the program.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Limits;
use super::part::{Fault, Part, PartFault as _};

/// Bytes of the stack of a process whose memory is limited.
const STACK: u64 = 16 << 20;

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
        let before = getrlimit(resource);
        let limit = before.maximum.map_or(limit, |most| most.min(limit));
        let both = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, both).map_err(Part::Limits.while_at(name))?;
    }
    if limits.memory_bytes.is_some() {
        // A stack counts as no data.
        let stack = getrlimit(Resource::Stack);
        let bounded = |limit: Option<u64>| Some(limit.map_or(STACK, |limit| limit.min(STACK)));
        let stack = Rlimit {
            current: bounded(stack.current),
            maximum: bounded(stack.maximum),
        };
        setrlimit(Resource::Stack, stack).map_err(Part::Limits.while_at("stack"))?;
    }
    Ok(())
}

/// Lets this process open as many files as it may, for as long as `work` runs: each mount is one.
pub(super) fn with_many_files<T>(work: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        ..before
    };
    // Where that is refused, the mounts that do not fit are a fault.
    let _ = setrlimit(Resource::Nofile, raised);
    let done = work();
    let _ = setrlimit(Resource::Nofile, before);
    done
}
