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
