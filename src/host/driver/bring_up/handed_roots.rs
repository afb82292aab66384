//! The folders that tool servers are handed as their roots (001 §6). Starts none.

use std::path::{Path, PathBuf};

use monolith_core::contract::{
    ContractSpec, McpTransport, ServerKind, placeholders, server_sandbox,
};
use monolith_core::message::Digest;

use crate::driver::{DriverError, Environment, MCP_ROOT};

/// A folder that a tool server is handed as its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedRoot {
    /// As the file or the variable writes it.
    pub folder: String,
    /// True if the server is confined to its given files, where the system can do so.
    pub is_confined: bool,
    /// True if it is the value of `MCP_ROOT`.
    pub is_mcp_root: bool,
    /// The server's place in the file.
    pub place: String,
}

/// The folders that the servers of a file are handed.
pub fn handed_roots(spec: &ContractSpec, environment: &Environment) -> Vec<HandedRoot> {
    let environment = environment.over(spec);
    let mut all = Vec::new();
    for (name, server) in &spec.tools.servers {
        if server.transport.kind() != ServerKind::Stdio {
            continue;
        }
        let place = server.place(name);
        let terms = server_sandbox(&server.sandbox.clone().unwrap_or_default());
        let handed = |folder: String, is_mcp_root: bool| HandedRoot {
            folder,
            is_confined: terms.confined,
            is_mcp_root,
            place: place.clone(),
        };
        let stated = server.terms.roots.iter();
        all.extend(stated.map(|root| handed(root.clone(), false)));
        let given = mcp_roots(&server.transport, &place, &environment);
        all.extend(given.into_iter().map(|root| handed(root, true)));
    }
    all
}

/// The values of `MCP_ROOT` that a server of that place is handed.
pub(super) fn mcp_roots(
    transport: &McpTransport,
    place: &str,
    environment: &Environment,
) -> Vec<String> {
    let McpTransport::Stdio {
        arg_variables, env, ..
    } = transport
    else {
        return Vec::new();
    };
    let in_args = arg_variables.iter().filter(|name| *name == MCP_ROOT);
    let in_args = in_args.map(|_| format!("{place}.args"));
    let in_env = env
        .iter()
        .filter(|(_, text)| placeholders(text).any(|name| name == MCP_ROOT));
    let in_env = in_env.map(|(name, _)| format!("{place}.env.{name}"));
    let places = in_args.chain(in_env);
    places
        .filter_map(|place| environment.get_at(MCP_ROOT, &place))
        .collect()
}

/// Returns true for the root of all files. No tool server may write there: it would be confined to nothing.
pub fn is_root_of_all(folder: &Path) -> bool {
    folder.is_absolute() && folder.parent().is_none()
}

/// The folder that tools see: there, and resolved.
pub(super) struct Workspace(PathBuf);

impl Workspace {
    /// Finds the folder that a file names; a relative path begins in the file's own folder.
    pub(super) async fn find(spec: &ContractSpec, base: &Path) -> Result<Self, DriverError> {
        let path = base.join(spec.tools.workspace.as_deref().unwrap_or("."));
        let refuse = |reason: String| DriverError::Workspace {
            path: path.clone(),
            reason,
        };
        let resolved = tokio::fs::canonicalize(&path)
            .await
            .map_err(|fault| refuse(fault.to_string()))?;
        let metadata = tokio::fs::metadata(&resolved)
            .await
            .map_err(|fault| refuse(fault.to_string()))?;
        if metadata.is_dir() {
            Ok(Self(resolved))
        } else {
            Err(refuse("it is not a folder".to_owned()))
        }
    }

    /// Returns the digest a run commits to.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(self.0.as_os_str().as_encoded_bytes())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn into_path(self) -> PathBuf {
        self.0
    }
}

/// The folder that a file in `folder` names, resolved, where it is the one that a run committed to.
pub fn committed_workspace(
    spec: &ContractSpec,
    folder: &Path,
    committed: Digest,
) -> Option<PathBuf> {
    let path = folder.join(spec.tools.workspace.as_deref().unwrap_or("."));
    let workspace = Workspace(path.canonicalize().ok()?);
    (workspace.digest() == committed).then_some(workspace.0)
}
