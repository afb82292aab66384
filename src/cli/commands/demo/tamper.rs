//! `monolith demo tamper`: one letter of a copy of the last demo run is changed, and verification has to find it. The run itself
//! is only read.

use std::io::{self, Write as _};
use std::sync::Arc;

use super::render::{Changed, tamper_text};
use crate::commands::{export, verify};
use crate::context::app::App;
use monolith_core::transcript::{LineVerifier, Trust, VerifyOptions, VerifyReport, WithheldBlobs};
use monolith_host::store::{NewFile, RunFilter};
use monolith_service::error::ServiceError;
use monolith_service::error::state::StateFault;
use monolith_service::error::system::SystemFault;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::service::DEMO_PREFIX;
use monolith_service::source::Source;

/// Maximum number of runs to search for the last demo run.
const MOST_RUNS: usize = 10_000;
/// The bit that distinguishes an upper-case ASCII letter from its lower-case one.
const CASE: u8 = 0x20;

/// One letter of what a tool said.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    /// Offset in the file.
    at: usize,
    byte: u8,
    /// The line, from 1.
    line: usize,
}

pub(super) fn tamper(app: &App) -> Result<Exit, ServiceError> {
    let reader = app.reader()?.ok_or(StateFault::NoDemoRun)?;
    let runs = reader.list_runs(MOST_RUNS, RunFilter::Sealed)?;
    let run_id = runs
        .into_iter()
        .map(|row| row.run_id)
        .find(|run_id| run_id.as_str().starts_with(DEMO_PREFIX))
        .ok_or(StateFault::NoDemoRun)?;
    let mut file = Vec::new();
    export::write_to(
        Source::Run(run_id.clone(), reader),
        &mut file,
        WithheldBlobs::Needed,
        None,
    )?;
    let trust = app.trust(&[], &[], &[])?;
    let whole = verify_bytes(&file, &trust);
    if let Some(bad) = &whole.first_bad {
        let place = verify::place(bad);
        return Err(TranscriptFault::OldDemoRun { run_id, place }.into());
    }
    let Some(change) = Change::find(&file) else {
        return Err(TranscriptFault::NoToolText { run_id }.into());
    };
    let (from, to) = (char::from(change.byte), char::from(change.byte ^ CASE));
    if let Some(byte) = file.get_mut(change.at) {
        *byte ^= CASE;
    }
    let path = std::env::temp_dir().join(format!("monolith-tampered-{run_id}.jsonl"));
    // Its copy of an earlier time is replaced; what another has put there is neither followed nor emptied.
    let write = || {
        let mut copy = NewFile::private(&path)?;
        copy.file().write_all(&file)?;
        copy.replace()
    };
    write().map_err(|fault: io::Error| SystemFault::CannotWrite {
        path: path.clone(),
        reason: fault.to_string(),
    })?;
    let report = verify_bytes(&file, &trust);
    let found = Exit::of_verify(&report);
    let changed = Changed {
        at: change.at,
        exit: found,
        from,
        line: change.line,
        path: &path,
        to,
    };
    let text = tamper_text(app.screen, &run_id, (&whole, &report), &changed);
    app.screen.out(&text)?;
    if found == Exit::EVIDENCE && whole.holds() {
        Ok(Exit::OK)
    } else {
        Err(TranscriptFault::NothingTampered.into())
    }
}

fn verify_bytes(file: &[u8], trust: &Arc<Trust>) -> VerifyReport {
    let mut verifier = LineVerifier::new(VerifyOptions::default()).trusting(Arc::clone(trust));
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        if !verifier.line(line) {
            break;
        }
    }
    verifier.finish()
}

impl Change {
    /// The first letter of the last text that a tool returned.
    fn find(file: &[u8]) -> Option<Self> {
        const RESULT: &[u8] = b"{\"kind\":\"tool_returned\"";
        const TEXT: &[u8] = b"{\"kind\":\"text\",\"value\":\"";
        let mut start = 0;
        let mut found = None;
        for (number, line) in (1..).zip(file.split_inclusive(|byte| *byte == b'\n')) {
            if position(line, RESULT).is_some()
                && let Some(text) = position(line, TEXT)
                && let Some((offset, byte)) = letter(line, text + TEXT.len())
            {
                found = Some(Self {
                    at: start + offset,
                    byte,
                    line: number,
                });
            }
            start += line.len();
        }
        found
    }
}

fn position(line: &[u8], wanted: &[u8]) -> Option<usize> {
    line.windows(wanted.len()).position(|part| part == wanted)
}

/// The first letter of a JSON string that is no part of an escape.
fn letter(line: &[u8], from: usize) -> Option<(usize, u8)> {
    let mut escaped = false;
    for (at, byte) in line.iter().copied().enumerate().skip(from) {
        match byte {
            b'"' if !escaped => return None,
            // `\u` and its four digits are not distinguished from letters; a text that begins so is passed over.
            b'u' if escaped => return None,
            _ if byte.is_ascii_alphabetic() && !escaped => return Some((at, byte)),
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, expect: Option<(usize, char, usize)>) {
        let expect = expect.map(|(at, letter, line)| Change {
            at,
            byte: u8::try_from(letter).unwrap(),
            line,
        });
        assert_eq!(Change::find(file.as_bytes()), expect, "{file}");
    }

    #[test]
    fn the_changed_byte_is_a_letter_of_what_a_tool_said() {
        let head = "{\"kind\":\"tool_returned\",\"x\":[{\"kind\":\"text\",\"value\":\"";
        let at = head.len();
        check(&format!("{head}MIT\"}}\n"), Some((at, 'M', 1)));
        check(
            &format!("{{}}\n{head}\\n1 b\"}}\n"),
            Some((3 + at + 4, 'b', 2)),
        );
        check(&format!("{head}\"}}]X\n"), None);
        check(&format!("{head}\\u00e9\"}}\n"), None);
        check("{\"kind\":\"text\",\"value\":\"a\"}\n", None);
    }
}
