//! `monolith completions`: the script that completes commands in a shell, made from the command line itself.

use clap::Args;
use clap_complete::Shell;

use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

#[derive(Debug, Args)]
#[command(
    // Without an indent no line is broken at 80 columns: what is copied from a terminal is the command.
    after_help = "Save the script where your shell looks for it, for example:\n\n\
monolith completions bash > ~/.local/share/bash-completion/completions/monolith\n\
monolith completions zsh  > ~/.zfunc/_monolith\n\
monolith completions fish > ~/.config/fish/completions/monolith.fish\n\
monolith completions powershell >> $PROFILE"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

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
