//! The command line as a whole: the commands and the options that all of them take. Each command's own arguments stand in its
//! folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{CommandFactory as _, Parser, Subcommand};

use super::commands::agent::AgentCommand;
use super::commands::approvals::ApprovalsArgs;
use super::commands::approve::{ApproveArgs, DenyArgs};
use super::commands::chat::ChatArgs;
use super::commands::completions::CompletionsArgs;
use super::commands::config::ConfigCommand;
use super::commands::continuation::ContinueArgs;
use super::commands::contract::ContractCommand;
use super::commands::corpus::CorpusCommand;
use super::commands::delete::{DeleteArgs, PruneArgs};
use super::commands::demo::DemoArgs;
use super::commands::doctor::DoctorArgs;
use super::commands::drive::RecordingArgs;
use super::commands::erase::EraseArgs;
use super::commands::export::ExportArgs;
use super::commands::import::ImportArgs;
use super::commands::init::InitArgs;
use super::commands::internal::SLOW_TOOL;
#[cfg(feature = "local")]
use super::commands::internal::TryModelArgs;
use super::commands::key::KeyCommand;
use super::commands::list::ListArgs;
use super::commands::log::LogCommand;
use super::commands::machine::MachineArgs;
use super::commands::man::ManArgs;
use super::commands::mcp::McpCommand;
use super::commands::migrate::MigrateArgs;
use super::commands::model::ModelCommand;
use super::commands::profile::ProfileCommand;
use super::commands::replay::ReplayArgs;
use super::commands::resume::ResumeArgs;
use super::commands::run::RunArgs;
use super::commands::session::SessionArgs;
use super::commands::show::ShowArgs;
use super::commands::tools::ToolsArgs;
use super::commands::trust::TrustArgs;
use super::commands::undo::UndoArgs;
use super::commands::verify::VerifyArgs;
use super::commands::work::WorkCommand;
use super::context::accounting::AccountingArgs;
use super::ui::screen::help_width;
use super::ui::wrap::wrapped;
use super::version::{AFTER_HELP, HELP_WIDTH, LONG_VERSION, NEW_HERE};
use monolith_host::tools::{SANDBOX_COMMAND, SUPERVISE_COMMAND};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "monolith",
    version,
    long_version = LONG_VERSION.as_str(),
    about = "Runs LLM agents as an explicit state machine under an immutable contract and records a transcript that \
             anyone can verify and replay.",
    help_template = FIRST_PAGE,
    before_help = USUAL_COMMANDS.as_str(),
    before_long_help = ALL_COMMANDS.as_str(),
    after_help = NEW_HERE,
    after_long_help = AFTER_HELP.as_str(),
    max_term_width = HELP_WIDTH,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Store file to use instead of runs.db in the state folder
    #[arg(long, hide_short_help = true, global = true, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    /// Configuration file to use instead of .ai-agent.json in the current folder and next to the contract
    #[arg(long, hide_short_help = true, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The first page of help. Its commands are listed by what they are for, so clap's own list of them is left out.
const FIRST_PAGE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}Options:
{options}{after-help}";

/// The commands that most people use, in the order in which they meet them.
const USUAL: [&str; 12] = [
    "init", "run", "continue", "chat", "show", "list", "approve", "resume", "replay", "verify",
    "export", "doctor",
];

/// Every command, by what it is for.
const TOPICS: [(&str, &[&str]); 5] = [
    (
        "Runs",
        &[
            "run",
            "continue",
            "chat",
            "approvals",
            "approve",
            "deny",
            "resume",
            "show",
            "list",
            "undo",
            "work",
        ],
    ),
    (
        "Contracts",
        &[
            "init", "doctor", "contract", "agent", "trust", "tools", "config", "mcp", "profile",
            "machine",
        ],
    ),
    (
        "Evidence",
        &[
            "verify", "replay", "export", "import", "log", "key", "erase", "delete", "prune",
        ],
    ),
    ("Models", &["model", "corpus"]),
    (
        "More",
        &["demo", "session", "migrate", "completions", "man"],
    ),
];

