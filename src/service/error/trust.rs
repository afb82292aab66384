//! Faults of keys, pins and the log of runs.

use std::path::PathBuf;

use crate::error::advice::Advice;
use crate::exit::Exit;
use monolith_core::message::{RunId, amount};
use monolith_core::transcript::{BlockError, Flaw};
use monolith_host::driver::KeyFileError;
use monolith_host::store::Exposure;

/// The evidence to judge a run by is missing: keys, pins, the log of runs.
#[derive(Debug, thiserror::Error)]
pub enum TrustFault {
    /// The caller: no such file of keys or pins.
    #[error("read the keys or pins {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// The operator: others could have written what is to be trusted.
    #[error("trust the keys or pins {}: others can write {}: {exposure}", path.display(), place.display())]
    Exposed {
        path: PathBuf,
        place: PathBuf,
        exposure: Exposure,
    },
    /// The caller: the file holds something else.
    #[error("read the keys or pins {}: {fault}", path.display())]
    Broken { path: PathBuf, fault: BlockError },
    /// The caller: the file holds no proof of the log.
    #[error("read the proof {}: {flaw}", path.display())]
    BrokenProof { path: PathBuf, flaw: Flaw },
    /// The caller: nothing was ever written here, or only before there was a log.
    #[error("read the log of runs: this store has none")]
    NoLog,
    /// The caller: the run has no seal yet.
    #[error("find run {run_id} in the log: a run is added when it ends")]
    NotInLog { run_id: RunId },
    /// The caller: the log never had that size.
    #[error("prove the log of {}: it has {size}, and a proof needs at least one run", amount(*asked, "run"))]
    NoSuchLogSize { asked: u64, size: u64 },
}

impl Advice for TrustFault {
    fn exit(&self) -> Exit {
        Exit::USAGE
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::NoLog => "the first run that ends creates it",
            Self::Exposed { .. } => {
                "remove the write access of others (chmod go-w), or keep the file where only you and root can write to its folder and all folders above it"
            }
            Self::BrokenProof { .. } => "monolith log prove and log consistency print proofs",
            Self::Unreadable { .. }
            | Self::Broken { .. }
            | Self::NotInLog { .. }
            | Self::NoSuchLogSize { .. } => return None,
        };
        Some(text.to_owned())
    }
}

impl Advice for KeyFileError {
    fn exit(&self) -> Exit {
        Exit::USAGE
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Permissions { .. } => {
                "chmod 600 the file, if no one else has read it; else make a new key"
            }
            Self::None { name } if name == "redaction" => {
                "the first run creates it; a run of another machine is opened with that machine's file"
            }
            Self::None { .. } => "monolith key generate creates one",
            Self::Exists { .. } => "monolith key rotate replaces it",
            // It says itself what to do.
            Self::NotReplaced { .. } => return None,
            _ => "name a folder with MONOLITH_HOME, or run with --no-sign",
        };
        Some(text.to_owned())
    }
}
