use std::ffi::OsString;
use std::panic;
use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::args::{Cli, Command};
use crate::cli::commands;
use crate::cli::commands::chat::ChatArgs;
use crate::cli::commands::continuation::ContinueArgs;
use crate::cli::commands::drive::print_result;
use crate::cli::commands::replay::ReplayArgs;
use crate::cli::commands::resume::ResumeArgs;
use crate::cli::commands::run::RunArgs;
use crate::cli::context::accounting::AccountingArgs;
use crate::cli::context::app::Home;
use crate::cli::context::clock::unix_ms;
use crate::cli::context::error::{CliError, SystemFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::interrupts;
use crate::cli::context::panics::{caught, on_panic};
use crate::cli::log;
use crate::cli::ui::progress::watched;
use crate::cli::ui::screen::Screen;
use crate::driver::Environment;
use crate::telemetry::AgentResult;
use crate::tools::{SUPERVISE_COMMAND, supervise};

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    panic::set_hook(Box::new(on_panic));
    // Before anything is read: what a supervisor runs has the server's environment and streams.
    if let Some(supervised) = supervised(std::env::args_os()) {
        return supervise(supervised);
    }
    interrupts::watch();
    let environment = Environment::new(|name| std::env::var(name).ok());
    let screen = Screen::of_process(&environment);
    let given: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&given) {
        Ok(cli) => cli,
        Err(fault) => return usage(&fault, &given, screen).into(),
    };
    let screen = if accounting(&cli.command).quiet {
        screen.quieted()
    } else {
        screen
    };
    let wants_result = match &cli.command {
        Command::Run(args) => args.json,
        Command::Continue(args) => args.json,
        Command::Resume(args) => args.json,
        Command::Replay(args) => args.json && args.fork_at.is_some(),
        _ => false,
    };
    let outcome = caught(|| perform(cli, environment, screen, !wants_result));
    if let Err(fault @ CliError::System(SystemFault::LogFilter { .. } | SystemFault::Panic { .. })) =
        &outcome
        && wants_result
    {
        print_result(screen, fault);
    }
    let exit = outcome.unwrap_or_else(|fault| {
        screen.error(&fault);
        Exit::from(&fault)
    });
    exit.into()
}

/// The program and the arguments that this process is to supervise, if it is one that does.
fn supervised(mut given: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let command = given.nth(1)?;
    (command == SUPERVISE_COMMAND).then(|| given.collect())
}

