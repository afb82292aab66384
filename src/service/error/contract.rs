//! Faults of a contract file, of configuration and of the accounting file, with help.

use std::path::{Path, PathBuf};

use crate::error::advice::Advice;
use crate::exit::Exit;
use crate::text::command::{command, shell_word};
use crate::untrusted::{Untrusted, UntrustedCause};
use monolith_core::contract::{BrokenIncludes, SpecErrors};
use monolith_core::message::RunId;
use monolith_host::config::{ConfigFault, HERE, SHARED};
use monolith_host::store::Foreign;
use monolith_host::telemetry::BillingFault;

/// The file of a contract is not there.
#[derive(Debug, thiserror::Error)]
pub enum ContractFault {
    /// The author: there is no such contract file.
    #[error("read the contract {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// The author: the contract file that the run was begun with is not there now.
    #[error("read the contract {}, which the run started with: {reason}", path.display())]
    Departed { path: PathBuf, reason: String },
    /// The caller: a workflow instead of a contract.
    #[error("read the contract {}: it is a workflow", path.display())]
    Workflow { path: PathBuf },
    /// The author: steps of a workflow could not run.
    #[error("run the workflow {}: {}", path.display(), faults.join("; "))]
    Steps { faults: Vec<String>, path: PathBuf },
    /// The author: an agent's file includes what it cannot.
    #[error("read the agent: {0}")]
    Include(Box<BrokenIncludes>),
    /// The caller: the file was found and not named, and it is not the caller's.
    #[error("trust the contract {}, which was found and not named: {foreign}", path.display())]
    Foreign { path: PathBuf, foreign: Foreign },
    /// The caller: nobody says that files may start what they name.
    #[error("{0}")]
    Untrusted(Box<Untrusted>),
    /// The caller: a file that a run was begun with is another one now.
    #[error("use {}: it, or a file that its commands name, has changed since the run started", path.display())]
    ChangedSince { contract: PathBuf, path: PathBuf },
    /// The caller: there is nothing to take back.
    #[error("stop trusting the contract {}: it was not trusted", path.display())]
    NotTrusted { path: PathBuf },
    /// The build: it cannot count as the contract's tokenizer does, and the contract holds counts.
    #[error("hash the contract: {fault}")]
    NoTokenizer { fault: String },
    /// The author: the file has no place for pins that is known here.
    #[error("write pins into {}", path.display())]
    NotPinned { path: PathBuf, pins: Vec<String> },
    /// The caller: it was not recorded which file the run's contract came from.
    #[error("resume run {run_id}: the contract file that it started with is not recorded")]
    NoContractFile { run_id: RunId },
    /// The caller: nothing says which file the contract came from.
    #[error("find the contract file of run {asked}: it is not recorded")]
    NoFileOfRun { asked: String },
}

fn word(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

impl Advice for ContractFault {
    fn exit(&self) -> Exit {
        Exit::USAGE
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            // Its keys are those of other programs, too.
            Self::NotPinned { path, pins } if path.extension().is_some_and(|it| it == "ai") => {
                let set =
                    |pin: &String| format!("--set {}", pin.replacen(": ", "=", 1).replace('"', ""));
                let sets = pins.iter().map(set).collect::<Vec<_>>().join(" ");
                return Some(format!(
                    "an agent's file has no place for pins; give them to each run: {sets}"
                ));
            }
            Self::NotPinned { pins, .. } => {
                return Some(format!("write them yourself: {}", pins.join(", ")));
            }
            Self::Foreign { path, .. } => {
                if path.is_absolute() {
                    let given = command(&format!("--contract {}", word(path)));
                    return Some(format!(
                        "a contract is a program; name it to trust it: {given}"
                    ));
                }
                let (given, here) = (word(path), word(&Path::new(".").join(path)));
                let run = command(&format!("monolith run {here} \"task\""));
                let given = command(&format!("--contract {given}"));
                let check = command(&format!("monolith contract check {here}"));
                return Some(format!(
                    "a contract is a program; name it to trust it: {run}, {given}, {check}"
                ));
            }
            Self::Untrusted(found) => return Some(help_of(found)),
            Self::ChangedSince { contract, .. } => {
                let named = command(&format!("--contract {}", word(contract)));
                return Some(format!(
                    "restore it, or name the contract to use it as it is now: {named}"
                ));
            }
            Self::NotTrusted { .. } => "monolith trust --list shows what is trusted",
            Self::NoContractFile { .. } => "name it: monolith resume RUN --contract FILE",
            Self::NoFileOfRun { .. } => "name it with --contract FILE",
            Self::Departed { .. } => "restore it, or name its new location with --contract FILE",
            Self::Unreadable { .. } => {
                "name a contract file, as seen from the current folder; monolith init writes one"
            }
            Self::Workflow { path } => {
                let file = word(path);
                let run = command(&format!("monolith run {file}"));
                let check = command(&format!("monolith contract check {file}"));
                let doctor = command(&format!("monolith doctor --contract {file}"));
                return Some(format!(
                    "{run}, {check} and {doctor} take one; a contract has the keys of its section `contract`"
                ));
            }
            Self::Steps { path, .. } => {
                return Some(command(&format!("monolith contract check {}", word(path))));
            }
            Self::Include(_) | Self::NoTokenizer { .. } => return None,
        };
        Some(text.to_owned())
    }
}

fn help_of(found: &Untrusted) -> String {
    let path = found.name.as_path();
    match &found.cause {
        UntrustedCause::Contract => {
            let here = word(&Path::new(".").join(path));
            let trust = command(&format!("monolith trust {here}"));
            let name = command(&format!("monolith run {here} \"task\""));
            format!(
                "a contract is a program; trust it as it is: {trust}; or name the file in each command, as in {name}"
            )
        }
        UntrustedCause::Layers { is_file } => {
            let layer = found.layers.first().map_or(path, PathBuf::as_path);
            let trusted = if *is_file { path } else { layer };
            let trust = command(&format!("monolith trust {}", word(trusted)));
            let named = format!("--config {}", word(layer));
            let is_named = layer
                .file_name()
                .is_none_or(|name| name != HERE && name != SHARED);
            if is_named {
                let trust = command(&format!("monolith trust {} {named}", word(path)));
                return format!(
                    "it or the file of its variables changed since a confined program could write there; look at both, and trust them: {trust}"
                );
            }
            let named = command(&named);
            format!(
                "it decides what is started and where keys go; trust it as it is: {trust}; or name it: {named}"
            )
        }
        UntrustedCause::Replaced(_) => {
            let trust = command(&format!("monolith trust {}", word(path)));
            format!("put the file back, or look at it and trust the contract as it is now: {trust}")
        }
    }
}

impl Advice for SpecErrors {
    fn exit(&self) -> Exit {
        Exit::USAGE
    }
}

impl Advice for ConfigFault {
    fn exit(&self) -> Exit {
        Exit::USAGE
    }
}

impl Advice for BillingFault {
    fn exit(&self) -> Exit {
        Exit::USAGE
    }

    fn help(&self) -> Option<String> {
        Some(
            "name another file with --billing-file FILE; without it the file is in the state folder, which MONOLITH_HOME names"
                .to_owned(),
        )
    }
}
