//! The arguments of `monolith show`.

use clap::Args;

use crate::cli::commands::values::entry_number;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(in crate::cli) struct ShowArgs {
    /// A run's name, the beginning of it, `last` (begun last), or a transcript file
    #[arg(value_name = "RUN|FILE")]
    pub(in crate::cli) run: String,
    /// Another run or file, for --diff
    #[arg(value_name = "RUN|FILE", requires = "diff")]
    pub(in crate::cli) other: Option<String>,
    /// Compare two runs: where their decisions part, and what differs there
    #[arg(long, requires = "other", conflicts_with_all = ["raw", "step", "why", "follow", "tree"])]
    pub(in crate::cli) diff: bool,
    /// End with the exit code of the run instead of 0; 1 where it has no end
    #[arg(long, conflicts_with_all = ["raw", "step", "follow", "tree", "diff"])]
    pub(in crate::cli) exit_code: bool,
    /// Cut nothing: tool results, arguments, earlier messages, the system prompt
    #[arg(long, conflicts_with_all = ["json", "raw", "step", "why", "follow", "tree", "diff"])]
    pub(in crate::cli) full: bool,
    /// Print the text that the token gate held back, too; it is no answer
    #[arg(long, conflicts_with_all = ["json", "raw", "step", "follow", "tree", "diff"])]
    pub(in crate::cli) withheld: bool,
    #[command(flatten)]
    pub(in crate::cli) form: ShowForm,
}

impl ShowArgs {
    /// That run, without an option.
    pub(in crate::cli) fn of_run(run: String) -> Self {
        Self {
            run,
            other: None,
            diff: false,
            exit_code: false,
            full: false,
            withheld: false,
            form: ShowForm::default(),
        }
    }
}

#[derive(Debug, Default, Args)]
#[group(multiple = false)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line, and at most one is set"
)]
pub(in crate::cli) struct ShowForm {
    /// Print the result document, as `run --json` does
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Print the entries as they are stored, one line each
    #[arg(long)]
    pub(in crate::cli) raw: bool,
    /// Print everything about one entry
    #[arg(long, value_name = "N", value_parser = entry_number)]
    pub(in crate::cli) step: Option<u64>,
    /// Print the conversation alone, without the machine's view
    #[arg(long)]
    pub(in crate::cli) conversation: bool,
    /// Explain the outcome: the rule that decided, its counts and limits, the entries before it
    #[arg(long)]
    pub(in crate::cli) why: bool,
    /// Print entries as they become durable, and end with the exit code of the run
    #[arg(long)]
    pub(in crate::cli) follow: bool,
    /// Print the run among its parents and children
    #[arg(long)]
    pub(in crate::cli) tree: bool,
}
