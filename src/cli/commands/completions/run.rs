//! `monolith completions`: the script that completes commands in a shell, made from the command line itself.

use super::args::CompletionsArgs;
use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

/// `monolith completions`; `program` is the whole command line.
pub(crate) fn completions(
    app: &App,
    args: &CompletionsArgs,
    mut program: clap::Command,
) -> Result<Exit, ServiceError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "monolith", &mut script);
    app.screen.out_whole(&String::from_utf8_lossy(&script))?;
    Ok(Exit::OK)
}
