//! The store and what a run's programs may write: refuses a store that a confined program could replace by a file beside it.
//!
//! Knows the grants of confined programs and the host's own folders. Does not confine: a program without a sandbox may write
//! wherever this process may.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::driver::{Environment, MCP_ROOT};
use crate::store::StoreError;
use crate::tools::{Confined, SandboxProfile, ServerSpec, Withheld};

/// A folder that a confined program may write, and the key of the file or the variable that grants it.
struct Grant {
    folder: PathBuf,
    key: String,
}

/// Refuses a store in a folder that a confined program of these servers may write, unless a folder that no program sees holds it.
///
/// Files that are there are hidden from the program; names that are free are not. A `-journal` or an answer under such a name would count
/// as the store's own.
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
        let reached = granted
            .into_iter()
            .find(|grant| home.starts_with(&grant.folder));
        if profile.confined != Confined::Never
            && let Some(Grant { folder, key }) = reached
            && !is_hidden(&home, workspace, withheld)
        {
            let path = store.clone();
            return Err(StoreError::InReach { path, folder, key });
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
