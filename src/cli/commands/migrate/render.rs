//! What was done to a store, as text.

use monolith_host::store::Migration;
use monolith_service::text::escape::line;
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn report_text(path: &Path, done: &Migration, dry_run: bool) -> String {
    let place = line(&path.display().to_string());
    let Migration { from, to, .. } = done;
    if from == to {
        return format!("nothing to do: {place} has format {to}\n");
    }
    let would = if dry_run { "would be " } else { "" };
    let mut out = format!("{place}: {would}migrated from format {from} to {to}\n");
    for step in &done.steps {
        let _ = writeln!(out, "  {step}");
    }
    if let Some(copy) = &done.copy {
        let copy = line(&copy.display().to_string());
        let _ = writeln!(out, "  the store as it was: {copy}");
    }
    let verified = &done.verified;
    let _ = writeln!(
        out,
        "  runs verified: {}, of which do not hold: {}",
        verified.runs,
        verified.bad.len()
    );
    for (run, bad) in &verified.bad {
        let _ = writeln!(
            out,
            "  {}: {}",
            line(run),
            crate::commands::verify::place(bad)
        );
    }
    out
}
