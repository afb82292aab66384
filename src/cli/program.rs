//! The process from its arguments to its exit code: parses, chooses the command, and shows the fault that it ends with.

use crate::context::fault::show_error;
use std::ffi::OsString;
use std::io;
use std::panic;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::ai_agent::as_run;
use crate::args::{Cli, Command};
use crate::commands;
use crate::commands::drive::print_result;
use crate::context::app::App;
use crate::context::interrupts;
use crate::context::judged::say_judged;
use crate::context::panics::on_panic;
use crate::context::root::{given_root, variable};
use crate::log;
use crate::tips::with_tip;
use crate::ui::progress::watched;
use crate::ui::screen::Screen;
use crate::ui::stdout::stdout;
use monolith_host::driver::Environment;
use monolith_host::telemetry::AgentResult;
use monolith_host::tools::{confine, supervise};
use monolith_service::clock::unix_ms;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::panics::caught;
use monolith_service::service::Service;
use monolith_service::text::escape::line;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    panic::set_hook(Box::new(on_panic));
    // A core file would hold the keys.
    #[cfg(unix)]
    no_core_files();
    let (given, parsed) = parsed(std::env::args_os().collect());
    // Before anything else is read: what a supervisor runs has the server's environment and streams.
    match parsed {
        Ok(Cli {
            command: Command::Supervise { given },
            ..
        }) => return Exit(supervise(given)).into(),
        // Nor a thread: what confines a process confines the one that asks for it.
        Ok(Cli {
            command: Command::Sandbox { given },
            ..
        }) => return Exit(confine(given)).into(),
        Ok(_) | Err(_) => {}
    }
    interrupts::watch();
    let environment = Environment::new(variable);
    let screen = Screen::of_process(&environment);
    let cli = match parsed {
        Ok(cli) => cli,
        Err(fault) => {
            let fault = with_tip(fault, &given, &Cli::command());
            return usage(&fault, &given, screen).into();
        }
    };
    let screen = if cli.command.accounting().quiet {
        screen.quieted()
    } else {
        screen
    };
    let wants_result = cli.command.wants_result();
    let outcome = caught(|| perform(cli, environment, screen, !wants_result));
    if let Err(
        fault @ ServiceError::System(SystemFault::LogFilter { .. } | SystemFault::Panic { .. }),
    ) = &outcome
        && wants_result
    {
        print_result(screen, fault);
    }
    let exit = outcome.unwrap_or_else(|fault| {
        show_error(screen, &fault);
        Exit::from(&fault)
    });
    say_judged();
    exit.into()
}

/// Keeps the memory of this process, and of every program that it starts, out of core files.
#[cfg(unix)]
fn no_core_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let none = rustix::process::Rlimit {
        current: Some(0),
        ..getrlimit(Resource::Core)
    };
    // A limit may always be lowered.
    let _ = setrlimit(Resource::Core, none);
}

