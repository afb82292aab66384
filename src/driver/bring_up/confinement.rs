//! What confines commands and tool servers, on this machine: a contract's terms with every path resolved. Confines nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::handed_roots::is_root_of_all;
use crate::contract::{SandboxSpec, SandboxTerms, server_sandbox};
use crate::driver::Environment;
use crate::tools::{Base, Confined, Limits, SandboxProfile, ShellSpec};

const MEBIBYTE: u64 = 1 << 20;

/// How commands of the built-in shell are started, with these variables beside the usual ones. A relative path begins in `folder`, the contract's own.
pub(super) fn shell_spec(
    terms: &SandboxTerms,
    env: BTreeMap<String, String>,
    folder: &Path,
    environment: &Environment,
) -> ShellSpec {
    let profile = SandboxProfile {
        base: Base::System,
        drops_root: true,
        joined_output: true,
        ..profile(terms, folder, environment)
    };
    ShellSpec {
        env,
        profile,
        program: environment.program().map(Path::to_owned),
    }
}

/// What confines a tool server: where its author says nothing, its files, and only where the system can.
pub(super) fn server_profile(
    given: Option<&SandboxSpec>,
    roots: &[String],
    folder: &Path,
    environment: &Environment,
) -> SandboxProfile {
    let terms = server_sandbox(given.unwrap_or(&SandboxSpec::default()));
    let mut profile = profile(&terms, folder, environment);
    if given.is_none() {
        profile.confined = Confined::WherePossible;
    }
    let temporary = environment.raw("TMPDIR");
    let more = roots.iter().chain(&temporary);
    let more = more.filter_map(|path| fs::canonicalize(path).ok());
    // It reads all files anyway; one that may write all of them is confined to nothing.
    let more = more.filter(|path| !is_root_of_all(path));
    profile.write.extend(more);
    profile
}

/// What both have.
fn profile(terms: &SandboxTerms, folder: &Path, environment: &Environment) -> SandboxProfile {
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
    SandboxProfile {
        base: Base::Whole,
        confined: if terms.confined {
            Confined::Always
        } else {
            Confined::Never
        },
        drops_root: false,
        hidden: withheld.paths.clone(),
        hidden_folders: withheld.folders.clone(),
        home: home.as_ref().and_then(|home| fs::canonicalize(home).ok()),
        joined_output: false,
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
    }
}
