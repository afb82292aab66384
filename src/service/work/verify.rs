//! The verification of a receipt: its files, their signatures, its place in the log, its transcripts, and the tree as it is now. Changes nothing.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::Serialize;

use super::receipt_files::{
    ENVELOPE, PROVENANCE, RECEIPT, TEST_RESULT, folder_of, own_program, script_name, script_of,
    statements_of,
};
use super::receipts::{FoundReceipt, file_of, find, find_of_file, receipt_in};
use crate::error::ServiceError;
use crate::exit::Exit;
use crate::log::prove;
use crate::service::Service;
use crate::verify::report::{own_report, place};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Envelope, PublicKey};
use monolith_core::work::{Artifact, Receipt, Statement, WorkPath};

/// Stands for a program in a script.
const ANY_PROGRAM: &str = "<PROGRAM>";

/// One thing that was checked.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiptCheck {
    /// The error; null if it holds.
    pub error: Option<String>,
    /// The name of the check.
    pub name: &'static str,
}

/// The verification of a receipt.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiptReport {
    /// The checks, in order.
    pub checks: Vec<ReceiptCheck>,
    /// The item.
    pub item: String,
    /// Paths that something has changed since the item. They are no error.
    pub moved: Vec<WorkPath>,
    /// The program that the replay script starts, if it is not this one. That is no error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The receipt.
    pub receipt_id: String,
}

impl ReceiptReport {
    /// True if every check holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.error.is_none())
    }

    /// Returns the exit code: 0, or 7 if a check fails.
    #[must_use]
    pub fn exit(&self) -> Exit {
        if self.holds() {
            Exit::OK
        } else {
            Exit::EVIDENCE
        }
    }

    fn check(&mut self, name: &'static str, result: Result<(), String>) {
        let error = result.err();
        self.checks.push(ReceiptCheck { error, name });
    }
}

/// Verifies a receipt, and the file of it that was asked for: its name and its folder do not matter. Its envelopes must be signed by one of
/// `keys`; without any, by a key of this machine.
///
/// # Errors
/// There is no such receipt, or a key cannot be read.
pub fn verify(
    service: &Service,
    asked: &str,
    keys: &[String],
) -> Result<ReceiptReport, ServiceError> {
    let keys = service.trust(keys, &[], &[])?.keys.clone();
    let given = file_of(service, asked);
    let found = match &given {
        Some(path) => find_of_file(service, asked, given_receipt(path, &keys).as_ref())?,
        None => find(service, asked)?,
    };
    let receipt = &found.receipt;
    let mut report = ReceiptReport {
        checks: Vec::new(),
        item: receipt.item.id.clone(),
        moved: Vec::new(),
        program: None,
        receipt_id: receipt.id(),
    };
    let folder = folder_of(service, &receipt.id())?;
    // The file that was asked for takes the place of the one in the state folder.
    let file_of = |name: &str| match &given {
        Some(path) if kind_of(path) == name => path.clone(),
        _ => folder.join(name),
    };
    report.check("file", file_holds(receipt, &file_of(RECEIPT)));
    if !service.unsigned {
        for (name, statement) in statements_of(receipt) {
            let held = envelope_holds(&statement, &file_of(name), &keys);
            report.check(check_name(name), held);
        }
    }
    if let Some(name) = script_name(receipt) {
        let program = script_holds(service, receipt, &folder.join(name));
        report.program = program.clone().ok().flatten();
        report.check("script", program.map(drop));
    }
    report.check("item", transcript_holds(service, &receipt.work_id));
    let log = prove(service, receipt.work_id.as_str());
    report.check("log", log.map(drop).map_err(|fault| fault.summary()));
    if let Some(run) = receipt.run.as_ref().filter(|run| run.head.is_some()) {
        report.check("run", transcript_holds(service, &run.run_id));
        report.check("calls", head_holds(service, receipt));
    }
    report.moved = moved(&found);
    Ok(report)
}

/// The check of the envelope of that name.
fn check_name(file: &str) -> &'static str {
    match file {
        PROVENANCE => "provenance",
        TEST_RESULT => "test-result",
        _ => "signature",
    }
}

/// The name that a file has in the state folder, whatever it is called now.
fn kind_of(path: &Path) -> &'static str {
    if !path.as_os_str().as_bytes().ends_with(b".dsse.json") {
        return RECEIPT;
    }
    let mut names = [PROVENANCE, TEST_RESULT].into_iter();
    let name = names.find(|name| path.ends_with(name));
    name.unwrap_or(ENVELOPE)
}

