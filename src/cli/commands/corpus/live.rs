//! `monolith corpus run --live`: the cases that a real endpoint can show. Prepares folder and store; `conformance` judges.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::CorpusRunArgs;
use super::render::{live_text, record_text};
use crate::commands::internal::SLOW_TOOL;
use crate::context::app::App;
use crate::context::runtime::runtime;
use monolith_conformance::{LiveError, LiveRecord, LiveReport, LiveTarget, run_live};
use monolith_host::driver::random_run_id;
use monolith_host::store::{Durability, Store, private_folder, replace_own};
use monolith_service::error::ServiceError;
use monolith_service::error::corpus::CorpusFault;
use monolith_service::error::state::StateFault;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;

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
pub(crate) fn live(app: &App, url: &str, args: &CorpusRunArgs) -> Result<Exit, ServiceError> {
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
    let mut report = |record: &LiveRecord| screen.note(&record_text(record));
    let report = runtime()?
        .block_on(run_live(
            &target,
            endpoint.runs.into(),
            &workspace,
            &app.environment,
            &store,
            &mut report,
        ))
        .map_err(live_error)?;
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
        screen.out(&live_text(screen, &name, &report))?;
    }
    Ok(if report.holds() {
        Exit::OK
    } else if report.is_unavailable() {
        Exit::SETUP
    } else {
        Exit::FAILED
    })
}

fn live_error(error: LiveError) -> ServiceError {
    match error {
        LiveError::Case(error) => CorpusFault::LiveCase(error.to_string()).into(),
        LiveError::Driver(error) => error.into(),
        LiveError::Store(error) => error.into(),
    }
}

/// A folder for runs that are not kept; it is removed when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn unless(kept: bool) -> Result<Option<Self>, ServiceError> {
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
fn workspace(folder: &Path) -> Result<PathBuf, ServiceError> {
    let write = |path: &Path, text: &str| {
        replace_own(path, text.as_bytes()).map_err(|fault| SystemFault::CannotWrite {
            path: path.to_owned(),
            reason: fault.to_string(),
        })
    };
    private_folder(folder).map_err(|fault| StateFault::StateFolder {
        is_open: false,
        path: folder.to_owned(),
        reason: fault.to_string(),
    })?;
    write(&folder.join("note.txt"), "The launch code word is heron.\n")?;
    let big = "It begins with a heron, and so does every line of it.\n".repeat(BIG_LINES);
    write(&folder.join("big.txt"), &big)?;
    Ok(folder.to_owned())
}
