//! `monolith chat`: a line of runs, each of which continues the one before. The store keeps them; this keeps their names.

use crate::commands::drive::Watched;
use crate::context::fault::show_error;
use monolith_service::drive::ended::Broken;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::follower::Follower;
use monolith_service::drive::run::Start;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::args::ChatArgs;
use super::prompt::{Prompt, Typed};
use super::render::{HELP, opening_text, tools_text, undone_text};
use super::turn::Turn;
use super::used::Used;
use super::wish::Wish;
use crate::commands::continuation::{Next, drive_next};
use crate::commands::contract::preview_on;
use crate::commands::drive::LeavingArgs;
use crate::commands::drive::RunInput;
use crate::commands::drive::{drive_job, report_message};
use crate::commands::drive::{keepable, offer_models};
use crate::commands::show::ShowArgs;
use crate::commands::show::show;
use crate::context::app::App;
use crate::context::interrupts;
use crate::context::runtime::runtime;
use monolith_core::contract::ExecutionContract;
use monolith_core::message::{Role, RunId};
use monolith_core::replay::Fork;
use monolith_host::store::{Durability, Invocation, StoreError};
use monolith_host::tools::ServerKeeper;
use monolith_service::agent::Placeholders;
use monolith_service::contract_file::{ContractFile, look_for_agent_file};
use monolith_service::drive::fork::fork_point;
use monolith_service::drive::typed_at::TypedAt;
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::error::input::InputFault;
use monolith_service::exit::Exit;
use monolith_service::source::Source;
use monolith_service::text::command::typed_word;
use monolith_service::text::escape::brief;

/// How long tool servers have for their end where the process was asked to end.
const AT_ONCE: Duration = Duration::from_millis(500);
/// More than tool servers take for their end.
const LONGEST: Duration = Duration::from_secs(10);

/// A conversation: a line of runs, each of which continues the one before.
struct Chat<'h> {
    app: &'h App,
    /// How the run was asked for that the conversation goes on from, where there is one.
    begun: Option<Invocation>,
    contract: Option<PathBuf>,
    durability: Durability,
    /// What the last message came to, where it failed.
    failed: Option<Exit>,
    /// Tool servers stay up from one message to the next.
    keeper: ServerKeeper,
    /// The run that was driven last, whether it is part of the conversation or not.
    last: Option<RunId>,
    /// Whether text of that run was held back: it stands nowhere in the conversation, and a person looks for it.
    last_held_back: bool,
    /// What the process ends with, once it is asked to end.
    left: Option<Exit>,
    /// Whether the next run may have another contract than the one before: the file was named for a run that is gone on from.
    other_contract: bool,
    /// The time that a prompt says: one that another message changed would be another contract.
    placeholders: Placeholders,
    /// What all runs are driven on, so that their tool servers can stay up between them.
    runtime: Runtime,
    sets: Vec<String>,
    /// The runs that the next one goes on from, the newest last.
    turns: Vec<Turn>,
    used: Used,
}

