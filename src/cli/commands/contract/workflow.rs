//! `monolith contract check` of a workflow's file: the file, and each step that it would run.

use std::fmt::Write as _;

use serde::Serialize;

use super::args::ContractArgs;
use super::refused::refuse_file;
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::ui::screen::Style;
use monolith_core::message::Digest;
use monolith_host::driver::ServersToStart;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::workflow::check::{CheckedStep, checked_steps};
use monolith_service::workflow::options::as_written;

/// What `monolith contract check --json` prints of a workflow's file.
#[derive(Serialize)]
struct WorkflowReport {
    /// Whether every step could be run, as far as it is known.
    ok: bool,
    exit_code: u8,
    workflow: String,
    definition_hash: Digest,
    steps: Vec<CheckedStep>,
}

/// Checks a workflow's file, and each step that it would run.
pub(super) fn check_workflow(
    app: &App,
    file: &ContractFile,
    args: &ContractArgs,
    json: bool,
) -> Result<Exit, ServiceError> {
    let name = file.name().display().to_string();
    as_written(&name, args.sets.iter().map(|set| format!("--set {set}")))?;
    let read = || {
        let spec = file.read_workflow(app)?;
        if args.start_servers {
            app.judge_workflow(file, &spec)?;
        }
        Ok(spec)
    };
    let spec = match read() {
        Ok(spec) => spec,
        Err(fault) => return refuse_file(app, fault, json),
    };
    let servers = if args.start_servers {
        ServersToStart::All
    } else {
        ServersToStart::Builtin
    };
    let steps = runtime()?.block_on(checked_steps(app, file, &spec, servers));
    let ok = steps.iter().all(|step| step.faults.is_empty());
    let exit = if ok { Exit::OK } else { Exit::USAGE };
    let definition = &spec.definition;
    let report = WorkflowReport {
        ok,
        exit_code: exit.0,
        workflow: definition.id.to_string(),
        definition_hash: definition.definition_hash(),
        steps,
    };
    if json {
        app.screen.out_json(&report)?;
        return Ok(exit);
    }
    let mut out = String::new();
    for step in &report.steps {
        let verdict = if step.faults.is_empty() {
            app.screen.paint_out(Style::Good, "ok    ")
        } else {
            app.screen.paint_out(Style::Bad, "FAILED")
        };
        let what = match &step.tool {
            Some(tool) => format!("{} {}", step.kind, line(tool)),
            None => step.kind.to_owned(),
        };
        let unknown = if step.not_started.is_empty() {
            String::new()
        } else {
            let servers = line(&step.not_started.join(", "));
            format!(", the tools of {servers} are not known (--start-servers)")
        };
        let _ = writeln!(
            out,
            "{verdict}  step {}: {what}, {}{unknown}",
            step.step,
            line(&step.file)
        );
        for fault in &step.faults {
            let _ = writeln!(out, "        {}", line(fault));
        }
    }
    let _ = writeln!(
        out,
        "workflow {}, {} in the file\nhash {}",
        report.workflow,
        counted(definition.all_steps().len(), "step"),
        report.definition_hash
    );
    app.screen.out(&out)?;
    Ok(exit)
}
