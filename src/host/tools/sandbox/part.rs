//! The parts that the sandbox is made of, and the fault where one is not to be had. Plain data.

use std::fmt;

pub(crate) use monolith_core::message::SandboxPart as Part;

/// The state of a part once it was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartStatus {
    /// The part is set up.
    Here,
    /// The system refuses the part.
    Lacking,
    /// The system was out of memory, processes or descriptors; another try may set the part up.
    Busy,
}

/// A part that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFound {
    /// The part.
    pub part: Part,
    /// Details of the part, or the reason for which it is missing.
    pub detail: String,
    /// The result of the attempt.
    pub status: PartStatus,
}

/// Reason for which a sandbox did not start.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{part}: {reason}")]
pub(super) struct Fault {
    pub(super) part: Part,
    pub(super) reason: String,
    /// [`PartStatus::Lacking`] or [`PartStatus::Busy`].
    pub(super) status: PartStatus,
}

/// Faults of a part.
pub(super) trait PartFault: Sized {
    /// Returns the fault of a part that is not available for that reason.
    fn lacks(self, reason: impl fmt::Display) -> Fault;

    /// Turns an error into the fault of this part, with the attempted action.
    #[cfg(target_os = "linux")]
    fn while_at<E: std::error::Error + 'static>(
        self,
        what: impl fmt::Display,
    ) -> impl FnOnce(E) -> Fault;
}

impl PartFault for Part {
    fn lacks(self, reason: impl fmt::Display) -> Fault {
        Fault {
            part: self,
            reason: reason.to_string(),
            status: PartStatus::Lacking,
        }
    }

    #[cfg(target_os = "linux")]
    fn while_at<E: std::error::Error + 'static>(
        self,
        what: impl fmt::Display,
    ) -> impl FnOnce(E) -> Fault {
        move |fault| Fault {
            status: status_of(self, &fault),
            ..self.lacks(format_args!("{what}: {fault}"))
        }
    }
}

/// Distinguishes a system that refuses from one that has no room: a neighbour can fill a system, and must not take the sandbox away by it.
#[cfg(target_os = "linux")]
fn status_of(part: Part, fault: &(dyn std::error::Error + 'static)) -> PartStatus {
    use rustix::io::Errno;

    let code_of = |fault: &(dyn std::error::Error + 'static)| {
        let system = fault.downcast_ref::<std::io::Error>();
        let system = system.and_then(std::io::Error::raw_os_error);
        let own = || {
            fault
                .downcast_ref::<Errno>()
                .map(|code| code.raw_os_error())
        };
        system.or_else(own)
    };
    // The errors of landlock and seccompiler hold the system's error as their source.
    let mut causes = std::iter::successors(Some(fault), |fault| fault.source());
    let code = causes.find_map(code_of);
    // A kernel that was told to have no namespaces answers as one that has as many as it may, or as many mounts.
    let bounded = [Errno::NOSPC, Errno::USERS].map(|code| Some(code.raw_os_error()));
    if bounded.contains(&code) && !is_switched_off(part) {
        return PartStatus::Busy;
    }
    let full = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    if full.iter().any(|full| Some(full.raw_os_error()) == code) {
        PartStatus::Busy
    } else {
        PartStatus::Lacking
    }
}

/// True if the kernel was told to have no namespace of a part.
#[cfg(target_os = "linux")]
fn is_switched_off(part: Part) -> bool {
    let kinds: &[&str] = match part {
        Part::UserNamespace => &["user"],
        Part::MountNamespace => &["mnt", "ipc", "uts"],
        // A copy of a mount takes a mount namespace until it is attached.
        Part::Places | Part::Files | Part::IdMapping | Part::Proc => &["mnt"],
        Part::PidNamespace => &["pid"],
        Part::NetworkNamespace => &["net"],
        _ => &[],
    };
    kinds.iter().any(|kind| {
        let most = std::fs::read_to_string(format!("/proc/sys/user/max_{kind}_namespaces"));
        most.is_ok_and(|most| most.trim() == "0")
    })
}

/// The hidden command of this program.
pub const SANDBOX_COMMAND: &str = "__sandbox";
/// The first argument of the process inside.
#[cfg(target_os = "linux")]
pub(super) const INNER: &str = "--inner";
/// The first argument of the process that only holds a user namespace open.
#[cfg(target_os = "linux")]
pub(super) const HOLD: &str = "--hold";
/// Replaces the program argument: the sandbox only sets up its parts and prints the result of each.
#[cfg(target_os = "linux")]
pub(super) const PARTS: &str = "--parts";
/// The exit code where the program cannot be started.
pub(crate) const NOT_STARTED: u8 = 125;
/// First words of the line that names writes which ended with a sandbox.
pub(crate) const DISCARDED_WRITES: &str = "monolith: the sandbox threw away what was written to ";
/// First words of the line by which the sandbox says why it started nothing.
pub(crate) const CANNOT_SET_UP: &str = "the sandbox cannot be set up: ";

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_full_system_is_not_taken_for_one_that_lacks_a_part() {
        let system = |code: Errno| io::Error::from_raw_os_error(code.raw_os_error());
        for full in [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE] {
            assert_eq!(Part::Proc.while_at("mount")(full).status, PartStatus::Busy);
            let fault = Part::PidNamespace.while_at("spawn")(system(full));
            assert_eq!(fault.status, PartStatus::Busy, "{fault}");
        }
        // A neighbour can use up the namespaces of a system that has some.
        let fault = Part::UserNamespace.while_at("unshare")(system(Errno::NOSPC));
        assert_eq!(
            fault.status == PartStatus::Lacking,
            is_switched_off(Part::UserNamespace)
        );
        for part in [Part::Files, Part::Places, Part::IdMapping, Part::Proc] {
            let fault = part.while_at("mount")(Errno::NOSPC);
            let is_lacking = fault.status == PartStatus::Lacking;
            assert_eq!(is_lacking, is_switched_off(Part::Files), "{fault}");
        }
        assert!(!is_switched_off(Part::Landlock));
        let fault = Part::Landlock.while_at("restrict")(io::Error::other("EAGAIN"));
        assert_eq!(fault.status, PartStatus::Lacking);
    }

    /// An error in the form of landlock's, whose variants cannot be made here.
    #[derive(Debug, thiserror::Error)]
    enum Rules {
        #[error(transparent)]
        Call(#[from] Call),
    }

    #[derive(Debug, thiserror::Error)]
    #[error("failed to restrict: {source}")]
    struct Call {
        source: io::Error,
    }

    #[test]
    fn a_lack_of_memory_is_found_in_the_errors_of_landlock_and_seccompiler() {
        let cases = [
            (libc::EAGAIN, PartStatus::Busy),
            (libc::ENOMEM, PartStatus::Busy),
            (libc::EINVAL, PartStatus::Lacking),
        ];
        for (code, expect) in cases {
            let system = || io::Error::from_raw_os_error(code);
            for fault in [
                seccompiler::Error::Prctl(system()),
                seccompiler::Error::Seccomp(system()),
            ] {
                let fault = Part::Seccomp.while_at("the filter")(fault);
                assert_eq!(fault.status, expect, "{fault}");
            }
            let fault = Rules::from(Call { source: system() });
            let fault = Part::Landlock.while_at("restrict")(fault);
            assert_eq!(fault.status, expect, "{fault}");
        }
    }
}
