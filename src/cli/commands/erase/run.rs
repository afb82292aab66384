//! `monolith erase`: takes one blob out of a run and leaves a signed tombstone.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::args::EraseArgs;
use crate::context::app::App;
use crate::context::ask::confirm;
use monolith_core::message::{Digest, RunId};
use monolith_host::store::{
    Durability, Elsewhere, Erasure, HeldIn, Store, erase_kept, kept_content,
};
use monolith_service::clock::unix_ms;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::source::Source;
use monolith_service::text::numbers::counted;

/// `monolith erase`.
pub(crate) fn erase(app: &App, args: &EraseArgs) -> Result<Exit, ServiceError> {
    let Source::Run(run_id, mut reader) = app.run(&args.run)? else {
        return Ok(Exit::USAGE);
    };
    let path = app.store_path()?;
    let asked = args.blob.to_ascii_lowercase();
    let hash = match reader.named_blob(&run_id, &asked) {
        Ok(hash) => hash,
        // What a file held before the run changed it is no blob of the run.
        Err(fault) => {
            let kept = kept_content(&path, &run_id, &asked)?.ok_or(fault)?;
            drop(reader);
            return erase_content(app, args, &run_id, kept);
        }
    };
    app.screen.out(&elsewhere(&reader.elsewhere(hash)?))?;
    drop(reader);
    if !args.yes {
        let question = format!("Erase {hash} of run {run_id} for good?");
        confirm(app, "erase", &question)?;
    }
    let key = app.signer()?;
    let erased = Store::open(&path, Durability::Full)?.erase(&Erasure {
        run_id: run_id.clone(),
        blob: hash.to_string(),
        reason: args.reason.clone(),
        at_unix_ms: unix_ms(),
        all_runs: args.all_runs,
        key: &key,
    })?;
    erase_kept(&path, &run_id, hash)?;
    let runs: Vec<&str> = erased.runs.iter().map(RunId::as_str).collect();
    let hash = erased.hash;
    let runs = runs.join(", ");
    app.screen.out(&match erased.bytes {
        Some(bytes) => {
            let bytes = counted(bytes, "byte");
            format!("erased: {bytes} of {hash}; a tombstone stands in their place in {runs}\n")
        }
        None => format!("erased before: {hash} of {runs}\n"),
    })?;
    app.screen
        .note("What entries say of the bytes stays, and so do copies elsewhere: exports, backups, copies made by migrate.");
    Ok(Exit::OK)
}

/// Erases what a file held before the run changed it: undo cannot restore it any more.
fn erase_content(
    app: &App,
    args: &EraseArgs,
    run_id: &RunId,
    hash: Digest,
) -> Result<Exit, ServiceError> {
    if !args.yes {
        let question = format!("Erase {hash}, which a file held before run {run_id}, for good?");
        confirm(app, "erase", &question)?;
    }
    erase_kept(&app.store_path()?, run_id, hash)?;
    app.screen.out(&format!(
        "erased: {hash}, which a file held before run {run_id}; undo restores it no more\n"
    ))?;
    Ok(Exit::OK)
}

/// How many places of one run are named.
const NAMED: usize = 12;

/// What of the text stands elsewhere, and stays there.
fn elsewhere(found: &[Elsewhere]) -> String {
    let mut runs: BTreeMap<&str, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for place in found {
        let (entries, blobs) = runs.entry(&place.run_id).or_default();
        match place.place {
            HeldIn::Entry(seq) => entries.push(seq.to_string()),
            HeldIn::Blob(hash) => blobs.push(hash.short(16)),
        }
    }
    let mut out = String::new();
    if runs.is_empty() {
        out.push_str("Nothing of its text was found elsewhere in this store.\n");
        return out;
    }
    out.push_str("Parts of its text stand elsewhere in this store, and stay there:\n");
    for (run, (entries, blobs)) in runs {
        for (what, places) in [("entries", entries), ("blobs", blobs)] {
            if places.is_empty() {
                continue;
            }
            let more = places.len().saturating_sub(NAMED);
            let named: Vec<String> = places.into_iter().take(NAMED).collect();
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let _ = writeln!(out, "  run {run}, {what} {}{more}", named.join(", "));
        }
    }
    out
}