/// `monolith chat`.
pub(crate) fn chat(app: &App, args: ChatArgs) -> Result<Exit, ServiceError> {
    keepable(app, None)?;
    let mut chat = Chat {
        app,
        begun: None,
        contract: None,
        durability: args.recording.durability.into(),
        failed: None,
        keeper: app.environment.keep_servers(),
        last: None,
        last_held_back: false,
        left: None,
        other_contract: args.contract.is_some(),
        placeholders: Placeholders::now(),
        runtime: runtime()?,
        sets: args
            .sets
            .into_iter()
            .chain(args.knobs.into_sets())
            .collect(),
        turns: Vec::new(),
        used: Used::default(),
    };
    if let Some(run) = args.run {
        chat.take_up(&run, args.contract)?;
    } else {
        match &args.contract {
            None => look_for_agent_file(app, None, "chat FILE")?,
            Some(path) => refuse_run(app, path)?,
        }
        let input = RunInput::of(app, Vec::new(), args.contract, None)?;
        chat.contract = input.named.file();
    }
    // What is wrong with the file is better known before the first message.
    let file = chat.file();
    let spec = app.read_contract(&file)?;
    offer_models(app, &spec)?;
    let prompt = Prompt::new(&chat.runtime)?;
    app.screen.note(&opening_text(file.name(), &spec));
    if let Some(turn) = chat.turns.last() {
        app.screen
            .note(&format!("It goes on from run {}.", turn.run_id));
    }
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

/// How a conversation ends, and what the process ends with.
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
                    self.failed = Some(Exit::from(&fault));
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
                    self.failed = Some(Exit::from(&fault));
                }
                show_error(self.app.screen, &fault);
            }
            if let Some(exit) = self.left {
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

    /// What the process ends with. A person saw how each message ended; a script reads the code.
    fn exit(&self) -> Exit {
        let failed = self.failed.filter(|_| !io::stdin().is_terminal());
        failed.unwrap_or(Exit::OK)
    }

    fn grant(&mut self, wish: &Wish<'_>) -> Result<(), ServiceError> {
        match wish {
            Wish::Nothing | Wish::Quit => Ok(()),
            Wish::Send(message) => self.send((*message).to_owned()),
            Wish::Help => Ok(self.app.screen.out(HELP)?),
            Wish::Cost => Ok(self.app.screen.out(&self.used.line())?),
            Wish::Show => self.show(),
            Wish::Tools => self.tools(),
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
                let unknown = format!("{word} is no command; /help lists them\n");
                Ok(self.app.screen.out(&unknown)?)
            }
        }
    }

    /// Goes on from the end of a run that is in the store.
    fn take_up(&mut self, asked: &str, contract: Option<PathBuf>) -> Result<(), ServiceError> {
        let run = self.app.settled(asked)?;
        let (_, point, first) = fork_point(self.app, &run, Fork::at_end)?;
        let Source::Run(run_id, reader) = self.app.run(&run)? else {
            return Err(StoreError::NoSuchRun { asked: run }.into());
        };
        self.begun = reader.invocation(&run_id)?;
        if self.begun.is_none() && contract.is_none() {
            let asked = run_id.to_string();
            return Err(ContractFault::NoFileOfRun { asked }.into());
        }
        self.contract = contract;
        let (_, view) = Source::Run(run_id.clone(), reader).fold(first)?;
        self.last = Some(run_id.clone());
        self.last_held_back = view.held_back_bytes() > 0;
        self.turns.push(Turn {
            executed: view.counters().executed > 0,
            head: point.head,
            run_id,
        });
        Ok(())
    }

    /// The file as this process was given it: a conversation needs no record of that.
    fn file(&self) -> ContractFile {
        let (begun, named) = (self.begun.clone(), self.contract.clone());
        if begun.is_some()
            && let Some(file) = ContractFile::of_run(self.app, begun, named, self.sets.clone())
        {
            return file;
        }
        ContractFile::given_or_found(self.app, self.contract.clone(), self.sets.clone())
            .saying_as(&self.placeholders)
    }

    /// The file of the run that is gone on from, without what this chat changes of it.
    fn file_without_changes(&self) -> Option<ContractFile> {
        let begun = self.begun.clone()?;
        let (changes, contract) = (&self.sets, &self.contract);
        if changes.is_empty() || contract.is_some() {
            return None;
        }
        ContractFile::of_run(self.app, Some(begun), None, Vec::new())
    }

    fn send(&mut self, message: String) -> Result<(), ServiceError> {
        interrupts::answering();
        let driven = self.drive(message);
        interrupts::answered();
        let ended = match driven.and_then(Ended::agreeing) {
            Ok(ended) => ended,
            Err(Broken { error, .. }) => return Err(error),
        };
        let result = &ended.result;
        self.used.add(result);
        self.failed = (!result.success).then_some(Exit(result.exit_code));
        if result.run_id.is_some() {
            self.last.clone_from(&result.run_id);
            self.last_held_back = ended.view.held_back_bytes() > 0;
        }
        // Where the model said nothing, there is nothing to go on from.
        let answered = result
            .conversation
            .last()
            .is_some_and(|last| last.role != Role::User);
        let turn = Turn::of(result).filter(|_| answered && !result.is_suspended());
        let goes_on = turn.is_some();
        if let Some(turn) = turn {
            self.other_contract = false;
            self.turns.push(turn);
        }
        // What is to be typed names the run that the conversation goes on from now.
        report_message(self.app, &ended, TypedAt::Chat(&self.words_again()))?;
        if result.is_suspended() {
            self.left = Some(Exit(result.exit_code));
        } else if !goes_on {
            let back = "the message is not part of the conversation; try it again";
            self.app.screen.note(back);
        }
        Ok(())
    }

    fn drive(&self, message: String) -> Result<Ended, Broken> {
        let file = self.file();
        if let Some(last) = self.turns.last() {
            let next = Next {
                leaving: LeavingArgs::default(),
                durability: self.durability,
                file,
                head: Some(last.head),
                message,
                run: last.run_id.to_string(),
                run_id: None,
                same_contract: !self.other_contract,
                states_proof: false,
                without_changes: self.file_without_changes(),
                way_on: self.way_on(),
            };
            return drive_next(self.app, Some(&self.runtime), next);
        }
        let mut spec = self.app.read_contract(&file)?;
        spec.task = Some(message);
        let job = Start {
            spec,
            file,
            run_id: None,
            saved: Vec::new(),
            durability: self.durability,
        };
        let sessions = job.spec.sessions_dir.as_deref();
        let live = Follower::accounting(
            self.app,
            Watched::of_app(self.app),
            sessions,
            self.durability,
        )?;
        drive_job(
            self.app,
            Some(&self.runtime),
            job,
            LeavingArgs::default(),
            &live,
        )
    }

    /// The words with which the conversation is gone on with in another chat.
    fn words_again(&self) -> String {
        let mut words = format!("chat {}", self.file().word(self.app));
        if let Some(last) = self.turns.last() {
            // Writing to a String cannot fail.
            let _ = write!(words, " --run {}", last.run_id);
        }
        for set in &self.sets {
            let _ = write!(words, " --set {}", typed_word(set));
        }
        words
    }

    /// What to type where the file has changed since the conversation began.
    fn way_on(&self) -> String {
        let again = self.app.hint(&self.words_again());
        format!("/exit ends the conversation; then {again} goes on under the file as it is now")
    }

    fn show(&self) -> Result<(), ServiceError> {
        let Some(last) = &self.last else {
            return Ok(self.app.screen.out("there is no run yet\n")?);
        };
        let args = ShowArgs::in_chat(last.to_string(), self.last_held_back);
        show(self.app, &args).map(drop)
    }

    fn tools(&self) -> Result<(), ServiceError> {
        let contract = self.contract_of_last()?;
        Ok(self.app.screen.out(&tools_text(&contract))?)
    }

    /// The contract of the last run; before the first one, the one that the file gives.
    fn contract_of_last(&self) -> Result<ExecutionContract, ServiceError> {
        if let Some(last) = self.turns.last()
            && let Source::Run(run_id, mut reader) = self.app.run(last.run_id.as_str())?
        {
            return Ok(reader.read_run(&run_id)?.contract()?);
        }
        let file = self.file();
        let spec = self.app.read_contract(&file)?;
        Ok(preview_on(&self.runtime, self.app, &file, spec, true)?.contract)
    }

    fn undo(&mut self) -> Result<(), ServiceError> {
        let gone = self.turns.pop();
        let text = undone_text(gone.as_ref(), self.turns.last());
        Ok(self.app.screen.out(&text)?)
    }
}
