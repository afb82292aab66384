//! `monolith run`: begins a run under a contract file, and drives it to its end.

use crate::commands::drive::Watched;
use monolith_service::drive::ended::Broken;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::follower::Follower;
use monolith_service::drive::run::Start;
use std::io::{self, Read as _};
use std::mem::take;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{AgentArgs, RunArgs};
use crate::commands::agent::note_left_out;
use crate::commands::contract::{check_file, refuse_file};
use crate::commands::drive::{
    NamedContract, RunInput, is_piped_task, leaves_piped_input, piped_task, task_of,
};
use crate::commands::drive::{drive_job, keepable, offer_models, report, unkeepable};
use crate::commands::many;
use crate::commands::workflow::{WorkflowJob, run_workflow};
use crate::context::app::App;
use monolith_core::contract::{ContractSpec, FactoryError, check_input};
use monolith_core::message::AgentMessage;
use monolith_host::driver::DriverError;
use monolith_host::store::open_given;
use monolith_host::telemetry::{MOST_SAVED_BYTES, saved_conversation};
use monolith_service::agents::{AUTO, Agents, agent_id, select};
use monolith_service::as_typed::as_typed;
use monolith_service::contract_file::ContractFile;
use monolith_service::contract_file::agent::ChosenAgent;
use monolith_service::error::ServiceError;
use monolith_service::error::agent::AgentFault;
use monolith_service::error::input::{InputFault, TextSource};
use monolith_service::exit::Exit;
use monolith_service::many::{Inputs, Terms};
use monolith_service::text::command::typed_word;
use monolith_service::text::escape::line;
use monolith_service::workflow::check::{as_written, refuse_options};

/// `monolith run`.
pub(crate) fn run(app: &App, mut args: RunArgs) -> Result<Exit, ServiceError> {
    args.sets.extend(take(&mut args.knobs).into_sets());
    if let Some(contracts) = args.contracts.take() {
        return run_many(app, args, &contracts);
    }
    args.limits.refused_unless("--contracts")?;
    agent_file(app, &mut args);
    let json = args.json;
    if let Some(file) = workflow_named(app, &args) {
        return workflow(app, &file, args);
    }
    if args.agent.dry_run {
        return dry_run(app, args);
    }
    report(app, json, run_to_its_end(app, args))
}

/// Takes a file that `--agent` names as the contract, as ai-agent does (001 §5). The file has the system prompt, so
/// monolith ignores the first of two texts, with a note.
fn agent_file(app: &App, args: &mut RunArgs) {
    let path = args.agent.agent.as_ref().map(PathBuf::from);
    let is_file = |path: &PathBuf| ContractFile::given(app, path.clone(), Vec::new()).is_agent();
    let Some(path) = path.filter(is_file) else {
        return;
    };
    if args.given.len() > 1 {
        args.given.remove(0);
        if !app.accounting.quiet {
            let name = line(&path.display().to_string());
            app.screen.write_err(&format!(
                "note: the first text is not used: {name} has the system prompt\n"
            ));
        }
    }
    args.agent.agent = None;
    args.contract = Some(path);
}

/// The file that the arguments name, where it is a workflow's.
fn workflow_named(app: &App, args: &RunArgs) -> Option<ContractFile> {
    let first = || args.given.first().map(PathBuf::from);
    let path = args.contract.clone().or_else(first)?;
    if args.agent.agent.is_some() || !app.cwd.join(&path).is_file() {
        return None;
    }
    let file = ContractFile::given(app, path, Vec::new());
    file.is_workflow().then_some(file)
}

/// `monolith run` of a workflow: the task is its input.
fn workflow(app: &App, file: &ContractFile, mut args: RunArgs) -> Result<Exit, ServiceError> {
    let name = file.name().display().to_string();
    let front = args.agent.front.sets();
    as_written(
        &name,
        args.sets.iter().chain(&front).map(|set| as_typed(set)),
    )?;
    if args.agent.dry_run {
        let why = "each of its steps is a separate run";
        let help = Some("monolith contract check FILE judges the file and each step");
        return Err(InputFault::of_a_run("--dry-run", &name, why, help).into());
    }
    if args.load.is_some() {
        let why = "each of its steps has a separate conversation";
        return Err(InputFault::of_a_run("--load", &name, why, None).into());
    }
    refuse_options(app.accounting.kept.save.is_some(), &name)?;
    let mut given = take(&mut args.given);
    if args.contract.is_none() && !given.is_empty() {
        given.remove(0);
    }
    let given_input = !given.is_empty() || args.task.is_some();
    let input = if given_input {
        RunInput::task_alone(app, given, args.task.take())?
    } else {
        None
    };
    let job = WorkflowJob {
        leaving: args.leaving,
        durability: args.recording.durability.into(),
        json: args.json,
    };
    run_workflow(app, file, input, args.run_id, job)
}

