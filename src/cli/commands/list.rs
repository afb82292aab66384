use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::args::ListArgs;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::numbers::{grouped, utc};
use crate::message::{Digest, RunId};
use crate::store::{Lineage, RunFilter, RunRow};
use crate::transcript::ParentFound;

#[derive(Serialize)]
struct Listing {
    runs: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    run_id: RunId,
    created_unix_ms: u64,
    contract_hash: Digest,
    entries: u64,
    head: Digest,
    outcome: Option<ListedOutcome>,
    owner: String,
    imported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<ListedParent>,
}

/// The run that one was forked from.
#[derive(Serialize)]
struct ListedParent {
    run_id: RunId,
    head: Digest,
    /// The number of the entry; absent where the run is not in this store.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
}

#[derive(Serialize)]
struct ListedOutcome {
    class: String,
    code: String,
}

/// `monolith list`.
pub(in crate::cli) fn list(home: &Home, args: &ListArgs) -> Result<Exit, CliError> {
    let filter = if args.open {
        RunFilter::Open
    } else {
        RunFilter::All
    };
    let mut rows = Vec::new();
    let mut exit = Exit::OK;
    if let Some(reader) = home.reader()? {
        let listing = reader.list(args.limit, filter)?;
        for row in listing.rows {
            let lineage = reader.lineage(&row.run_id)?;
            rows.push((row, lineage));
        }
        for fault in &listing.unreadable {
            exit = Exit::EVIDENCE;
            let fault = crate::cli::escape::line(&fault.to_string());
            home.screen.write_err(&format!("not listed: {fault}\n"));
        }
    }
    if args.json {
        let runs = rows.into_iter().map(Listed::from).collect();
        home.screen.out_json(&Listing { runs })?;
    } else if rows.is_empty() && args.open {
        home.screen.note("every run has ended");
    } else if rows.is_empty() {
        let path = home.store_path()?;
        let place = crate::cli::escape::line(&path.display().to_string());
        home.screen.note(&format!(
            "no runs yet in {place}; `monolith demo` makes one"
        ));
    } else {
        home.screen.out(&told(&rows))?;
        if rows
            .iter()
            .any(|(row, _)| row.outcome.is_none() && !row.is_imported())
        {
            let resume = home.hint("resume RUN");
            let text = format!("unfinished: in progress, or to be gone on with by {resume}");
            home.screen.note(&text);
        }
    }
    Ok(exit)
}

fn told(rows: &[(RunRow, Option<Lineage>)]) -> String {
    let widest = rows.iter().map(|(row, _)| row.run_id.as_str().len()).max();
    let width = widest.unwrap_or_default().max(3);
    let mut out = format!(
        "{:<width$}  {:<19}  {:>7}  OUTCOME\n",
        "RUN", "BEGUN (UTC)", "ENTRIES"
    );
    for (row, lineage) in rows {
        let outcome = match &row.outcome {
            Some((class, code)) => format!("{class} ({code})"),
            None => "unfinished".to_owned(),
        };
        let forked = lineage
            .as_ref()
            .map(|lineage| format!(", {}", forked_from(lineage)));
        let _ = writeln!(
            out,
            "{:<width$}  {}  {:>7}  {}{}",
            row.run_id.as_str(),
            utc(row.created_unix_ms),
            grouped(row.length),
            crate::cli::escape::line(&outcome) + if row.is_imported() { ", imported" } else { "" },
            forked.unwrap_or_default()
        );
    }
    out
}

/// Where a run comes from, in words.
pub(super) fn forked_from(lineage: &Lineage) -> String {
    let parent = &lineage.parent.run_id;
    match lineage.found {
        ParentFound::Entry(seq) => format!("forked from {parent} at entry {seq}"),
        ParentFound::NoSuchEntry => format!("forked from {parent}, which has no such entry"),
        ParentFound::NotHere => format!("forked from {parent}, which is not here"),
    }
}

impl From<(RunRow, Option<Lineage>)> for Listed {
    fn from((row, lineage): (RunRow, Option<Lineage>)) -> Self {
        let forked_from = lineage.map(|lineage| ListedParent {
            run_id: lineage.parent.run_id,
            head: lineage.parent.head,
            entry: match lineage.found {
                ParentFound::Entry(seq) => Some(seq),
                ParentFound::NoSuchEntry | ParentFound::NotHere => None,
            },
        });
        let imported = row.is_imported();
        Self {
            run_id: row.run_id,
            created_unix_ms: row.created_unix_ms,
            contract_hash: row.contract_hash,
            entries: row.length,
            head: row.head,
            imported,
            owner: row.owner,
            outcome: row
                .outcome
                .map(|(class, code)| ListedOutcome { class, code }),
            forked_from,
        }
    }
}
