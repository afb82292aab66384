//! The contract that a file results in, without running it, and warnings about it.

use tokio::runtime::Runtime;

use crate::context::app::App;
use crate::context::runtime::runtime;
use monolith_core::contract::ContractSpec;
use monolith_host::driver::{Preview, ServersToStart};
use monolith_host::telemetry::with_short_log;
use monolith_service::check::check_report::{CheckReport, is_up};
use monolith_service::check::preview::preview;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::{brief, line};

/// Previews a contract file.
pub(crate) fn preview_of(
    app: &App,
    file: &ContractFile,
    spec: ContractSpec,
    start_servers: bool,
) -> Result<Preview, ServiceError> {
    preview_on(&runtime()?, app, file, spec, start_servers)
}

/// The same on a runtime that others use, too.
pub(crate) fn preview_on(
    runtime: &Runtime,
    app: &App,
    file: &ContractFile,
    spec: ContractSpec,
    start_servers: bool,
) -> Result<Preview, ServiceError> {
    let servers = if start_servers {
        ServersToStart::All
    } else {
        ServersToStart::Builtin
    };
    runtime.block_on(preview(app, file, spec, Vec::new(), servers))
}

/// Prints warnings about terms that are hardly intended.
pub(crate) fn report_warnings(app: &App, warnings: &[String]) {
    for warning in warnings {
        app.screen
            .write_err(&format!("warning: {}\n", line(warning)));
    }
}

/// Says what is from elsewhere, and what the contract lacks: a run's contract will have it, and so another hash.
pub(crate) fn report_gaps(app: &App, preview: &Preview) {
    for clamped in &preview.clamped {
        app.screen.write_err(&format!("note: {}\n", line(clamped)));
    }
    for (path, origin) in &preview.origins {
        let (path, origin) = (line(path), line(&origin.to_string()));
        app.screen
            .write_err(&format!("note: {path} is from {origin}\n"));
    }
    if !preview.not_started.is_empty() {
        let servers = line(&preview.not_started.join(", "));
        let way = if preview.are_started {
            "they need variables that are not set"
        } else {
            "--start-servers pins them now"
        };
        let text = format!(
            "note: not started, so not pinned: {servers}; a run pins them, so its contract has another hash \
             ({way})\n"
        );
        app.screen.write_err(&text);
    }
    if let Some(fault) = &preview.tokenizer_fault {
        let fault = line(fault);
        app.screen.write_err(&format!(
            "note: {fault}; where that works, this file gives another contract, with another hash\n"
        ));
    }
    for fault in &preview.faults {
        let is_up = is_up(preview, fault);
        let detail = with_short_log(&fault.detail, "; --json has them");
        report_server(app, None, (&fault.server, &detail), is_up);
    }
}

/// Says what did not come up, or what is wrong with the tools of a server that did; `file` is the agent's where that is one below.
pub(super) fn report_server(
    app: &App,
    file: Option<&str>,
    (server, detail): (&str, &str),
    is_up: bool,
) {
    let of = file.map_or_else(String::new, |file| format!("{}: ", line(file)));
    let (server, detail) = (line(server), brief(detail, 2_000));
    let what = if is_up { "" } else { " did not come up" };
    app.screen
        .write_err(&format!("note: {of}{server}{what}: {detail}\n"));
}

/// Reports of a file that cannot be read what is wrong with it, as `contract check` does.
pub(crate) fn refuse_file(
    app: &App,
    fault: ServiceError,
    json: bool,
) -> Result<Exit, ServiceError> {
    if json {
        app.screen.out_json(&CheckReport::refused(&fault))?;
    }
    Err(fault)
}