fn perform(
    cli: Cli,
    environment: Environment,
    screen: Screen,
    for_people: bool,
) -> Result<Exit, ServiceError> {
    log::start(&environment, cli.command.accounting().traces())?;
    let cwd = std::env::current_dir().map_err(|fault| SystemFault::CurrentFolder {
        reason: fault.to_string(),
    })?;
    let mut environment = environment;
    if let Ok(program) = std::env::current_exe() {
        environment = environment.with_program(program);
    }
    if screen.is_watched() {
        environment = environment.with_file_watch(watched(screen));
    }
    let accounting = cli.command.accounting();
    let is_quiet = accounting.quiet;
    // A conversation is for people: what the machine does is shown to those who ask for it.
    let shows_transitions = accounting.verbose || !matches!(cli.command, Command::Chat(_));
    let note = move |name: &str, note: &str| {
        if !is_quiet {
            screen.note(&format!("note: {}: {}", line(name), line(note)));
        }
    };
    let service = Service {
        billing_file: accounting.billing_file.clone(),
        config: cli.config,
        notes_default_root: accounting.verbose && given_root().is_none(),
        sessions_dir: accounting.kept.sessions_dir.clone(),
        store: cli.store,
        unsigned: cli.command.is_unsigned(),
        ..Service::new(cwd, environment)
    };
    let app = App {
        accounting,
        screen,
        service: service.ready(note),
        shows_transitions,
        // Beside a stream on a terminal there must be a place for what is said of it.
        streams: for_people && screen.is_shown() && screen.is_watched(),
    };
    match cli.command {
        Command::Run(args) => commands::run::run(&app, args),
        Command::Continue(args) => commands::continuation::continue_run(&app, args),
        Command::Chat(args) => commands::chat::chat(&app, args),
        Command::Resume(args) => commands::resume::resume(&app, args),
        Command::Approve(args) => commands::approve::approve(&app, args),
        Command::Deny(args) => commands::approve::approve(&app, args.into()),
        Command::Approvals(args) => commands::approvals::approvals(&app, &args),
        Command::Replay(mut args) => {
            args.run = app.settled(&args.run)?;
            commands::replay::replay(&app, args)
        }
        Command::Verify(args) => commands::verify::verify(&app, args),
        Command::Show(mut args) => {
            args.run = app.settled(&args.run)?;
            commands::show::show(&app, &args)
        }
        Command::List(args) => commands::list::list(&app, args),
        Command::Import(args) => commands::import::import(&app, args),
        Command::Erase(args) => commands::erase::erase(&app, args),
        Command::Delete(args) => commands::delete::delete(&app, args),
        Command::Prune(args) => commands::delete::prune(&app, args),
        Command::Migrate(args) => commands::migrate::migrate(&app, &args),
        Command::Export(args) => commands::export::export(&app, &args),
        Command::Contract(command) => commands::contract::contract(&app, &command),
        Command::Tools(args) => commands::tools::tools(&app, args),
        Command::Undo(args) => commands::undo::undo(&app, &args),
        Command::Agent(command) => commands::agent::agent(&app, command),
        Command::Trust(args) => commands::trust::trust(&app, args),
        Command::Mcp(command) => commands::mcp::mcp(&app, &command),
        Command::Machine(args) => commands::machine::machine(&app, &args),
        Command::Key(command) => commands::key::key(&app, &command),
        Command::Log(command) => commands::log::log(&app, &command),
        Command::Work(command) => commands::work::work(&app, command),
        Command::Corpus(command) => commands::corpus::corpus(&app, &command),
        Command::Model(command) => commands::model::model(&app, &command),
        Command::Config(command) => commands::config::config(&app, &command),
        Command::Profile(command) => commands::profile::profile(&app, &command),
        Command::Init(args) => commands::init::init(&app, &args),
        Command::Doctor(args) => commands::doctor::doctor(&app, &args),
        Command::Demo(args) => commands::demo::demo(&app, &args),
        Command::Session(args) => commands::session::session(&app, &args),
        Command::Completions(args) => {
            commands::completions::completions(&app, &args, Cli::visible())
        }
        Command::Man(args) => commands::man::man(&app, &args, Cli::visible()),
        Command::Supervise { given } => Ok(Exit(supervise(given))),
        Command::Sandbox { given } => Ok(Exit(confine(given))),
        Command::SlowTool => commands::internal::slow_tool(&app),
        #[cfg(feature = "local")]
        Command::Template => commands::internal::template(),
        #[cfg(feature = "local")]
        Command::TryModel(args) => commands::internal::try_model(&args),
    }
}

/// Parses the command line. An agent file given instead of a command is run: its first line may be `#!/usr/bin/env monolith`
/// (001 §2). So is every other command line of ai-agent (001 §11).
fn parsed(given: Vec<OsString>) -> (Vec<OsString>, Result<Cli, clap::Error>) {
    let parsed = Cli::try_parse_from(&given);
    let Some(again) = parsed
        .as_ref()
        .err()
        .and_then(|fault| as_run(fault, &given, &Cli::command()))
    else {
        return (given, parsed);
    };
    let parsed = Cli::try_parse_from(&again);
    (again, parsed)
}

/// Help and version are answers; anything else is a bad argument, for which clap's own code is 2 and ours is 4.
fn usage(fault: &clap::Error, given: &[OsString], screen: Screen) -> Exit {
    if !fault.use_stderr() {
        return match stdout().map(drop).and_then(|()| fault.print()) {
            Ok(()) => Exit::OK,
            Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => Exit::OK,
            Err(reason) => {
                let fault = ServiceError::from(reason);
                show_error(screen, &fault);
                Exit::from(&fault)
            }
        };
    }
    // What was typed stands in it, and may hold anything.
    screen.write_err(&monolith_service::text::escape::text(
        &fault.render().to_string(),
    ));
    if Cli::wanted_result(given) {
        let said = fault.render().to_string();
        // The text before the first blank line; the rest is how the command is used.
        let said = said.split("\n\n").next().unwrap_or_default();
        let said = said.trim_start_matches("error: ").split_whitespace();
        let said = said.collect::<Vec<_>>().join(" ");
        let result = AgentResult::without_run(Exit::USAGE.0, "usage", said, unix_ms());
        drop(screen.out_json(&result));
    }
    Exit::USAGE
}
