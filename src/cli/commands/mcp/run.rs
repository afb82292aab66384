//! `monolith mcp`: finds the server that is meant, forgets logins and lists them.

use std::fmt::Write as _;

use super::args::{LoginsArgs, McpCommand, ServerArgs};
use super::login::{inform, login};
use crate::context::app::App;
use crate::context::trust::trusting;
use monolith_host::driver::ToolLogin;
use monolith_service::clock::unix_ms;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::logins::{self, ServerRequest, login_server};
use monolith_service::text::escape::line;

/// `monolith mcp login | logout | list`.
pub(crate) fn mcp(app: &App, command: &McpCommand) -> Result<Exit, ServiceError> {
    match command {
        McpCommand::Login(args) => login(app, server_of(app, &args.server)?, args),
        McpCommand::Logout(args) => logout(app, args),
        McpCommand::List(args) => list(app, args),
    }
}

/// The server that is meant.
fn server_of(app: &App, args: &ServerArgs) -> Result<ToolLogin, ServiceError> {
    let request = request_of(args);
    trusting(app, || login_server(app, &request))
}

fn request_of(args: &ServerArgs) -> ServerRequest {
    ServerRequest {
        contract: args.contract.clone(),
        name: args.name.clone(),
        url: args.url.clone(),
    }
}

fn logout(app: &App, args: &ServerArgs) -> Result<Exit, ServiceError> {
    let request = request_of(args);
    let (server, forgotten) = trusting(app, || logins::logout(app, &request))?;
    inform(
        app,
        &if forgotten {
            format!(
                "the login at {} is forgotten here; its authorization server still knows it",
                line(&server)
            )
        } else {
            format!("there is no login at {}", line(&server))
        },
    );
    Ok(Exit::OK)
}

fn list(app: &App, args: &LoginsArgs) -> Result<Exit, ServiceError> {
    let found = logins::logins(app)?;
    if args.json {
        app.screen.out_json(&found)?;
        return Ok(Exit::OK);
    }
    if found.logins.is_empty() {
        inform(app, "there is no login at a tool server");
        return Ok(Exit::OK);
    }
    let now = unix_ms() / 1_000;
    let mut out = String::new();
    for login in &found.logins {
        let state = match (login.expires_unix_s, login.refreshable) {
            (_, true) => "is refreshed",
            (Some(at), false) if at <= now => "has expired",
            (_, false) => "is not refreshed",
        };
        let scopes = match login.scopes.join(" ") {
            none if none.is_empty() => "no scopes".to_owned(),
            scopes => format!("scopes {scopes}"),
        };
        let (server, issuer) = (line(&login.server), line(&login.issuer));
        let _ = writeln!(out, "{server}  from {issuer}, {}, {state}", line(&scopes));
    }
    app.screen.out(&out)?;
    Ok(Exit::OK)
}
