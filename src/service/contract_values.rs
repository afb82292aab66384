//! The contract file values that a fault or a check is about, and the changes of values that a run keeps. Reads no file.

use monolith_core::contract::{
    ExecutionContract, TermFault, Validators, context_feasible, profile_faults, structure_faults,
    tool_faults_with,
};
use monolith_core::kernel::CheckName;
use monolith_host::driver::DriverError;

/// Returns the faults behind a failed check, if they are about values of the file.
pub(super) fn faults_of(contract: &ExecutionContract, check: CheckName) -> Vec<TermFault> {
    match check {
        CheckName::Structure => structure_faults(contract),
        CheckName::Profile => profile_faults(contract),
        CheckName::Context => context_feasible(contract).err().into_iter().collect(),
        CheckName::Tools => {
            let faults = tool_faults_with(contract, &Validators::default());
            faults.into_iter().map(|(_, fault)| fault).collect()
        }
        CheckName::Provenance
        | CheckName::Hash
        | CheckName::Format
        | CheckName::Semantics
        | CheckName::Backend => Vec::new(),
    }
}

/// Returns the file's value that a fault is about, as a dotted path; `None` if it is about no value.
pub(super) fn path_of(fault: &DriverError) -> Option<String> {
    match fault {
        DriverError::MissingVariable { place, .. }
        | DriverError::Address { place, .. }
        | DriverError::HeaderValue { place }
        | DriverError::Placeholder { place } => Some(place.path.clone()),
        DriverError::Workspace { .. } | DriverError::OtherWorkspace { .. } => {
            Some("tools.workspace".to_owned())
        }
        DriverError::UnresolvedVariable { place, .. }
        | DriverError::ToolNotOffered { place, .. }
        | DriverError::PlantedLink(place, _)
        | DriverError::UnknownServer { place, .. }
        | DriverError::UnknownWindow { place, .. }
        | DriverError::SecretInContract { place, .. } => Some(place.clone()),
        DriverError::ScriptUnreadable { provider, .. }
        | DriverError::Script { provider, .. }
        | DriverError::OtherScript { provider, .. }
        | DriverError::ChangedScript { provider, .. } => Some(format!("providers.{provider}.file")),
        DriverError::Backend { provider, .. } => Some(format!("providers.{provider}")),
        DriverError::OtherContract {
            file: None,
            pointer,
            ..
        }
        | DriverError::ChangedContract { pointer, .. } => {
            let path = pointer.strip_prefix('/')?.replace('/', ".");
            Some(path.replace("~1", "/").replace("~0", "~"))
        }
        _ => None,
    }
}

/// True if a change of the file's values is recorded: below `providers` and `tools` only if the contract or the row records the
/// value anyhow. An address with a user or a query holds secrets.
pub(super) fn is_kept(set: &str) -> bool {
    let (path, value) = set.split_once('=').unwrap_or((set, ""));
    let keys: Vec<&str> = path.split('.').collect();
    match keys.as_slice() {
        ["providers", _, "base_url"] => !value.contains(['?', '@', '#']),
        [
            "providers",
            _,
            "api_key_env" | "base_url_env" | "file" | "type",
        ]
        | ["tools", "builtin" | "sandbox" | "workspace", ..] => true,
        [first, ..] => !["providers", "tools"].contains(first),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_may_hold_a_secret_is_not_recorded() {
        let check = |set: &str, expect: bool| assert_eq!(is_kept(set), expect, "{set}");
        check("max_turns=4", true);
        check("sampling.temperature=0.1", true);
        check("system=providers.x", true);
        check("providers.p.base_url=http://127.0.0.1:1/v1", true);
        check("providers.p.base_url=http://u:s3cret@h/v1", false);
        check("providers.p.base_url=http://h/v1?key=s3cret", false);
        check("providers.p.provider_options={key: s3cret}", false);
        check("tools.workspace=ws", true);
        check("providers.p.headers.authorization=Bearer s3cret", false);
        check("providers={p: {headers: {x: s3cret}}}", false);
        check("tools.mcp.fs.env.TOKEN=s3cret", false);
        check("tools={mcp: {fs: {env: {TOKEN: s3cret}}}}", false);
    }
}
