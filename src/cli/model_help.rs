//! What to do next where a model cannot be had.

use crate::inference::{ModelStoreError, PullError};

pub(super) fn pull_help(fault: &PullError) -> Option<String> {
    let text = match fault {
        PullError::Gated {
            had_token: true, ..
        } => "accept its terms on its page with the account that HF_TOKEN belongs to",
        PullError::Gated { .. } => {
            "accept its terms on its page, and set HF_TOKEN to a token of that account"
        }
        PullError::CutOff { .. } => "what came is kept: the same command goes on from there",
        PullError::Unreachable { .. } => {
            "--hub URL or HF_ENDPOINT names another hub; monolith model add NAME FILE takes a file that was fetched otherwise"
        }
        PullError::Address { .. } => {
            "--hub, MONOLITH_HUB and HF_ENDPOINT are where it may come from"
        }
        PullError::Busy { .. } => "wait for it; the same command then says that the model is here",
        PullError::NoRoom { .. } => {
            "make room, or name a folder on another disk with MONOLITH_HOME"
        }
        PullError::Store(fault) => return model_help(fault),
        _ => return None,
    };
    Some(text.to_owned())
}

pub(super) fn model_help(fault: &ModelStoreError) -> Option<String> {
    let text = match fault {
        ModelStoreError::Unknown(_) => "monolith model list names what is here",
        ModelStoreError::NameTaken { .. } => {
            "give another name, or monolith model remove NAME first"
        }
        _ => return None,
    };
    Some(text.to_owned())
}
