use tokio_util::sync::CancellationToken;

use super::offer::offer_models;
use super::replay_fork::fork_point;
use super::run::{Broken, Ended, drive_to_the_end, tell};
use super::run_input::{argument, piped_task, task_of};
use crate::cli::args::{ContinueArgs, LeavingArgs};
use crate::cli::contract_file::ContractFile;
use crate::cli::error::{CliError, ContractFault, InputFault};
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::recorded::Source;
use crate::driver::{self, Continuation};
use crate::message::RunId;
use crate::replay::Fork;
use crate::store::Durability;

/// A run that is to go on from the end of another one.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) durability: Durability,
    pub(super) file: ContractFile,
    pub(super) leaving: LeavingArgs,
    pub(super) message: String,
    /// The name of the other run, in full.
    pub(super) run: String,
    pub(super) run_id: Option<RunId>,
    /// Whether the file must give the contract of the other run.
    pub(super) same_contract: bool,
}

/// `monolith continue`.
pub(in crate::cli) fn continue_run(home: &Home, args: ContinueArgs) -> Result<Exit, CliError> {
    let json = args.json;
    tell(home, json, continued(home, args))
}

fn continued(home: &Home, args: ContinueArgs) -> Result<Ended, Broken> {
    let run = home.settled(&args.run)?;
    let same_contract = args.contract.is_none();
    let begun = match home.source(&run)? {
        Source::Run(run_id, reader) => reader.invocation(&run_id)?,
        Source::File(_) => None,
    };
    let file = ContractFile::of_run(home, begun, args.contract, args.sets);
    let file = file.ok_or(ContractFault::NoFileOfRun { asked: args.run })?;
    let message = match (args.message, args.task) {
        (Some(message), _) => Some(argument(message)?),
        (None, Some(task)) => Some(task_of(home, task)?),
        (None, None) => piped_task()?,
    };
    let message = message.filter(|message| !message.trim().is_empty());
    let next = Next {
        durability: args.durability.into(),
        file,
        leaving: args.leaving,
        message: message.ok_or(InputFault::NoMessage)?,
        run,
        run_id: args.run_id,
        same_contract,
    };
    drive_next(home, next)
}

/// Begins the run that goes on from the other one, and brings it to its end.
pub(super) fn drive_next(home: &Home, next: Next) -> Result<Ended, Broken> {
    let (contract, point, first) = fork_point(home, &next.run, Fork::at_end)?;
    let spec = next.file.read(home)?;
    offer_models(home, &spec)?;
    let mut request = next.file.request(home, spec, home.redaction_key()?);
    request.run_id = next.run_id;
    request.invocation = Some(next.file.invocation());
    let continuation = Continuation {
        contract,
        message: next.message,
        point,
        same_contract: next.same_contract,
    };
    let store = home.open_store(next.durability)?;
    let live = home.live(next.durability)?;
    if let Some(first) = first {
        live.originating_from(first);
    }
    let prepare = async |cancel: &CancellationToken| {
        driver::prepare_continuation(continuation, request, cancel).await
    };
    drive_to_the_end(&store, &live, next.leaving, prepare)
}
