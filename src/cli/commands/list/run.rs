//! `monolith list`: the runs of the store, as text or as a document.

use clap::Args;

use super::render::listed;
use crate::commands::values::{limit, outcome};
use crate::context::app::App;
use crate::ui::when::{self, When};
use monolith_host::store::DamagedRow;
use monolith_service::clock::unix_ms;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::list::document::ListDocument;
use monolith_service::list::outcome_names::is_outcome;
use monolith_service::list::runs::{self, ListRequest, ListedRun};
use monolith_service::text::escape::{brief, line};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only runs with this text in their task or name
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Only unfinished runs
    ///
    /// They are in progress or can be resumed.
    #[arg(long)]
    pub(crate) open: bool,
    /// Only runs with this outcome, such as failed
    ///
    /// `completed` or `failed`; the kind of failure: preflight, protocol, validation, budget, timeout or contract; a class
    /// such as COMPLETED_WITH_TOOLS; or a code such as step_timeout. If a model did not answer in time, the code is
    /// attempts_exhausted.
    #[arg(long, value_name = "CLASS|CODE", value_parser = outcome, conflicts_with = "open")]
    pub(crate) outcome: Option<String>,
    /// Only runs started since 2026-11-20, or 12h ago
    ///
    /// A date, a time such as 2026-11-20T08:00:00Z, or an age: 90m, 12h, 3d.
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(crate) since: Option<When>,
    /// Only runs with a matching model
    ///
    /// Matches any part of PROVIDER/MODEL of each target.
    #[arg(long, value_name = "TEXT")]
    pub(crate) model: Option<String>,
    /// Only runs under this contract
    ///
    /// The id or the hash of the contract, or a prefix of it.
    #[arg(long, value_name = "ID|HASH")]
    pub(crate) contract: Option<String>,
    /// List each run with its child runs, indented
    ///
    /// Child runs are those of agents, steps and forks. Lists the runs that match the other options, and their parent runs.
    #[arg(long)]
    pub(crate) tree: bool,
    /// Maximum number of runs; 0 lists all
    ///
    /// With --tree it counts trees.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    pub(crate) limit: usize,
}

/// `monolith list`.
pub(crate) fn list(app: &App, args: ListArgs) -> Result<Exit, ServiceError> {
    let json = args.json;
    let request = ListRequest {
        contract: args.contract,
        limit: args.limit,
        model: args.model,
        open: args.open,
        outcome: args.outcome,
        since_unix_ms: args.since.map(|since| since.unix_ms(unix_ms())),
        text: args.text,
        tree: args.tree,
    };
    let found = runs::list(app, &request)?;
    let named = name_damaged(app, &found.damaged);
    let is_flawed = found.runs.iter().any(|row| row.found.flaw.is_some());
    let exit = if is_flawed { Exit::EVIDENCE } else { named };
    if json {
        app.screen.out_json(&ListDocument::from(found))?;
    } else if found.runs.is_empty() && found.damaged.is_empty() {
        let place = line(&app.store_path()?.display().to_string());
        app.screen.write_err(&if request.open {
            format!("no unfinished runs in {place}\n")
        } else if request.is_narrow() {
            none_found(app, &request, &place)
        } else {
            let demo = app.hint("demo");
            let run = app.hint("run CONTRACT");
            format!("no runs yet in {place}; `{demo}` creates one, `{run}` runs your own\n")
        });
    } else {
        app.screen.out(&listed(app, &found.runs))?;
        let first = |row: &&ListedRun| row.place.as_ref().is_none_or(|at| at.branch.depth == 0);
        let counted = found.runs.iter().filter(first).count();
        if request.limit > 0 && counted + found.damaged.len() >= request.limit {
            let words = if request.tree {
                "list --tree --limit 0"
            } else {
                "list --limit 0"
            };
            let all = app.hint(words);
            app.screen
                .note(&format!("the newest {}; {all} lists all", request.limit));
        }
    }
    Ok(exit)
}

/// Reports that no run fits, and suggests an outcome of that name.
fn none_found(app: &App, request: &ListRequest, place: &str) -> String {
    let text = request.text.as_deref();
    let none = match text.filter(|_| request.is_by_text_alone()) {
        Some(text) => format!("no run has \"{}\" in its task or name", brief(text, 60)),
        None => format!("no such run in {place}"),
    };
    let meant = text.filter(|text| is_outcome(text)).map(|text| {
        let so = app.hint(&format!("list --outcome {text}"));
        format!("; {so} lists the runs that ended so")
    });
    format!("{none}{}\n", meant.unwrap_or_default())
}

/// Names the rows that cannot be read; returns the exit code.
pub(crate) fn name_damaged(app: &App, damaged: &[DamagedRow]) -> Exit {
    for DamagedRow { run, fault } in damaged {
        let (run, fault) = (line(run), line(&fault.to_string()));
        let text = format!("warning: the row of run {run} is damaged and not listed: {fault}\n");
        app.screen.write_err(&text);
    }
    if damaged.is_empty() {
        Exit::OK
    } else {
        Exit::EVIDENCE
    }
}