fn perform(
    cli: Cli,
    environment: Environment,
    screen: Screen,
    for_people: bool,
) -> Result<Exit, CliError> {
    log::start(&environment)?;
    let cwd = std::env::current_dir().map_err(|fault| SystemFault::CurrentFolder {
        reason: fault.to_string(),
    })?;
    let mut home = Home {
        accounting: accounting(&cli.command),
        config: cli.config,
        cwd,
        environment,
        screen,
        // Beside a stream on a terminal there must be a place for what is said of it.
        streams: for_people && screen.is_shown() && screen.is_watched(),
        store: cli.store,
        unsigned: matches!(
            &cli.command,
            Command::Run(RunArgs { no_sign: true, .. })
                | Command::Resume(ResumeArgs { no_sign: true, .. })
                | Command::Replay(ReplayArgs { no_sign: true, .. })
                | Command::Continue(ContinueArgs { no_sign: true, .. })
                | Command::Chat(ChatArgs { no_sign: true, .. })
        ),
    };
    // Without a state folder nothing is stored, and whoever asks for a model is told.
    if let Ok(folder) = home.models_folder() {
        home.environment = home.environment.with_models(folder);
    }
    if let (Ok(keys), Ok(withheld)) = (home.keys(), home.withheld()) {
        home.environment = home.environment.with_state(keys, withheld);
    }
    if let Ok(program) = std::env::current_exe() {
        home.environment = home.environment.with_program(program);
    }
    if screen.is_watched() {
        home.environment = home.environment.with_file_watch(watched(screen));
    }
    match cli.command {
        Command::Run(args) => commands::run::run(&home, args),
        Command::Continue(args) => commands::continuation::continue_run(&home, args),
        Command::Chat(args) => commands::chat::chat(&home, args),
        Command::Resume(args) => commands::resume::resume(&home, args),
        Command::Approve(args) => commands::approve::approve(&home, &args),
        Command::Replay(mut args) => {
            args.run = home.settled(&args.run)?;
            commands::replay::replay(&home, args)
        }
        Command::Verify(args) => commands::verify::verify(&home, &args),
        Command::Show(mut args) => {
            args.run = home.settled(&args.run)?;
            commands::show::show(&home, &args)
        }
        Command::List(args) => commands::list::list(&home, &args),
        Command::Import(args) => commands::import::import(&home, &args),
        Command::Erase(args) => commands::erase::erase(&home, &args),
        Command::Delete(args) => commands::delete::delete(&home, &args),
        Command::Prune(args) => commands::delete::prune(&home, &args),
        Command::Migrate(args) => commands::migrate::migrate(&home, &args),
        Command::Export(args) => commands::export::export(&home, &args),
        Command::Contract(command) => commands::contract::contract(&home, &command),
        Command::Tools(args) => commands::tools::tools(&home, &args),
        Command::Machine(args) => commands::machine::machine(&home, &args),
        Command::Key(command) => commands::key::key(&home, &command),
        Command::Log(command) => commands::log::log(&home, &command),
        Command::Corpus(command) => commands::corpus::corpus(&home, &command),
        Command::Model(command) => commands::model::model(&home, &command),
        Command::Profile(command) => commands::profile::profile(&home, &command),
        Command::Init(args) => commands::init::init(&home, &args),
        Command::Doctor(args) => commands::doctor::doctor(&home, &args),
        Command::Demo(args) => commands::demo::demo(&home, &args),
        Command::SlowTool => commands::internal::slow_tool(&home),
        #[cfg(feature = "local")]
        Command::Template => commands::internal::template(),
        #[cfg(feature = "local")]
        Command::TryModel(args) => commands::internal::try_model(&args),
    }
}

/// What the command tells beside its result.
fn accounting(command: &Command) -> AccountingArgs {
    match command {
        Command::Run(args) => args.accounting.clone(),
        Command::Continue(args) => args.accounting.clone(),
        Command::Chat(args) => args.accounting.clone(),
        Command::Resume(args) => args.accounting.clone(),
        Command::Replay(args) => AccountingArgs {
            billing_file: args.billing_file.clone(),
            quiet: false,
            verbose: args.verbose,
        },
        _ => AccountingArgs::default(),
    }
}

/// Help and version are answers; anything else is a bad argument, for which clap's own code is 2 and ours is 4.
fn usage(fault: &clap::Error, given: &[OsString], screen: Screen) -> Exit {
    if !fault.use_stderr() {
        return match fault.print() {
            Ok(()) => Exit::OK,
            Err(_) => Exit::FAILED,
        };
    }
    // What was typed stands in it, and may hold anything.
    screen.write_err(&crate::cli::ui::escape::text(&fault.render().to_string()));
    let has = |word: &str| given.iter().skip(1).any(|argument| argument == word);
    if (has("run") || has("continue") || has("resume") || has("--fork-at")) && has("--json") {
        let said = fault.render().to_string();
        // What stands before the first blank line; the rest is how the command is used.
        let said = said.split("\n\n").next().unwrap_or_default();
        let said = said.trim_start_matches("error: ").split_whitespace();
        let said = said.collect::<Vec<_>>().join(" ");
        let result = AgentResult::without_run(Exit::USAGE.0, "usage", said, unix_ms());
        drop(screen.out_json(&result));
    }
    Exit::USAGE
}
