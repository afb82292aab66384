//! `monolith replay` as recorded, and under another contract.

use super::args::ReplayArgs;
use super::render::{report_text, what_if_text};
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::trust::trusting;
use monolith_core::replay::ReplayReport;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::replay::{self, ReplayFile, WhatIfAnswer, WhatIfRequest};
use monolith_service::source::Source;

pub(super) use monolith_service::replay::evidence_flaw;

/// `monolith replay` without another mode: as it is recorded.
pub(super) fn replay(app: &App, args: &ReplayArgs) -> Result<Exit, ServiceError> {
    let report = replay::replay(app, &args.run, args.open)?;
    print(app, &report, args.json)
}

/// `monolith replay --set` and `--contract`.
pub(super) fn what_if(app: &App, args: ReplayArgs) -> Result<Exit, ServiceError> {
    let request = WhatIfRequest {
        contract: args.contract,
        run: args.run,
        sets: args.sets,
        start_servers: args.start_servers,
    };
    let runtime = runtime()?;
    let answer = trusting(app, || runtime.block_on(replay::what_if(app, &request)));
    let answer = answer.inspect_err(|_| {
        // Beside a change that no contract may have, what it was to change.
        for value in replay::recorded_values(app, &request).unwrap_or_default() {
            app.screen.write_err(&format!("note: {value}\n"));
        }
    })?;
    match &answer {
        WhatIfAnswer::Evidence(report) => return print(app, report, args.json),
        WhatIfAnswer::Judged { report, .. } if args.json => app.screen.out_json(report)?,
        WhatIfAnswer::Judged { recorded, report } => {
            let text = what_if_text(app.screen, report, recorded);
            app.screen.out(&text)?;
        }
    }
    Ok(answer.exit())
}

/// Shows a report.
pub(super) fn print(app: &App, report: &ReplayReport, json: bool) -> Result<Exit, ServiceError> {
    if json {
        app.screen.out_json(report)?;
    } else {
        app.screen.out(&report_text(app, report))?;
    }
    Ok(Exit::of_replay(report))
}

/// The contract file of a replay: the one that is named, else the one that the run was begun with. With `changed_then`, what was
/// changed of its values then is changed now too, before what is asked now.
pub(super) fn contract_file(
    app: &App,
    args: &ReplayArgs,
    source: &Source,
    changed_then: bool,
) -> Result<ContractFile, ServiceError> {
    let file = ReplayFile {
        changed_then,
        contract: args.contract.clone(),
        sets: args.sets.clone(),
    };
    replay::contract_file(app, &args.run, source, file)
}
