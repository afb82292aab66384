//! Files that need trust, as a surface shows them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use monolith_core::contract::FileTrust;
use monolith_host::driver::Reach;

/// Files that nobody trusts as they are now, and what a run of them reaches. A surface shows it, asks, and calls [`Untrusted::trust`].
#[derive(Debug)]
pub struct Untrusted {
    /// Reach of each agent below the contract.
    pub below: Vec<ReachedBelow>,
    /// The reason for the question.
    pub cause: UntrustedCause,
    /// The contract and its agents, as far as their own texts changed since a person trusted them.
    pub changed: Vec<ChangedFile>,
    /// Every file that must be trusted, as it was read.
    pub files: Vec<FileTrust>,
    /// True if each untrusted file is among the changed ones.
    pub is_edited: bool,
    /// Untrusted files that are neither the contract nor one of its agents.
    pub layers: Vec<PathBuf>,
    /// The contract, as messages call it.
    pub name: PathBuf,
    /// Reach of the contract.
    pub reach: Reach,
    /// The texts of the contract and its agents as they were read, by their places.
    pub(crate) texts: BTreeMap<PathBuf, String>,
}

/// A file that a person trusted with another text.
#[derive(Debug)]
pub struct ChangedFile {
    /// The text that was trusted.
    pub before: String,
    /// The text as it was read.
    pub now: String,
    /// Its place.
    pub path: PathBuf,
}

/// The reason why files need trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UntrustedCause {
    /// The contract was found and not named.
    Contract,
    /// Layers that the contract takes from were found and not named.
    Layers {
        /// True if the contract is a file, which can be named to `monolith trust`.
        is_file: bool,
    },
    /// The file changed since a run in which a confined program could replace it.
    Replaced(PathBuf),
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.display();
        match &self.cause {
            UntrustedCause::Contract => write!(
                f,
                "use the contract {name}, which was found and not named: it starts commands or hands on variables, and is not trusted as it is now"
            ),
            UntrustedCause::Layers { .. } => {
                let layers = self.layers.iter().map(|path| path.display().to_string());
                let layers = layers.collect::<Vec<_>>().join(" and ");
                write!(
                    f,
                    "use {layers} for {name}: found and not named, and not trusted as it is now"
                )
            }
            UntrustedCause::Replaced(replaced) => write!(
                f,
                "use the contract {name}: {} changed since a run in which a confined program could replace it",
                replaced.display()
            ),
        }
    }
}

/// The reach of an agent below a contract.
#[derive(Debug, Serialize)]
pub struct ReachedBelow {
    /// Its file, as messages call it.
    pub file: String,
    /// Its reach.
    pub reaches: Reach,
}
