use tokio_util::sync::CancellationToken;

use super::run::{Broken, Ended, drive_to_the_end, read_spec, tell};
use crate::cli::args::ResumeArgs;
use crate::cli::error::{CliError, ContractFault};
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::known;
use crate::cli::recorded::Source;
use crate::driver::{self, RunRequest};
use crate::store::StoreError;

/// `monolith resume`.
pub(in crate::cli) fn resume(home: &Home, args: ResumeArgs) -> Result<Exit, CliError> {
    let json = args.json;
    tell(home, json, resume_to_its_end(home, args))
}

fn resume_to_its_end(home: &Home, args: ResumeArgs) -> Result<Ended, Broken> {
    // Found first, by who makes nothing: a store or a key is not made for a run that is not there.
    let Source::Run(run_id, reader) = home.run(&args.run)? else {
        let asked = args.run;
        return Err(CliError::from(StoreError::NoSuchRun { asked }).into());
    };
    drop(reader);
    let first = home.first_of(&run_id)?;
    let store = home.open_store(args.durability.into())?;
    let reopened = driver::reopen(&store, &run_id)?;
    let begun = reopened.invocation().cloned();
    // The layers are looked for where they were then; a file that is named now comes before the one that was.
    let config = begun.as_ref().and_then(|begun| begun.config.clone());
    let config = home.named_config().or(config);
    let (base_dir, recorded, mut sets) = match begun {
        Some(begun) => (begun.base_dir, Some(begun.contract_file), begun.sets),
        None => (home.cwd.clone(), None, Vec::new()),
    };
    let file = args.contract.or(recorded);
    let file = file.ok_or(ContractFault::NoContractFile { run_id })?;
    sets.extend(args.sets);
    let path = home.cwd.join(&file);
    let spec = read_spec(home, (&file, &path), &sets, (&base_dir, config))?;
    known::learn(&spec, &home.environment);
    let request = RunRequest {
        spec,
        contract_dir: path.parent().unwrap_or(&home.cwd).to_owned(),
        base_dir,
        environment: home.environment.clone(),
        redaction_key: home.redaction_key()?,
        invocation: None,
        run_id: None,
    };
    let live = home.live(args.durability.into())?;
    if let Some(first) = first {
        live.originating_from(first);
    }
    live.recall(reopened.contract(), reopened.entries())?;
    let prepare =
        async |cancel: &CancellationToken| driver::prepare_resume(reopened, request, cancel).await;
    drive_to_the_end(&store, &live, prepare)
}
