//! `monolith run`: begins a run under a contract file, and drives it to its end.

use super::args::RunArgs;
use crate::cli::commands::drive::{
    Broken, Ended, Job, Live, RunInput, drive_job, leaves_piped_input, offer_models, piped_task,
    report,
};
use crate::cli::context::app::App;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::ui::escape::line;

/// `monolith run`.
pub(in crate::cli) fn run(app: &App, args: RunArgs) -> Result<Exit, CliError> {
    let json = args.json;
    report(app, json, run_to_its_end(app, args))
}

fn run_to_its_end(app: &App, args: RunArgs) -> Result<Ended, Broken> {
    let input = RunInput::of(app, args.given, args.contract, args.task)?;
    let file = ContractFile::given_or_found(app, input.file, args.sets);
    let mut spec = file.read(app)?;
    for clamped in spec.clamped.iter().filter(|_| !app.accounting.quiet) {
        let note = format!("note: {}\n", line(clamped));
        app.screen.write_err(&note);
    }
    if input.task.is_some() {
        spec.task = input.task;
    } else if spec.task.is_some() && !app.accounting.quiet && leaves_piped_input() {
        let name = line(&file.name().display().to_string());
        app.screen.write_err(&format!(
            "note: standard input is not read: the task is in {name}; --task - takes the piped one\n"
        ));
    }
    if spec.task.is_none() {
        spec.task = piped_task()?;
    }
    offer_models(app, &spec)?;
    let job = Job {
        spec,
        file,
        run_id: args.run_id,
        durability: args.recording.durability.into(),
        leaving: args.leaving,
    };
    let live = Live::accounting(app, job.durability)?;
    drive_job(app, job, &live)
}
