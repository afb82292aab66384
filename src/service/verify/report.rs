//! Verification of a stored run, of a transcript file, or of a run with its children.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::pin_file;
use super::tree::{TreeReport, tree_of};
use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::exit::Exit;
use crate::permissions::Looser;
use crate::service::Service;
use crate::source::{Source, each_line};
use crate::text::escape::line;
use monolith_core::message::RunId;
use monolith_core::transcript::{
    FirstBad, LineVerifier, Pin, Trust, VerifyCheck, VerifyOptions, VerifyReport,
};

/// A run or a file to verify, and the evidence that judges it.
#[derive(Clone, Debug, Default)]
pub struct VerifyRequest {
    /// Public keys, or files of keys and rotations; empty for this machine's own keys.
    pub keys: Vec<String>,
    /// True if a run without an end is accepted.
    pub open: bool,
    /// Files of heads that were noted earlier.
    pub pins: Vec<PathBuf>,
    /// Least level to reach.
    pub require: Option<Level>,
    /// Name of a run, its beginning, `last`, or a file.
    pub run: String,
    /// Keys of witnesses, or files of them.
    pub witnesses: Vec<String>,
    /// File that the head is added to if everything holds.
    pub write_pin: Option<PathBuf>,
}

/// A level of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A trusted key signed the head at the seal.
    Signed,
    /// A head that was noted earlier covers the run.
    Pinned,
    /// A witness vouches for the run.
    Witnessed,
}

impl Level {
    /// Returns the name of the level, and the beginning of the note that says what is missing for it.
    const fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Signed => ("L1", "signature:"),
            Self::Pinned => ("L2", "pinned "),
            Self::Witnessed => ("L3", "witness:"),
        }
    }
}

/// A verified run.
#[derive(Debug)]
pub struct Verified {
    /// Files of the state folder that other users may read or write, in words; only for a stored run.
    pub exposed: Option<String>,
    /// True if the required level was reached.
    pub reached: bool,
    /// Report of the verification.
    pub report: VerifyReport,
}

impl Verified {
    /// Returns the exit code of the report.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        if self.reached {
            Exit::of_verify(&self.report)
        } else {
            Exit::EVIDENCE
        }
    }
}

/// A verified run with its children.
#[derive(Debug, Serialize)]
pub struct VerifiedTree {
    /// True if every run verifies.
    pub holds: bool,
    /// Each run after its parent.
    pub runs: Vec<TreeReport>,
}

impl VerifiedTree {
    /// Returns the first run that does not verify.
    #[must_use]
    pub fn first_bad(&self) -> Option<&TreeReport> {
        self.runs.iter().find(|one| !one.report.holds())
    }
}

/// Verifies a run or a file, and notes its head if the request names a file for it.
///
/// # Errors
///
/// The run cannot be read, the named evidence is broken, or the pin cannot be written. A run that does not verify is a report.
pub fn verify(service: &Service, request: &VerifyRequest) -> Result<Verified, ServiceError> {
    let trust = request.trust(service)?;
    let source = service.source(&request.run)?;
    if let Some(path) = &request.write_pin
        && service.cwd.join(path).exists()
    {
        // A file that holds no pins is refused before anything is verified.
        service.pins(std::slice::from_ref(path))?;
    }
    let is_stored = matches!(source, Source::Run(..));
    let (mut report, run_id) = report_of(source, request.open, &trust)?;
    let exposed = Looser::of(service)?;
    let exposed = (is_stored && !exposed.is_empty()).then(|| exposed.named());
    let least = request.require;
    let reached = least.is_none_or(|least| require(&mut report, least));
    if let Some(path) = &request.write_pin
        && let (true, Some(run_id), Some(head)) = (report.holds(), &run_id, report.head)
    {
        pin_file::add(service, path, &Pin::line_of(run_id, report.entries, head))?;
    }
    Ok(Verified {
        exposed,
        reached,
        report,
    })
}

