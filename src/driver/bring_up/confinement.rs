//! What confines commands, on this machine: a contract's terms with every path resolved. Confines nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::contract::SandboxTerms;
use crate::driver::Environment;
use crate::tools::{Base, Confined, Limits, SandboxProfile, ShellSpec};

const MEBIBYTE: u64 = 1 << 20;

/// How commands of the built-in shell are started. A relative path begins in `folder`, the contract's own.
pub(super) fn shell_spec(
    terms: &SandboxTerms,
    folder: &Path,
    environment: &Environment,
) -> ShellSpec {
    let home = environment.raw("HOME").map(PathBuf::from);
    let resolved = |given: &String| {
        let path = match (given.strip_prefix("~/"), &home) {
            (Some(below), Some(home)) => home.join(below),
            _ => folder.join(given),
        };
        // What is not there is left out.
        fs::canonicalize(path).ok()
    };
    let withheld = environment.withheld();
    let bytes = |mebibytes: Option<u64>| mebibytes.map(|count| count.saturating_mul(MEBIBYTE));
    let profile = SandboxProfile {
        base: Base::System,
        confined: if terms.confined {
            Confined::Always
        } else {
            Confined::Never
        },
        drops_root: true,
        hidden: withheld.paths.clone(),
        hidden_folders: withheld.folders.clone(),
        home: home.as_ref().and_then(|home| fs::canonicalize(home).ok()),
        joined_output: true,
        limits: Limits {
            cpu_s: terms.cpu_s,
            file_bytes: bytes(terms.file_mb),
            memory_bytes: bytes(terms.memory_mb),
            open_files: terms.open_files,
            processes: terms.processes,
        },
        network: terms.network,
        open: withheld.open.clone(),
        read: terms.read.iter().filter_map(resolved).collect(),
        workspace: PathBuf::new(),
        write: terms.write.iter().filter_map(resolved).collect(),
    };
    ShellSpec {
        env: BTreeMap::new(),
        profile,
        program: environment.program().map(Path::to_owned),
    }
}
