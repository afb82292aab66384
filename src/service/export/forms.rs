//! The forms of an exported transcript: the transcript itself, a page, a trajectory, a recorded terminal.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::html::{Folded, write_page};
use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::source::{Source, each_line};
use crate::text::escape::{brief, piped_json};
use crate::text::narration::Transition;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{LineReader, Presence, Record, WithheldBlobs, blob_references};
use monolith_host::store::ExportError;
use monolith_host::telemetry::{AtifTrajectory, sentence};

/// Columns and rows of the recorded terminal.
const CAST_SIZE: (usize, usize) = (120, 32);

/// Writes the transcript of a stored run; returns the count of texts that the token gate held back and that are left out. `head` is the last
/// entry that was judged, if one was.
///
/// # Errors
///
/// The source is a file, the run has another last entry, or `out` cannot be written.
pub fn write_to(
    source: Source,
    out: &mut dyn Write,
    withheld: WithheldBlobs,
    head: Option<Digest>,
) -> Result<usize, ServiceError> {
    match source {
        Source::Run(run_id, mut reader) => {
            let run = reader.read_run(&run_id)?;
            same_end(run_id.as_str(), head, Some(run.row().head))?;
            let left_out = run.export(out, withheld)?;
            out.flush().map_err(ExportError::Io)?;
            Ok(left_out)
        }
        Source::File(path) => Err(TranscriptFault::FileInsteadOfRun { path }.into()),
    }
}

/// The page of a run, with the transcript in it; returns how many texts behind the token gate were left out.
pub(super) fn html(
    folded: Folded,
    source: Source,
    out: &mut dyn Write,
    withheld: WithheldBlobs,
    head: Option<Digest>,
) -> Result<usize, ServiceError> {
    write_page(out, folded, |out| match source {
        Source::Run(..) => write_to(source, out, withheld, head),
        Source::File(path) => copy(&path, out, withheld, head),
    })
}

/// Refuses what ends otherwise than what was judged.
fn same_end(
    asked: &str,
    judged: Option<Digest>,
    found: Option<Digest>,
) -> Result<(), ServiceError> {
    if judged.is_none() || judged == found {
        return Ok(());
    }
    let asked = asked.to_owned();
    Err(TranscriptFault::ChangedMeanwhile { asked }.into())
}

/// Copies the lines of a file as they are, except for the texts behind the token gate.
fn copy(
    path: &std::path::Path,
    out: &mut dyn Write,
    withheld: WithheldBlobs,
    head: Option<Digest>,
) -> Result<usize, ServiceError> {
    let mut end = None;
    let mut presence: BTreeMap<Digest, Presence> = BTreeMap::new();
    let mut reader = Some(LineReader::new());
    let mut left_out = 0;
    each_line(path, |line| {
        // From the first line that cannot be read on, all are copied: the page finds the flaw.
        let record = reader.as_mut().and_then(|reader| reader.read(line).ok());
        match record {
            Some(Record::Entry(entry)) => {
                end = Some(entry.hash);
                for named in entry.decoded_event.iter().flat_map(blob_references) {
                    let least = presence.entry(named.hash).or_insert(named.presence);
                    *least = named.presence.max(*least);
                }
            }
            Some(Record::Blob(blob))
                if withheld == WithheldBlobs::MayLack
                    && presence.get(&blob.hash) == Some(&Presence::Withheld) =>
            {
                left_out += 1;
                return Ok(true);
            }
            Some(Record::MachineEntry(entry)) => end = Some(entry.hash),
            Some(_) => {}
            None => reader = None,
        }
        out.write_all(line)?;
        Ok(true)
    })?;
    same_end(&path.display().to_string(), head, end)?;
    Ok(left_out)
}

/// The trajectory of a run as one JSON document; `mark` says what does not hold of the run.
pub(super) fn atif(
    mut source: Source,
    out: &mut dyn Write,
    mark: Option<&str>,
    head: Option<Digest>,
) -> Result<usize, ServiceError> {
    let mut trajectory = AtifTrajectory::new();
    for stone in source.tombstones()? {
        trajectory.erased(&stone);
    }
    let view = source.each_step(|view, entry, _| {
        trajectory.take(view, entry.entry());
        Ok(())
    })?;
    same_end(view.run_id().map_or("", RunId::as_str), head, view.head())?;
    let mut document = trajectory.finish(&view);
    let extra = document.get_mut("extra").and_then(Value::as_object_mut);
    if let (Some(extra), Some(mark)) = (extra, mark) {
        extra.insert("not_verified".to_owned(), json!(mark));
    }
    // The same JSON wherever it goes: a pipe may end at a terminal.
    let text = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
    out.write_all(piped_json(&text).as_bytes())?;
    out.write_all(b"\n")?;
    Ok(0)
}

/// The narrated run as an asciicast, version 2: a header, then one line of JSON for each piece of output. `mark` says what does not hold
/// of the run. Nothing is written of one that cannot be read to its end.
pub(super) fn cast(
    source: Source,
    out: &mut dyn Write,
    mark: Option<&str>,
    head: Option<Digest>,
) -> Result<usize, ServiceError> {
    let (width, height) = CAST_SIZE;
    let whole = out;
    let mut text = Vec::new();
    let out: &mut dyn Write = &mut text;
    let said = |out: &mut dyn Write, at_ms: u64, text: &str| -> Result<(), ServiceError> {
        let text = format!("{}\r\n", brief(text, width.saturating_mul(3)));
        writeln!(
            out,
            "[{}.{:03}, \"o\", {}]",
            at_ms / 1000,
            at_ms % 1000,
            json!(text)
        )?;
        Ok(())
    };
    let view = source.each_step(|view, entry, _| {
        if view.entries() == 1 {
            let run_id = view.run_id().map_or("", RunId::as_str);
            let header = json!({
                "version": 2,
                "width": width,
                "height": height,
                "timestamp": view.started_unix_ms() / 1000,
                "title": format!("monolith run {run_id}"),
            });
            writeln!(out, "{header}")?;
            if let Some(mark) = mark {
                said(out, view.at_ms(), mark)?;
            }
            if let Some(parent) = view.start().and_then(|start| start.parent.as_ref()) {
                said(out, view.at_ms(), &parent.link())?;
            }
        }
        if let Some(transition) = Transition::of(view, entry.entry()) {
            said(out, transition.at_ms, &transition.line())?;
        }
        Ok(())
    })?;
    same_end(view.run_id().map_or("", RunId::as_str), head, view.head())?;
    let at_ms = view.at_ms();
    match view.outcome() {
        Some(outcome) => {
            said(out, at_ms, &format!("{outcome}"))?;
            said(out, at_ms, sentence(outcome.code))?;
        }
        None => said(out, at_ms, "no end yet")?,
    }
    whole.write_all(&text)?;
    Ok(0)
}
