//! `monolith chat`: a line of runs, each of which continues the one before. The store keeps them; this keeps their names.

use std::path::PathBuf;

use super::args::ChatArgs;
use super::prompt::{Prompt, Typed};
use super::render::{HELP, opening_text, tools_text, undone_text};
use super::used::Used;
use super::wish::Wish;
use crate::cli::commands::continuation::{Next, drive_next};
use crate::cli::commands::contract::preview_of;
use crate::cli::commands::drive::LeavingArgs;
use crate::cli::commands::drive::RunInput;
use crate::cli::commands::drive::offer_models;
use crate::cli::commands::drive::{Broken, Ended, Job, Live, drive_job, report_end};
use crate::cli::commands::show::ShowArgs;
use crate::cli::commands::show::show;
use crate::cli::context::app::App;
use crate::cli::context::contract_file::{ContractFile, look_for_agent_file};
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::context::interrupts;
use crate::cli::context::source::Source;
use crate::cli::ui::escape::brief;
use crate::cli::ui::numbers::seconds;
use crate::cli::ui::screen::Style;
use crate::contract::ExecutionContract;
use crate::message::{Digest, Role, RunId};
use crate::store::Durability;

/// A conversation: a line of runs, each of which continues the one before.
struct Chat<'h> {
    contract: Option<PathBuf>,
    durability: Durability,
    app: &'h App,
    /// What the process ends with, once it is asked to end.
    left: Option<Exit>,
    /// The runs that the next one goes on from, the newest last, each with its head: other processes may do anything between two
    /// messages.
    runs: Vec<(RunId, Digest)>,
    sets: Vec<String>,
    used: Used,
}

/// `monolith chat`.
pub(in crate::cli) fn chat(app: &App, args: ChatArgs) -> Result<Exit, CliError> {
    if args.contract.is_none() {
        look_for_agent_file(app, None, "chat FILE")?;
    }
    let input = RunInput::of(app, Vec::new(), args.contract, None)?;
    let mut chat = Chat {
        contract: input.file,
        durability: args.recording.durability.into(),
        app,
        left: None,
        runs: Vec::new(),
        sets: args.sets,
        used: Used::default(),
    };
    // What is wrong with the file is better known before the first message.
    let file = chat.file();
    let spec = file.read(app)?;
    offer_models(app, &spec)?;
    let mut prompt = Prompt::new()?;
    app.screen.note(&opening_text(file.name(), &spec));
    loop {
        match prompt.read()? {
            Typed::End => return Ok(Exit::OK),
            Typed::Interrupted => return Ok(Exit(interrupts::EXIT_CODE)),
            Typed::Nothing => {}
            Typed::Line(typed) => {
                let wish = Wish::of(&typed);
                if wish == Wish::Quit {
                    return Ok(Exit::OK);
                }
                // A command that fails ends itself, not the conversation.
                if let Err(fault) = chat.grant(&wish) {
                    fault.show(app.screen);
                }
                if let Some(exit) = chat.left {
                    return Ok(exit);
                }
            }
        }
    }
}

impl Chat<'_> {
    fn grant(&mut self, wish: &Wish<'_>) -> Result<(), CliError> {
        match wish {
            Wish::Nothing | Wish::Quit => Ok(()),
            Wish::Send(message) => self.send((*message).to_owned()),
            Wish::Help => Ok(self.app.screen.out(HELP)?),
            Wish::Cost => Ok(self.app.screen.out(&self.used.line())?),
            Wish::Show => self.show(),
            Wish::Tools => self.tools(),
            Wish::Undo => self.undo(),
            Wish::Unknown(word) => {
                let word = brief(word, 40);
                let unknown = format!("{word} is no command; /help lists them\n");
                Ok(self.app.screen.out(&unknown)?)
            }
        }
    }

    /// The file as this process was given it: a conversation needs no record of that.
    fn file(&self) -> ContractFile {
        ContractFile::given_or_found(self.app, self.contract.clone(), self.sets.clone())
    }

    fn send(&mut self, message: String) -> Result<(), CliError> {
        interrupts::answering();
        let driven = self.drive(message);
        interrupts::answered();
        let ended = match driven.and_then(Ended::agreeing) {
            Ok(ended) => ended,
            Err(Broken { error, .. }) => return Err(error),
        };
        let result = &ended.result;
        self.used.add(result);
        self.after(&ended)?;
        if result.is_suspended() {
            self.left = Some(Exit(result.exit_code));
            return Ok(());
        }
        // Where the model said nothing, there is nothing to go on from.
        let answered = result
            .conversation
            .last()
            .is_some_and(|last| last.role != Role::User);
        let run = result.run_id.clone().zip(result.head);
        if let Some(run) = run.filter(|_| answered) {
            self.runs.push(run);
        } else {
            let back = "the message is not part of the conversation; try it again";
            self.app.screen.note(back);
        }
        Ok(())
    }

    fn drive(&self, message: String) -> Result<Ended, Broken> {
        let file = self.file();
        if let Some((last, head)) = self.runs.last() {
            let next = Next {
                durability: self.durability,
                file,
                head: Some(*head),
                leaving: LeavingArgs::default(),
                message,
                run: last.to_string(),
                run_id: None,
                same_contract: true,
                states_proof: false,
            };
            return drive_next(self.app, next);
        }
        let mut spec = file.read(self.app)?;
        spec.task = Some(message);
        let job = Job {
            spec,
            file,
            leaving: LeavingArgs::default(),
            run_id: None,
            durability: self.durability,
        };
        let live = Live::accounting(self.app, self.durability)?;
        drive_job(self.app, job, &live)
    }

    /// The answer where it is not on the screen yet, and how the run ended.
    fn after(&self, ended: &Ended) -> Result<(), CliError> {
        let screen = self.app.screen;
        let result = &ended.result;
        if !result.success {
            report_end(self.app, ended);
            return Ok(());
        }
        if !ended.shown {
            let answer = result.report_text().trim_end_matches('\n');
            screen.out_foreign(&format!("{answer}\n"))?;
        }
        if let (Some(outcome), Some(run_id)) = (result.outcome, &result.run_id) {
            let time = seconds(result.counters.elapsed_ms);
            let end = format!("{time}  {outcome}   run {run_id}");
            screen.note(&screen.paint(Style::Dim, &end));
        }
        Ok(())
    }

    fn show(&self) -> Result<(), CliError> {
        let Some((last, _)) = self.runs.last() else {
            return Ok(self.app.screen.out("there is no run yet\n")?);
        };
        show(self.app, &ShowArgs::of_run(last.to_string())).map(drop)
    }

    fn tools(&self) -> Result<(), CliError> {
        let contract = self.contract_of_last()?;
        Ok(self.app.screen.out(&tools_text(&contract))?)
    }

    /// The contract of the last run; before the first one, the one that the file gives.
    fn contract_of_last(&self) -> Result<ExecutionContract, CliError> {
        if let Some((last, _)) = self.runs.last()
            && let Source::Run(run_id, mut reader) = self.app.run(last.as_str())?
        {
            return Ok(reader.read_run(&run_id)?.contract()?);
        }
        let file = self.file();
        let spec = file.read(self.app)?;
        Ok(preview_of(self.app, &file, spec, true)?.contract)
    }

    fn undo(&mut self) -> Result<(), CliError> {
        let gone = self.runs.pop();
        let (gone, last) = (gone.as_ref(), self.runs.last());
        let text = undone_text(gone.map(|(run, _)| run), last.map(|(run, _)| run));
        Ok(self.app.screen.out(&text)?)
    }
}
