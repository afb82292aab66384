//! `monolith replay --fork-at`: a new run from an entry of a recorded one; and where a continuation begins.

use crate::commands::drive::Watched;
use monolith_service::drive::ended::Broken;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::follower::Follower;

use super::args::ReplayArgs;
use super::recorded;
use crate::commands::drive::LeavingArgs;
use crate::commands::drive::{drive_to_the_end, report};
use crate::context::app::App;
use monolith_service::drive::fork::{ForkRun, fork, judge_fork};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

/// `monolith replay --fork-at`: a new run begins with the conversation as of after entry `at`.
pub(crate) fn replay(app: &App, args: ReplayArgs, at: u64) -> Result<Exit, ServiceError> {
    let json = args.json;
    report(app, json, forked(app, args, at))
}

fn forked(app: &App, args: ReplayArgs, at: u64) -> Result<Ended, Broken> {
    judge_fork(app, &args.run)?;
    let file = recorded::contract_file(app, &args, &app.source(&args.run)?, true)?;
    let durability = args.durability.into();
    let forked = ForkRun {
        at,
        durability,
        spec: app.read_contract(&file)?,
        file,
        run: args.run,
        run_id: args.run_id,
        task: args.task,
    };
    let live = Follower::accounting(app, Watched::of_app(app), None, durability)?;
    drive_to_the_end(None, &live, LeavingArgs::default(), async |conduct| {
        fork(app, forked, conduct).await
    })
}
