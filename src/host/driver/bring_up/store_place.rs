//! Refuses a store in a folder that a confined program can write: a file next to a store can replace its content.
//!
//! Knows the grants of confined programs and the host's own folders. Does not confine: a program without a sandbox may write
//! wherever this process may.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::read_request::RunRequest;
use super::servers::{ServersToStart, server_specs};
use crate::driver::{Environment, MCP_ROOT};
use crate::store::StoreError;
use crate::tools::{Confined, SandboxProfile, ServerSpec, Withheld};

/// A folder that a confined program may write, and the key of the file or the variable that grants it.
struct Grant {
    folder: PathBuf,
    key: String,
}

/// Refuses the store of a request as `judge_store_place` does, before anybody makes it. A fault of the request itself is reported by its bring-up.
///
/// # Errors
/// [`StoreError::InReach`].
pub fn judge_store(request: &RunRequest) -> Result<(), StoreError> {
    let environment = request.environment.over(&request.spec);
    let folder = &request.contract_dir;
    let workspace = request.spec.tools.workspace.as_deref().unwrap_or(".");
    let servers = server_specs(&request.spec, folder, &environment, ServersToStart::All);
    match (servers, resolved(&folder.join(workspace))) {
        (Ok(servers), Some(workspace)) => judge_store_place(&servers, &workspace, &environment),
        _ => Ok(()),
    }
}

/// Refuses a store in a folder that a confined program of these servers may write, or on the way to which a link lies in such a folder, unless a
/// folder that no program sees holds it.
///
/// Files that are there are hidden from the program; names that are free are not. A `-journal` or an answer under such a name would count
/// as the store's own, and another store would be used behind another link.
///
/// # Errors
/// [`StoreError::InReach`].
pub(super) fn judge_store_place(
    servers: &BTreeMap<String, ServerSpec>,
    workspace: &Path,
    environment: &Environment,
) -> Result<(), StoreError> {
    let withheld = environment.withheld();
    let Some(store) = &withheld.store else {
        return Ok(());
    };
    // A folder that is not there holds no store, and SQLite reports that.
    let Some(home) = store.parent().and_then(resolved) else {
        return Ok(());
    };
    let links = withheld.store_links.iter();
    let links = links.filter_map(|link| Some((link, link.parent()?.to_owned())));
    let places: Vec<(&PathBuf, PathBuf)> = links.chain([(store, home)]).collect();
    for (name, server) in servers {
        let (place, profile, roots) = match server {
            ServerSpec::Builtin {
                shell: Some(shell), ..
            } => ("tools".to_owned(), &shell.profile, [].as_slice()),
            ServerSpec::Stdio {
                sandbox: Some(profile),
                terms,
                ..
            } => (format!("tools.mcp.{name}"), profile, terms.roots.as_slice()),
            _ => continue,
        };
        let mut granted = grants(&place, profile, roots, environment);
        granted.push(Grant {
            folder: workspace.to_owned(),
            key: "tools.workspace".to_owned(),
        });
        if profile.confined == Confined::Never {
            continue;
        }
        for (path, home) in &places {
            let reached = granted.iter().find(|grant| home.starts_with(&grant.folder));
            if let Some(Grant { folder, key }) = reached
                && !is_hidden(home, workspace, withheld)
            {
                return Err(StoreError::InReach {
                    path: (*path).clone(),
                    folder: folder.clone(),
                    key: key.clone(),
                });
            }
        }
    }
    Ok(())
}

/// The paths outside of the workspace that a confined program may write.
fn grants(
    place: &str,
    profile: &SandboxProfile,
    roots: &[String],
    environment: &Environment,
) -> Vec<Grant> {
    let granted = profile.write.iter().map(|folder| {
        let is_variable = |name: &&&str| {
            let value = environment.raw(name);
            value.is_some_and(|value| resolved(Path::new(&value)).as_ref() == Some(folder))
        };
        let is_root = |root: &String| resolved(Path::new(root)).as_ref() == Some(folder);
        let key = if roots.iter().any(is_root) {
            format!("{place}.roots")
        } else if let Some(name) = [MCP_ROOT, "TMPDIR"].iter().find(is_variable) {
            (*name).to_owned()
        } else {
            format!("{place}.sandbox.write")
        };
        let folder = folder.clone();
        Grant { folder, key }
    });
    granted.collect()
}

/// True if a folder that is hidden from every confined program holds `home`. It is mounted over, so no name in it can be made, and it
/// cannot be renamed. A folder with the workspace in it is not hidden as a whole.
fn is_hidden(home: &Path, workspace: &Path, withheld: &Withheld) -> bool {
    let folders = withheld.paths.iter().filter(|path| path.is_dir());
    let mut folders = folders.filter_map(|path| resolved(path));
    folders.any(|folder| home.starts_with(&folder) && !workspace.starts_with(&folder))
}

fn resolved(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}
