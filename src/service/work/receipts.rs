//! The receipts of this machine, found and listed. Writes none.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::receipt_files::RECEIPT;
use super::rows::{item_rows, open_items};
use crate::error::ServiceError;
use crate::error::work::WorkFault;
use crate::service::Service;
use crate::text::escape::brief;
use crate::work_entries::WorkSource;
use monolith_core::message::RunId;
use monolith_core::work::{PathChange, Receipt, Work, WorkStatus};
use monolith_host::store::{Invocation, StoreReader};

/// The ending of the files of a receipt.
const JSON: &str = ".json";
/// Maximum length of what the caller typed, in a message.
const MOST_ASKED: usize = 80;
/// The word for the newest receipt.
const LAST: &str = "last";

/// A receipt that was found, with the item's transcript.
#[derive(Clone, Debug)]
pub struct FoundReceipt {
    /// The invocation of its item, if recorded: its folder is the work tree.
    pub invocation: Option<Invocation>,
    /// The receipt.
    pub receipt: Receipt,
    /// The item at its end.
    pub work: Work,
}

impl FoundReceipt {
    /// The work tree of its item.
    pub fn work_tree(&self) -> Result<&Path, WorkFault> {
        let none = || WorkFault::NoWorkTree {
            id: self.receipt.id(),
        };
        let invocation = self.invocation.as_ref().ok_or_else(none)?;
        Ok(&invocation.base_dir)
    }
}

/// A row of the list of items.
#[derive(Clone, Debug, Serialize)]
pub struct ListedItem {
    /// The time of its beginning, in milliseconds since 1970-01-01 UTC.
    pub created_unix_ms: u64,
    /// The item.
    pub item: String,
    /// Its receipt; null if it has not ended.
    pub receipt_id: Option<String>,
    /// Its state.
    pub state: &'static str,
    /// The name of this attempt at it.
    pub work_id: RunId,
    /// The work tree; null if it is not recorded.
    pub work_tree: Option<PathBuf>,
}

/// Finds a receipt by its id, the item's id, the beginning of its id, or its file or folder, whatever that is called; `last` is the newest
/// one. Of several receipts of an item, the newest counts.
///
/// # Errors
/// [`WorkFault::NoReceipt`], [`WorkFault::AmbiguousReceipt`], [`WorkFault::Receipt`] for a file that is no receipt
pub fn find(service: &Service, asked: &str) -> Result<FoundReceipt, ServiceError> {
    match file_of(service, asked) {
        Some(path) if !path.is_file() => Err(none(asked).into()),
        Some(path) => find_by(service, asked, Sought::Id(&receipt_in(&path)?.id())),
        None => find_by(service, asked, Sought::Name(asked)),
    }
}

/// Finds a receipt as [`find`] does, but of several receipts of an item the newest that published something.
///
/// # Errors
/// The errors of [`find`].
pub(super) fn find_published(service: &Service, asked: &str) -> Result<FoundReceipt, ServiceError> {
    match file_of(service, asked) {
        Some(_) => find(service, asked),
        None => find_by(service, asked, Sought::Published(asked)),
    }
}

/// Finds the recorded receipt of a file: by its own id, by its attempt if it was changed, else by the name of its folder.
///
/// # Errors
/// The errors of [`find`].
pub(super) fn find_of_file(
    service: &Service,
    asked: &str,
    given: Option<&Receipt>,
) -> Result<FoundReceipt, ServiceError> {
    let folder = || find_by(service, asked, Sought::Id(folder_name(asked)));
    if !file_of(service, asked).is_some_and(|path| path.is_file()) {
        return Err(none(asked).into());
    }
    let Some(given) = given else {
        return folder();
    };
    find_by(service, asked, Sought::Id(&given.id()))
        .or_else(|_| find_by(service, asked, Sought::Attempt(&given.work_id)))
        .or_else(|_| folder())
}