/// `monolith run --dry-run`: the findings that a run would report before it asks a model.
fn dry_run(app: &App, mut args: RunArgs) -> Result<Exit, ServiceError> {
    let json = args.json;
    match read_for_dry_run(app, &mut args) {
        Ok(read) => {
            if read.spec.task.is_none() && !app.accounting.quiet {
                app.screen
                    .write_err("note: no task given, so none was checked; a run needs one\n");
            }
            let begun = (&read.spec, read.saved, read.others);
            check_file(app, &read.file, begun, json)
        }
        Err(fault) => refuse_file(app, fault, json),
    }
}

/// The input of a dry run.
struct DryRun {
    file: ContractFile,
    /// Errors outside the file: the task, the saved conversation, files that are to be kept.
    others: Vec<ServiceError>,
    saved: Vec<AgentMessage>,
    spec: ContractSpec,
}

/// Reads the arguments.
fn read_for_dry_run(app: &App, args: &mut RunArgs) -> Result<DryRun, ServiceError> {
    let (mut file, task) = named(app, args)?;
    let mut spec = app.read_contract(&file)?;
    spec.task = task.or(spec.task);
    let mut others = Vec::new();
    let saved = args.load.as_deref().map(|path| loaded(app, path));
    let (saved, has_begun) = match saved.transpose() {
        Ok(saved) => {
            let saved = saved.unwrap_or_default();
            let has_begun = !saved.is_empty();
            (saved, has_begun)
        }
        Err(fault) => {
            others.push(fault);
            (Vec::new(), true)
        }
    };
    let is_blank = |task: &String| task.trim().is_empty();
    if spec.task.as_ref().is_some_and(is_blank) {
        others.push(DriverError::NoTask.into());
    }
    // What is said in a conversation that has begun is text.
    if let (Some(input), Some(task), false) = (&spec.input, &spec.task, has_begun) {
        let judged = check_input(input.schema.as_ref(), task);
        let fault = judged.map_err(|fault| DriverError::from(FactoryError::Input(fault)));
        others.extend(fault.err().map(ServiceError::from));
    }
    others.extend(unkeepable(app, spec.sessions_dir.as_deref()));
    others.extend(app.unusable_store());
    let spec = file.with_abilities(app, spec)?;
    Ok(DryRun {
        file,
        others,
        saved,
        spec,
    })
}

/// The conversation of a file.
fn loaded(app: &App, path: &Path) -> Result<Vec<AgentMessage>, ServiceError> {
    let refuse = |reason: String| InputFault::Saved {
        path: path.to_owned(),
        reason,
    };
    let read = || {
        let mut text = String::new();
        let file = open_given(&app.cwd.join(path))?;
        file.take(MOST_SAVED_BYTES).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|fault: io::Error| refuse(fault.to_string()))?;
    Ok(saved_conversation(&text).map_err(|fault| refuse(fault.to_string()))?)
}

/// The contract and the task that the arguments name; of an agent, the one that is chosen.
fn named(app: &App, args: &mut RunArgs) -> Result<(ContractFile, Option<String>), ServiceError> {
    let (given, sets) = (take(&mut args.given), take(&mut args.sets));
    if let Some(agent) = &args.agent.agent {
        let task = RunInput::task_alone(app, given, args.task.take())?;
        let (file, task) = chosen(app, agent, task, &args.agent, sets)?;
        return Ok((file, Some(task)));
    }
    let input = RunInput::of(app, given, args.contract.take(), args.task.take())?;
    let file = file_of(app, input.named, &args.agent, sets)?;
    Ok((file, input.task))
}

