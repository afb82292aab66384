//! `monolith chat`: reads messages, drives the run of each and shows its answer. The service keeps the conversation.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::runtime::Runtime;

use super::prompt::{Prompt, Typed, Wish};
use super::render::{HELP, forgotten_text, opening_text, tools_text, used_text};
use crate::commands::continuation::drive_next;
use crate::commands::contract::preview_on;
use crate::commands::drive::{
    LeavingArgs, RecordingArgs, RunInput, Watched, drive_job, keepable, offer_models,
    report_message,
};
use crate::commands::show::{ShowArgs, show};
use crate::commands::undo::{UndoArgs, undo};
use crate::context::app::App;
use crate::context::fault::show_error;
use crate::context::interrupts;
use crate::context::knobs::KnobArgs;
use crate::context::runtime::runtime;
use crate::context::trust::trusting;
use monolith_core::contract::ExecutionContract;
use monolith_host::tools::ServerKeeper;
use monolith_service::chat::{Conversation, NextRun};
use monolith_service::contract_file::look_for_agent_file;
use monolith_service::drive::ended::{Broken, Ended};
use monolith_service::drive::follower::Follower;
use monolith_service::drive::typed_at::TypedAt;
use monolith_service::error::ServiceError;
use monolith_service::error::input::InputFault;
use monolith_service::exit::Exit;
use monolith_service::source::Source;
use monolith_service::text::escape::brief;

/// Time that tool servers get to end when the process was asked to end.
const AT_ONCE: Duration = Duration::from_millis(500);
/// More than tool servers take for their end.
const LONGEST: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
#[command(
    after_help = "Each message is a run that continues the previous one. Ctrl-C asks the current run to stop; a second Ctrl-C \
ends it at once. The conversation continues in both cases. /help lists the commands."
)]
pub(crate) struct ChatArgs {
    /// The contract file (default: agent.yaml)
    ///
    /// Default: agent.yaml, else agent.yml, in the current folder.
    #[arg(value_name = "CONTRACT")]
    pub(crate) contract: Option<PathBuf>,
    /// Continue this run
    ///
    /// Rebuilds its contract from the file that the run started with. If CONTRACT is given too, uses the current content of
    /// that file.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Change a value, such as max_turns=3
    ///
    /// KEY is the dotted key of a value in the file. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    #[command(flatten)]
    pub(crate) knobs: KnobArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

/// A conversation at the terminal.
struct Chat<'h> {
    app: &'h App,
    /// Tool servers stay up from one message to the next.
    keeper: ServerKeeper,
    /// The shared runtime of all runs, so that their tool servers can stay up between them.
    runtime: Runtime,
    talk: Conversation,
}

/// `monolith chat`.
pub(crate) fn chat(app: &App, args: ChatArgs) -> Result<Exit, ServiceError> {
    keepable(app, None)?;
    let keeper = app.environment.keep_servers();
    let runtime = runtime()?;
    let mut sets = args.sets;
    sets.extend(args.knobs.into_sets());
    let durability = args.recording.durability.into();
    let talk = if let Some(run) = args.run {
        Conversation::new(args.contract, sets, durability).from_run(app, &run)?
    } else {
        match &args.contract {
            None => look_for_agent_file(app, None, "chat FILE")?,
            Some(path) => refuse_run(app, path)?,
        }
        let input = RunInput::of(app, Vec::new(), args.contract, None)?;
        Conversation::new(input.named.file(), sets, durability)
    };
    // What is wrong with the file is better known before the first message.
    let file = talk.file(app);
    let spec = app.read_contract(&file)?;
    offer_models(app, &spec)?;
    let prompt = Prompt::new(&runtime)?;
    app.screen.note(&opening_text(file.name(), &spec));
    if let Some(turn) = talk.turn() {
        app.screen
            .note(&format!("Continuing from run {}.", turn.run_id));
    }
    let mut chat = Chat {
        app,
        keeper,
        runtime,
        talk,
    };
    let exit = chat.converse(prompt);
    chat.end(matches!(exit, Ok(End::Requested(_))));
    exit.map(|end| match end {
        End::Requested(exit) | End::Own(exit) => exit,
    })
}

/// Refuses the name of a run where the contract file stands, and there is no such file.
fn refuse_run(app: &App, path: &Path) -> Result<(), InputFault> {
    let Some(word) = path.to_str().filter(|_| !app.cwd.join(path).exists()) else {
        return Ok(());
    };
    match app.run(word) {
        Ok(Source::Run(run_id, _)) => {
            let run = app.brief_name(run_id.as_str());
            Err(InputFault::RunForContract { run })
        }
        Ok(Source::File(_)) | Err(_) => Ok(()),
    }
}

/// The end of a conversation, with the exit code of the process.
enum End {
    /// The process was asked to end.
    Requested(Exit),
    /// A person ended it.
    Own(Exit),
}

