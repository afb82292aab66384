use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::CorpusRunArgs;
use super::metrics::metrics_text;
use crate::cli::commands::internal::SLOW_TOOL;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, CorpusFault, StateFault, SystemFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::runtime::runtime;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::seconds;
use crate::cli::ui::screen::{Screen, Style};
use crate::conformance::{
    Agreement, LiveError, LiveRecord, LiveReport, LiveRow, LiveTarget, ServerTraits, Share,
    run_live,
};
use crate::driver::random_run_id;
use crate::store::{Durability, Store, private_folder, replace_own};

/// More than any case lets through.
const BIG_LINES: usize = 1000;

#[derive(Serialize)]
struct Document<'r> {
    endpoint: Endpoint<'r>,
    #[serde(flatten)]
    report: &'r LiveReport,
}

#[derive(Serialize)]
struct Endpoint<'r> {
    url: &'r str,
    model: &'r str,
    #[serde(rename = "type")]
    provider: &'static str,
}

/// `monolith corpus run --live URL`.
pub(in crate::cli) fn live(app: &App, url: &str, args: &CorpusRunArgs) -> Result<Exit, CliError> {
    let screen = app.screen;
    let endpoint = &args.endpoint;
    let model = endpoint.model.clone().unwrap_or_default();
    let own = std::env::current_exe().map_err(|fault| SystemFault::OwnProgram {
        reason: fault.to_string(),
    })?;
    let target = LiveTarget {
        api_key_env: endpoint.api_key_env.clone(),
        base_url: url.to_owned(),
        context_window: endpoint.context_window,
        model: model.clone(),
        provider: endpoint.provider,
        redaction_key: app.redaction_key()?,
        slow_tool: vec![own.to_string_lossy().into_owned(), SLOW_TOOL.to_owned()],
        timeout_ms: endpoint.timeout.saturating_mul(1000),
    };
    let scratch = Scratch::unless(endpoint.keep)?;
    let store = match &scratch {
        None => app.open_store(Durability::Normal)?,
        Some(scratch) => Store::open(&scratch.0.join("runs.db"), Durability::Normal)?,
    };
    app.ready_state()?;
    let workspace = workspace(&app.live_folder()?)?;
    let mut told = |record: &LiveRecord| screen.note(&record_text(record));
    let report = runtime()?
        .block_on(run_live(
            &target,
            endpoint.runs.into(),
            &workspace,
            &app.environment,
            &store,
            &mut told,
        ))
        .map_err(CliError::from)?;
    if args.json {
        screen.out_json(&Document {
            endpoint: Endpoint {
                url,
                model: &model,
                provider: endpoint.provider.as_str(),
            },
            report: &report,
        })?;
    } else {
        let name = format!("{model} at {url} ({})", endpoint.provider.as_str());
        screen.out(&report_text(screen, &name, &report))?;
    }
    Ok(if report.holds() {
        Exit::OK
    } else if report.is_unavailable() {
        Exit::SETUP
    } else {
        Exit::FAILED
    })
}

impl From<LiveError> for CliError {
    fn from(fault: LiveError) -> Self {
        match fault {
            LiveError::Case(fault) => CorpusFault::LiveCase(fault).into(),
            LiveError::Driver(fault) => Self::Driver(fault),
            LiveError::Store(fault) => Self::Store(fault),
        }
    }
}

/// A folder for runs that nobody keeps; it goes when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn unless(kept: bool) -> Result<Option<Self>, CliError> {
        if kept {
            return Ok(None);
        }
        let name = random_run_id("monolith-live-")?;
        let folder = std::env::temp_dir().join(name.as_str());
        private_folder(&folder).map_err(|fault| SystemFault::CannotWrite {
            path: folder.clone(),
            reason: fault.to_string(),
        })?;
        Ok(Some(Self(folder)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is the system's to clean up.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The folder that the cases' tools see: always the same files.
fn workspace(folder: &Path) -> Result<PathBuf, CliError> {
    let write = |path: &Path, text: &str| {
        replace_own(path, text.as_bytes()).map_err(|fault| SystemFault::CannotWrite {
            path: path.to_owned(),
            reason: fault.to_string(),
        })
    };
    private_folder(folder).map_err(|fault| StateFault::StateFolder {
        path: folder.to_owned(),
        reason: fault.to_string(),
    })?;
    write(&folder.join("note.txt"), "The launch code word is heron.\n")?;
    let big = "It begins with a heron, and so does every line of it.\n".repeat(BIG_LINES);
    write(&folder.join("big.txt"), &big)?;
    Ok(folder.to_owned())
}

fn record_text(record: &LiveRecord) -> String {
    let time = seconds(record.elapsed_ms);
    let mut text = format!(
        "{:14}  {time:>9}  {}  {}",
        record.case, record.outcome, record.id
    );
    for detail in &record.detail {
        let _ = write!(text, "\n                {}", line(detail));
    }
    text
}

fn report_text(screen: Screen, name: &str, report: &LiveReport) -> String {
    let mut out = String::new();
    let ends = |row: &LiveRow| {
        let end = |(end, count): &(String, usize)| match count {
            1 => end.clone(),
            count => format!("{count} x {end}"),
        };
        let ends: Vec<String> = row.ends.iter().map(end).collect();
        ends.join(", ")
    };
    let width = report
        .table
        .iter()
        .map(|row| ends(row).chars().count())
        .max();
    let width = width.unwrap_or(0).max("end".len());
    let head = format!(
        "{:14}  reached  allowed  proven  {:width$}  longest",
        "case", "end"
    );
    let _ = writeln!(out, "{}", screen.paint_out(Style::Bold, &head));
    for row in &report.table {
        let cell =
            |count: usize, width: usize| format!("{:<width$}", format!("{count}/{}", row.runs));
        let style = |count: usize, text: &str| {
            if count == row.runs {
                screen.paint_out(Style::Good, text)
            } else {
                screen.paint_out(Style::Bad, text)
            }
        };
        let _ = writeln!(
            out,
            "{:14}  {}  {}  {}  {:width$}  {}",
            row.case,
            cell(row.reached, 7),
            style(row.allowed, &cell(row.allowed, 7)),
            style(row.proven, &cell(row.proven, 6)),
            ends(row),
            seconds(row.longest_ms),
        );
    }
    let _ = writeln!(out, "\n{}", server_text(name, &report.server));
    out.push_str(&metrics_text(&report.metrics));
    out
}

/// The row of a server: what people choose one by.
fn server_text(name: &str, server: &ServerTraits) -> String {
    let share = |share: Share| format!("{}/{}", share.held, share.of);
    let streaming = match server.streaming {
        Agreement::Unknown => "-",
        Agreement::Same => "same",
        Agreement::Different => "different",
    };
    let latency = server.latency_ms;
    let mut text = format!(
        "{}\n  required {}   none {}   arguments {}   streaming {streaming}   finish {}   usage {}   latency {} mean, {} p95\n",
        line(name),
        share(server.required),
        share(server.none),
        share(server.arguments),
        share(server.finish),
        share(server.usage),
        seconds(latency.mean_milli / 1000),
        seconds(latency.p95),
    );
    if !server.faults.is_empty() {
        let faults = server.faults.iter();
        let faults = faults.map(|(class, count)| format!("{} {count}", class.as_str()));
        let _ = writeln!(text, "  faults: {}", faults.collect::<Vec<_>>().join(", "));
    }
    text
}
