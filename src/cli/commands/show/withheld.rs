//! The text that the token gate held back, where it is asked for by `--withheld`. It is evidence: it stands under a title of its own,
//! and is never called an answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::conversation::indented;
use crate::ui::screen::{Screen, Style};
use monolith_core::kernel::EventKind;
use monolith_core::replay::BlobSource;
use monolith_core::transcript::SealedEntry;
use monolith_service::error::ServiceError;
use monolith_service::source::{Recorded, Source};
use monolith_service::text::numbers::counted;

/// Says that there is none.
pub(super) const NOTHING: &str = "\nNo text was held back.\n";

/// Each text that was held back, by the number of the entry that names it.
pub(super) fn held_back(
    screen: Screen,
    source: Source,
) -> Result<BTreeMap<u64, String>, ServiceError> {
    let mut fault = None;
    let sections = source.each_entry_with_blobs(
        |_, _| BTreeMap::new(),
        |sections, entry, blobs| match section(screen, entry, blobs) {
            Ok(section) if section.is_empty() => {}
            Ok(section) => {
                sections.insert(entry.seq, section);
            }
            Err(flaw) => fault = fault.take().or(Some(flaw)),
        },
    )?;
    fault.map_or(Ok(sections), Err)
}

/// The text that the entry names, where it names one.
fn section(
    screen: Screen,
    entry: &SealedEntry,
    blobs: &dyn BlobSource,
) -> Result<String, ServiceError> {
    let mut out = String::new();
    let decoded = Recorded::decode(entry)?.into_event();
    let Some(EventKind::InferenceReturned(returned)) = decoded.map(|event| event.event) else {
        return Ok(out);
    };
    let Some(withheld) = returned.result.withheld.filter(|held| !held.blank) else {
        return Ok(out);
    };
    let bytes = counted(withheld.bytes, "byte");
    let title = format!("held back, entry {}, {bytes}", entry.seq);
    let title = screen.paint_out(Style::Bold, &title);
    let _ = writeln!(
        out,
        "\n{title}: written before a call was validated, so it is no answer"
    );
    match blobs.blob(withheld.hash) {
        Some(text) => out.push_str(&indented(&String::from_utf8_lossy(&text))),
        None if blobs.erased(withheld.hash) => out.push_str("  (erased)\n"),
        None => out.push_str("  (not in this file; export --withheld includes it)\n"),
    }
    Ok(out)
}