/// The property by which a receipt is found.
#[derive(Clone, Copy, Debug)]
enum Sought<'s> {
    /// The name of the attempt.
    Attempt(&'s RunId),
    /// The whole id.
    Id(&'s str),
    /// The text that a person types.
    Name(&'s str),
    /// The same, for a receipt of something that was published.
    Published(&'s str),
}

fn none(asked: &str) -> WorkFault {
    WorkFault::NoReceipt {
        asked: brief(asked, MOST_ASKED),
    }
}

fn find_by(
    service: &Service,
    asked: &str,
    sought: Sought<'_>,
) -> Result<FoundReceipt, ServiceError> {
    let mut reader = service.reader()?.ok_or_else(|| none(asked))?;
    let found = match sought {
        Sought::Attempt(work_id) => reader.receipt(work_id)?,
        Sought::Id(id) => newest(&mut reader, |receipt| receipt.id() == id)?,
        Sought::Name(name) => named(&mut reader, name, false)?,
        Sought::Published(name) => named(&mut reader, name, true)?,
    };
    let receipt = found.ok_or_else(|| none(asked))?;
    Ok(FoundReceipt {
        invocation: reader.invocation(&receipt.work_id)?,
        work: reader.work(&receipt.work_id)?,
        receipt,
    })
}

/// All receipts, the last one first. No row decides their order: each states how many there were.
fn ordered(reader: &mut StoreReader) -> Result<Vec<Receipt>, ServiceError> {
    let mut receipts = Vec::new();
    for work_id in item_rows(reader)? {
        receipts.extend(reader.receipt(&work_id)?);
    }
    // Those of another store may have the same number. The sort is stable.
    receipts.sort_by_key(|receipt| Reverse(receipt.count));
    Ok(receipts)
}

/// The newest receipt for which that holds.
fn newest(
    reader: &mut StoreReader,
    holds: impl Fn(&Receipt) -> bool,
) -> Result<Option<Receipt>, ServiceError> {
    let mut receipts = ordered(reader)?.into_iter();
    Ok(receipts.find(|receipt| holds(receipt)))
}

/// The receipt that a person names: a whole id comes first, then the id of an item, then the beginning of an id.
fn named(
    reader: &mut StoreReader,
    name: &str,
    wants_published: bool,
) -> Result<Option<Receipt>, ServiceError> {
    if name.trim().is_empty() {
        return Ok(None);
    }
    let (mut published, mut of_item, mut last, mut by_prefix) = (None, None, None, Vec::new());
    for found in ordered(reader)? {
        let (id, is_of_item) = (found.id(), found.item.id == name);
        if id == name {
            return Ok(Some(found));
        }
        if is_of_item && found.published.is_some() {
            published.get_or_insert_with(|| found.clone());
        }
        if is_of_item {
            of_item.get_or_insert_with(|| found.clone());
        }
        if id.starts_with(name) {
            by_prefix.push(found.clone());
        }
        last.get_or_insert(found);
    }
    if let Some(found) = published.filter(|_| wants_published).or(of_item) {
        return Ok(Some(found));
    }
    let count = by_prefix.len();
    if count > 1 {
        let asked = name.to_owned();
        return Err(WorkFault::AmbiguousReceipt { asked, count }.into());
    }
    Ok(by_prefix.pop().or(last.filter(|_| name == LAST)))
}

/// The file that a text names: a text with a `/` is a path, and so is the name of a JSON file in the folder of the command.
pub(super) fn file_of(service: &Service, asked: &str) -> Option<PathBuf> {
    let path = service.cwd.join(asked);
    if asked.contains('/') {
        return Some(if path.is_dir() {
            path.join(RECEIPT)
        } else {
            path
        });
    }
    (asked.ends_with(JSON) && path.is_file()).then_some(path)
}

/// The receipt in a file.
pub(super) fn receipt_in(path: &Path) -> Result<Receipt, WorkFault> {
    let refuse = |reason: String| WorkFault::Receipt {
        path: path.to_owned(),
        reason,
    };
    let bytes = fs::read(path).map_err(|fault| refuse(fault.to_string()))?;
    Receipt::parse(&bytes).map_err(|fault| refuse(fault.to_string()))
}

/// The name of the folder of a file.
fn folder_name(asked: &str) -> &str {
    match asked.strip_suffix(JSON) {
        Some(_) => name_of(asked.rsplit_once('/').map_or("", |(folder, _)| folder)),
        None => name_of(asked),
    }
}

/// The kept output of the tests of an item; empty if they printed nothing.
///
/// # Errors
/// [`WorkFault::NoTestOutput`] for an item that ran no tests, and for an output that was erased.
pub fn test_output(service: &Service, receipt: &Receipt) -> Result<String, ServiceError> {
    let none = |reason| WorkFault::NoTestOutput {
        id: receipt.id(),
        reason,
    };
    let ran = receipt.tests.as_ref();
    let tests = ran.ok_or_else(|| none("its item ran no tests"))?;
    let Some(hash) = tests.output_blob else {
        return Ok(tests.output.clone());
    };
    let kept = match service.reader()? {
        Some(mut reader) => reader.read_run(&receipt.work_id)?.blob(hash)?,
        None => None,
    };
    let bytes = kept.ok_or_else(|| none("it is not in this store any more"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Finds the transcript of an item: by its receipt as [`find`] does, by the id of an unfinished item, by the name of the attempt, or in an
/// exported file. Returns the text that names it as a source, too.
///
/// # Errors
/// The errors of [`find`].
pub fn find_item(service: &Service, asked: &str) -> Result<(String, WorkSource), ServiceError> {
    let (name, none) = match find(service, asked) {
        Ok(found) => {
            let asked = found.receipt.id();
            let none = WorkFault::NoReceipt { asked };
            (found.receipt.work_id.to_string(), none.into())
        }
        Err(
            fault @ ServiceError::Work(WorkFault::NoReceipt { .. } | WorkFault::Receipt { .. }),
        ) => {
            let open = unfinished(service, asked)?.map(|work_id| work_id.to_string());
            (open.unwrap_or_else(|| asked.to_owned()), fault)
        }
        Err(fault) => return Err(fault),
    };
    match service.source(&name).and_then(WorkSource::of) {
        Ok(Ok(source)) => Ok((name, source)),
        Ok(Err(_)) | Err(_) => Err(none),
    }
}

/// The newest unfinished attempt at the item of that id.
pub(super) fn unfinished(service: &Service, item: &str) -> Result<Option<RunId>, ServiceError> {
    let Some(mut reader) = service.reader()? else {
        return Ok(None);
    };
    for work_id in open_items(&reader)? {
        if reader.work(&work_id)?.started().item.id == item {
            return Ok(Some(work_id));
        }
    }
    Ok(None)
}

/// The name of a receipt in what the caller typed: the folder of the file that it is, else the text.
fn name_of(asked: &str) -> &str {
    let folder = asked.strip_suffix(RECEIPT).unwrap_or(asked);
    let folder = folder.trim_end_matches('/');
    folder.rsplit('/').next().unwrap_or(folder)
}

/// Lists every attempt at an item, the newest first.
pub fn list(service: &Service) -> Result<Vec<ListedItem>, ServiceError> {
    let Some(mut reader) = service.reader()? else {
        return Ok(Vec::new());
    };
    let mut listed = Vec::new();
    for work_id in item_rows(&reader)? {
        let work = reader.work(&work_id)?;
        let receipt = reader.receipt(&work_id)?;
        let invocation = reader.invocation(&work_id)?;
        listed.push(ListedItem {
            created_unix_ms: work.started().started_unix_ms,
            item: work.started().item.id.clone(),
            receipt_id: receipt.map(|receipt| receipt.id()),
            state: work.state().as_str(),
            work_id,
            work_tree: invocation.map(|invocation| invocation.base_dir),
        });
    }
    Ok(listed)
}

/// The changes of a success; `None` for another end, and for one that did no work.
pub(super) fn changes_of(receipt: &Receipt) -> Option<&[PathChange]> {
    let is_success = receipt.end.status == WorkStatus::Success;
    let capsule = receipt.capsule.as_ref().filter(|_| is_success)?;
    Some(&capsule.changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_asked_for_by_its_id_or_by_the_path_of_its_file() {
        let id = "0f9a5c52-0000-8000-8000-000000000000";
        for asked in [
            id.to_owned(),
            format!("/srv/work/{id}"),
            format!("/srv/work/{id}/"),
            format!("/srv/work/{id}/{RECEIPT}"),
        ] {
            assert_eq!(name_of(&asked), id, "{asked}");
        }
    }
}
