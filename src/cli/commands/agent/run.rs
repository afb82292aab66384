//! `monolith agent`: changes the registry, and asks it.

use std::path::PathBuf;

use super::args::{AddAgentArgs, AgentCommand, SelectAgentArgs};
use super::render;
use crate::commands::contract::judge_terms;
use crate::commands::drive::argument;
use crate::context::app::App;
use monolith_core::contract::{AgentProfile, agent_profile_schema};
use monolith_service::agents::{Agents, ProfileNow, agent_id, select};
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::agent::AgentFault;
use monolith_service::exit::Exit;
use monolith_service::text::command::typed_word;
use monolith_service::text::escape::line;

/// A stand-in for the models that a profile leaves to each run. It is never called.
const STAND_IN: [&str; 2] = [
    "providers.stand-in={type: openai, base_url: 'http://127.0.0.1:9/v1'}",
    "targets=[{provider: stand-in, model: stand-in, context_window: 131072}]",
];

/// `monolith agent`.
pub(crate) fn agent(app: &App, command: AgentCommand) -> Result<Exit, ServiceError> {
    match command {
        AgentCommand::List(args) => {
            let agents = Agents::of(app)?;
            if args.json {
                app.screen.out_json(&render::document(&agents))?;
            } else {
                app.screen.out(&render::listed(&agents))?;
            }
        }
        AgentCommand::Show(args) => {
            let id = agent_id(&args.id)?;
            let agents = Agents::of(app)?;
            let shown = render::shown(&agents, &id).ok_or_else(|| agents.unknown(&id))?;
            app.screen.out_json_text(&format!("{shown:#}\n"))?;
        }
        AgentCommand::Validate(args) => {
            let (_, profile) = read(app, args.file)?;
            let text = format!("valid: {} {}\n", profile.id, line(&profile.version));
            app.screen.out(&text)?;
        }
        AgentCommand::Add(args) => add(app, args)?,
        AgentCommand::Remove(args) => {
            let id = agent_id(&args.id)?;
            Agents::of(app)?.remove(&id)?;
            app.screen.out(&format!("removed: {id}\n"))?;
        }
        AgentCommand::Select(args) => selected(app, args)?,
        AgentCommand::Schema => app
            .screen
            .out_json_text(&format!("{:#}\n", agent_profile_schema()))?,
    }
    Ok(Exit::OK)
}

fn add(app: &App, args: AddAgentArgs) -> Result<(), ServiceError> {
    let (path, profile) = read(app, args.file)?;
    Agents::of(app)?.add(app, (&path, &profile), args.update)?;
    let done = if args.update { "updated" } else { "added" };
    let version = line(&profile.version);
    let digest = profile.digest.short(12);
    let text = format!("{done}: {} {version} ({digest})\n", profile.id);
    Ok(app.screen.out(&text)?)
}

/// The profile of a file, valid as a whole (INV-AGT-001).
fn read(app: &App, file: PathBuf) -> Result<(PathBuf, AgentProfile), ServiceError> {
    let path = app.cwd.join(&file);
    let profile = ContractFile::given(app, file.clone(), Vec::new()).profile(app)?;
    if profile.enabled {
        judge_contract(app, file)?;
    }
    Ok((path, profile))
}

/// Refuses a profile under which every run would end before it asks a model. Models and servers are those of the machine that runs it, so
/// what is wrong with them is for the run.
fn judge_contract(app: &App, path: PathBuf) -> Result<(), ServiceError> {
    let mut file = ContractFile::given(app, path.clone(), Vec::new());
    let spec = file.read_to_look(app).or_else(|fault| {
        let sets = STAND_IN.map(str::to_owned).to_vec();
        file = ContractFile::given(app, path.clone(), sets);
        file.read_to_look(app).map_err(|_| fault)
    })?;
    let failed = judge_terms(app, &file, spec)?;
    match failed.into_iter().next() {
        Some(reason) => Err(AgentFault::NoRun { path, reason }.into()),
        None => Ok(()),
    }
}

fn selected(app: &App, args: SelectAgentArgs) -> Result<(), ServiceError> {
    let task = argument(app, args.task)?;
    let agents = Agents::of(app)?;
    note_left_out(app, &agents);
    let selection = select(&task, &agents.registry());
    if args.json {
        app.screen
            .out_json(&render::selection_document(&selection))?;
    } else {
        app.screen
            .out(&render::selected(&selection, args.explain))?;
    }
    Ok(())
}

/// Names the agents that could not be considered.
pub(crate) fn note_left_out(app: &App, agents: &Agents) {
    for agent in agents.all() {
        let why = match &agent.profile {
            ProfileNow::AsRegistered(_) => continue,
            ProfileNow::Changed => {
                let path = typed_word(&agent.path.display().to_string());
                let update = app.hint(&format!("agent add --update {path}"));
                format!(
                    "its file has changed since it was registered; {update} registers it as it is now"
                )
            }
            ProfileNow::Unusable(reason) => line(reason),
        };
        let instead = match agent.id.as_str() {
            AgentProfile::STANDARD => "; the built-in one takes its place",
            _ => "",
        };
        let note = format!(
            "note: agent {} is not considered: {why}{instead}\n",
            agent.id
        );
        app.screen.write_err(&note);
    }
}
