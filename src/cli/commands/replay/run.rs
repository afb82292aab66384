//! `monolith replay`: chooses the kind of replay, and refuses changes that a recorded run says nothing of.

use super::args::ReplayArgs;
use super::{fork, live, recorded, what_if};
use crate::commands::drive::LeavingArgs;
use crate::commands::workflow::replay_workflow;
use crate::commands::workflow::{WorkflowJob, fork_workflow};
use crate::context::app::App;
use monolith_host::store::StoreError;
use monolith_service::error::ServiceError;
use monolith_service::error::input::InputFault;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::source::Source;
use monolith_service::workflow_entries::WorkflowSource;

/// `monolith replay`, in the mode that its arguments name.
pub(crate) fn replay(app: &App, args: ReplayArgs) -> Result<Exit, ServiceError> {
    if let Some(fault) = args.sets.iter().find_map(|set| not_judged(set)) {
        return Err(fault.into());
    }
    if let Ok(source) = WorkflowSource::of(app.source(&args.run)?)? {
        let other = args.task.is_some() || args.live.is_some() || args.contract.is_some();
        if other || !args.sets.is_empty() {
            let run_id = source.run_id;
            return Err(StoreError::IsWorkflow { run_id }.into());
        }
        if let Some(at) = args.fork_at {
            let run_id = match source.into_source() {
                Source::Run(run_id, _) => run_id,
                Source::File(path) => {
                    return Err(TranscriptFault::FileInsteadOfRun { path }.into());
                }
            };
            let job = WorkflowJob {
                durability: args.durability.into(),
                json: args.json,
                leaving: LeavingArgs::default(),
            };
            return fork_workflow(app, &run_id, at, args.run_id.as_ref(), job);
        }
        return replay_workflow(app, source, &args.run, args.json);
    }
    if let Some(at) = args.fork_at {
        return fork::replay(app, args, at);
    }
    if let Some(live) = args.live {
        return live::replay(app, &args, live);
    }
    if args.contract.is_some() || !args.sets.is_empty() {
        return what_if::replay(app, &args);
    }
    recorded::replay(app, &args)
}

/// Why a change of a run's contract says nothing of that run, if it does not: it is no part of the contract, and what was recorded
/// came about without it.
fn not_judged(set: &str) -> Option<InputFault> {
    let path = set.split_once('=').map_or(set, |(path, _)| path).trim();
    let (why, help) = if path == "task" {
        (
            "the recorded answers are answers to the recorded task",
            "ask anew: monolith run FILE --task TEXT; go on from the run: monolith continue RUN TEXT",
        )
    } else if path == "tools.workspace" {
        (
            "the recorded results of tools are of the recorded folder",
            "ask anew in the other folder: monolith run FILE --set tools.workspace=DIR",
        )
    } else if path.starts_with("providers.") && path.ends_with(".api_key_env") {
        (
            "the recorded answers came with the recorded key",
            "ask anew with the other key: monolith run FILE",
        )
    } else {
        return None;
    };
    let key = path.to_owned();
    Some(InputFault::NotJudged { key, why, help })
}
