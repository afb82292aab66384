//! The probe: what this system can confine, decided once for a process (semantics §9).
//!
//! It sets a sandbox up with nothing in it. No path of a run, of a home or of `/tmp` is looked at, so nobody who may write files can change
//! what it finds. Every start afterwards is held to the answer. It does not know contracts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::part::{Part, PartFound, PartStatus};
use super::{Confined, Limits, SandboxProfile};
use monolith_core::message::SandboxStrength;

/// Limits that a probe asks for, to see whether a control group may be made. Nothing runs under them.
const LIMITS: Limits = Limits {
    cpu_s: None,
    file_bytes: None,
    memory_bytes: Some(1 << 30),
    open_files: None,
    processes: Some(4_096),
};

/// A kind of confined program; each needs other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxKind {
    /// Commands of the built-in shell: without a network, and never as root.
    Shell,
    /// A tool server.
    Server,
}

/// The reason for the lack of a sandbox.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProbeFault {
    /// The system lacks a part.
    #[error("this system lacks {part}: {reason}")]
    Lacking {
        /// The part.
        part: Part,
        /// The answer of the system.
        reason: String,
    },
    /// The system gave no answer; another try may get one.
    #[error("the sandbox could not be tried: {reason}")]
    Untried {
        /// The fault.
        reason: String,
    },
}

/// The parts and the strength of a sandbox that was set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReport {
    /// The parts that were tried, in their order; the last one may be lacking.
    pub parts: Vec<PartFound>,
    /// The strength of the sandbox. Its memory is that of a sandbox with a limit of memory.
    pub result: Result<SandboxStrength, ProbeFault>,
}

impl ProbeReport {
    fn lacking(part: Part, reason: &str) -> Self {
        let reason = reason.to_owned();
        Self {
            parts: Vec::new(),
            result: Err(ProbeFault::Lacking { part, reason }),
        }
    }

    /// Sets up the sandbox of a profile in a separate process, without a program.
    #[cfg(target_os = "linux")]
    pub(in crate::tools) fn of_profile(program: &Path, profile: &SandboxProfile) -> Self {
        use std::process::{Command, Stdio};

        use super::part::{PARTS, SANDBOX_COMMAND};
        use super::report;

        let output = serde_json::to_string(profile).map_err(std::io::Error::from);
        let output = output.and_then(|profile| {
            Command::new(program)
                .args([SANDBOX_COMMAND, profile.as_str(), PARTS])
                .stdin(Stdio::null())
                .output()
        });
        match output {
            Ok(output) => Self::from_parts(
                report::read(&output.stdout),
                report::strength(&output.stdout),
            ),
            Err(fault) => Self {
                parts: Vec::new(),
                result: Err(ProbeFault::Untried {
                    reason: fault.to_string(),
                }),
            },
        }
    }

    /// Reports that there is no sandbox on this system.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::tools) fn of_profile(_: &Path, _: &SandboxProfile) -> Self {
        Self::lacking(
            Part::Linux,
            "the sandbox is built of parts that only Linux has",
        )
    }

    fn from_parts(parts: Vec<PartFound>, strength: Option<SandboxStrength>) -> Self {
        let failed = parts.iter().find(|found| found.status != PartStatus::Here);
        let result = match (failed, strength) {
            (None, Some(strength)) => Ok(strength),
            (Some(found), _) if found.status == PartStatus::Lacking => Err(ProbeFault::Lacking {
                part: found.part,
                reason: found.detail.clone(),
            }),
            (Some(found), _) => Err(ProbeFault::Untried {
                reason: format!("{}: {}", found.part, found.detail),
            }),
            (None, None) => Err(ProbeFault::Untried {
                reason: "its process ended early".to_owned(),
            }),
        };
        Self { parts, result }
    }
}

/// The answers of one process, each found once.
#[derive(Debug, Default)]
pub(crate) struct SandboxProbe {
    server: OnceLock<Arc<ProbeReport>>,
    shell: OnceLock<Arc<ProbeReport>>,
}

impl SandboxProbe {
    /// Returns what was found for that kind; the first call tries it, with `program`, which is monolith.
    pub(crate) fn report(&self, program: Option<&Path>, kind: SandboxKind) -> Arc<ProbeReport> {
        let cell = match kind {
            SandboxKind::Server => &self.server,
            SandboxKind::Shell => &self.shell,
        };
        if let Some(known) = cell.get() {
            return Arc::clone(known);
        }
        let found = Arc::new(program.map_or_else(
            || ProbeReport::lacking(Part::Helper, "this host starts no process of monolith"),
            |program| ProbeReport::of_profile(program, &empty(kind)),
        ));
        // The next one who asks tries again.
        if matches!(found.result, Err(ProbeFault::Untried { .. })) {
            return found;
        }
        Arc::clone(cell.get_or_init(|| found))
    }
}

/// A sandbox with nothing in it.
fn empty(kind: SandboxKind) -> SandboxProfile {
    let is_shell = kind == SandboxKind::Shell;
    let confined = Confined::Always(SandboxStrength::default());
    SandboxProfile {
        drops_root: is_shell,
        limits: LIMITS,
        network: !is_shell,
        ..SandboxProfile::bare(confined, PathBuf::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_of_the_system_is_a_no() {
        let found = |status| PartFound {
            part: Part::UserNamespace,
            detail: "unshare".to_owned(),
            status,
        };
        let check = |parts: &[PartFound], strength, expect: Result<u32, &str>| {
            let report = ProbeReport::from_parts(parts.to_vec(), strength);
            let result = report.result.map(|strength| strength.landlock);
            let expect = expect.map_err(str::to_owned);
            assert_eq!(result.map_err(|fault| fault.to_string()), expect);
        };
        let strength = Some(SandboxStrength {
            landlock: 6,
            memory: None,
        });
        let lacks = Err("this system lacks user namespaces: unshare");
        let untried = "the sandbox could not be tried: ";
        check(&[found(PartStatus::Here)], strength, Ok(6));
        check(&[found(PartStatus::Lacking)], None, lacks);
        let busy = format!("{untried}user namespaces: unshare");
        check(&[found(PartStatus::Busy)], None, Err(&busy));
        let early = format!("{untried}its process ended early");
        check(&[found(PartStatus::Here)], None, Err(&early));
        check(&[], None, Err(&early));
    }
}