/// The receipt in a file: its bytes, or those that a trusted key signed.
fn given_receipt(path: &Path, keys: &[PublicKey]) -> Option<Receipt> {
    if kind_of(path) == RECEIPT {
        return receipt_in(path).ok();
    }
    let envelope: Envelope = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    Statement::verified_receipt(&envelope, keys).ok()
}

fn file_holds(receipt: &Receipt, path: &Path) -> Result<(), String> {
    let read = receipt_in(path).map_err(|fault| fault.to_string())?;
    if read == *receipt {
        return Ok(());
    }
    Err(format!(
        "{} is not the receipt in the store",
        path.display()
    ))
}

/// The envelope has that statement, signed by the key that it names.
fn envelope_holds(statement: &Statement, path: &Path, keys: &[PublicKey]) -> Result<(), String> {
    let refuse = |fault: io::Error| format!("{}: {fault}", path.display());
    let text = fs::read(path).map_err(refuse)?;
    let read = |fault: serde_json::Error| refuse(io::Error::from(fault));
    let envelope: Envelope = serde_json::from_slice(&text).map_err(read)?;
    let signed = Statement::verify(&envelope, keys).map_err(|fault| fault.to_string())?;
    if signed != *statement {
        return Err(format!(
            "the signed statement of {} is another one",
            path.display()
        ));
    }
    let named = keys.iter().filter(|key| envelope.names(key));
    let named: Vec<PublicKey> = named.cloned().collect();
    match Statement::verify(&envelope, &named) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "the keyid in {} is not that of the key that signed it",
            path.display()
        )),
    }
}

/// Compares a replay script with the one that the receipt gives. Returns the program that it starts, if that is not this one.
fn script_holds(
    service: &Service,
    receipt: &Receipt,
    path: &Path,
) -> Result<Option<String>, String> {
    let text = fs::read_to_string(path).map_err(|fault| format!("{}: {fault}", path.display()))?;
    let expected =
        |program: &str| script_of(service, receipt, program).map_err(|fault| fault.summary());
    let own = own_program();
    if text == expected(&own)? {
        return Ok(None);
    }
    // The program may have been moved or replaced since.
    let pattern = expected(ANY_PROGRAM)?;
    let program = pattern.split_once(ANY_PROGRAM).and_then(|(head, tail)| {
        let rest = text.strip_prefix(head)?;
        let program = rest.strip_suffix(tail)?;
        (!program.contains(['\'', '\n'])).then(|| program.to_owned())
    });
    match program {
        Some(program) => Ok(Some(program)),
        None => Err(format!(
            "{} is not the script of the receipt",
            path.display()
        )),
    }
}

fn transcript_holds(service: &Service, run_id: &RunId) -> Result<(), String> {
    let report = own_report(service, run_id.as_str()).map_err(|fault| fault.summary())?;
    report.first_bad.map_or(Ok(()), |bad| Err(place(&bad)))
}

/// Compares the end of the agent's run with what the receipt says of it.
fn head_holds(service: &Service, receipt: &Receipt) -> Result<(), String> {
    let Some(run) = &receipt.run else {
        return Ok(());
    };
    let head = || -> Result<_, ServiceError> {
        let Some(mut reader) = service.reader()? else {
            return Ok(None);
        };
        let head = reader.read_run(&run.run_id)?.row().head;
        Ok(Some(head))
    };
    let head = head().map_err(|fault| fault.summary())?;
    if head == run.head {
        return Ok(());
    }
    Err(format!("run {} has another last entry", run.run_id))
}

/// The paths of a success that are not as the item left them.
fn moved(found: &FoundReceipt) -> Vec<WorkPath> {
    let receipt = &found.receipt;
    let Ok(root) = found.work_tree() else {
        return Vec::new();
    };
    let artifacts = receipt.artifacts.iter();
    let is_moved = |(path, hashes): &(&WorkPath, &Artifact)| {
        let file = root.join(OsStr::from_bytes(path.as_bytes()));
        let content = match fs::symlink_metadata(&file) {
            Ok(found) if found.is_symlink() => {
                let target = fs::read_link(&file);
                target.map(|target| target.as_os_str().as_bytes().to_vec())
            }
            Ok(found) if found.is_file() => fs::read(&file),
            _ => return true,
        };
        !content.is_ok_and(|bytes| Digest::of(&bytes) == hashes.blake3)
    };
    let moved = artifacts.filter(is_moved);
    moved.map(|(path, _)| path.clone()).collect()
}
