//! `monolith mcp login`: shows the address, waits for the browser or a pasted address, and reports what was kept.

use std::io::BufRead as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, channel};
use tokio_util::sync::CancellationToken;

use super::args::LoginArgs;
use crate::context::app::App;
use crate::context::runtime::runtime;
use monolith_host::driver::{LoginRequest, ToolLogin};
use monolith_host::tools::{
    Login, LoginFault, OAuthFault, ReturnedCode, StoredAuthorization, server_address,
};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;

/// Interval between updates on the remaining wait.
const PROGRESS: Duration = Duration::from_secs(30);
/// Command that opens URLs.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Logs in at a server.
pub(super) fn login(app: &App, server: ToolLogin, args: &LoginArgs) -> Result<Exit, ServiceError> {
    // Before a person does anything: the tokens are kept there.
    app.own_keys()?;
    let scopes = args.scopes.iter();
    let scopes = scopes.flat_map(|scopes| scopes.split_ascii_whitespace());
    let request = LoginRequest {
        client_id: args.client_id.clone(),
        port: args.port,
        scopes: scopes.map(str::to_owned).collect(),
    };
    let name = line(&server_address(server.url()));
    let cancel = CancellationToken::new();
    let kept = runtime()?.block_on(async {
        let Some(login) = server.begin(request, &cancel).await? else {
            return Ok::<_, ServiceError>(None);
        };
        inform(app, "open this address in a browser:");
        app.screen.out(&format!("{}\n", line(login.address())))?;
        let hint = "where the browser cannot come back to this machine, paste the address that it \
                    ends at here";
        inform(app, hint);
        if args.open {
            open(app, &login);
        }
        let code = returned(app, &login, Duration::from_secs(args.timeout)).await;
        let code = code.map_err(LoginFault::from)?;
        let kept = login.finish(code).await.map_err(LoginFault::from)?;
        Ok(Some(kept))
    })?;
    inform(
        app,
        &match &kept {
            Some(kept) => report(&name, kept),
            None => format!("{name} asks for no authorization: there is nothing to log in for"),
        },
    );
    Ok(Exit::OK)
}

/// Reports what was stored, without any secret.
fn report(name: &str, kept: &StoredAuthorization) -> String {
    let scopes = match kept.scopes.join(" ") {
        none if none.is_empty() => String::new(),
        scopes => format!(" with the scopes {}", line(&scopes)),
    };
    let lasts = match (&kept.refresh_token, kept.expires_unix_s) {
        (Some(_), _) => "runs refresh the token",
        (None, Some(_)) => "the token expires, and cannot be refreshed",
        (None, None) => "the token cannot be refreshed",
    };
    format!("logged in at {name}{scopes}; {lasts}")
}

/// Opens the address; a browser that cannot be started is a note, since the address is there to be opened by hand.
fn open(app: &App, login: &Login) {
    let mut browser = Command::new(OPENER);
    browser.arg(login.address());
    let quiet = browser.stdin(Stdio::null()).stdout(Stdio::null());
    if let Err(fault) = quiet.stderr(Stdio::null()).spawn() {
        inform(app, &format!("no browser was opened: {OPENER}: {fault}"));
    }
}

/// Waits for the browser, or for an address that is pasted.
async fn returned(app: &App, login: &Login, longest: Duration) -> Result<ReturnedCode, OAuthFault> {
    let mut pasted = lines();
    let returned = login.returned(longest);
    tokio::pin!(returned);
    let (mut reads, mut waited) = (true, Duration::ZERO);
    loop {
        tokio::select! {
            came = &mut returned => return came,
            text = pasted.recv(), if reads => match text {
                None => reads = false,
                Some(text) if text.trim().is_empty() => {}
                Some(text) => match login.pasted(&text) {
                    Err(fault @ OAuthFault::Answer(_)) => inform(app, &format!("failed to {fault}")),
                    read => return read,
                },
            },
            () = tokio::time::sleep(PROGRESS) => {
                waited += PROGRESS;
                let left = longest.saturating_sub(waited).as_secs();
                inform(app, &format!("waiting for the browser; {left} seconds are left"));
            }
        }
    }
}

/// Returns the lines of standard input, read by a separate thread. Only the end of the process ends its waiting.
fn lines() -> Receiver<String> {
    let (sender, lines) = channel(1);
    let thread = std::thread::Builder::new().name("pasted".to_owned());
    // Without the thread nothing can be pasted, and the browser can still come back.
    drop(thread.spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    }));
    lines
}

/// Informs the person who gave the command; a pipe is read by one, too.
pub(super) fn inform(app: &App, text: &str) {
    app.screen.write_err(&format!("{text}\n"));
}
