//! Questions for the person at the terminal. Where there is none, nothing is answered.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;

/// Asks the person at the terminal; no person there, or anything but yes, is no. `what` is what was not done then.
pub(crate) fn confirm(app: &App, what: &'static str, question: &str) -> Result<(), ServiceError> {
    let answer = answer(app, &format!("{question} [y/N] "))?;
    match answer.as_deref() {
        Some("y" | "Y" | "yes") => Ok(()),
        None => {
            // What it was about is not known otherwise.
            app.screen.write_err(&format!("{question}\n"));
            Err(SystemFault::NotAsked { what }.into())
        }
        Some(_) => Err(SystemFault::NotConfirmed { what }.into()),
    }
}

/// The answer of the person at the terminal; `None` if there is no terminal, or no one is to be asked.
pub(crate) fn answer(app: &App, question: &str) -> Result<Option<String>, ServiceError> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Ok(None);
    }
    app.screen.write_err(question);
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(Some(answer.trim().to_owned()))
}

/// Like [`answer`], but keys that were pressed before the question do not count.
pub(crate) fn fresh_answer(app: &App, question: &str) -> Result<Option<String>, ServiceError> {
    #[cfg(unix)]
    if io::stdin().is_terminal() {
        use rustix::termios::{QueueSelector, tcflush};
        tcflush(io::stdin(), QueueSelector::IFlush).map_err(io::Error::from)?;
    }
    answer(app, question)
}

/// The key that the person at the terminal presses, without a line feed; `None` if there is no terminal. Keys that were pressed before the question
/// do not count.
#[cfg(unix)]
pub(crate) fn key(app: &App, question: &str) -> Result<Option<char>, ServiceError> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Ok(None);
    }
    let lines = tcgetattr(&stdin).map_err(io::Error::from)?;
    let mut keys = lines.clone();
    // Ctrl-C is a key here and no yes, so that the settings are always restored.
    keys.local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    keys.special_codes[SpecialCodeIndex::VMIN] = 1;
    keys.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(&stdin, OptionalActions::Flush, &keys).map_err(io::Error::from)?;
    app.screen.write_err(question);
    let mut pressed = [0_u8];
    let read = rustix::io::read(&stdin, &mut pressed);
    tcsetattr(&stdin, OptionalActions::Flush, &lines).map_err(io::Error::from)?;
    read.map_err(io::Error::from)?;
    let [pressed] = pressed.map(char::from);
    let shown = if pressed.is_ascii_graphic() {
        pressed
    } else {
        ' '
    };
    app.screen.write_err(&format!("{shown}\n"));
    Ok(Some(pressed))
}

/// The first character of the line that the person at the terminal types; `None` if there is no terminal.
#[cfg(not(unix))]
pub(crate) fn key(app: &App, question: &str) -> Result<Option<char>, ServiceError> {
    let said = answer(app, question)?;
    Ok(said.map(|said| said.chars().next().unwrap_or(' ')))
}
