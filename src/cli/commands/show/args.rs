//! The arguments of `monolith show`.

use clap::Args;

use crate::commands::values::entry_number;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct ShowArgs {
    /// A run's name or its beginning, `last`, or a file
    ///
    /// `last` is the run that was begun last. A file is an exported transcript.
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: String,
    /// Another run or file, for --diff
    #[arg(value_name = "RUN|FILE", requires = "diff")]
    pub(crate) other: Option<String>,
    /// Compare two runs: where they part
    ///
    /// It shows the first decision that differs, and what differs there.
    #[arg(long, requires = "other", conflicts_with_all = ["raw", "step", "why", "follow", "tree"])]
    pub(crate) diff: bool,
    /// End with the exit code of the run
    ///
    /// Instead of 0; with 1 where the run has no end.
    #[arg(long, conflicts_with_all = ["raw", "step", "follow", "tree", "diff"])]
    pub(crate) exit_code: bool,
    /// Cut nothing
    ///
    /// Tool results, arguments, earlier messages and the system prompt are shown whole.
    #[arg(long, conflicts_with_all = ["json", "raw", "step", "why", "follow", "tree", "diff"])]
    pub(crate) full: bool,
    /// Print the text that was held back, too
    ///
    /// The token gate lets a model write nothing but calls until the required one succeeded; text before that is recorded, and
    /// is no answer.
    #[arg(long, conflicts_with_all = ["json", "raw", "step", "follow", "tree", "diff"])]
    pub(crate) withheld: bool,
    /// Whether it is asked for in a conversation, in which no command is typed next.
    #[arg(skip)]
    pub(crate) in_chat: bool,
    #[command(flatten)]
    pub(crate) form: ShowForm,
}

impl ShowArgs {
    /// That run as a conversation shows it, without an option but `--withheld`.
    pub(crate) fn in_chat(run: String, withheld: bool) -> Self {
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
pub(crate) struct ShowForm {
    /// Print the result document, as `run --json`
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the stored entries, one a line
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print everything about one entry
    #[arg(long, value_name = "N", value_parser = entry_number)]
    pub(crate) step: Option<u64>,
    /// Print the conversation alone
    #[arg(long)]
    pub(crate) conversation: bool,
    /// Explain why it ended so
    ///
    /// The rule that decided, its counts and limits, and the entries before it.
    #[arg(long)]
    pub(crate) why: bool,
    /// Follow a run in progress
    ///
    /// Entries are printed as they become durable; the command ends with the exit code of the run.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Print the runs it came from and led to
    #[arg(long)]
    pub(crate) tree: bool,
}
