//! Who reads the files of agents that a run delegates to. Reads none itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::store::Invocation;
use monolith_core::contract::ContractSpec;
use monolith_core::message::Digest;

/// Reads the files of agents. The command line hands one in, since it knows the layers of configuration.
pub trait AgentReader: Send + Sync {
    /// The agent of that file, as the contract names it, whose contract file is `parent`, for a call with these arguments: they choose the
    /// abilities of its profile. Its own agents are known, too.
    ///
    /// # Errors
    /// Why the file is no agent that can be run, in words.
    fn read(&self, file: &str, parent: &ParentFile, arguments: &str) -> Result<ReadAgent, String>;

    /// The agent of a run that was begun so.
    ///
    /// # Errors
    /// Why it cannot be read again, in words.
    fn read_again(&self, begun: &Invocation) -> Result<ReadAgent, String>;
}

/// The contract file of a run that delegates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentFile {
    /// Its folder: files of agents are found from here.
    pub folder: PathBuf,
    /// The invocation of its run, if known: layers of configuration are found as for it.
    pub invocation: Option<Invocation>,
}

impl ParentFile {
    /// The path of a file that it names.
    pub fn path_of(&self, file: &str) -> PathBuf {
        self.folder.join(Path::new(file))
    }
}

/// An agent that was read to be run.
#[derive(Clone, Debug)]
pub struct ReadAgent {
    /// The digests of the agents below it, by their files as they are found from its folder.
    pub below: BTreeMap<String, Digest>,
    /// BLAKE3 over its text, everything included.
    pub digest: Digest,
    /// Its folder.
    pub folder: PathBuf,
    /// The invocation of its run, to be recorded.
    pub invocation: Option<Invocation>,
    /// The specification, as in a separate contract file.
    pub spec: ContractSpec,
}