/// The commands of the short page.
static USUAL_COMMANDS: LazyLock<String> = LazyLock::new(|| {
    let usual = listed("Common commands (all: monolith --help)", &USUAL);
    usual.trim_end().to_owned()
});

/// The commands of the long page.
static ALL_COMMANDS: LazyLock<String> = LazyLock::new(|| {
    let topics = TOPICS.iter();
    let topics = topics.map(|(title, names)| listed(title, names));
    topics.collect::<Vec<_>>().join("\n").trim_end().to_owned()
});

/// Commands below a title, one a line.
fn listed(title: &str, names: &[&str]) -> String {
    let commands = Command::augment_subcommands(clap::Command::new("monolith"));
    let (width, mut out) = (help_width(HELP_WIDTH), format!("{title}:\n"));
    for name in names {
        let about = commands
            .find_subcommand(name)
            .and_then(clap::Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let row = format!("  {name:<11}  {about}\n");
        out.push_str(&wrapped(&row, width));
    }
    out
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a contract or a task; print the answer on stdout
    ///
    /// Everything else goes to stderr.
    Run(RunArgs),
    /// Continue a finished run with a new message
    Continue(ContinueArgs),
    /// Chat on the terminal; each message is a run
    Chat(ChatArgs),
    /// Resume a run that was suspended or whose process died
    Resume(ResumeArgs),
    /// Approve or deny the call that a run is waiting on
    Approve(ApproveArgs),
    /// Deny the call that a run is waiting on
    Deny(DenyArgs),
    /// List the calls of all runs that are waiting for approval
    Approvals(ApprovalsArgs),
    /// Replay a recorded run and compare it byte for byte
    Replay(ReplayArgs),
    /// Verify the hashes and signatures of a transcript
    Verify(VerifyArgs),
    /// Show what a run did, what it used and how it ended
    Show(ShowArgs),
    /// List runs, newest first
    List(ListArgs),
    /// Revert file changes made by built-in tools
    ///
    /// Restores the files that built-in tools changed. Changes made by tools of servers are unknown and stay; undo names the
    /// tools that ran. A file also stays, and is named, if something else has changed it since or if its old content was not
    /// kept.
    Undo(UndoArgs),
    /// Export a run to a file that anyone can verify
    Export(ExportArgs),
    /// Verify transcript files and import them into the store
    Import(ImportArgs),
    /// Erase bytes of a run and leave a signed note
    Erase(EraseArgs),
    /// Delete a run and leave a signed note
    ///
    /// Also deletes the runs of its agents and steps. Forks and continuations stay.
    Delete(DeleteArgs),
    /// Delete finished runs older than a given age
    Prune(PruneArgs),
    /// Migrate the store of an older build to the newest format
    Migrate(MigrateArgs),
    /// Check, show, hash or pin a contract without running it
    #[command(subcommand)]
    Contract(ContractCommand),
    /// Register agents and select one for a task
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Trust a contract file and the commands that it starts
    ///
    /// monolith uses a contract or a layer (.ai-agent.json) that you name. If it finds one instead, it asks once before the
    /// file can start commands or decide where keys go. This command trusts the file in its current state, with the agents
    /// and layers that it uses. If one of them changes, monolith asks again.
    Trust(TrustArgs),
    /// List the tools of a contract with their servers and pins
    Tools(ToolsArgs),
    /// Manage logins to tool servers
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Print the state machine
    Machine(MachineArgs),
    /// Generate, show and rotate signing keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Prove with the signed log of runs that no run was removed
    #[command(subcommand)]
    Log(LogCommand),
    /// Run work items: a change happens completely or not at all
    #[command(subcommand)]
    Work(WorkCommand),
    /// Run the conformance cases or check recorded responses
    #[command(subcommand)]
    Corpus(CorpusCommand),
    /// Download, store and test embedded models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Show the profiles of model families
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Show the merged .ai-agent.json and which file sets each key
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write a contract for a model that this machine can use
    Init(InitArgs),
    /// Report what works, what is missing and how to get it
    Doctor(DoctorArgs),
    /// Run a demo: scripted model, real tool calls and transcript
    Demo(DemoArgs),
    /// Run a session for a host in any language, over a pipe
    Session(SessionArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page or write all pages to a folder
    Man(ManArgs),
    /// Run a tool server and end its child processes with it
    #[command(name = SUPERVISE_COMMAND, hide = true)]
    Supervise {
        /// The client process, the server and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        given: Vec<OsString>,
    },
    /// Run a command in its sandbox
    #[command(name = SANDBOX_COMMAND, hide = true)]
    Sandbox {
        /// The profile, the program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        given: Vec<OsString>,
    },
    /// Run a tool server that never answers, for `corpus run --live`
    #[command(name = SLOW_TOOL, hide = true)]
    SlowTool,
    /// Render the template of an embedded model's file
    #[cfg(feature = "local")]
    #[command(name = monolith_host::inference::TEMPLATE_COMMAND, hide = true)]
    Template,
    /// Load a model's file for the first time
    #[cfg(feature = "local")]
    #[command(name = monolith_host::inference::TRIAL_COMMAND, hide = true)]
    TryModel(TryModelArgs),
}

impl Command {
    /// True if exactly one result document goes to stdout, whatever happens.
    pub(crate) const fn wants_result(&self) -> bool {
        match self {
            Self::Run(args) => args.json,
            Self::Continue(args) => args.json,
            Self::Resume(args) => args.json,
            Self::Replay(args) => args.json && args.fork_at.is_some(),
            _ => false,
        }
    }

    /// Returns the recording options of a command that always drives a run.
    const fn recording(&self) -> Option<&RecordingArgs> {
        match self {
            Self::Run(args) => Some(&args.recording),
            Self::Continue(args) => Some(&args.recording),
            Self::Chat(args) => Some(&args.recording),
            Self::Resume(args) => Some(&args.recording),
            Self::Work(WorkCommand::Run(args)) => Some(&args.recording),
            _ => None,
        }
    }

    /// True if checkpoints stay unsigned.
    pub(crate) const fn is_unsigned(&self) -> bool {
        match (self.recording(), self) {
            (Some(recording), _) => recording.no_sign,
            (None, Self::Replay(args)) => args.no_sign,
            (None, _) => false,
        }
    }

    /// Returns the options for reports besides the result.
    pub(crate) fn accounting(&self) -> AccountingArgs {
        match (self.recording(), self) {
            (Some(recording), _) => recording.accounting.clone(),
            (None, Self::Replay(args)) => AccountingArgs {
                billing_file: args.billing_file.clone(),
                verbose: args.verbose,
                ..AccountingArgs::default()
            },
            (None, _) => AccountingArgs::default(),
        }
    }
}

impl Cli {
    /// The command line without what monolith starts of itself.
    pub(crate) fn visible() -> clap::Command {
        let whole = Self::command();
        let shown = whole
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        let mut visible = clap::Command::new("monolith")
            .version(env!("CARGO_PKG_VERSION"))
            .after_help(NEW_HERE)
            .after_long_help(AFTER_HELP.as_str())
            .args(whole.get_arguments().cloned())
            .subcommands(shown.cloned().collect::<Vec<_>>());
        if let Some(about) = whole.get_about() {
            visible = visible.about(about.clone());
        }
        visible
    }

    /// True if a command line that does not parse asks for a result document.
    pub(crate) fn wanted_result(given: &[OsString]) -> bool {
        let understood = Self::command().ignore_errors(true);
        let matches = understood.try_get_matches_from(given).ok();
        let command = matches.as_ref().and_then(clap::ArgMatches::subcommand_name);
        match command {
            Some("run" | "continue" | "resume") => has_long(given, "json"),
            Some("replay") => has_long(given, "json") && has_long(given, "fork-at"),
            _ => false,
        }
    }
}

/// True if an option of that name is given, even after an unknown option.
fn has_long(given: &[OsString], name: &str) -> bool {
    let given = clap_lex::RawArgs::new(given);
    let mut cursor = given.cursor();
    while let Some(argument) = given.next(&mut cursor) {
        if argument.is_escape() {
            return false;
        }
        if argument.to_long().is_some_and(|(long, _)| long == Ok(name)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_run_id_that_names_no_run_is_refused_with_the_rule() {
        let parsed = Cli::try_parse_from(["monolith", "run", "--contract", "c", "--run-id", "A B"]);
        let text = parsed.map(|_| ()).map_err(|fault| fault.to_string());
        assert!(text.is_err_and(|text| text.contains("1 to 64 characters")));
        let parsed = Cli::try_parse_from(["monolith", "run", "c", "--run-id", "My-Run"]);
        let text = parsed.map(|_| ()).map_err(|fault| fault.to_string());
        assert!(text.is_err_and(|text| text.contains("\"my-run\" would do")));
    }

    /// Every command with what is typed for it, the hidden ones left out.
    fn every_command(command: &clap::Command, typed: &str) -> Vec<(String, clap::Command)> {
        let mut all = vec![(typed.to_owned(), command.clone())];
        for child in command
            .get_subcommands()
            .filter(|child| !child.is_hide_set())
        {
            if child.get_name() != "help" {
                all.extend(every_command(
                    child,
                    &format!("{typed} {}", child.get_name()),
                ));
            }
        }
        all
    }

    /// The short page fits the smallest terminal, and says one thing a line; the long page has the rest.
    #[test]
    fn every_page_of_help_fits_its_screen() {
        let mut program = Cli::command();
        program.build();
        let mut faults = Vec::new();
        for (typed, mut command) in every_command(&program, "monolith") {
            let short = command.render_help().to_string();
            let long = command.render_long_help().to_string();
            for (page, most_lines) in [(&short, 24), (&long, 150)] {
                let wide = page.lines().filter(|line| line.chars().count() > 80);
                faults.extend(wide.map(|line| format!("{typed}: {line}")));
                let lines = page.lines().count();
                if lines > most_lines {
                    faults.push(format!("{typed}: {lines} lines, at most {most_lines}"));
                }
            }
            let broken = short.lines().filter(|line| line.starts_with("          "));
            faults.extend(broken.map(|line| format!("{typed} -h: a second line: {line}")));
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn the_first_long_page_lists_every_command_once() {
        let program = Cli::command();
        let page = program.clone().render_long_help().to_string();
        for command in program.get_subcommands() {
            let listed = page.lines().filter(|line| {
                let name = line
                    .strip_prefix("  ")
                    .and_then(|line| line.split(' ').next());
                name == Some(command.get_name())
            });
            let expect = usize::from(!command.is_hide_set() && command.get_name() != "help");
            assert_eq!(listed.count(), expect, "{}", command.get_name());
        }
    }

    #[test]
    fn completions_and_manual_pages_name_every_command_that_is_not_hidden() {
        let all = every_command(&Cli::command(), "monolith");
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::visible(), "monolith", &mut script);
            let script = String::from_utf8(script).unwrap();
            for (typed, _) in &all {
                let word = typed.rsplit(' ').next().unwrap_or_default();
                assert!(script.contains(word), "{shell}: {typed}");
            }
            assert!(!script.contains("__slow-tool"), "{shell}");
            assert!(!script.contains("__supervise"), "{shell}");
        }
    }

    #[test]
    fn a_result_is_wanted_of_a_line_that_is_not_understood() {
        let check = |line: &str, expect: bool| {
            let given: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(Cli::try_parse_from(&given).is_err(), "{line}");
            assert_eq!(Cli::wanted_result(&given), expect, "{line}");
        };
        check("monolith run c.yaml --nope --json", true);
        check("monolith --store s.db resume --json", true);
        check("monolith continue r1 --run-id A --json", true);
        check("monolith run --nope -- --json", false);
        check("monolith run c.yaml --nope", false);
        check("monolith replay r1 --nope --json", false);
        check("monolith replay r1 --fork-at 2 --nope --json", true);
        check("monolith show --nope run --json", false);
    }

    #[test]
    fn a_supervised_server_has_its_arguments_as_they_are() {
        let line = "monolith __supervise 7 /bin/server --store x -- --json -h";
        let cli = Cli::try_parse_from(line.split(' ')).map(|cli| (cli.store, cli.command));
        let Ok((None, Command::Supervise { given })) = cli else {
            panic!("{cli:?}");
        };
        assert_eq!(given, line.split(' ').skip(2).collect::<Vec<_>>());
    }
}
