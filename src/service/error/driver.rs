//! Exit codes and help for the faults of `driver` and of forks.

use crate::error::advice::Advice;
use crate::exit::Exit;
use crate::text::command::command;
use monolith_core::replay::ForkFault;
use monolith_host::driver::{ConfinementError, DriverError};

impl Advice for DriverError {
    fn exit(&self) -> Exit {
        match self {
            Self::AgentUnreadable { .. }
            | Self::CallerNotHere { .. }
            | Self::Delegated { .. }
            | Self::NoTask
            | Self::Workspace { .. }
            | Self::ScriptUnreadable { .. }
            | Self::Script { .. }
            | Self::MissingVariable { .. }
            | Self::UnresolvedVariable { .. }
            | Self::UnknownServer { .. }
            | Self::UnknownWindow { .. }
            | Self::Address { .. }
            | Self::HeaderValue { .. }
            | Self::Placeholder { .. }
            | Self::PlantedLink(..)
            | Self::SecretInContract { .. }
            | Self::Contract(_)
            | Self::Adapter(_)
            | Self::Backend { .. }
            | Self::RunEnded { .. }
            | Self::NothingRecorded { .. }
            | Self::WorkflowName { .. }
            | Self::NameBelowTaken { .. }
            | Self::WorkflowForkEnded { .. }
            | Self::WorkflowChanged { .. }
            | Self::UnknownSemantics { .. }
            | Self::NoTokenizer { .. }
            | Self::OtherContract { .. }
            | Self::OtherScript { .. }
            | Self::ChangedContract { .. }
            | Self::ChangedScript { .. }
            | Self::NoParent { .. }
            | Self::OtherWorkspace { .. }
            | Self::CannotAskAgain { .. } => Exit::USAGE,
            Self::Confinement(_)
            | Self::ServerDown { .. }
            | Self::ServerDownToCompare { .. }
            | Self::ToolNotOffered { .. } => Exit::SETUP,
            Self::DoesNotReplay { report, .. } => Exit::of_replay(report),
            Self::WorkflowDiffers { .. } | Self::BelowDeleted { .. } => Exit::EVIDENCE,
            Self::Cancelled
            | Self::AskingInterrupted { .. }
            | Self::Randomness(_)
            | Self::Session(_) => Exit::FAILED,
            Self::Store(fault) => fault.exit(),
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Store(fault) => return fault.help(),
            Self::UnresolvedVariable { .. } => {
                "set it in the .ai-agent.env next to that file, or in the environment"
            }
            Self::HeaderValue { .. } => {
                "a header is one line: look for a line break or another invisible character in the variable"
            }
            Self::PlantedLink(..) => {
                "if the link is yours, name the folder that it leads to; else remove it"
            }
            Self::MissingVariable { .. } => "set the variable, or remove its name from the file",
            Self::ToolNotOffered { offered, .. } => return Some(format!("it offers {offered}")),
            Self::UnknownWindow { profiles, .. } => return Some(window_help(profiles)),
            Self::UnknownServer { .. } => {
                "tools of a server are called SERVER__TOOL: correct the name, or define the server"
            }
            Self::SecretInContract { .. } => {
                "keep the value out of the file: name a variable, `${NAME}`, in env, headers or (in .ai-agent.json) args; one that is no secret, write there as it is"
            }
            Self::OtherContract { file: Some(_), .. } => {
                "restore the file: its run keeps the contract that it started with"
            }
            Self::OtherContract { pointer, .. } if !may_hold_secret(pointer) => {
                "restore the file as it was when the run started, or name a copy of it with --contract FILE"
            }
            Self::ChangedContract { pointer, .. } if !may_hold_secret(pointer) => {
                "--contract FILE continues under a file as it is now"
            }
            Self::OtherContract { .. } => {
                "restore the file as it was when the run started, or name a copy of it with --contract FILE; give again each --set that is not recorded (below providers or tools, where it may hold a secret)"
            }
            Self::ChangedContract { .. } | Self::ChangedScript { .. } => {
                "give again each --set that is not recorded (below providers or tools, where it may hold a secret); --contract FILE continues under a file as it is now"
            }
            Self::OtherWorkspace { .. } => "resume the run in the folder where it started",
            Self::Confinement(ConfinementError::Less { root, .. }) => {
                return Some(format!(
                    "nothing was recorded; run `monolith resume {root}` on a machine where `monolith doctor` shows the whole sandbox, or start a new run here"
                ));
            }
            Self::Confinement(ConfinementError::Untried { .. }) => {
                "nothing was started: the system is out of memory, processes or open files; try again"
            }
            Self::ServerDown { root, run_id, .. } if **root != *run_id => {
                return Some(format!(
                    "monolith resume {root} continues it once the server is up"
                ));
            }
            Self::ServerDown { .. } => {
                "nothing was recorded: resume the run again once the server is up"
            }
            Self::DoesNotReplay { .. } => "monolith replay RUN shows them all",
            Self::WorkflowName { .. } => "choose a shorter one: --run-id NAME",
            Self::NameBelowTaken { taken, .. } => {
                return Some(format!(
                    "choose another name with --run-id, or delete the rest of the older tree: monolith delete {taken}"
                ));
            }
            Self::WorkflowForkEnded { .. } => {
                "give an earlier entry: monolith show RUN --raw lists them"
            }
            Self::BelowDeleted { below, root, .. } => {
                return Some(format!(
                    "monolith show {below} says by whom; restore it (monolith import FILE), or discard the tree: monolith delete {root} --force"
                ));
            }
            Self::WorkflowChanged { .. } => {
                "restore the file that it started with; monolith run starts a new workflow"
            }
            Self::WorkflowDiffers { .. } => "monolith verify RUN says where",
            Self::OtherScript { .. } => {
                "a run continues with the script that it started with: restore that one"
            }
            Self::Delegated { parent, .. } => return Some(format!("monolith resume {parent}")),
            Self::CallerNotHere {
                is_another, run_id, ..
            } => {
                let takes = if *is_another {
                    "in a separate store, monolith import FILE"
                } else {
                    "monolith import FILE"
                };
                return Some(format!(
                    "{takes} adds the transcript of that run; monolith delete {run_id} --force discards this one"
                ));
            }
            Self::AgentUnreadable { .. } => "restore the file: its run resumes with its parent run",
            Self::NoParent { .. } => {
                "its script continues where that run stopped: monolith import adds its transcript"
            }
            Self::Workspace { .. } => {
                "name an existing folder; a relative path begins in the folder of the contract file"
            }
            Self::ScriptUnreadable { .. } => {
                "a relative path begins in the folder of the contract file"
            }
            Self::Script { .. } => {
                "a line is a response as a provider sends it, {\"response\": {\"choices\": [{\"message\": {\"content\": \"hello\"}, \"finish_reason\": \"stop\"}]}}, or a fault, {\"fault\": \"refused\"}; every key: docs/contract-file.md, Scripts"
            }
            Self::NoTask => {
                "monolith run FILE \"…\", or --task TEXT; a contract in YAML can state it as `task:`"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// Returns how to set a target's context window: next to its model, or from a profile.
fn window_help(profiles: &[(&str, u64)]) -> String {
    let mut help = "write beside the model how many tokens it takes in, as its server was started: context_window: 32768; for an agent (.ai), in .ai-agent.json: providers.PROVIDER.models.MODEL.contextWindow"
        .to_owned();
    if !profiles.is_empty() {
        let known = profiles.iter();
        let known = known.map(|(id, window)| format!("{id} ({window})"));
        let known = known.collect::<Vec<_>>().join(", ");
        help.push_str("; or name a profile that has it, as model_profile_id (of an agent: --set model_profile_id=…): ");
        help.push_str(&known);
    }
    help
}

impl Advice for ForkFault {
    fn exit(&self) -> Exit {
        match self {
            Self::NoSuchEntry { .. } | Self::NotEnded { .. } | Self::Unanswered { .. } => {
                Exit::USAGE
            }
            Self::DoesNotReplay { report, .. } => Exit::of_replay(report),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::NoSuchEntry { run_id, .. } | Self::Unanswered { run_id, .. } => {
                let show = command(&format!("monolith show {run_id}"));
                Some(format!("{show} lists the entries"))
            }
            Self::NotEnded { run_id } => {
                let resume = command(&format!("monolith resume {run_id}"));
                Some(format!("{resume} brings it to its end"))
            }
            Self::DoesNotReplay { .. } => None,
        }
    }
}

/// True if a change there may not be recorded with the run: values below `providers` and `tools` may hold secrets.
pub(crate) fn may_hold_secret(pointer: &str) -> bool {
    let first = pointer.split('/').nth(1);
    first.is_some_and(|key| ["providers", "tools", "servers"].contains(&key))
}
