//! `monolith demo`: drives the built-in run, verifies and replays it. Its model is a script; all else is real.

use crate::commands::drive::Watched;
use monolith_service::drive::ended::Broken;
use monolith_service::drive::follower::Follower;
use monolith_service::drive::run::Start;
use std::path::PathBuf;

use super::args::{DemoAct, DemoArgs};
use super::render::{proof, what_next};
use super::tamper::tamper;
use crate::commands::drive::LeavingArgs;
use crate::commands::drive::{drive_job, report_end};
use crate::commands::verify;
use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_host::store::{Durability, private_folder, replace_own};
use monolith_service::contract_file::ContractFile;
use monolith_service::drive::typed_at::TypedAt;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::service::DEMO_PREFIX;

const CONTRACT: &str = "contracts/demo.yaml";

/// Files that the demo needs without this repository.
const FILES: [(&str, &str); 4] = [
    (CONTRACT, include_str!("../../../../contracts/demo.yaml")),
    (
        "contracts/demo.jsonl",
        include_str!("../../../../contracts/demo.jsonl"),
    ),
    ("LICENSE-APACHE", include_str!("../../../../LICENSE-APACHE")),
    ("LICENSE-MIT", include_str!("../../../../LICENSE-MIT")),
];

/// `monolith demo`.
pub(crate) fn demo(app: &App, args: &DemoArgs) -> Result<Exit, ServiceError> {
    match args.act {
        None => run(app),
        Some(DemoAct::Tamper) => tamper(app),
    }
}

fn run(app: &App) -> Result<Exit, ServiceError> {
    let run_id = demo_id()?;
    let folder = folder(app)?;
    let file = ContractFile::below(app, folder, CONTRACT);
    let spec = app.read_contract(&file)?;
    let task = spec.task.clone().unwrap_or_default();
    let job = Start {
        spec,
        file,
        run_id: Some(run_id.clone()),
        saved: Vec::new(),
        durability: Durability::Full,
    };
    app.screen
        .note("The model of this demo is a script; the tool calls, the proof and the transcript are real.");
    let driven = drive_job(
        app,
        None,
        job,
        LeavingArgs::default(),
        &Follower::new(Watched::new(app.screen)),
    );
    let ended = driven.map_err(|Broken { error, .. }| error)?;
    report_end(app, &ended, TypedAt::Shell);
    let exit = Exit(ended.result.exit_code);
    if exit != Exit::OK {
        return Ok(exit);
    }
    let answer = ended.result.report_text().trim_end_matches('\n');
    app.screen.out_foreign(&format!("\n> {task}\n{answer}\n"))?;
    let trust = app.trust(&[], &[], &[])?;
    let (verified, _) = verify::report_of(app.source(run_id.as_str())?, false, &trust)?;
    let replayed = app.source(run_id.as_str())?.replayed(false)?;
    app.screen.out(&proof(app, &ended, &verified, &replayed))?;
    for exit in [Exit::of_verify(&verified), Exit::of_replay(&replayed)] {
        if exit != Exit::OK {
            return Ok(exit);
        }
    }
    app.screen.out(&what_next(app, &run_id))?;
    Ok(exit)
}

/// Returns the folder that the demo runs in: the current folder if it is the repository, else one in the state folder. That one
/// stays, because resuming the run or starting another from it needs the contract again.
fn folder(app: &App) -> Result<PathBuf, ServiceError> {
    if FILES.iter().all(|(path, _)| app.cwd.join(path).is_file()) {
        return Ok(app.cwd.clone());
    }
    app.ready_state()?;
    let folder = app.demo_folder()?;
    for (path, text) in FILES {
        let path = folder.join(path);
        if std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            continue;
        }
        let refuse = |fault: std::io::Error| SystemFault::CannotWrite {
            path: path.clone(),
            reason: fault.to_string(),
        };
        private_folder(path.parent().unwrap_or(&folder)).map_err(refuse)?;
        // Another demo may be reading it: it is there whole, or not at all.
        replace_own(&path, text.as_bytes()).map_err(refuse)?;
    }
    Ok(folder)
}

fn demo_id() -> Result<RunId, ServiceError> {
    let refuse = |reason: String| SystemFault::Randomness { reason };
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).map_err(|fault| refuse(fault.to_string()))?;
    let text = format!("{DEMO_PREFIX}{:08x}", u32::from_be_bytes(bytes));
    Ok(RunId::try_from(text).map_err(|fault| refuse(fault.to_string()))?)
}
