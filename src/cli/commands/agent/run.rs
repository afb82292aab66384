//! `monolith agent`: changes the registry, and asks it.

use std::path::PathBuf;

use super::args::{AddAgentArgs, AgentCommand, SelectAgentArgs};
use super::render;
use crate::agent::select;
use crate::cli::commands::drive::argument;
use crate::cli::context::agents::{Agents, ProfileNow, agent_id};
use crate::cli::context::app::App;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::ui::escape::{line, typed_word};
use crate::contract::{AgentProfile, agent_profile_schema};

/// `monolith agent`.
pub(in crate::cli) fn agent(app: &App, command: AgentCommand) -> Result<Exit, CliError> {
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

fn add(app: &App, args: AddAgentArgs) -> Result<(), CliError> {
    let (path, profile) = read(app, args.file)?;
    Agents::of(app)?.add(app, (&path, &profile), args.update)?;
    let done = if args.update { "updated" } else { "added" };
    let version = line(&profile.version);
    let digest = profile.digest.short(12);
    let text = format!("{done}: {} {version} ({digest})\n", profile.id);
    Ok(app.screen.out(&text)?)
}

/// The profile of a file, valid as a whole (INV-AGT-001).
fn read(app: &App, file: PathBuf) -> Result<(PathBuf, AgentProfile), CliError> {
    let path = app.cwd.join(&file);
    let profile = ContractFile::given(app, file, Vec::new()).profile(app)?;
    Ok((path, profile))
}

fn selected(app: &App, args: SelectAgentArgs) -> Result<(), CliError> {
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
pub(in crate::cli) fn note_left_out(app: &App, agents: &Agents) {
    for agent in agents.all() {
        let why = match &agent.profile {
            ProfileNow::AsRegistered(_) => continue,
            ProfileNow::Changed => {
                let path = typed_word(&agent.path.display().to_string());
                let update = app.hint(&format!("agent add --update {path}"));
                format!("its file is not what was registered; {update} takes it as it is now")
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
