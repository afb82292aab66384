//! The sandbox of a tool server's processes and of the built-in shell's. Plain data; the factory decides the values.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Network access of a confined process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// An isolated one, with no way out.
    Off,
    /// The host's.
    On,
}

/// The mapping `sandbox` of the author's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
// Each field is the field of that name in SandboxTerms.
pub struct SandboxSpec {
    /// Processor time, in seconds.
    pub cpu_s: Option<u64>,
    /// Maximum size of a written file, in MB.
    pub file_mb: Option<u64>,
    /// Maximum memory, in MB.
    pub memory_mb: Option<u64>,
    /// Access to the network.
    pub network: Option<Network>,
    /// True if the author wants no sandbox.
    pub off: bool,
    /// Maximum number of open files of a process.
    pub open_files: Option<u64>,
    /// Maximum number of processes.
    pub processes: Option<u64>,
    /// Files and folders that the program may read.
    pub read: Vec<String>,
    /// Sockets that the program may connect to.
    pub sockets: Vec<String>,
    /// Files and folders that the program may write.
    pub write: Vec<String>,
}

/// The sandbox of a tool server's processes, or of the built-in shell's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxTerms {
    /// True if they are confined; if not, the other fields have no effect.
    pub confined: bool,
    /// Seconds of processor time of one process.
    pub cpu_s: Option<u64>,
    /// Size of one file in MiB.
    pub file_mb: Option<u64>,
    /// Memory in MiB.
    pub memory_mb: Option<u64>,
    /// True if they use the host's network.
    pub network: bool,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Processes and threads together.
    pub processes: Option<u64>,
    /// Readable paths, besides programs and their settings, as the author wrote them.
    pub read: Vec<String>,
    /// Unix sockets that may be connected to, as the author wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
    /// Writable paths, besides the workspace, as the author wrote them.
    pub write: Vec<String>,
}

/// In a line, for people.
impl fmt::Display for SandboxTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.confined {
            return f.write_str("without a sandbox");
        }
        let network = if self.network { "with" } else { "without" };
        write!(f, "in the sandbox, {network} the network")?;
        let paths = [
            ("reads", &self.read),
            ("writes", &self.write),
            ("connects to", &self.sockets),
        ];
        for (what, paths) in paths {
            if !paths.is_empty() {
                write!(f, "; {what} {}", paths.join(", "))?;
            }
        }
        Ok(())
    }
}
