//! The thing that a run waits for, worded for the line that shows it. Shows nothing itself.

use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{Action, EffectRecord, State};
use monolith_service::text::escape::line;
use monolith_service::text::narration::target_name;

/// While those calls run.
pub(super) fn running(calls: &str) -> String {
    format!("running {calls}")
}

/// Returns what the run waits for after this entry, if the entry changes that.
pub(super) fn waiting(contract: &ExecutionContract, action: &Action) -> Option<String> {
    let mut calls = Vec::new();
    let mut waiting = None;
    for effect in &action.effects {
        match effect {
            EffectRecord::Probe => waiting = Some("asking whether the models answer".to_owned()),
            EffectRecord::Infer { target, .. } => {
                waiting = Some(format!("waiting for {}", target_name(contract, *target)));
            }
            EffectRecord::Execute { name, .. } | EffectRecord::Delegate { name, .. } => {
                calls.push(line(name));
            }
            EffectRecord::Summarise { target, .. } => {
                let model = target_name(contract, *target);
                waiting = Some(format!("waiting for a summary by {model}"));
            }
            EffectRecord::Sample { .. } => waiting = Some("a tool server waits for a model".into()),
            EffectRecord::AwaitApproval { .. } => {
                waiting = Some("waiting for an approval".to_owned());
            }
            EffectRecord::Wait { .. } => {
                waiting = Some("waiting before the next attempt".to_owned());
            }
            EffectRecord::Cancel | EffectRecord::Finish => {}
        }
    }
    if !calls.is_empty() {
        return Some(running(&calls.join(", ")));
    }
    if action.to == State::Terminate {
        return Some("closing".to_owned());
    }
    waiting
}
