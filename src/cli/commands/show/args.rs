//! The arguments of `monolith show`.

use clap::Args;

use crate::cli::commands::values::entry_number;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(in crate::cli) struct ShowArgs {
    /// A run's name or its beginning, `last`, or a file
    ///
    /// `last` is the run that was begun last. A file is an exported transcript.
    #[arg(value_name = "RUN|FILE")]
    pub(in crate::cli) run: String,
    /// Another run or file, for --diff
    #[arg(value_name = "RUN|FILE", requires = "diff")]
    pub(in crate::cli) other: Option<String>,
    /// Compare two runs: where they part
    ///
    /// It shows the first decision that differs, and what differs there.
    #[arg(long, requires = "other", conflicts_with_all = ["raw", "step", "why", "follow", "tree"])]
    pub(in crate::cli) diff: bool,
    /// End with the exit code of the run
    ///
    /// Instead of 0; with 1 where the run has no end.
    #[arg(long, conflicts_with_all = ["raw", "step", "follow", "tree", "diff"])]
    pub(in crate::cli) exit_code: bool,
    /// Cut nothing
    ///
    /// Tool results, arguments, earlier messages and the system prompt are shown whole.
    #[arg(long, conflicts_with_all = ["json", "raw", "step", "why", "follow", "tree", "diff"])]
    pub(in crate::cli) full: bool,
    /// Print the text that was held back, too
    ///
    /// The token gate lets a model write nothing but calls until the required one succeeded; text before that is recorded, and
    /// is no answer.
    #[arg(long, conflicts_with_all = ["json", "raw", "step", "follow", "tree", "diff"])]
    pub(in crate::cli) withheld: bool,
    /// Whether it is asked for in a conversation, in which no command is typed next.
    #[arg(skip)]
    pub(in crate::cli) in_chat: bool,
    #[command(flatten)]
    pub(in crate::cli) form: ShowForm,
}

impl ShowArgs {
    /// That run as a conversation shows it, without an option but `--withheld`.
    pub(in crate::cli) fn in_chat(run: String, withheld: bool) -> Self {
        Self {
            run,
            other: None,
            diff: false,
            exit_code: false,
            full: false,
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
pub(in crate::cli) struct ShowForm {
    /// Print the result document, as `run --json`
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Print the stored entries, one a line
    #[arg(long)]
    pub(in crate::cli) raw: bool,
    /// Print everything about one entry
    #[arg(long, value_name = "N", value_parser = entry_number)]
    pub(in crate::cli) step: Option<u64>,
    /// Print the conversation alone
    #[arg(long)]
    pub(in crate::cli) conversation: bool,
    /// Explain why it ended so
    ///
    /// The rule that decided, its counts and limits, and the entries before it.
    #[arg(long)]
    pub(in crate::cli) why: bool,
    /// Follow a run in progress
    ///
    /// Entries are printed as they become durable; the command ends with the exit code of the run.
    #[arg(long)]
    pub(in crate::cli) follow: bool,
    /// Print the runs it came from and led to
    #[arg(long)]
    pub(in crate::cli) tree: bool,
}
