use std::fmt::Write as _;
use std::path::Path;

use crate::adapter::Adapter;
use crate::cli::args::MigrateArgs;
use crate::cli::error::CliError;
use crate::cli::escape::line;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::recorded::each_line;
use crate::contract::{CONTRACT_FORMAT, SEMANTICS_VERSION};
use crate::message::judge_version;
use crate::store::{Migration, OLDEST_STORE_FORMAT, STORE_FORMAT, migrate as migrate_store};
use crate::transcript::TRANSCRIPT_FORMAT;

/// `monolith migrate`.
pub(in crate::cli) fn migrate(home: &Home, args: &MigrateArgs) -> Result<Exit, CliError> {
    if args.list {
        home.screen.out(&listed())?;
        return Ok(Exit::OK);
    }
    if let Some(file) = &args.file {
        let format = format_of(&home.cwd.join(file))?;
        let text = format!(
            "nothing to do: {} is {format}, and nothing newer is known\n",
            line(&file.display().to_string())
        );
        home.screen.out(&text)?;
        return Ok(Exit::OK);
    }
    let path = home.store_path()?;
    if !path.exists() {
        return Err(CliError::NoSuchStore { path });
    }
    let done = migrate_store(&path, args.to, args.dry_run)?;
    home.screen.out(&told(&path, &done, args.dry_run))?;
    Ok(if done.verified.bad.is_empty() {
        Exit::OK
    } else {
        Exit::EVIDENCE
    })
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
            format!("{OLDEST_STORE_FORMAT} to {STORE_FORMAT}"),
            STORE_FORMAT.to_string(),
        ),
    ];
    let mut out = format!("{:<11} {:<32} {}\n", "FORMAT", "READS", "WRITES");
    for (name, reads, writes) in rows {
        let _ = writeln!(out, "{name:<11} {reads:<32} {writes}");
    }
    out
}

/// The format that a transcript or a contract states, where this build knows it.
fn format_of(path: &Path) -> Result<String, CliError> {
    let mut first = Vec::new();
    each_line(path, |line| {
        first.extend_from_slice(line);
        Ok(false)
    })
    .or_else(|fault| match fault {
        // A contract may have its keys in any order, and lines within.
        CliError::NotATranscript { .. } => {
            first = std::fs::read(path).map_err(|fault| CliError::TranscriptUnreadable {
                path: path.to_owned(),
                reason: fault.to_string(),
            })?;
            Ok(())
        }
        fault => Err(fault),
    })?;
    let document: serde_json::Value = serde_json::from_slice(&first).unwrap_or_default();
    let format = document.get("format").and_then(|format| format.as_str());
    let format = format.ok_or_else(|| CliError::NotATranscript {
        path: path.to_owned(),
    })?;
    // A transcript begins with its contract, which has a version of its own.
    let inner = document
        .get("contract")
        .and_then(|contract| contract.get("format"));
    let judged = match inner {
        None => judge_version(format, CONTRACT_FORMAT),
        Some(inner) => judge_version(format, TRANSCRIPT_FORMAT)
            .and_then(|_| judge_version(inner.as_str().unwrap_or_default(), CONTRACT_FORMAT)),
    };
    match judged {
        Ok(_) => Ok(format.to_owned()),
        Err(fault) => Err(CliError::Version {
            path: path.to_owned(),
            fault,
        }),
    }
}

fn told(path: &Path, done: &Migration, dry_run: bool) -> String {
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
        let _ = writeln!(out, "  {}: {}", line(run), super::verify::place(bad));
    }
    out
}
