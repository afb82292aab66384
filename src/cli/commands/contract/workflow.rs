//! `monolith contract check` of a workflow's file: the file, and each step that it would run.

use std::fmt::Write as _;

use super::args::ContractArgs;
use super::preview::refuse_file;
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::trust::listed_whole;
use crate::ui::screen::Style;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::workflow::check;
use monolith_service::workflow::check::as_written;

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
    let checked = check::check_workflow(app, file, &spec, args.start_servers);
    let report = runtime()?.block_on(checked);
    let exit = Exit(report.exit_code);
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
        counted(report.steps_in_file, "step"),
        report.definition_hash
    );
    let own = report.reaches.clone().unwrap_or_default();
    out.push_str(&listed_whole(app, &own, &report.agents_below));
    app.screen.out(&out)?;
    Ok(exit)
}
