use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::args::{DemoAct, DemoArgs};
use crate::cli::commands::drive::LeavingArgs;
use crate::cli::commands::drive::Live;
use crate::cli::commands::drive::{Broken, Ended, Job, drive_job, report_end};
use crate::cli::commands::{export, replay, verify};
use crate::cli::context::app::{App, DEMO_PREFIX};
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::{CliError, StateFault, SystemFault, TranscriptFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::source::Source;
use crate::cli::ui::command::{command, shell_word};
use crate::cli::ui::numbers::{counted, grouped};
use crate::message::RunId;
use crate::replay::ReplayReport;
use crate::store::{Durability, RunFilter, private_file, private_folder, replace_own};
use crate::transcript::{LineVerifier, Trust, VerifyOptions, VerifyReport, WithheldBlobs};

const CONTRACT: &str = "contracts/demo.yaml";
/// How many runs are looked through for the last demo run.
const MOST_RUNS: usize = 10_000;

/// What the demo needs where this repository is not at hand.
const FILES: [(&str, &str); 4] = [
    (CONTRACT, include_str!("../../../../contracts/demo.yaml")),
    (
        "contracts/demo.jsonl",
        include_str!("../../../../contracts/demo.jsonl"),
    ),
    ("LICENSE-APACHE", include_str!("../../../../LICENSE-APACHE")),
    ("LICENSE-MIT", include_str!("../../../../LICENSE-MIT")),
];

/// `monolith demo`.
pub(in crate::cli) fn demo(app: &App, args: &DemoArgs) -> Result<Exit, CliError> {
    match args.act {
        None => run(app),
        Some(DemoAct::Tamper) => tamper(app),
    }
}

fn run(app: &App) -> Result<Exit, CliError> {
    let run_id = demo_id()?;
    let folder = folder(app)?;
    let file = ContractFile::below(app, folder, CONTRACT);
    let spec = file.read(app)?;
    let task = spec.task.clone().unwrap_or_default();
    let job = Job {
        spec,
        file,
        run_id: Some(run_id.clone()),
        durability: Durability::Full,
        leaving: LeavingArgs::default(),
    };
    app.screen
        .note("The model of this demo is a script; the tool calls, the proof and the transcript are real.");
    let ended =
        drive_job(app, job, &Live::new(app.screen)).map_err(|Broken { error, .. }| error)?;
    report_end(app, &ended);
    let exit = Exit(ended.result.exit_code);
    if exit != Exit::OK {
        return Ok(exit);
    }
    let answer = ended.result.report_text().trim_end_matches('\n');
    app.screen.out_foreign(&format!("\n> {task}\n{answer}\n"))?;
    let trust = app.trust(&[], &[], &[])?;
    let (verified, _) = verify::report_of(app.source(run_id.as_str())?, false, &trust)?;
    let replayed = replay::report_of(app.source(run_id.as_str())?, false)?;
    app.screen.out(&proof(app, &ended, &verified, &replayed))?;
    for exit in [Exit::of_verify(&verified), Exit::of_replay(&replayed)] {
        if exit != Exit::OK {
            return Ok(exit);
        }
    }
    app.screen.out(&what_next(app, &run_id))?;
    Ok(exit)
}

/// What to type after a demo.
fn what_next(app: &App, run_id: &RunId) -> String {
    let name = app.brief_name(run_id.as_str());
    let next = [
        (format!("show {name}"), "what happened, entry by entry"),
        (
            format!("replay {name}"),
            "decide it all again, and compare byte for byte",
        ),
        (
            format!("verify {name}"),
            "check every hash of the transcript",
        ),
        (
            "demo tamper".to_owned(),
            "change one byte of a copy, and let verify find it",
        ),
        ("machine".to_owned(), "the state machine as a diagram"),
    ];
    let width = next
        .iter()
        .map(|(command, _)| app.hint(command).len())
        .max();
    let mut out = String::from("\nNext:\n");
    for (command, what) in &next {
        let width = width.unwrap_or_default();
        let _ = writeln!(out, "  {:<width$}   {what}", app.hint(command));
    }
    out
}

/// What the transcript proves, in three lines.
fn proof(app: &App, ended: &Ended, verified: &VerifyReport, replayed: &ReplayReport) -> String {
    let outcome = ended.result.outcome.map(|outcome| outcome.to_string());
    let counters = &ended.result.counters;
    let mut out = format!(
        "\n{}: {} executed in {}\n",
        outcome.unwrap_or_default(),
        counted(counters.tools_executed, "call"),
        counted(counters.turns, "turn")
    );
    if verified.first_bad.is_none() {
        let head = verified.head.map(|head| head.short(16)).unwrap_or_default();
        let entries = counted(verified.entries, "entry");
        let _ = writeln!(
            out,
            "verified: {entries} chained, head {head}…, level {}",
            verified.level
        );
    } else {
        out.push_str(&verify::report_text(app.screen, verified));
    }
    let _ = write!(out, "replayed: {}", replay::report_text(app, replayed));
    out
}

/// The folder that the demo runs in: the repository where the caller stands in it, else one in the state folder, which stays:
/// who goes on with the run, or begins another from it, needs the contract again.
fn folder(app: &App) -> Result<PathBuf, CliError> {
    if FILES.iter().all(|(path, _)| app.cwd.join(path).is_file()) {
        return Ok(app.cwd.clone());
    }
    app.ready_state()?;
    let folder = app.demo_folder()?;
    for (path, text) in FILES {
        let path = folder.join(path);
        if std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            continue;
        }
        let refuse = |fault: std::io::Error| SystemFault::CannotWrite {
            path: path.clone(),
            reason: fault.to_string(),
        };
        private_folder(path.parent().unwrap_or(&folder)).map_err(refuse)?;
        // Another demo may be reading it: it is there whole, or not at all.
        replace_own(&path, text.as_bytes()).map_err(refuse)?;
    }
    Ok(folder)
}

fn demo_id() -> Result<RunId, CliError> {
    let refuse = |reason: String| SystemFault::Randomness { reason };
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).map_err(|fault| refuse(fault.to_string()))?;
    let text = format!("{DEMO_PREFIX}{:08x}", u32::from_be_bytes(bytes));
    Ok(RunId::try_from(text).map_err(|fault| refuse(fault.to_string()))?)
}

fn tamper(app: &App) -> Result<Exit, CliError> {
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
    let made = private_file().write(true).create_new(true).open(&path);
    made.and_then(|mut made| std::io::Write::write_all(&mut made, &file))
        .map_err(|fault| SystemFault::CannotWrite {
            path: path.clone(),
            reason: fault.to_string(),
        })?;
    let report = verify_bytes(&file, &trust);
    let found = Exit::of_verify(&report);
    let mut out = format!("A copy of {run_id}, as it was exported:\n\n");
    out.push_str(&verify::report_text(app.screen, &whole));
    let _ = writeln!(
        out,
        "\nOne byte of it changed: byte {} of the file, in line {}, from {from:?} to {to:?}. A tool now seems to have said \
         something else.\n",
        grouped(change.at as u64),
        change.line
    );
    out.push_str(&verify::report_text(app.screen, &report));
    let _ = writeln!(
        out,
        "\nThe changed copy: {} (exit code {})",
        command(&format!(
            "monolith verify {}",
            shell_word(&path.display().to_string())
        )),
        found.0
    );
    app.screen.out(&out)?;
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

/// What tells an upper-case ASCII letter from its lower-case one.
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
            // `\u` and its four digits are not told apart from letters; a text that begins so is passed over.
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
