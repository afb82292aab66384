//! Landlock: rules of files that hold beneath the mounts, whatever becomes of those. Does not know the mounts.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::part::{Fault, Part, PartFault as _};

/// The newest rules that are asked for; an older kernel holds those that it knows.
const NEWEST: ABI = ABI::V6;
/// Devices that every program may write to.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Lets this process and all that it starts read everything that is there and write below those folders alone. Returns the version of the rules
/// that the kernel enforces.
pub(super) fn restrict<'p>(writable: impl Iterator<Item = &'p Path>) -> Result<u32, Fault> {
    let part = Part::Landlock;
    let all = AccessFs::from_all(NEWEST);
    let rules = Ruleset::default()
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create);
    let mut rules = rules.map_err(part.while_at("a set of rules"))?;
    let devices = DEVICES.iter().map(Path::new);
    let writable = writable.chain(devices).map(|path| (path, all));
    let readable = (Path::new("/"), AccessFs::from_read(NEWEST));
    for (path, access) in std::iter::once(readable).chain(writable) {
        let Ok(folder) = PathFd::new(path) else {
            continue;
        };
        rules = rules
            .add_rule(PathBeneath::new(folder, access))
            .map_err(part.while_at(path.display()))?;
    }
    let status = rules.restrict_self().map_err(part.while_at("restrict"))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _)
        | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => {
            Err(part.lacks("this kernel has it not, or switched off"))
        }
        (_, LandlockStatus::Available { effective_abi, .. }) => {
            Ok(effective_abi.min(NEWEST) as u32)
        }
    }
}
