//! The folder that tool servers are to see: `MCP_ROOT` of this process, and what is said of it (001 §6).

use std::path::Path;

use crate::service::Service;
use monolith_core::contract::ContractSpec;
use monolith_host::driver::{HandedRoot, handed_roots, is_root_of_all, skipped_search_folders};

/// Returns notes about the roots that the servers of a file get; `folder` is the file's own.
pub(crate) fn root_notes(service: &Service, spec: &ContractSpec, folder: &Path) -> Vec<String> {
    let handed = handed_roots(spec, &service.environment);
    let is_whole = |root: &&HandedRoot| is_root_of_all(&folder.join(&root.folder));
    let confined = handed.iter().filter(|root| root.is_confined);
    let whole = confined.filter(is_whole).map(|root| {
        let of = if root.is_mcp_root { "MCP_ROOT" } else { "`roots`" };
        format!(
            "{}: {of} is `/`, where no confined server may write: this one sees its workspace and what `read` and `write` of its sandbox name; name a folder below it, or say `sandbox: off`",
            root.place
        )
    });
    let mut notes: Vec<String> = whole.filter(|_| cfg!(target_os = "linux")).collect();
    notes.dedup();
    let skipped = skipped_search_folders(spec, folder, &service.environment);
    notes.extend(skipped.into_iter().map(|skipped| {
        let folder = skipped.path.display();
        match skipped.record {
            None => format!(
                "PATH: {folder} is left out, because a confined program may write there; to start a program of it, name it by its path"
            ),
            Some(record) => format!(
                "PATH: {folder} is left out, because a confined program of an earlier run could write there; name its programs by their paths, \
                 or check the folder and delete {}, which lists the folders that earlier runs could write",
                record.display()
            ),
        }
    }));
    let here = service.cwd.display().to_string();
    let is_here = |root: &HandedRoot| root.is_mcp_root && root.folder == here;
    if service.notes_default_root && handed.iter().any(is_here) {
        notes.push(format!(
            "MCP_ROOT is not set or blank: the working folder {here} takes its place"
        ));
    }
    notes
}
