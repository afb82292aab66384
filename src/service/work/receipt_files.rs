//! The files of a receipt in the state folder, and the commits of a success: written once the item has ended, and whatever of them is
//! missing by a later process. The store has the receipt's bytes; all else follows from them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::common::success_of;
use super::git::keep_commits;
use super::rows::item_rows;
use crate::error::ServiceError;
use crate::error::work::WorkFault;
use crate::service::Service;
use monolith_core::work::{Receipt, ResultPlaces, RunResult, Statement, replay_script};
use monolith_host::store::{NewFile, StoreReader, private_folder, replace_own};
use monolith_host::work_tree::WorkTree;

/// The folder in the state folder.
const FOLDER: &str = "work";
/// The file of a receipt. It is written last.
pub(super) const RECEIPT: &str = "RECEIPT.json";
/// The file of its signed envelope.
pub(super) const ENVELOPE: &str = "RECEIPT.dsse.json";
/// The file of the envelope with SLSA provenance.
pub(super) const PROVENANCE: &str = "PROVENANCE.dsse.json";
/// The file of the envelope with the result of the tests.
pub(super) const TEST_RESULT: &str = "TEST-RESULT.dsse.json";
/// The mode of a script.
const EXECUTABLE: u32 = 0o700;

/// The folder of a receipt.
pub(super) fn folder_of(service: &Service, receipt_id: &str) -> Result<PathBuf, ServiceError> {
    Ok(service.state_folder()?.join(FOLDER).join(receipt_id))
}

/// The statements about a receipt, by the names of their files.
pub(super) fn statements_of(receipt: &Receipt) -> Vec<(&'static str, Statement)> {
    let statements = [
        (ENVELOPE, Some(Statement::of_receipt(receipt))),
        (PROVENANCE, Statement::provenance(receipt)),
        (TEST_RESULT, Statement::test_result(receipt)),
    ];
    let statements = statements.into_iter();
    let statements = statements.filter_map(|(name, statement)| Some((name, statement?)));
    statements.collect()
}

/// The name of the replay script; `None` for an item that published nothing.
pub(super) fn script_name(receipt: &Receipt) -> Option<String> {
    success_of(receipt).map(|_| format!("replay-{}.sh", receipt.item.id))
}

/// The program of this process, as a script starts it.
pub(super) fn own_program() -> String {
    let program = std::env::current_exe();
    program.map_or_else(
        |_| "monolith".to_owned(),
        |program| program.display().to_string(),
    )
}

/// The text of a replay script that starts that program.
pub(super) fn script_of(
    service: &Service,
    receipt: &Receipt,
    program: &str,
) -> Result<String, ServiceError> {
    let home = service.state_folder()?.display().to_string();
    let mut words = vec!["env".to_owned(), format!("MONOLITH_HOME={home}")];
    words.extend([program, "work", "replay"].map(str::to_owned));
    words.push(receipt.id());
    if service.store.is_some() {
        let store = service.store_path()?.display().to_string();
        words.extend(["--store".to_owned(), store]);
    }
    Ok(replay_script(receipt, &words))
}

/// Writes the files of a receipt that are missing: its signed statements, the replay script of a success, and itself. Returns the result of
/// the item.
///
/// # Errors
/// A file cannot be written, or there is no key.
pub(super) fn keep(
    service: &Service,
    receipt: &Receipt,
    root: &Path,
) -> Result<RunResult, ServiceError> {
    service.ready_state()?;
    let folder = folder_of(service, &receipt.id())?;
    private_folder(&folder).map_err(|fault| refused(&folder, &fault))?;
    let missing = |name: &str| Some(folder.join(name)).filter(|path| is_missing(path));
    if !service.unsigned {
        let key = service.signer()?;
        for (name, statement) in statements_of(receipt) {
            if let Some(path) = missing(name) {
                let text = serde_json::to_vec(&statement.sign(&key)).unwrap_or_default();
                replace_own(&path, &text).map_err(|fault| refused(&path, &fault))?;
            }
        }
    }
    let script = script_name(receipt);
    if let Some(path) = script.as_deref().and_then(missing) {
        let text = script_of(service, receipt, &own_program())?;
        let write = || {
            let mut new = NewFile::with_mode(&path, EXECUTABLE)?;
            new.file().write_all(text.as_bytes())?;
            new.replace()
        };
        write().map_err(|fault| refused(&path, &fault))?;
    }
    if let Some(path) = missing(RECEIPT) {
        let written = replace_own(&path, &receipt.to_bytes());
        written.map_err(|fault| refused(&path, &fault))?;
    }
    let text = |path: &Path| path.display().to_string();
    Ok(RunResult::of_receipt(
        receipt,
        ResultPlaces {
            proof_script: script.map(|name| text(&folder.join(name))),
            receipt_path: text(&folder.join(RECEIPT)),
            work_tree: text(root),
        },
    ))
}

/// Keeps the trees before and after a success in the repository that the work tree is. The item has succeeded, whatever becomes of it:
/// returns a warning.
pub(super) fn keep_history(
    service: &Service,
    tree: &WorkTree,
    receipt: &Receipt,
) -> Option<String> {
    success_of(receipt)?;
    let kept = || -> Result<_, String> {
        let folder = folder_of(service, &receipt.id()).map_err(|fault| fault.summary())?;
        private_folder(&folder).map_err(|fault| fault.to_string())?;
        keep_commits(tree, receipt, &folder)
    };
    let item = &receipt.item.id;
    match kept() {
        Ok(tracked) if tracked.is_empty() => None,
        Ok(tracked) => {
            let paths: Vec<String> = tracked.iter().map(ToString::to_string).collect();
            let paths = paths.join(", ");
            Some(format!(
                "item {item}: changes of ignored files were not published, but git tracks these: {paths}"
            ))
        }
        Err(fault) => Some(format!("item {item}: no commit was made of it: {fault}")),
    }
}

/// Writes what a killed process did not write of the receipts that it sealed: files, and the commits of items of this work tree. Returns
/// warnings.
pub(super) fn keep_all(
    service: &Service,
    reader: &mut StoreReader,
    tree: &WorkTree,
) -> Result<Vec<String>, ServiceError> {
    let mut warnings = Vec::new();
    for row in item_rows(reader)? {
        let Some(receipt) = reader.receipt(&row)? else {
            continue;
        };
        let folder = folder_of(service, &receipt.id())?;
        let is_complete = !is_missing(&folder.join(RECEIPT));
        if is_complete && has_all(service, &receipt, &folder) {
            continue;
        }
        let Some(invocation) = reader.invocation(&row)? else {
            continue;
        };
        if !is_complete && invocation.base_dir == tree.path() {
            warnings.extend(keep_history(service, tree, &receipt));
        }
        keep(service, &receipt, &invocation.base_dir)?;
    }
    Ok(warnings)
}

/// True if no file of a receipt is missing besides the receipt.
fn has_all(service: &Service, receipt: &Receipt, folder: &Path) -> bool {
    let names = if service.unsigned {
        Vec::new()
    } else {
        statements_of(receipt)
    };
    let mut names = names.iter().map(|(name, _)| *name);
    let script = script_name(receipt);
    names.all(|name| !is_missing(&folder.join(name)))
        && script.is_none_or(|name| !is_missing(&folder.join(name)))
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err()
}

fn refused(path: &Path, fault: &io::Error) -> WorkFault {
    WorkFault::Receipt {
        path: path.to_owned(),
        reason: fault.to_string(),
    }
}
