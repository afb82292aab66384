//! `monolith migrate`: brings a store to the format of this build, and names the versions that this build reads and writes.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::Path;

use super::args::MigrateArgs;
use super::render::report_text;
use crate::context::app::App;
use monolith_core::adapter::Adapter;
use monolith_core::contract::{CONTRACT_FORMAT, SEMANTICS_VERSION};
use monolith_core::message::check_version;
use monolith_core::transcript::{MAX_LINE_BYTES, TRANSCRIPT_FORMAT};
use monolith_host::store::{
    Migration, OLDEST_STORE_FORMAT, STORE_FORMAT, migrate as migrate_store, open_regular,
};
use monolith_service::error::ServiceError;
use monolith_service::error::state::StateFault;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::source::each_line;
use monolith_service::text::escape::line;

/// How every SQLite database begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// `monolith migrate`.
pub(crate) fn migrate(app: &App, args: &MigrateArgs) -> Result<Exit, ServiceError> {
    if args.list {
        app.screen.out(&listed())?;
        return Ok(Exit::OK);
    }
    if let Some(file) = &args.file {
        let found = format_of(&app.cwd.join(file))?;
        let text = format!(
            "nothing to do: {} is {found}, which this build reads; transcripts and contracts are never rewritten\n",
            line(&file.display().to_string())
        );
        app.screen.out(&text)?;
        return Ok(Exit::OK);
    }
    let path = app.store_path()?;
    if !path.exists() {
        return Err(StateFault::NoSuchStore { path }.into());
    }
    let done = migrate_store(&path, args.to, args.dry_run)?;
    app.screen.out(&report_text(&path, &done, args.dry_run))?;
    Ok(ended(&done))
}

/// A store with runs that do not verify is migrated all the same, and that is said.
fn ended(done: &Migration) -> Exit {
    if done.verified.bad.is_empty() {
        Exit::OK
    } else {
        Exit::EVIDENCE
    }
}

/// Every format, what this build reads of it, and what it writes.
fn listed() -> String {
    let adapters = Adapter::versions();
    let adapters: Vec<&str> = adapters.collect();
    let semantics = format!("semantics {SEMANTICS_VERSION}");
    let rows = [
        (
            "contract",
            CONTRACT_FORMAT.to_owned(),
            CONTRACT_FORMAT.to_owned(),
        ),
        (
            "transcript",
            TRANSCRIPT_FORMAT.to_owned(),
            TRANSCRIPT_FORMAT.to_owned(),
        ),
        ("adapter", adapters.join(", "), adapters.join(", ")),
        ("semantics", semantics.clone(), semantics),
        (
            "store",
            known(OLDEST_STORE_FORMAT, STORE_FORMAT),
            STORE_FORMAT.to_string(),
        ),
    ];
    let mut out = format!("{:<11} {:<32} {}\n", "FORMAT", "READS", "WRITES");
    for (name, reads, writes) in rows {
        let _ = writeln!(out, "{name:<11} {reads:<32} {writes}");
    }
    out
}

/// A range of numbers, or the one that it is.
fn known(oldest: i32, newest: i32) -> String {
    if oldest == newest {
        return newest.to_string();
    }
    format!("{oldest} to {newest}")
}

