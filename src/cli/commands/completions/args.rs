//! The arguments of `monolith completions`.

use clap::Args;
use clap_complete::Shell;

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
