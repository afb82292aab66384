//! The decision on what confines each program of a contract, made once for the process by a probe. Resolves no path.
//!
//! A machine that lacks a part of the sandbox has the servers without a stated one run unconfined. That is recorded, and never decided again: a
//! start that fails afterwards is a server that is down.

use monolith_core::contract::{
    ContractSpec, McpTransport, SandboxTerms, server_sandbox, shell_sandbox,
};
use monolith_core::kernel::EventKind;
use monolith_core::message::{Confinement, RunId, SandboxStrength, ServerConfinement};
use monolith_core::transcript::SealedEntry;

use crate::driver::tasks::blocking;
use crate::driver::{ConfinementError, DriverError, Environment};
use crate::store::{StoreError, StoreReader};
use crate::tools::{Confined, ProbeFault, SandboxKind};

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

pub(super) fn decision(
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

/// Returns what each start of a program is held to. Where the machine lacks a part, a program whose sandbox is stated fails to start.
pub(super) fn confined(decision: Confinement, is_stated: bool) -> Confined {
    match decision {
        Confinement::Confined(strength) => Confined::Always(strength),
        Confinement::Unavailable(_) if is_stated => Confined::Always(SandboxStrength::default()),
        Confinement::Unavailable(_) | Confinement::Off => Confined::Never,
    }
}

/// The last recorded decisions of some runs. A process that resumes them must confine as much.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct RecordedConfinement(Vec<(RunId, Vec<ServerConfinement>)>);

impl RecordedConfinement {
    /// Adds a run by its entries. A run that was recorded without any decision adds nothing: what it had is not known.
    pub(in crate::driver) fn add(&mut self, run_id: &RunId, entries: &[SealedEntry]) {
        let mut known = Vec::new();
        for entry in entries {
            // What cannot be decoded keeps the run from being resumed in any case.
            match entry.decode_event().ok().flatten().map(|event| event.event) {
                Some(EventKind::RunStarted(started)) => {
                    ServerConfinement::update(&mut known, &started.confinement);
                }
                Some(EventKind::Resumed(resumed)) => {
                    ServerConfinement::update(&mut known, &resumed.confinement);
                }
                _ => {}
            }
        }
        if !known.is_empty() {
            self.0.push((run_id.clone(), known));
        }
    }

    /// Adds every open child run: a process that resumes the parent resumes them.
    ///
    /// # Errors
    /// The faults of the store.
    pub(in crate::driver) fn add_below(
        &mut self,
        reader: &mut StoreReader,
        run_id: &RunId,
    ) -> Result<(), StoreError> {
        for below in reader.runs_below(run_id)? {
            if reader.is_open(&below)? {
                let entries: Vec<SealedEntry> =
                    reader.read_run(&below)?.collect::<Result<_, _>>()?;
                self.add(&below, &entries);
            }
        }
        Ok(())
    }

    /// Compares all of them with this machine, which is probed where one of them was confined.
    ///
    /// # Errors
    /// [`ConfinementError`].
    pub(in crate::driver) fn check(
        &self,
        environment: &Environment,
    ) -> Result<(), ConfinementError> {
        self.0
            .iter()
            .try_for_each(|(run_id, recorded)| check_confinement(run_id, recorded, environment))
    }
}
