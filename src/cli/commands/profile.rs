//! `monolith profile`: lists and shows the built-in model profiles.

use std::fmt::Write as _;

use clap::{Args, Subcommand};

use crate::context::app::App;
use monolith_core::contract::ModelProfile;
use monolith_service::error::ServiceError;
use monolith_service::error::model::ModelFault;
use monolith_service::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the built-in profiles
    ///
    /// Lists them in the order in which monolith matches them.
    List(ListProfilesArgs),
    /// Print a profile as JSON
    ///
    /// Prints the form that `model_profiles` of a contract takes.
    Show(ShowProfileArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListProfilesArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowProfileArgs {
    /// The profile's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// `monolith profile`.
pub(crate) fn profile(app: &App, command: &ProfileCommand) -> Result<Exit, ServiceError> {
    match command {
        ProfileCommand::List(args) if args.json => app.screen.out_json(&ModelProfile::all())?,
        ProfileCommand::List(_) => app.screen.out(&listed())?,
        ProfileCommand::Show(args) => {
            let profile = ModelProfile::by_id(&args.id).ok_or_else(|| ModelFault::NoProfile {
                got: args.id.clone(),
                known: known(),
            })?;
            let text = serde_json::to_string_pretty(profile).map_err(std::io::Error::from)?;
            app.screen.out_json_text(&format!("{text}\n"))?;
        }
    }
    Ok(Exit::OK)
}

fn known() -> String {
    let ids = ModelProfile::all()
        .iter()
        .map(|profile| profile.id.as_str());
    ids.collect::<Vec<_>>().join(", ")
}

fn listed() -> String {
    let mut out = String::new();
    for profile in ModelProfile::all() {
        let window = profile.context_window;
        let window = window.map_or_else(|| "to be stated".to_owned(), |tokens| tokens.to_string());
        let _ = writeln!(
            out,
            "{:<26}{window:>12}  {}",
            profile.id, profile.description
        );
    }
    out
}