/// Verifies a stored run and its children, each against the records of its parent.
///
/// # Errors
///
/// As [`verify`], and a file is no tree.
pub fn verify_tree(
    service: &Service,
    request: &VerifyRequest,
) -> Result<VerifiedTree, ServiceError> {
    let trust = request.trust(service)?;
    let (run_id, mut reader) = match service.source(&request.run)? {
        Source::Run(run_id, reader) => (run_id, reader),
        Source::File(path) => return Err(TranscriptFault::FileInsteadOfRun { path }.into()),
    };
    let runs = tree_of(&mut reader, &run_id, request.open, &trust)?;
    Ok(VerifiedTree {
        holds: runs.iter().all(|one| one.report.holds()),
        runs,
    })
}

impl VerifyRequest {
    fn trust(&self, service: &Service) -> Result<Arc<Trust>, ServiceError> {
        service.trust(&self.keys, &self.pins, &self.witnesses)
    }
}

/// Adds the check of the required level; false if the report does not reach it.
fn require(report: &mut VerifyReport, least: Level) -> bool {
    let (level, missing) = least.name();
    let ok = report.holds() && report.level >= level;
    let mut detail = format!("{level} is required, {} was reached", report.level);
    if !ok {
        let notes = report.not_checked.iter();
        for note in notes.filter(|note| note.starts_with(missing)) {
            // Writing to a String cannot fail.
            let _ = write!(detail, "; {note}");
        }
    }
    report.checks.push(VerifyCheck {
        name: "required",
        ok,
        detail,
    });
    ok
}

/// Verifies a whole transcript; `open` accepts a run in progress. Also returns the name of the run if its header holds.
///
/// # Errors
///
/// The transcript cannot be read.
pub fn report_of(
    source: Source,
    open: bool,
    trust: &Arc<Trust>,
) -> Result<(VerifyReport, Option<RunId>), ServiceError> {
    Ok(match source {
        Source::Run(run_id, mut reader) => {
            let report = reader.verify_run_trusting(&run_id, open, trust)?;
            (report, Some(run_id))
        }
        Source::File(path) => {
            let mut verifier = LineVerifier::new(VerifyOptions {
                open,
                ..VerifyOptions::default()
            })
            .trusting(Arc::clone(trust));
            each_line(&path, |line| Ok(verifier.line(line)))?;
            let run_id = verifier.run_id().cloned();
            (verifier.finish(), run_id)
        }
    })
}

/// Returns the report of a run or a file that may be in progress, judged by this machine's own keys.
///
/// # Errors
///
/// As [`report_of`].
pub fn own_report(service: &Service, asked: &str) -> Result<VerifyReport, ServiceError> {
    let trust = service.trust(&[], &[], &[])?;
    let (report, _) = report_of(service.source(asked)?, true, &trust)?;
    Ok(report)
}

/// Refuses a run or a file that does not verify by this machine's own keys.
///
/// # Errors
///
/// As [`report_of`], and [`TranscriptFault::NotVerified`].
pub fn require_verified(service: &Service, asked: &str) -> Result<(), ServiceError> {
    match own_report(service, asked)?.first_bad {
        None => Ok(()),
        Some(bad) => Err(TranscriptFault::NotVerified {
            asked: asked.to_owned(),
            place: place(&bad),
        }
        .into()),
    }
}

/// Returns the place of the first flaw and the flaw itself, in words.
#[must_use]
pub fn place(bad: &FirstBad) -> String {
    let mut at = Vec::new();
    at.extend(bad.seq.map(|seq| format!("entry {seq}")));
    at.extend(bad.line.map(|line| format!("line {line}")));
    at.extend(bad.table.map(|table| format!("table {table}")));
    format!(
        "{} at {}, {}: expected {}, got {}",
        bad.kind,
        at.join(", "),
        line(&bad.field),
        line(&bad.expected),
        line(&bad.actual)
    )
}
