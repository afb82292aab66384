//! The arguments of `monolith show`.

use clap::Args;

use crate::commands::values::entry_number;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct ShowArgs {
    /// Run name or unique prefix, `last`, or a file
    ///
    /// `last` is the run that started last. A file is an exported transcript.
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: String,
    /// Another run or file, for --diff
    #[arg(value_name = "RUN|FILE", requires = "diff")]
    pub(crate) other: Option<String>,
    /// Show where two runs diverge
    ///
    /// Shows the first decision that differs, and the difference.
    #[arg(long, requires = "other", conflicts_with_all = ["raw", "step", "why", "follow", "tree"])]
    pub(crate) diff: bool,
    /// Exit with the exit code of the run
    ///
    /// Instead of 0. An unfinished run gives 1.
    #[arg(long, conflicts_with_all = ["raw", "step", "follow", "tree", "diff"])]
    pub(crate) exit_code: bool,
    /// Truncate nothing
    ///
    /// Shows tool results, arguments, earlier messages and the system prompt in full.
    #[arg(long, conflicts_with_all = ["json", "raw", "step", "why", "follow", "tree", "diff"])]
    pub(crate) full: bool,
    /// Follow a run in progress
    ///
    /// Prints entries as they become durable, and exits with the exit code of the run. With --json each entry and its event is
    /// one line.
    #[arg(long, conflicts_with_all = ["raw", "step", "conversation", "why", "tree"])]
    pub(crate) follow: bool,
    /// Also print withheld text
    ///
    /// The token gate allows only calls until a required call has been validated. Text before that is recorded but is not an
    /// answer.
    #[arg(long, conflicts_with_all = ["json", "raw", "step", "follow", "tree", "diff"])]
    pub(crate) withheld: bool,
    /// True if it is requested in a conversation, where no command is typed next.
    #[arg(skip)]
    pub(crate) in_chat: bool,
    #[command(flatten)]
    pub(crate) form: ShowForm,
}

impl ShowArgs {
    /// Shows that run as in a conversation, with no option except `--withheld`.
    pub(crate) fn in_chat(run: String, withheld: bool) -> Self {
        Self {
            run,
            other: None,
            diff: false,
            exit_code: false,
            full: false,
            follow: false,
            withheld,
            in_chat: true,
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
pub(crate) struct ShowForm {
    /// Print the result document of `run --json`
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the stored entries, one per line
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print everything about one entry
    #[arg(long, value_name = "N", value_parser = entry_number)]
    pub(crate) step: Option<u64>,
    /// Print only the conversation
    #[arg(long)]
    pub(crate) conversation: bool,
    /// Explain why the run ended as it did
    ///
    /// Shows the rule that decided, its counts and limits, and the entries before it.
    #[arg(long)]
    pub(crate) why: bool,
    /// Print its parent and child runs
    #[arg(long)]
    pub(crate) tree: bool,
}