/// The format that a transcript or a contract states, where this build knows it and all that its contract names.
fn format_of(path: &Path) -> Result<String, ServiceError> {
    let unreadable = |fault: io::Error| TranscriptFault::Unreadable {
        path: path.to_owned(),
        reason: fault.to_string(),
    };
    let mut head = Vec::new();
    let file = open_regular(path).map_err(unreadable)?;
    file.take(SQLITE.len() as u64)
        .read_to_end(&mut head)
        .map_err(unreadable)?;
    if head == SQLITE {
        return Err(TranscriptFault::StoreInsteadOfFile {
            path: path.to_owned(),
        }
        .into());
    }
    let mut first = Vec::new();
    each_line(path, |line| {
        first.extend_from_slice(line);
        Ok(false)
    })
    .or_else(|fault| match fault {
        // A contract may have its keys in any order, and lines within.
        ServiceError::Transcript(TranscriptFault::NotATranscript { .. }) => {
            first.clear();
            let file = open_regular(path).map_err(unreadable)?;
            let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
            file.take(most)
                .read_to_end(&mut first)
                .map_err(unreadable)?;
            Ok(())
        }
        fault => Err(fault),
    })?;
    let document: serde_json::Value = serde_json::from_slice(&first).unwrap_or_default();
    let format = document.get("format").and_then(|format| format.as_str());
    let format = format.ok_or_else(|| TranscriptFault::NoFormat {
        path: path.to_owned(),
    })?;
    // A transcript begins with its contract, which has a version of its own.
    let inner = document.get("contract");
    let refuse = |fault| TranscriptFault::Version {
        path: path.to_owned(),
        fault,
    };
    match inner {
        None => check_version(format, CONTRACT_FORMAT),
        Some(inner) => check_version(format, TRANSCRIPT_FORMAT)
            .and_then(|_| check_version(text_of(inner, "format"), CONTRACT_FORMAT)),
    }
    .map_err(refuse)?;
    let contract = inner.unwrap_or(&document);
    let targets = contract
        .get("targets")
        .and_then(|targets| targets.as_array());
    for target in targets.into_iter().flatten() {
        let asked = text_of(target, "adapter_version");
        if Adapter::by_version(asked).is_err() {
            let known: Vec<&str> = Adapter::versions().collect();
            return Err(TranscriptFault::UnknownPart {
                path: path.to_owned(),
                what: "adapter",
                found: asked.chars().take(80).collect(),
                known: known.join(", "),
            }
            .into());
        }
    }
    let semantics = contract.get("semantics_version");
    if semantics.and_then(serde_json::Value::as_u64) != Some(u64::from(SEMANTICS_VERSION)) {
        return Err(TranscriptFault::UnknownPart {
            path: path.to_owned(),
            what: "semantics_version",
            found: semantics.map_or_else(|| "none".to_owned(), ToString::to_string),
            known: SEMANTICS_VERSION.to_string(),
        }
        .into());
    }
    Ok(format.to_owned())
}

fn text_of<'d>(document: &'d serde_json::Value, key: &str) -> &'d str {
    document
        .get(key)
        .and_then(|value| value.as_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::transcript::{FirstBad, FlawKind};
    use monolith_host::store::{StoreError, Verified};
    use monolith_service::error::advice::Advice as _;

    #[test]
    fn what_was_done_to_an_older_store_is_said_and_a_run_that_does_not_verify_is_an_exit_code() {
        let path = Path::new("runs.db");
        let refused = ServiceError::from(StoreError::OlderFormat {
            path: path.to_owned(),
            found: 0,
            current: 1,
        });
        assert_eq!(refused.exit(), Exit::FAILED);
        let help = refused.help().unwrap();
        assert!(help.contains("monolith migrate brings it up"), "{help}");
        let step = "the index of runs by their time";
        let planned = Migration {
            from: 0,
            to: 1,
            copy: None,
            steps: vec![step],
            verified: Verified::default(),
        };
        assert_eq!(
            report_text(path, &planned, true),
            format!(
                "runs.db: would be migrated from format 0 to 1\n  {step}\n  \
                 runs verified: 0, of which do not hold: 0\n"
            )
        );
        let mut done = Migration {
            copy: Some("runs.db.format-0".into()),
            ..planned
        };
        assert_eq!(
            report_text(path, &done, false),
            format!(
                "runs.db: migrated from format 0 to 1\n  {step}\n  the store as it was: runs.db.format-0\n  \
                 runs verified: 0, of which do not hold: 0\n"
            )
        );
        assert_eq!(ended(&done), Exit::OK);
        let bad = FirstBad {
            seq: Some(3),
            line: None,
            table: Some("entries"),
            field: "hash".to_owned(),
            expected: "a".to_owned(),
            actual: "b".to_owned(),
            kind: FlawKind::Tampered,
        };
        done.verified.bad.push(("r-1".to_owned(), bad));
        assert_eq!(ended(&done), Exit::EVIDENCE);
        assert!(report_text(path, &done, false).contains("do not hold: 1\n  r-1: "));
        let again = Migration { from: 1, ..done };
        assert_eq!(
            report_text(path, &again, false),
            "nothing to do: runs.db has format 1\n"
        );
        assert_eq!(
            (known(0, 1), known(1, 1)),
            ("0 to 1".to_owned(), "1".to_owned())
        );
    }
}
