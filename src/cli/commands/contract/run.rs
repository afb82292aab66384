//! `monolith contract`: checks, shows and hashes the contract that a file gives. Begins no run.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;

use super::args::{ContractArgs, ContractCheckArgs, ContractCommand};
use super::pin::pin;
use super::preview::{report_gaps, report_server, report_warnings};
use super::workflow::check_workflow;
use crate::context::app::App;
use crate::context::fault::show_error;
use crate::context::reach::variables;
use crate::context::runtime::runtime;
use crate::context::trust::listed_whole;
use crate::context::trust::trusting;
use crate::ui::screen::Style;
use monolith_core::contract::{
    ContractSpec, ExecutionContract, contract_file_schema, pins_schema, work_file_schema,
    workflow_file_schema,
};
use monolith_core::kernel::CheckName;
use monolith_core::message::AgentMessage;
use monolith_host::driver::{Preview, Unmatched};
use monolith_host::telemetry::{ExitTag, LogLine, Severity};
use monolith_service::check::contract::{self, CheckRefused, ContractCheck, ContractRequest};
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::{line, text};
use monolith_service::text::numbers::counted;

/// `monolith contract`.
pub(crate) fn contract(app: &App, command: &ContractCommand) -> Result<Exit, ServiceError> {
    match command {
        ContractCommand::Check(args) => check(app, args),
        ContractCommand::Show(args) => {
            let preview = preview(app, &args.contract, "contract show FILE")?;
            report_gaps(app, &preview);
            for sent in variables(&preview.reach) {
                app.screen.write_err(&format!("note: {sent}\n"));
            }
            if args.json || !(args.yaml || app.screen.is_shown()) {
                let document = preview.contract.canonical_text();
                app.screen.out_json_text(&format!("{document}\n"))?;
            } else {
                app.screen.out(&readable(&preview.contract)?)?;
            }
            Ok(Exit::OK)
        }
        ContractCommand::Hash(args) => {
            let preview = preview(app, args, "contract hash FILE")?;
            if let Some(fault) = preview.tokenizer_fault {
                return Err(ContractFault::NoTokenizer { fault }.into());
            }
            report_gaps(app, &preview);
            app.screen
                .out_whole(&format!("{}\n", preview.contract.contract_hash()))?;
            Ok(Exit::OK)
        }
        ContractCommand::Pin(args) => pin(app, args),
        ContractCommand::Schema(args) => {
            let schema = if args.pins {
                pins_schema()
            } else if args.workflow {
                workflow_file_schema()
            } else if args.work {
                work_file_schema()
            } else {
                contract_file_schema()
            };
            // With line feeds, so that it can be kept as a file beside contracts.
            let schema = format!("{schema:#}\n");
            app.screen.out_json_text(&schema)?;
            Ok(Exit::OK)
        }
    }
}

/// The contract as YAML, for people. What a schema says stands in `monolith tools`.
fn readable(contract: &ExecutionContract) -> Result<String, ServiceError> {
    let mut document: Value =
        serde_json::from_str(&contract.canonical_text()).map_err(io::Error::from)?;
    let tools = document.get_mut("tools").and_then(Value::as_array_mut);
    for tool in tools.into_iter().flatten() {
        let Some(schema) = tool.get_mut("input_schema") else {
            continue;
        };
        let names = schema.get("properties").and_then(Value::as_object);
        let names = names.map(|names| names.keys().cloned().collect::<Vec<_>>());
        *schema = format!("of {}", names.unwrap_or_default().join(", ")).into();
    }
    let yaml = serde_saphyr::to_string(&document).map_err(io::Error::other)?;
    Ok(text(&yaml))
}

fn request_of(args: &ContractArgs, with_file: &'static str) -> ContractRequest {
    ContractRequest {
        file: args.file.clone(),
        sets: args.sets.clone(),
        start_servers: args.start_servers,
        with_file,
    }
}

/// Previews the named file, or the folder's default one; if there is neither, `with_file` is the command to type.
fn preview(
    app: &App,
    args: &ContractArgs,
    with_file: &'static str,
) -> Result<Preview, ServiceError> {
    let request = request_of(args, with_file);
    let runtime = runtime()?;
    trusting(app, || runtime.block_on(contract::contract(app, &request)))
}

/// Returns the failures that `contract check` would find in a file with these contents, in the order of the checks. Starts no
/// server.
pub(crate) fn judge(
    app: &App,
    file: &ContractFile,
    spec: ContractSpec,
) -> Result<Vec<(CheckName, String)>, ServiceError> {
    runtime()?.block_on(contract::judge(app, file, spec))
}

/// Returns the failures of a contract's terms alone, whatever models and servers exist. Starts nothing.
pub(crate) fn judge_terms(
    app: &App,
    file: &ContractFile,
    spec: ContractSpec,
) -> Result<Vec<String>, ServiceError> {
    runtime()?.block_on(contract::judge_terms(app, file, spec))
}

