//! What the sandbox of commands is made of here. It is set up once, with nothing in it.

use std::path::PathBuf;

use super::finding::{Finding, missing, ok};
use crate::tools::{Base, Confined, Limits, PartFound, SandboxProfile, parts_of};

const NAME: &str = "sandbox";

/// The parts that this system has, and the first that it lacks.
pub(super) fn confinement() -> Vec<Finding> {
    let fix = "commands of `shell` are refused here; a contract with tools.sandbox: off runs them without it";
    let found = match tried() {
        Ok(found) => found,
        Err(fault) => return vec![missing(NAME, format!("it cannot be tried: {fault}"), fix)],
    };
    let (here, lacking): (Vec<_>, Vec<_>) = found.iter().partition(|found| found.is_here);
    let names: Vec<&str> = here.iter().map(|found| found.part.name()).collect();
    let mut findings = Vec::new();
    if !names.is_empty() {
        findings.push(ok(NAME, names.join(", ")));
    }
    let lacks = |found: &PartFound| format!("no {}: {}", found.part, found.detail);
    findings.extend(
        lacking
            .first()
            .map(|found| missing(NAME, lacks(found), fix)),
    );
    findings
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
