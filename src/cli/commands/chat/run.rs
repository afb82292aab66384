use std::fmt::Write as _;
use std::path::PathBuf;

use super::args::ChatArgs;
use super::prompt::{Prompt, Typed};
use crate::cli::commands::continuation::{Next, drive_next};
use crate::cli::commands::contract::preview_of;
use crate::cli::commands::drive::LeavingArgs;
use crate::cli::commands::drive::RunInput;
use crate::cli::commands::drive::offer_models;
use crate::cli::commands::drive::{Broken, Ended, Job, Live, drive_job, report_end};
use crate::cli::commands::show::ShowArgs;
use crate::cli::commands::show::show;
use crate::cli::context::app::App;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::context::interrupts;
use crate::cli::context::source::Source;
use crate::cli::ui::escape::{brief, line};
use crate::cli::ui::numbers::{counted, grouped, seconds};
use crate::cli::ui::screen::Style;
use crate::contract::ExecutionContract;
use crate::message::{Digest, Role, RunId};
use crate::store::Durability;
use crate::telemetry::{ResultCounters, dollars};

const HELP: &str = "\
/show    the last run
/tools   what the model may call
/undo    forget the last message and its answer
/cost    what this conversation has used
/quit    the end, as Ctrl-D
Ctrl-C   asks the answer to come to its end; a second one ends it at once
";

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

/// What all runs of a conversation used, those that were taken back too.
#[derive(Debug, Default, PartialEq, Eq)]
struct Used {
    cost_micro_usd: u64,
    elapsed_ms: u64,
    runs: usize,
    tokens_in: u64,
    tokens_out: u64,
}

/// What a line of a conversation asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish<'l> {
    Cost,
    Help,
    Nothing,
    Quit,
    Send(&'l str),
    Show,
    Tools,
    Undo,
    Unknown(&'l str),
}

/// `monolith chat`.
pub(in crate::cli) fn chat(app: &App, args: ChatArgs) -> Result<Exit, CliError> {
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
    let spec = chat.file().read(app)?;
    offer_models(app, &spec)?;
    let mut prompt = Prompt::new()?;
    app.screen
        .note("Each message is a run. /help lists the commands, /quit ends.");
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

impl<'l> Wish<'l> {
    fn of(typed: &'l str) -> Self {
        let typed = typed.trim();
        match typed {
            "" => Self::Nothing,
            "/cost" => Self::Cost,
            "/help" => Self::Help,
            "/quit" => Self::Quit,
            "/show" => Self::Show,
            "/tools" => Self::Tools,
            "/undo" => Self::Undo,
            // A path is no command.
            _ if typed.starts_with('/') && !typed.contains(char::is_whitespace) => {
                if typed
                    .strip_prefix('/')
                    .is_some_and(|rest| rest.contains('/'))
                {
                    Self::Send(typed)
                } else {
                    Self::Unknown(typed)
                }
            }
            _ => Self::Send(typed),
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
        self.used.add(&result.counters);
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
        let screen = self.app.screen;
        let contract = self.contract_of_last()?;
        let mut out = String::new();
        for tool in contract.exposed_tools() {
            let first = tool.description.lines().next().unwrap_or_default();
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{}  {}", line(&tool.name), brief(first, 100));
        }
        if out.is_empty() {
            out.push_str("no tool may be called\n");
        }
        Ok(screen.out(&out)?)
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
        let told = match (self.runs.pop(), self.runs.last()) {
            (None, _) => "there is nothing to take back\n".to_owned(),
            (Some((gone, _)), Some((last, _))) => {
                format!("run {gone} is taken back; the next message continues run {last}\n")
            }
            (Some((gone, _)), None) => {
                format!("run {gone} is taken back; the next message begins anew\n")
            }
        };
        Ok(self.app.screen.out(&told)?)
    }
}

impl Used {
    fn add(&mut self, counters: &ResultCounters) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.cost_micro_usd, counters.cost_micro_usd);
        add(&mut self.elapsed_ms, counters.elapsed_ms);
        add(&mut self.tokens_in, counters.tokens_in);
        add(&mut self.tokens_out, counters.tokens_out);
        self.runs = self.runs.saturating_add(1);
    }

    fn line(&self) -> String {
        format!(
            "{}, {} in, {} out, {}, {}\n",
            counted(self.runs, "run"),
            counted(self.tokens_in, "token"),
            grouped(self.tokens_out),
            dollars(self.cost_micro_usd),
            seconds(self.elapsed_ms)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_after_a_slash_is_a_command_and_a_path_is_not() {
        let check = |typed: &str, expect: Wish<'_>| assert_eq!(Wish::of(typed), expect, "{typed}");
        check("  ", Wish::Nothing);
        check(" /quit ", Wish::Quit);
        check("/undo", Wish::Undo);
        check("/frob", Wish::Unknown("/frob"));
        check("/etc/hosts", Wish::Send("/etc/hosts"));
        check("/show me the files", Wish::Send("/show me the files"));
        check("hello", Wish::Send("hello"));
    }

    #[test]
    fn what_was_used_adds_up() {
        let mut used = Used::default();
        let counters = ResultCounters {
            cost_micro_usd: 1_500_000,
            elapsed_ms: 1_200,
            tokens_in: 1_000,
            tokens_out: 20,
            ..ResultCounters::default()
        };
        used.add(&counters);
        used.add(&counters);
        assert_eq!(
            used.line(),
            "2 runs, 2,000 tokens in, 40 out, 3.000000 USD, 2.400s\n"
        );
    }
}
