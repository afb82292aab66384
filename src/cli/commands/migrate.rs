//! `monolith migrate`: brings a store to the format of this build, and names the versions that this build reads and writes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::verify::place;
use crate::context::app::App;
use monolith_host::store::Migration;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::migrate::{self, format_of, formats};
use monolith_service::text::escape::line;

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Only check whether this file can be read
    ///
    /// A transcript or a contract, not a store. Without FILE, migrates the store.
    #[arg(value_name = "FILE", conflicts_with_all = ["list", "to"])]
    pub(crate) file: Option<PathBuf>,
    /// Print the formats that this build supports
    #[arg(long)]
    pub(crate) list: bool,
    /// Print what would be done without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The target format (default: the newest)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<i32>,
}

/// `monolith migrate`.
pub(crate) fn migrate(app: &App, args: &MigrateArgs) -> Result<Exit, ServiceError> {
    if args.list {
        app.screen.out(&listed())?;
        return Ok(Exit::OK);
    }
    if let Some(file) = &args.file {
        let found = format_of(app, file)?;
        let text = format!(
            "nothing to do: {} is {found}, which this build reads; transcripts and contracts are never rewritten\n",
            line(&file.display().to_string())
        );
        app.screen.out(&text)?;
        return Ok(Exit::OK);
    }
    let (path, done) = migrate::migrate(app, args.to, args.dry_run)?;
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
    let mut out = format!("{:<11} {:<32} {}\n", "FORMAT", "READS", "WRITES");
    for format in formats() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{:<11} {:<32} {}",
            format.name, format.reads, format.writes
        );
    }
    out
}

/// The changes that were made to a store.
fn report_text(path: &Path, done: &Migration, dry_run: bool) -> String {
    let store = line(&path.display().to_string());
    let Migration { from, to, .. } = done;
    if from == to {
        return format!("nothing to do: {store} has format {to}\n");
    }
    let would = if dry_run { "would be " } else { "" };
    let mut out = format!("{store}: {would}migrated from format {from} to {to}\n");
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
        "  runs verified: {}, failed: {}",
        verified.runs,
        verified.bad.len()
    );
    for (run, bad) in &verified.bad {
        let _ = writeln!(out, "  {}: {}", line(run), place(bad));
    }
    out
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
        assert!(help.contains("monolith migrate upgrades it"), "{help}");
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
                 runs verified: 0, failed: 0\n"
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
                 runs verified: 0, failed: 0\n"
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
        assert!(report_text(path, &done, false).contains("failed: 1\n  r-1: "));
        let again = Migration { from: 1, ..done };
        assert_eq!(
            report_text(path, &again, false),
            "nothing to do: runs.db has format 1\n"
        );
    }
}
