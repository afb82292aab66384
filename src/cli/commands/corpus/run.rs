//! `monolith corpus run`: the built-in cases, played and compared. A live endpoint is for `live`.

use serde::Serialize;

use super::args::{CorpusCommand, CorpusRunArgs};
use super::render::cases_text;
use super::{adapters, coverage, live};
use crate::context::app::App;
use monolith_conformance::{CaseRow, CorpusReport, CorpusTotals, Metrics, ProfileRow, run_corpus};
use monolith_core::contract::ModelProfile;
use monolith_service::error::ServiceError;
use monolith_service::error::corpus::CorpusFault;
use monolith_service::exit::Exit;

#[derive(Serialize)]
struct Document<'r> {
    records: Vec<Record<'r>>,
    table: &'r [CaseRow],
    profiles: &'r [ProfileRow],
    metrics: &'r Metrics,
    totals: CorpusTotals,
}

#[derive(Serialize)]
struct Record<'r> {
    id: &'r str,
    status: &'static str,
    /// The first difference; null if there is none.
    failure_code: Option<&'r str>,
    /// Cases are whole runs: their calls stand in their transcripts.
    calls: [(); 0],
}

/// `monolith corpus`.
pub(crate) fn corpus(app: &App, command: &CorpusCommand) -> Result<Exit, ServiceError> {
    match command {
        CorpusCommand::Run(args) => run(app, args),
        CorpusCommand::Coverage(args) => coverage::coverage(app, args),
        CorpusCommand::Adapters(args) => adapters::adapters(app, args),
    }
}

fn run(app: &App, args: &CorpusRunArgs) -> Result<Exit, ServiceError> {
    if let Some(url) = &args.live {
        return live::live(app, url, args);
    }
    if let Some(profile) = &args.profile
        && ModelProfile::by_id(profile).is_none()
    {
        let known = ModelProfile::all().iter().map(|p| p.id.as_str());
        return Err(CorpusFault::NoSuchProfile {
            got: profile.clone(),
            known: known.collect::<Vec<_>>().join(", "),
        }
        .into());
    }
    let report = run_corpus(args.filter.as_deref(), args.profile.as_deref());
    if report.rows.is_empty() {
        return Err(CorpusFault::NoSuchCase {
            filter: args.filter.clone().unwrap_or_default(),
        }
        .into());
    }
    if args.json {
        app.screen.out_json(&document(&report))?;
    } else {
        app.screen.out(&cases_text(app.screen, &report))?;
    }
    Ok(if report.totals.failed == 0 {
        Exit::OK
    } else {
        Exit::FAILED
    })
}

fn document(report: &CorpusReport) -> Document<'_> {
    let records = report.rows.iter().map(|row| Record {
        id: &row.id,
        status: if row.ok { "passed" } else { "failed" },
        failure_code: (!row.ok).then_some(row.got.as_str()),
        calls: [],
    });
    Document {
        records: records.collect(),
        table: &report.rows,
        profiles: &report.profiles,
        metrics: &report.metrics,
        totals: report.totals,
    }
}
