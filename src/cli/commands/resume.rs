use tokio_util::sync::CancellationToken;

use super::run::{Broken, Ended, drive_to_the_end, tell};
use crate::cli::args::ResumeArgs;
use crate::cli::contract_file::ContractFile;
use crate::cli::error::{CliError, ContractFault};
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::recorded::Source;
use crate::driver;
use crate::store::StoreError;

/// `monolith resume`.
pub(in crate::cli) fn resume(home: &Home, args: ResumeArgs) -> Result<Exit, CliError> {
    let json = args.json;
    tell(home, json, resume_to_its_end(home, args))
}

fn resume_to_its_end(home: &Home, args: ResumeArgs) -> Result<Ended, Broken> {
    // Found first, by who makes nothing: a store or a key is not made for a run that is not there.
    let Source::Run(run_id, mut reader) = home.run(&args.run)? else {
        let asked = args.run;
        return Err(CliError::from(StoreError::NoSuchRun { asked }).into());
    };
    let first = home.first_of(&run_id)?;
    if reader.read_run(&run_id)?.row().outcome.is_some() {
        // It has its result already.
        let (run, view) = Source::Run(run_id, reader).fold(first)?;
        return Ok(Ended::of(&run, &view));
    }
    drop(reader);
    let store = home.open_store(args.durability.into())?;
    let reopened = driver::reopen(&store, &run_id)?;
    let begun = reopened.invocation().cloned();
    let file = ContractFile::of_run(home, begun, args.contract, args.sets);
    let file = file.ok_or(ContractFault::NoContractFile { run_id })?;
    let request = file.request(home, file.read(home)?, home.redaction_key()?);
    let live = home.live(args.durability.into())?;
    if let Some(first) = first {
        live.originating_from(first);
    }
    live.recall(reopened.contract(), reopened.entries())?;
    let prepare =
        async |cancel: &CancellationToken| driver::prepare_resume(reopened, request, cancel).await;
    drive_to_the_end(&store, &live, args.leaving, prepare)
}