fn check(app: &App, args: &ContractCheckArgs) -> Result<Exit, ServiceError> {
    let request = request_of(&args.contract, "contract check FILE");
    let file = request.contract_file(app);
    if request.file.is_some() && file.is_workflow() {
        return check_workflow(app, &file, &args.contract, args.json);
    }
    let runtime = runtime()?;
    let check = || runtime.block_on(contract::check(app, &request));
    let checked = match check() {
        Err(refused) if refused.needs_trust() => match app.read_contract(&file) {
            Ok(_) => check(),
            Err(fault) => Err(fault.into()),
        },
        checked => checked,
    };
    report_check(app, &file, checked, args.json)
}

/// Prints the verdict of a dry run on a file that was read: that of `contract check --start-servers`, plus the keys that a run
/// needs, the conversation that it begins with, and those other errors.
pub(crate) fn check_file(
    app: &App,
    file: &ContractFile,
    read: (&ContractSpec, Vec<AgentMessage>, Vec<ServiceError>),
    json: bool,
) -> Result<Exit, ServiceError> {
    let checked = runtime()?.block_on(contract::check_of_run(app, file, read));
    let exit = report_check(app, file, checked, json)?;
    if exit.0 == 0 && app.accounting.verbose {
        let tag = format!("{} fatal=false: no model was asked", ExitTag::DryRun);
        let tag = app.screen.paint_log(&LogLine::new(Severity::Verbose, tag));
        app.screen.write_err(&format!("{tag}\n"));
    }
    Ok(exit)
}

fn report_check(
    app: &App,
    file: &ContractFile,
    checked: Result<ContractCheck, Box<CheckRefused>>,
    json: bool,
) -> Result<Exit, ServiceError> {
    let check = match checked {
        Ok(check) => check,
        Err(refused) => {
            if json {
                app.screen.out_json(&refused.report())?;
            } else {
                for other in &refused.others {
                    show_error(app.screen, other);
                }
            }
            return Err(refused.fault);
        }
    };
    let ContractCheck {
        preview,
        report,
        unmet,
    } = &check;
    if json {
        app.screen.out_json(report)?;
        return Ok(Exit(report.exit_code));
    }
    let mut out = String::new();
    for one in &report.checks {
        let (verdict, detail) = match one.ok {
            Some(true) => (
                app.screen.paint_out(Style::Good, "ok    "),
                one.detail.clone(),
            ),
            None => ("?     ".to_owned(), one.detail.clone()),
            Some(false) => (
                app.screen.paint_out(Style::Bad, "FAILED"),
                line(&one.detail),
            ),
        };
        let _ = writeln!(out, "{verdict}  {detail}");
        if one.ok == Some(false) {
            let places = check.places(file, one.name);
            push_places(&mut out, &places);
        }
    }
    out.push_str("later   whether a model answers: a run asks it at its start\n");
    for below in &report.checks_below {
        let verdict = app.screen.paint_out(Style::Bad, "FAILED");
        let (of, detail) = (line(&below.file), line(&below.detail));
        let _ = writeln!(out, "{verdict}  {of}: {detail}");
        push_places(&mut out, &below.places);
    }
    let contract = &preview.contract;
    let offered = contract.exposed_tools().count();
    let _ = writeln!(
        out,
        "{}, {}, {}\nhash {}",
        line(contract.contract_id()),
        counted(contract.targets.len(), "target"),
        tools_text(offered, &preview.not_started),
        contract.contract_hash()
    );
    out.push_str(&listed_whole(app, &preview.reach, &report.agents_below));
    app.screen.out(&out)?;
    report_warnings(app, &report.warnings);
    for unsent in &report.unsent {
        app.screen.write_err(&format!(
            "note: targets.{}: not sent, the protocol has no place for it: {}\n",
            unsent.target,
            unsent.keys.join(", ")
        ));
    }
    for Unmatched { place } in &preview.unmatched {
        app.screen.write_err(&format!(
            "note: {}: its value is too short or too plain to be told from ordinary text; it is not redacted\n",
            line(place)
        ));
    }
    report_gaps(app, preview);
    for below in &report.server_faults_below {
        let fault = (below.server.as_str(), below.detail.as_str());
        report_server(app, Some(&below.file), fault, below.is_up);
    }
    for fault in unmet {
        show_error(app.screen, fault);
    }
    Ok(Exit(report.exit_code))
}

/// Adds where the author wrote what a check is about.
fn push_places(out: &mut String, places: &[String]) {
    for place in places {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "        at {}", line(place));
    }
}

/// Describes how many tools are known, and whose are not.
fn tools_text(offered: usize, not_started: &[String]) -> String {
    if not_started.is_empty() {
        return counted(offered, "tool");
    }
    let servers = line(&not_started.join(", "));
    let rest = format!("those of tool servers that were not started ({servers})");
    match offered {
        0 => rest,
        offered => format!("{} and {rest}", counted(offered, "tool")),
    }
}
