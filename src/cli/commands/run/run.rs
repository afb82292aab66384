use super::args::RunArgs;
use crate::cli::commands::drive::{
    Broken, Ended, Job, Live, RunInput, drive_job, offer_models, piped_task, tell,
};
use crate::cli::context::app::Home;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;

/// `monolith run`.
pub(in crate::cli) fn run(home: &Home, args: RunArgs) -> Result<Exit, CliError> {
    let json = args.json;
    tell(home, json, run_to_its_end(home, args))
}

fn run_to_its_end(home: &Home, args: RunArgs) -> Result<Ended, Broken> {
    let input = RunInput::of(home, args.given, args.contract, args.task)?;
    let file = ContractFile::given(home, input.file, args.sets);
    let mut spec = file.read(home)?;
    if input.task.is_some() {
        spec.task = input.task;
    }
    if spec.task.is_none() {
        spec.task = piped_task()?;
    }
    offer_models(home, &spec)?;
    let job = Job {
        spec,
        file,
        run_id: args.run_id,
        durability: args.durability.into(),
        leaving: args.leaving,
    };
    let live = Live::accounting(home, job.durability)?;
    drive_job(home, job, &live)
}
