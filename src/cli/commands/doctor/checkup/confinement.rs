//! What the sandbox of commands and tool servers is made of here. It is set up once, with nothing in it.

use std::path::PathBuf;

use super::finding::{Finding, missing, ok};
use crate::tools::{Base, Confined, Limits, PartFound, SandboxProfile, parts_of};

const NAME: &str = "sandbox";

/// The parts that this system has, or the first that it lacks.
pub(super) fn confinement() -> Finding {
    let fix = "commands of `shell` are refused here, unless the contract has tools.sandbox: off; tool servers run without it, unless theirs states a sandbox";
    let found = match tried() {
        Ok(found) => found,
        Err(fault) => return missing(NAME, format!("it cannot be tried: {fault}"), fix),
    };
    let (here, lacking): (Vec<_>, Vec<_>) = found.iter().partition(|found| found.is_here);
    let names: Vec<&str> = here.iter().map(|found| found.part.name()).collect();
    let names = names.join(", ");
    match lacking.first() {
        None => ok(NAME, names),
        Some(found) => {
            let lacks = format!("no {}: {}; there are: {names}", found.part, found.detail);
            missing(NAME, lacks, fix)
        }
    }
}

fn tried() -> std::io::Result<Vec<PartFound>> {
    let folder = std::env::temp_dir().join(format!("monolith-doctor-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let found = std::env::current_exe()
        .and_then(|program| parts_of(&program, &profile(folder.canonicalize()?)));
    std::fs::remove_dir(&folder)?;
    found
}

fn profile(workspace: PathBuf) -> SandboxProfile {
    SandboxProfile {
        base: Base::System,
        confined: Confined::Always,
        drops_root: true,
        hidden: Vec::new(),
        hidden_folders: Vec::new(),
        home: None,
        joined_output: true,
        limits: Limits::default(),
        network: false,
        open: Vec::new(),
        read: Vec::new(),
        workspace,
        write: Vec::new(),
    }
}
