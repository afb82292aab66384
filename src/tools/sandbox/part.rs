//! The parts that the sandbox is made of, and the fault where one is not to be had. Plain data.

use std::fmt;

/// A part of the sandbox, in the order in which they are set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The system itself.
    Linux,
    /// An id of its own for what runs there.
    UserNamespace,
    /// A tree of mounts of its own.
    MountNamespace,
    /// Processes that see only each other and end together.
    PidNamespace,
    /// A network without a way out.
    NetworkNamespace,
    /// A workspace that is apart from what is hidden. No system lacks it: it is a matter of where things lie.
    Places,
    /// The folders that the profile shows.
    Files,
    /// Folders of root's that an unprivileged id may write.
    IdMapping,
    /// A `/proc` with the sandbox's processes alone.
    Proc,
    /// Limits of each process and of their number.
    Limits,
    /// Rules of files that hold whatever is mounted.
    Landlock,
    /// The filter of system calls.
    Seccomp,
}

impl Part {
    pub(crate) const ALL: [Self; 12] = [
        Self::Linux,
        Self::UserNamespace,
        Self::MountNamespace,
        Self::PidNamespace,
        Self::NetworkNamespace,
        Self::Places,
        Self::Files,
        Self::IdMapping,
        Self::Proc,
        Self::Limits,
        Self::Landlock,
        Self::Seccomp,
    ];

    /// What messages call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::UserNamespace => "user namespaces",
            Self::MountNamespace => "mount namespaces",
            Self::PidNamespace => "pid namespaces",
            Self::NetworkNamespace => "network namespaces",
            Self::Places => "a workspace apart from what is hidden",
            Self::Files => "a view of the files",
            Self::IdMapping => "id-mapped mounts",
            Self::Proc => "a /proc of its own",
            Self::Limits => "limits of processes",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What became of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartFound {
    pub(crate) part: Part,
    /// What is to be known of it, or why it is not to be had.
    pub(crate) detail: String,
    pub(crate) is_here: bool,
}

/// Why nothing was started.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{part}: {reason}")]
pub(super) struct Fault {
    pub(super) part: Part,
    pub(super) reason: String,
}

impl Part {
    /// This part is not to be had for that reason.
    pub(super) fn lacks(self, reason: impl fmt::Display) -> Fault {
        Fault {
            part: self,
            reason: reason.to_string(),
        }
    }

    /// The same, with what was done.
    #[cfg(target_os = "linux")]
    pub(super) fn while_at<E: fmt::Display>(
        self,
        what: impl fmt::Display,
    ) -> impl FnOnce(E) -> Fault {
        move |fault| self.lacks(format_args!("{what}: {fault}"))
    }
}
