//! What confines commands and servers by what their author says of it. Plain; the defaults are those of the table of keys.

use super::spec::SANDBOX;
use super::{Network, SandboxSpec, SandboxTerms};

/// What confines the commands of the built-in shell.
pub fn shell_sandbox(given: Option<&SandboxSpec>) -> SandboxTerms {
    let given = given.cloned().unwrap_or_default();
    if given.off {
        return unconfined();
    }
    SandboxTerms {
        confined: true,
        cpu_s: given.cpu_s.or(Some(SANDBOX.cpu_s.default_value)),
        file_mb: given.file_mb.or(Some(SANDBOX.file_mb.default_value)),
        memory_mb: given.memory_mb.or(Some(SANDBOX.memory_mb.default_value)),
        network: given.network == Some(Network::On),
        open_files: given.open_files.or(Some(SANDBOX.open_files.default_value)),
        processes: given.processes.or(Some(SANDBOX.processes.default_value)),
        read: given.read,
        sockets: given.sockets,
        write: given.write,
    }
}

/// What confines a tool server, where its author says anything of it: the files, and what is stated.
pub fn server_sandbox(given: &SandboxSpec) -> SandboxTerms {
    let given = given.clone();
    if given.off {
        return unconfined();
    }
    SandboxTerms {
        confined: true,
        cpu_s: given.cpu_s,
        file_mb: given.file_mb,
        memory_mb: given.memory_mb,
        network: given.network != Some(Network::Off),
        open_files: given.open_files,
        processes: given.processes,
        read: given.read,
        sockets: given.sockets,
        write: given.write,
    }
}

const fn unconfined() -> SandboxTerms {
    SandboxTerms {
        confined: false,
        cpu_s: None,
        file_mb: None,
        memory_mb: None,
        network: true,
        open_files: None,
        processes: None,
        read: Vec::new(),
        sockets: Vec::new(),
        write: Vec::new(),
    }
}
