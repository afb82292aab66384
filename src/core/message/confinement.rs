//! Confinement of the programs of a run (semantics §9): recorded when a process takes the run, compared by a resume. Plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A part of the sandbox, in the order in which the parts are set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPart {
    /// The operating system.
    Linux,
    /// The program of this process: only monolith itself sets a sandbox up.
    Helper,
    /// A separate range of user ids.
    UserNamespace,
    /// A private tree of mounts.
    MountNamespace,
    /// Processes that see only each other and end together.
    PidNamespace,
    /// A network without a way out.
    NetworkNamespace,
    /// A workspace apart from what is hidden. It depends on the files, never on the system.
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

impl SandboxPart {
    /// Every part.
    pub const ALL: [Self; 13] = [
        Self::Linux,
        Self::Helper,
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

    /// The words for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::Helper => "a monolith program that sets it up",
            Self::UserNamespace => "user namespaces",
            Self::MountNamespace => "mount namespaces",
            Self::PidNamespace => "pid namespaces",
            Self::NetworkNamespace => "network namespaces",
            Self::Places => "a workspace apart from what is hidden",
            Self::Files => "a view of the files",
            Self::IdMapping => "id-mapped mounts",
            Self::Proc => "a private /proc",
            Self::Limits => "limits of processes",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

impl fmt::Display for SandboxPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The processes that one limit of memory counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// Each process for itself; the system lets this user make no control group.
    Process,
    /// All processes of the sandbox, in a control group.
    Group,
}

/// The strength of a sandbox, as far as systems differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxStrength {
    /// The version of landlock's rules.
    pub landlock: u32,
    /// The scope of `memory_mb`; `None` if no limit is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryScope>,
}

/// The decision of one process on a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Confinement {
    /// The program is confined, or not started.
    Confined(SandboxStrength),
    /// The author states `sandbox: off`.
    Off,
    /// The system lacks that part. A program whose author states a sandbox is not started; another one has the rights of its user.
    Unavailable(SandboxPart),
}

/// The decision on a tool server, or on the commands of the built-in shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfinement {
    /// The decision.
    pub is: Confinement,
    /// The server's name in the contract; `builtin` for the commands of the shell.
    pub server: String,
}

impl Confinement {
    /// True if a program under this decision could do more than under `recorded`.
    pub fn is_less_than(self, recorded: Self) -> bool {
        match (recorded, self) {
            (Self::Confined(was), Self::Confined(is)) => {
                is.landlock < was.landlock || is.memory < was.memory
            }
            (Self::Confined(_), _) => true,
            (Self::Off | Self::Unavailable(_), _) => false,
        }
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confined(strength) => {
                write!(f, "in the sandbox, landlock {}", strength.landlock)?;
                match strength.memory {
                    None => Ok(()),
                    Some(MemoryScope::Group) => f.write_str(", memory of all processes limited"),
                    Some(MemoryScope::Process) => f.write_str(", memory of each process limited"),
                }
            }
            Self::Off => f.write_str("without a sandbox, as its author states"),
            Self::Unavailable(part) => write!(f, "no sandbox: this system lacks {part}"),
        }
    }
}

impl ServerConfinement {
    /// The name of the server of built-in tools, whose `shell` starts commands.
    pub const SHELL: &'static str = "builtin";

    /// The program, in words.
    pub fn program(&self) -> String {
        match self.server.as_str() {
            Self::SHELL => "the shell".to_owned(),
            server => format!("tool server {server}"),
        }
    }

    /// Lays later decisions over earlier ones, by server.
    pub fn update(known: &mut Vec<Self>, later: &[Self]) {
        for one in later {
            match known.iter_mut().find(|known| known.server == one.server) {
                Some(known) => known.is = one.is,
                None => known.push(one.clone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_confined_program_can_be_confined_less() {
        let confined =
            |landlock, memory| Confinement::Confined(SandboxStrength { landlock, memory });
        let (group, each) = (Some(MemoryScope::Group), Some(MemoryScope::Process));
        let none = Confinement::Unavailable(SandboxPart::UserNamespace);
        let check = |recorded: Confinement, now: Confinement, is_less: bool| {
            assert_eq!(now.is_less_than(recorded), is_less, "{recorded}; {now}");
        };
        check(confined(6, group), confined(6, group), false);
        check(confined(6, group), confined(7, group), false);
        check(confined(6, group), confined(5, group), true);
        check(confined(6, group), confined(6, each), true);
        check(confined(6, each), confined(6, group), false);
        check(confined(6, None), confined(6, None), false);
        check(confined(6, None), none, true);
        check(confined(6, None), Confinement::Off, true);
        check(none, none, false);
        check(none, confined(1, None), false);
        check(Confinement::Off, Confinement::Off, false);
    }

    #[test]
    fn a_later_decision_replaces_that_of_its_server_alone() {
        let of = |server: &str, is| ServerConfinement {
            is,
            server: server.to_owned(),
        };
        let none = Confinement::Unavailable(SandboxPart::Landlock);
        let mut known = vec![of("a", Confinement::Off), of("b", none)];
        ServerConfinement::update(&mut known, &[]);
        let later = [of("b", Confinement::Off), of("c", none)];
        ServerConfinement::update(&mut known, &later);
        let expect = [
            of("a", Confinement::Off),
            of("b", Confinement::Off),
            of("c", none),
        ];
        assert_eq!(known, expect);
    }
}
