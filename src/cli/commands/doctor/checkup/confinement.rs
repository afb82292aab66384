//! Whether commands and tool servers can be confined here.

use super::finding::{Finding, missing, ok};
use crate::cli::context::confinement::{Kept, parts_here};

const NAME: &str = "sandbox";

/// The parts that this system has, or the first that it lacks.
pub(super) fn confinement() -> Finding {
    let fix = "commands of `shell` are refused here, unless the contract has tools.sandbox: off; tool servers run without it, unless theirs states a sandbox";
    let found = match parts_here(Kept::Shell) {
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
