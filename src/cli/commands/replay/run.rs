//! `monolith replay`: chooses the kind of replay, and refuses changes that a recorded run says nothing of.

use super::args::ReplayArgs;
use super::{fork, live, recorded};
use crate::commands::drive::LeavingArgs;
use crate::commands::workflow::{WorkflowJob, fork_workflow};
use crate::commands::workflow::{replay_item, replay_workflow};
use crate::context::app::App;
use monolith_core::transcript::TranscriptKind;
use monolith_host::store::StoreError;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::replay::not_judged;
use monolith_service::source::Source;
use monolith_service::work_entries::WorkSource;
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
            return Err(StoreError::OtherKind {
                asked: TranscriptKind::Run,
                kind: TranscriptKind::Workflow,
                run_id,
            }
            .into());
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
    if let Ok(source) = WorkSource::of(app.source(&args.run)?)? {
        let other = args.task.is_some() || args.live.is_some() || args.contract.is_some();
        if other || args.fork_at.is_some() || !args.sets.is_empty() {
            return Err(StoreError::OtherKind {
                asked: TranscriptKind::Run,
                kind: TranscriptKind::Work,
                run_id: source.run_id,
            }
            .into());
        }
        return replay_item(app, source, &args.run, args.json);
    }
    if let Some(at) = args.fork_at {
        return fork::replay(app, args, at);
    }
    if let Some(live) = args.live {
        return live::replay(app, &args, live);
    }
    if args.contract.is_some() || !args.sets.is_empty() {
        return recorded::what_if(app, args);
    }
    recorded::replay(app, &args)
}
