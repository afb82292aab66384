//! The profiles of commands and tool servers on this machine: a contract's terms with every path resolved, and the decision whether they hold.
//! Confines nothing.
//!
//! A machine that lacks a part of the sandbox has the servers without a stated one run unconfined. That is decided by a probe of the whole
//! process, recorded, and never decided again: a start that fails afterwards is a server that is down.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::handed_roots::is_root_of_all;
use crate::contract::{
    ContractSpec, McpTransport, SandboxSpec, SandboxTerms, server_sandbox, shell_sandbox,
};
use crate::driver::blocking::blocking;
use crate::driver::{ConfinementError, DriverError, Environment};
use crate::message::{Confinement, RunId, SandboxStrength, ServerConfinement};
use crate::tools::{Base, Confined, Limits, ProbeFault, SandboxKind, SandboxProfile, ShellSpec};

const MEBIBYTE: u64 = 1 << 20;

/// Decides on every program that is started, sorted by server; without `servers` on the commands of the shell alone.
///
/// # Errors
/// [`ConfinementError::Untried`].
pub(super) async fn decided(
    spec: &ContractSpec,
    servers: bool,
    environment: &Environment,
) -> Result<Vec<ServerConfinement>, DriverError> {
    let mut programs = Vec::new();
    if spec.tools.has_shell() {
        let terms = shell_sandbox(spec.tools.sandbox.as_ref());
        programs.push((ServerConfinement::SHELL, terms));
    }
    for (name, server) in &spec.tools.servers {
        let is_command = matches!(server.transport, McpTransport::Stdio { .. });
        if is_command && servers {
            let given = server.sandbox.clone().unwrap_or_default();
            programs.push((name, server_sandbox(&given)));
        }
    }
    programs.sort_by_key(|(name, _)| *name);
    let confined = programs.iter().filter(|(_, terms)| terms.confined);
    let kinds: Vec<SandboxKind> = confined.map(|(name, _)| kind_of(name)).collect();
    let probing = environment.clone();
    let probe = move || {
        for kind in kinds {
            drop(probing.sandbox(kind));
        }
        Ok::<_, DriverError>(())
    };
    blocking(probe).await?;
    let decide = |(name, terms): (&str, SandboxTerms)| {
        let is = decision(&terms, kind_of(name), environment)?;
        let server = name.to_owned();
        Ok(ServerConfinement { is, server })
    };
    programs.into_iter().map(decide).collect()
}

/// Compares what is recorded of a run with this machine.
///
/// # Errors
/// [`ConfinementError`].
pub(in crate::driver) fn check_confinement(
    run_id: &RunId,
    recorded: &[ServerConfinement],
    environment: &Environment,
) -> Result<(), ConfinementError> {
    for recorded in recorded {
        // Its terms are those of the contract, which is the same.
        let Confinement::Confined(was) = recorded.is else {
            continue;
        };
        let is = probed(was.memory.is_some(), kind_of(&recorded.server), environment)?;
        if is.is_less_than(recorded.is) {
            return Err(ConfinementError::Less {
                is,
                program: recorded.program().into(),
                root: Box::new(run_id.clone()),
                run_id: run_id.clone(),
                was: recorded.is,
            });
        }
    }
    Ok(())
}

fn kind_of(server: &str) -> SandboxKind {
    if server == ServerConfinement::SHELL {
        SandboxKind::Shell
    } else {
        SandboxKind::Server
    }
}

fn decision(
    terms: &SandboxTerms,
    kind: SandboxKind,
    environment: &Environment,
) -> Result<Confinement, ConfinementError> {
    if terms.confined {
        probed(terms.memory_mb.is_some(), kind, environment)
    } else {
        Ok(Confinement::Off)
    }
}

fn probed(
    limits_memory: bool,
    kind: SandboxKind,
    environment: &Environment,
) -> Result<Confinement, ConfinementError> {
    match &environment.sandbox(kind).result {
        Ok(strength) => Ok(Confinement::Confined(SandboxStrength {
            memory: strength.memory.filter(|_| limits_memory),
            ..*strength
        })),
        Err(ProbeFault::Lacking { part, .. }) => Ok(Confinement::Unavailable(*part)),
        Err(ProbeFault::Untried { reason }) => Err(ConfinementError::Untried {
            reason: reason.clone(),
        }),
    }
}

/// How commands of the built-in shell are started, with these variables beside the usual ones. A relative path begins in `folder`, the contract's own.
pub(super) fn shell_spec(
    terms: &SandboxTerms,
    env: BTreeMap<String, String>,
    folder: &Path,
    environment: &Environment,
) -> Result<ShellSpec, DriverError> {
    let decision = decision(terms, SandboxKind::Shell, environment)?;
    let profile = SandboxProfile {
        base: Base::System,
        drops_root: true,
        joined_output: true,
        ..profile(terms, confined(decision, true), folder, environment)
    };
    Ok(ShellSpec {
        env,
        profile,
        program: environment.program().map(Path::to_owned),
    })
}

/// Returns what confines a tool server: where its author says nothing, its files, and only where this machine can.
pub(super) fn server_profile(
    given: Option<&SandboxSpec>,
    roots: &[String],
    folder: &Path,
    environment: &Environment,
) -> Result<SandboxProfile, DriverError> {
    let terms = server_sandbox(given.unwrap_or(&SandboxSpec::default()));
    let decision = decision(&terms, SandboxKind::Server, environment)?;
    let confined = confined(decision, given.is_some());
    let mut profile = profile(&terms, confined, folder, environment);
    let temporary = environment.raw("TMPDIR");
    let more = roots.iter().chain(&temporary);
    let more = more.filter_map(|path| fs::canonicalize(path).ok());
    // It reads all files anyway; one that may write all of them is confined to nothing.
    let more = more.filter(|path| !is_root_of_all(path));
    profile.write.extend(more);
    Ok(profile)
}

/// Returns what each start of a program is held to. Where the machine lacks a part, a program whose sandbox is stated fails to start.
fn confined(decision: Confinement, is_stated: bool) -> Confined {
    match decision {
        Confinement::Confined(strength) => Confined::Always(strength),
        Confinement::Unavailable(_) if is_stated => Confined::Always(SandboxStrength::default()),
        Confinement::Unavailable(_) | Confinement::Off => Confined::Never,
    }
}

/// What both have.
fn profile(
    terms: &SandboxTerms,
    confined: Confined,
    folder: &Path,
    environment: &Environment,
) -> SandboxProfile {
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
        confined,
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
