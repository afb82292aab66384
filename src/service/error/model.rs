//! Faults of finding, choosing and fetching a model.

use std::path::PathBuf;

use crate::error::advice::Advice;
use crate::exit::Exit;
use crate::found::no_way::{NoWay, ways_out};
use monolith_host::inference::{ModelStoreError, PullError};

/// There is no model, or the caller did not name one.
#[derive(Debug, thiserror::Error)]
pub enum ModelFault {
    /// The operator: the embedded model cannot answer.
    #[error("use the model: {reason}")]
    Unavailable { reason: String },
    /// The caller, or monolith: a trial cannot be begun.
    #[error("try the model: {reason}")]
    Trial { reason: String },
    /// The world: a model could not be fetched.
    #[error("pull the model {name}: {reason}")]
    Pull { name: String, reason: String },
    /// The caller: no model of that name is known.
    #[error("pull the model {name}: only {known} can be pulled by name")]
    NoKnownModel { name: String, known: String },
    /// The caller: no shipped profile has that id.
    #[error("show the model profile {got:?}: this build has {known}")]
    NoProfile { got: String, known: String },
    /// The operator: nothing here could answer.
    #[error("find something that answers: {asked}, {}, no usual key", if cfg!(feature = "local") { "no stored model" } else { "no embedded engine" })]
    NothingToUse { asked: String },
    /// The caller or the operator: the way that is asked for is none.
    #[error(transparent)]
    NoWay(#[from] NoWay),
    /// The caller: nothing is called that.
    #[error("prove the model {asked:?}: no model of that name is stored here, and no file {} is there", path.display())]
    NoneToProve { asked: String, path: PathBuf },
    /// The caller: there are several ways, and none is named.
    #[error("choose a model: none was named")]
    NoneChosen,
    /// The contract that would have been written does not hold.
    #[error("write a contract for {way}: {why}")]
    ContractOfInit {
        exit: Exit,
        way: String,
        why: String,
    },
}

impl Advice for ModelFault {
    fn exit(&self) -> Exit {
        match self {
            Self::ContractOfInit { exit, .. } => *exit,
            Self::NoWay(none) if none.is_usage() => Exit::USAGE,
            Self::Unavailable { .. }
            | Self::Pull { .. }
            | Self::NothingToUse { .. }
            | Self::NoWay(_) => Exit::SETUP,
            Self::Trial { .. }
            | Self::NoKnownModel { .. }
            | Self::NoProfile { .. }
            | Self::NoneToProve { .. }
            | Self::NoneChosen => Exit::USAGE,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::NoKnownModel { .. } => {
                "monolith model pull hf:OWNER/REPO/FILE.gguf fetches another, monolith model add NAME FILE takes any GGUF file"
            }
            Self::NothingToUse { .. } => return Some(ways_out()),
            Self::NoWay(none) => return none.help(),
            Self::NoneToProve { .. } => "monolith model list names what is stored",
            Self::NoneChosen => "--yes takes the first, --use WAY and --model NAME choose one",
            Self::ContractOfInit { .. } => {
                "nothing was written; --use and --model choose another way"
            }
            Self::Unavailable { .. }
            | Self::Trial { .. }
            | Self::Pull { .. }
            | Self::NoProfile { .. } => return None,
        };
        Some(text.to_owned())
    }
}

impl Advice for PullError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoRoom { .. } => Exit::FAILED,
            Self::Store(fault) => fault.exit(),
            Self::Reference { .. } | Self::Address { .. } => Exit::USAGE,
            Self::NotFound { .. }
            | Self::Gated { .. }
            | Self::Status { .. }
            | Self::Unreachable { .. }
            | Self::Redirect { .. }
            | Self::NoLength { .. }
            | Self::CutOff { .. }
            | Self::Length { .. }
            | Self::Sha256 { .. }
            | Self::Busy { .. } => Exit::SETUP,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Gated {
                had_token: true, ..
            } => "accept its terms on its page with the account that HF_TOKEN belongs to",
            Self::Gated { .. } => {
                "accept its terms on its page, and set HF_TOKEN to a token of that account"
            }
            Self::CutOff { .. } => {
                "the part that arrived is kept: the same command resumes the download"
            }
            Self::Unreachable { .. } => {
                "--hub URL or HF_ENDPOINT names another hub; monolith model add NAME FILE takes a file that was fetched otherwise"
            }
            Self::Address { .. } => {
                "--hub, MONOLITH_HUB and HF_ENDPOINT are where it may come from"
            }
            Self::Busy { .. } => "wait for it; the same command then says that the model is here",
            Self::NoRoom { .. } => "make room, or name a folder on another disk with MONOLITH_HOME",
            Self::Store(fault) => return fault.help(),
            _ => return None,
        };
        Some(text.to_owned())
    }
}

impl Advice for ModelStoreError {
    fn exit(&self) -> Exit {
        match self {
            Self::Io { .. } | Self::Stopped { .. } => Exit::FAILED,
            Self::Name(_)
            | Self::Unknown(_)
            | Self::NameTaken { .. }
            | Self::NoModel { .. }
            | Self::Hash { .. } => Exit::USAGE,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Unknown(_) => "monolith model list names what is here",
            Self::NameTaken { .. } => "give another name, or monolith model remove NAME first",
            _ => return None,
        };
        Some(text.to_owned())
    }
}