/// The agent of that id, or the one that the task is for.
fn chosen(
    app: &App,
    agent: &str,
    task: Option<String>,
    args: &AgentArgs,
    mut sets: Vec<String>,
) -> Result<(ContractFile, String), ServiceError> {
    let task = task.ok_or(AgentFault::NoTask)?;
    let agents = Agents::of(app)?;
    let chosen = if agent == AUTO {
        note_left_out(app, &agents);
        let registry = agents.registry();
        let selection = select(&task, &registry);
        let id = selection.best();
        let confidence = selection.scores.first().map(|score| score.confidence);
        if let Some(confidence) = confidence.filter(|_| !app.accounting.quiet) {
            let note = format!("note: agent {id}, confidence {confidence}\n");
            app.screen.write_err(&note);
        }
        let selection = Some(selection.recorded(&registry));
        ChosenAgent { id, selection }
    } else {
        ChosenAgent {
            id: agent_id(agent)?,
            selection: None,
        }
    };
    sets.extend(args.front.sets());
    Ok((agents.contract_file(app, &chosen, sets)?, task))
}

/// The contract that the arguments name, with what they change of it.
fn file_of(
    app: &App,
    named: NamedContract,
    agent: &AgentArgs,
    mut sets: Vec<String>,
) -> Result<ContractFile, ServiceError> {
    sets.extend(agent.front.sets());
    let file = match named {
        NamedContract::File(path) => ContractFile::given_or_found(app, path, sets),
        NamedContract::Prompt(system) => ContractFile::prompt(app, system, sets),
    };
    agent.front.are_for(&file)?;
    Ok(file)
}

/// `monolith run --contracts`.
fn run_many(app: &App, args: RunArgs, contracts: &Path) -> Result<Exit, ServiceError> {
    let again = words_again(&args, contracts);
    let is_piped = contracts == Path::new("-");
    if is_piped && args.task.as_deref().is_some_and(is_piped_task) {
        let from = TextSource::Stdin;
        let reason = "the list of runs is read from there".to_owned();
        return Err(InputFault::Task { from, reason }.into());
    }
    let task = args.task.map(|task| task_of(app, task)).transpose()?;
    let from = args.from.as_deref();
    let inputs = if is_piped {
        Inputs::lines(io::stdin(), app.cwd.clone(), contracts, from)?
    } else {
        Inputs::of(app, contracts, from)?
    };
    let terms = Terms {
        durability: args.recording.durability.into(),
        grace: Duration::from_secs(args.leaving.grace),
        limits: args.limits.into(),
        service: app.service.clone(),
        sets: args.sets,
        surface: Box::new(app.clone()),
        task,
    };
    many::drive(app, terms, inputs, args.json, &again)
}

/// Returns the command words that run the list again as it was asked for, without its starting point.
fn words_again(args: &RunArgs, contracts: &Path) -> String {
    let mut words = vec!["run --contracts".to_owned()];
    words.push(typed_word(&contracts.display().to_string()));
    let task = args.task.iter().map(|task| ("--task", task));
    let sets = args.sets.iter().map(|set| ("--set", set));
    for (option, value) in sets.chain(task) {
        words.push(format!("{option} {}", typed_word(value)));
    }
    for (option, limit) in args.limits.named() {
        words.push(format!("{option} {limit}"));
    }
    words.join(" ")
}

fn run_to_its_end(app: &App, mut args: RunArgs) -> Result<Ended, Broken> {
    let (mut file, task) = named(app, &mut args)?;
    let mut spec = app.read_contract(&file)?;
    if task.is_some() {
        spec.task = task;
    } else if spec.task.is_some() && !app.accounting.quiet && leaves_piped_input() {
        let name = line(&file.name().display().to_string());
        app.screen.write_err(&format!(
            "note: standard input is ignored because the task is in {name}; --task - reads it from standard input\n"
        ));
    }
    if spec.task.is_none() {
        spec.task = piped_task()?;
    }
    let spec = file.with_abilities(app, spec)?;
    for clamped in spec.clamped.iter().filter(|_| !app.accounting.quiet) {
        let note = format!("note: {}\n", line(clamped));
        app.screen.write_err(&note);
    }
    let saved = args.load.as_deref().map(|path| loaded(app, path));
    let saved = saved.transpose()?.unwrap_or_default();
    keepable(app, spec.sessions_dir.as_deref())?;
    offer_models(app, &spec)?;
    let job = Start {
        spec,
        file,
        run_id: args.run_id,
        saved,
        durability: args.recording.durability.into(),
    };
    let live = Follower::accounting(
        app,
        Watched::of_app(app),
        job.spec.sessions_dir.as_deref(),
        job.durability,
    )?;
    drive_job(app, None, job, args.leaving, &live)
}
