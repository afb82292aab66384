//! What confines commands and servers by what their author says of it. Plain; the defaults are those of the table of keys.

use super::spec::SANDBOX;
use super::{Network, SandboxSpec, SandboxTerms};

/// What confines the commands of the built-in shell.
pub fn shell_sandbox(given: Option<&SandboxSpec>) -> SandboxTerms {
    let given = given.cloned().unwrap_or_default();
    let network = given.network == Some(Network::On);
    let or = |limit: Option<u64>, default_value: u64| limit.or(Some(default_value));
    let limited = SandboxSpec {
        cpu_s: or(given.cpu_s, SANDBOX.cpu_s.default_value),
        file_mb: or(given.file_mb, SANDBOX.file_mb.default_value),
        memory_mb: or(given.memory_mb, SANDBOX.memory_mb.default_value),
        open_files: or(given.open_files, SANDBOX.open_files.default_value),
        processes: or(given.processes, SANDBOX.processes.default_value),
        ..given
    };
    sandbox(limited, network)
}

/// What confines a tool server, where its author says anything of it: the files, and what is stated.
pub fn server_sandbox(given: &SandboxSpec) -> SandboxTerms {
    sandbox(given.clone(), given.network != Some(Network::Off))
}

fn sandbox(given: SandboxSpec, network: bool) -> SandboxTerms {
    if given.off {
        return SandboxTerms {
            network: true,
            ..SandboxTerms::default()
        };
    }
    SandboxTerms {
        confined: true,
        cpu_s: given.cpu_s,
        file_mb: given.file_mb,
        memory_mb: given.memory_mb,
        network,
        open_files: given.open_files,
        processes: given.processes,
        read: given.read,
        sockets: given.sockets,
        write: given.write,
    }
}