impl Chat<'_> {
    fn converse(&mut self, mut prompt: Prompt) -> Result<End, ServiceError> {
        loop {
            let typed = match prompt.read(&self.runtime)? {
                Typed::End => return Ok(End::Own(self.exit())),
                Typed::Terminated => return Ok(End::Requested(self.exit())),
                Typed::Interrupted => return Ok(End::Requested(Exit(interrupts::EXIT_CODE))),
                Typed::Nothing => continue,
                Typed::NotText => {
                    let fault = ServiceError::from(InputFault::NotText);
                    self.talk.failed = Some(Exit::from(&fault));
                    show_error(self.app.screen, &fault);
                    continue;
                }
                Typed::Line(typed) => typed,
            };
            let wish = Wish::of(&typed);
            if wish == Wish::Quit {
                return Ok(End::Own(self.exit()));
            }
            // A command that fails ends itself, not the conversation.
            if let Err(fault) = self.grant(&wish) {
                if matches!(wish, Wish::Send(_)) {
                    self.talk.failed = Some(Exit::from(&fault));
                }
                show_error(self.app.screen, &fault);
            }
            if let Some(exit) = self.talk.suspended {
                return Ok(End::Requested(exit));
            }
        }
    }

    /// Ends the tool servers of the conversation. Where the process was asked to end, those that take their time are killed.
    fn end(self, is_asked: bool) {
        let longest = if is_asked { AT_ONCE } else { LONGEST };
        self.runtime.block_on(async {
            let ending = self.keeper.end();
            // Those that were not waited for have gone with their handles.
            let _ = tokio::time::timeout(longest, ending).await;
        });
        // A reader that still waits for a line, or for a file, must not keep the process.
        self.runtime.shutdown_background();
    }

    /// Returns the exit code of the process. A person saw how each message ended; a script reads the code.
    fn exit(&self) -> Exit {
        let failed = self.talk.failed.filter(|_| !io::stdin().is_terminal());
        failed.unwrap_or(Exit::OK)
    }

    fn grant(&mut self, wish: &Wish<'_>) -> Result<(), ServiceError> {
        match wish {
            Wish::Nothing | Wish::Quit => Ok(()),
            Wish::Send(message) => self.send(message),
            Wish::Help => Ok(self.app.screen.out(HELP)?),
            Wish::Cost => Ok(self.app.screen.out(&used_text(&self.talk.used))?),
            Wish::Show => self.show(),
            Wish::Tools => self.tools(),
            Wish::Forget => self.forget(),
            Wish::Undo => self.undo(),
            Wish::EndWord(word) => {
                let note = format!("{word} was not sent; /{word} ends the conversation\n");
                Ok(self.app.screen.out(&note)?)
            }
            Wish::NoArgument(word) => Ok(self
                .app
                .screen
                .out(&format!("{word} takes no argument\n"))?),
            Wish::Unknown(word) => {
                let word = brief(word, 40);
                let unknown = format!("unknown command {word}; /help lists all commands\n");
                Ok(self.app.screen.out(&unknown)?)
            }
        }
    }

    fn send(&mut self, message: &str) -> Result<(), ServiceError> {
        interrupts::answering();
        let driven = self.drive(message);
        interrupts::answered();
        let ended = match driven.and_then(Ended::agreeing) {
            Ok(ended) => ended,
            Err(Broken { error, .. }) => return Err(error),
        };
        let goes_on = self.talk.take(&ended);
        // The hint names the run that the conversation continues from now.
        let again = self.talk.words_again(self.app);
        report_message(self.app, &ended, TypedAt::Chat(&again))?;
        if !goes_on && self.talk.suspended.is_none() {
            let back = "the message was not added to the conversation; send it again";
            self.app.screen.note(back);
        }
        Ok(())
    }

    fn drive(&self, message: &str) -> Result<Ended, Broken> {
        let (app, leaving) = (self.app, LeavingArgs::default());
        let next = trusting(app, || self.talk.next(app, message.to_owned()))?;
        match next {
            NextRun::Next(next) => drive_next(app, Some(&self.runtime), leaving, &next),
            NextRun::Start(job) => {
                let sessions = job.spec.sessions_dir.as_deref();
                let screen = Watched::of_app(app);
                let live = Follower::accounting(app, screen, sessions, job.durability)?;
                drive_job(app, Some(&self.runtime), *job, leaving, &live)
            }
        }
    }

    fn show(&self) -> Result<(), ServiceError> {
        let Some((last, held_back)) = &self.talk.last else {
            return Ok(self.app.screen.out("there is no run yet\n")?);
        };
        let args = ShowArgs::in_chat(last.to_string(), *held_back);
        show(self.app, &args).map(drop)
    }

    fn tools(&self) -> Result<(), ServiceError> {
        let contract = self.contract_of_last()?;
        Ok(self.app.screen.out(&tools_text(&contract))?)
    }

    /// The contract of the last run; before the first one, the one that the file gives.
    fn contract_of_last(&self) -> Result<ExecutionContract, ServiceError> {
        if let Some(contract) = self.talk.contract(self.app)? {
            return Ok(contract);
        }
        let file = self.talk.file(self.app);
        let spec = self.app.read_contract(&file)?;
        Ok(preview_on(&self.runtime, self.app, &file, spec, true)?.contract)
    }

    fn forget(&mut self) -> Result<(), ServiceError> {
        let gone = self.talk.forget();
        let undos = gone
            .as_ref()
            .and_then(|gone| self.talk.undos_to(&gone.run_id));
        let text = forgotten_text(gone.as_ref(), self.talk.turn(), undos);
        Ok(self.app.screen.out(&text)?)
    }

    fn undo(&mut self) -> Result<(), ServiceError> {
        let Some(run) = self.talk.to_undo().map(ToString::to_string) else {
            return Ok(self.app.screen.out("nothing to undo\n")?);
        };
        let dry_run = false;
        // What could not be restored is named, and stays so.
        undo(self.app, &UndoArgs { run, dry_run })?;
        self.talk.undone();
        Ok(())
    }
}
