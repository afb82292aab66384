//! The line that a person types in a conversation: editing, what ends the input, and what the line asks for. Does nothing of it.

use std::io::{self, IsTerminal as _};

use futures_util::FutureExt as _;
use rustyline::config::Behavior;
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use tokio::runtime::Runtime;

use crate::context::signals::{Signal, Signals};
use monolith_service::error::ServiceError;
use monolith_service::error::input::InputFault;

const PROMPT: &str = "> ";

/// Number of interrupts that end a conversation at the prompt. On a terminal Ctrl-C is a character that abandons the line.
const INTERRUPTS: usize = 2;

/// Reads lines from the terminal, or from a pipe.
pub(crate) struct Prompt {
    /// The line editor; `None` while a line is read, and once the process must end.
    editor: Option<DefaultEditor>,
    /// From the beginning of the conversation on: what came during an answer is heard at the next line.
    signals: Signals,
}

/// The input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Line(String),
    /// A second interrupt came while nothing was asked: the conversation ends.
    Interrupted,
    /// The line was given up.
    Nothing,
    /// The line is no text: nothing of it is sent.
    NotText,
    /// There is no more.
    End,
    /// The process was asked to end.
    Terminated,
}

impl Prompt {
    pub(crate) fn new(runtime: &Runtime) -> Result<Self, ServiceError> {
        // The prompt is for the person: where stdout is a file or a pipe, it goes to the terminal by another way.
        let behavior = if io::stdin().is_terminal() && !io::stdout().is_terminal() {
            Behavior::PreferTerm
        } else {
            Behavior::Stdio
        };
        let config = Config::builder().behavior(behavior).build();
        let editor = DefaultEditor::with_config(config).map_err(|fault| unreadable(&fault))?;
        let signals = runtime.block_on(async { Signals::listen() })?;
        Ok(Self {
            editor: Some(editor),
            signals,
        })
    }

    /// Waits for the next line while the runtime keeps running its tasks. A process that is asked to end restores the terminal.
    pub(crate) fn read(&mut self, runtime: &Runtime) -> Result<Typed, ServiceError> {
        let Some(mut editor) = self.editor.take() else {
            return Ok(Typed::End);
        };
        let terminal = Terminal::now();
        let signals = &mut self.signals;
        let read = runtime.block_on(async {
            // An interrupt of an answer was that answer's.
            while let Some(signal) = signals.next().now_or_never() {
                if signal == Signal::Terminate {
                    return Ok(Err(Typed::Terminated));
                }
            }
            let mut reading = tokio::task::spawn_blocking(move || {
                let line = editor.readline(PROMPT);
                (editor, line)
            });
            let mut interrupts = 0;
            loop {
                tokio::select! {
                    biased;
                    signal = signals.next() => match signal {
                        Signal::Terminate => return Ok(Err(Typed::Terminated)),
                        Signal::Interrupt => {
                            interrupts += 1;
                            if interrupts == INTERRUPTS {
                                return Ok(Err(Typed::Interrupted));
                            }
                        }
                    },
                    read = &mut reading => {
                        let (editor, line) = read.map_err(io::Error::other)?;
                        return Ok::<_, ServiceError>(Ok((editor, line)));
                    }
                }
            }
        });
        let (mut editor, line) = match read? {
            Ok(read) => read,
            Err(ended) => {
                terminal.restore();
                return Ok(ended);
            }
        };
        let typed = match line {
            Ok(line) => {
                // A line that is not kept is only not offered again.
                drop(editor.add_history_entry(&line));
                Typed::Line(line)
            }
            Err(ReadlineError::Interrupted) => Typed::Nothing,
            Err(ReadlineError::Eof) => Typed::End,
            // The line is gone from the input, and the next one may be text.
            Err(ReadlineError::Io(fault)) if fault.kind() == io::ErrorKind::InvalidData => {
                Typed::NotText
            }
            Err(fault) => return Err(unreadable(&fault)),
        };
        self.editor = Some(editor);
        Ok(typed)
    }
}

fn unreadable(fault: &ReadlineError) -> ServiceError {
    let reason = fault.to_string();
    InputFault::Line { reason }.into()
}

/// The settings of the terminal before it was read from.
struct Terminal {
    #[cfg(unix)]
    settings: Option<rustix::termios::Termios>,
}

impl Terminal {
    fn now() -> Self {
        Self {
            #[cfg(unix)]
            settings: io::stdin()
                .is_terminal()
                .then(|| rustix::termios::tcgetattr(io::stdin()).ok())
                .flatten(),
        }
    }

    fn restore(&self) {
        #[cfg(unix)]
        if let Some(settings) = &self.settings {
            let now = rustix::termios::OptionalActions::Now;
            // A terminal that is gone has no settings.
            let _ = rustix::termios::tcsetattr(io::stdin(), now, settings);
        }
    }
}

/// The request in a line of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish<'l> {
    Cost,
    /// A word that ends other programs, without the slash.
    EndWord(&'l str),
    Forget,
    Help,
    /// A command with something behind it: none takes that.
    NoArgument(&'l str),
    Nothing,
    Quit,
    Send(&'l str),
    Show,
    Tools,
    Undo,
    Unknown(&'l str),
}

impl<'l> Wish<'l> {
    pub(super) fn of(typed: &'l str) -> Self {
        let typed = typed.trim();
        let word = typed.split_whitespace().next().unwrap_or_default();
        let command = match word {
            "" => Self::Nothing,
            "/cost" => Self::Cost,
            "/forget" => Self::Forget,
            "/help" => Self::Help,
            "/exit" | "/quit" => Self::Quit,
            "/show" => Self::Show,
            "/tools" => Self::Tools,
            "/undo" => Self::Undo,
            "exit" | "quit" if word == typed => Self::EndWord(word),
            _ => match word.strip_prefix('/') {
                Some(rest) if !rest.contains('/') => Self::Unknown(word),
                // A path is no command.
                Some(_) | None => Self::Send(typed),
            },
        };
        match command {
            Self::Send(_) | Self::Unknown(_) => command,
            _ if word != typed => Self::NoArgument(word),
            _ => command,
        }
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
        check("/exit", Wish::Quit);
        check("/forget", Wish::Forget);
        check("/undo", Wish::Undo);
        check("/frob", Wish::Unknown("/frob"));
        check("/etc/hosts", Wish::Send("/etc/hosts"));
        check("/etc/hosts is what?", Wish::Send("/etc/hosts is what?"));
        check("/show me the files", Wish::NoArgument("/show"));
        check("/exit now", Wish::NoArgument("/exit"));
        check("/undo 2", Wish::NoArgument("/undo"));
        check("/foo bar", Wish::Unknown("/foo"));
        check(" exit", Wish::EndWord("exit"));
        check("quit", Wish::EndWord("quit"));
        check("quit smoking", Wish::Send("quit smoking"));
        check("hello", Wish::Send("hello"));
    }
}
