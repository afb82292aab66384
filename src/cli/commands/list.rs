use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::args::ListArgs;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::numbers::{grouped, utc};
use crate::message::{Digest, RunId};
use crate::store::{RunFilter, RunRow};

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
    let rows = match home.reader()? {
        Some(reader) => reader.list_runs(args.limit, filter)?,
        None => Vec::new(),
    };
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
            .any(|row| row.outcome.is_none() && !row.is_imported())
        {
            let resume = home.hint("resume RUN");
            let text = format!("unfinished: in progress, or to be gone on with by {resume}");
            home.screen.note(&text);
        }
    }
    Ok(Exit::OK)
}

fn told(rows: &[RunRow]) -> String {
    let widest = rows.iter().map(|row| row.run_id.as_str().len()).max();
    let width = widest.unwrap_or_default().max(3);
    let mut out = format!(
        "{:<width$}  {:<19}  {:>7}  OUTCOME\n",
        "RUN", "BEGUN (UTC)", "ENTRIES"
    );
    for row in rows {
        let outcome = match &row.outcome {
            Some((class, code)) => format!("{class} ({code})"),
            None => "unfinished".to_owned(),
        };
        let _ = writeln!(
            out,
            "{:<width$}  {}  {:>7}  {}",
            row.run_id.as_str(),
            utc(row.created_unix_ms),
            grouped(row.length),
            crate::cli::escape::line(&outcome) + if row.is_imported() { ", imported" } else { "" }
        );
    }
    out
}

impl From<RunRow> for Listed {
    fn from(row: RunRow) -> Self {
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
        }
    }
}
