//! `monolith erase`: takes one blob out of a run and leaves a signed tombstone.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;

use super::values::reason;
use crate::context::app::App;
use crate::context::ask::confirm;
use monolith_core::message::RunId;
use monolith_host::store::{Elsewhere, HeldIn};
use monolith_service::delete::erase::{ErasableText, erasable};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::numbers::counted;

#[derive(Debug, Args)]
pub(crate) struct EraseArgs {
    /// Run name or unique prefix, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The hash of the bytes, or a prefix of it
    #[arg(long, value_name = "HASH")]
    pub(crate) blob: String,
    /// The reason, recorded in the signed note
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(crate) reason: String,
    /// Erase the bytes from every run that uses them
    #[arg(long)]
    pub(crate) all_runs: bool,
    /// Skip the confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

/// `monolith erase`.
pub(crate) fn erase(app: &App, args: EraseArgs) -> Result<Exit, ServiceError> {
    let found = erasable(app, &args.run, &args.blob)?;
    let (hash, run_id) = (found.hash, found.run_id.clone());
    let question = match &found.text {
        ErasableText::Blob(places) => {
            app.screen.out(&elsewhere(places))?;
            format!("Erase {hash} of run {run_id} for good?")
        }
        ErasableText::FileBefore => {
            format!("Erase {hash}, which a file held before run {run_id}, for good?")
        }
    };
    if !args.yes {
        confirm(app, "erase", &question)?;
    }
    let Some(erased) = found.erase(app, args.reason, args.all_runs)? else {
        app.screen.out(&format!(
            "erased: {hash}, which a file held before run {run_id}; undo can no longer restore it\n"
        ))?;
        return Ok(Exit::OK);
    };
    let runs: Vec<&str> = erased.runs.iter().map(RunId::as_str).collect();
    let runs = runs.join(", ");
    app.screen.out(&match erased.bytes {
        Some(bytes) => {
            let bytes = counted(bytes, "byte");
            format!("erased: {bytes} of {hash}; a tombstone replaces them in {runs}\n")
        }
        None => format!("erased before: {hash} of {runs}\n"),
    })?;
    app.screen
        .note("What entries say of the bytes stays, and so do copies elsewhere: exports, backups, copies made by migrate.");
    Ok(Exit::OK)
}

/// Maximum number of places named per run.
const NAMED: usize = 12;

/// Lists other places that hold the text and keep it.
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
    out.push_str("Parts of its text also occur elsewhere in this store and were not erased:\n");
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
