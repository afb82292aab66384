//! What the sandbox of commands and tool servers is made of on this machine. It is set up once, with nothing in it.

use std::cell::OnceCell;
use std::io;
use std::path::PathBuf;

use crate::tools::{Base, Confined, Limits, PartFound, SandboxProfile, parts_of};

/// Who is to be confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Kept {
    /// Commands of the built-in shell: without a network, and never as root.
    Shell,
    /// A tool server.
    Server,
}

/// The parts that this system has, in the order in which they are set up, up to the first that it lacks.
pub(in crate::cli) fn parts_here(kept: Kept) -> io::Result<Vec<PartFound>> {
    let name = format!("monolith-sandbox-{}-{kept:?}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir(&folder)?;
    let found = std::env::current_exe()
        .and_then(|program| parts_of(&program, &profile(kept, folder.canonicalize()?)));
    std::fs::remove_dir(&folder)?;
    found
}

/// Whether this machine can confine, looked at where somebody asks, and once.
#[derive(Debug, Default)]
pub(in crate::cli) struct Machine {
    server: OnceCell<Option<String>>,
    shell: OnceCell<Option<String>>,
}

impl Machine {
    /// One of which that is known: what it lacks.
    #[cfg(test)]
    pub(in crate::cli) fn known(lacking: Option<&str>) -> Self {
        let lacking = || OnceCell::from(lacking.map(str::to_owned));
        Self {
            server: lacking(),
            shell: lacking(),
        }
    }

    /// What it lacks for a sandbox; `None` if it can confine.
    pub(in crate::cli) fn lacking(&self, kept: Kept) -> Option<&str> {
        let cell = match kept {
            Kept::Server => &self.server,
            Kept::Shell => &self.shell,
        };
        cell.get_or_init(|| lacking(kept)).as_deref()
    }
}

fn lacking(kept: Kept) -> Option<String> {
    let found = match parts_here(kept) {
        Ok(found) => found,
        Err(fault) => return Some(format!("it cannot be tried: {fault}")),
    };
    let lacking = found.into_iter().find(|found| !found.is_here);
    lacking.map(|found| format!("no {}", found.part))
}

fn profile(kept: Kept, workspace: PathBuf) -> SandboxProfile {
    let is_shell = kept == Kept::Shell;
    SandboxProfile {
        base: if is_shell { Base::System } else { Base::Whole },
        confined: Confined::Always,
        drops_root: is_shell,
        hidden: Vec::new(),
        hidden_folders: Vec::new(),
        home: None,
        joined_output: true,
        limits: Limits::default(),
        network: !is_shell,
        open: Vec::new(),
        read: Vec::new(),
        workspace,
        write: Vec::new(),
    }
}
