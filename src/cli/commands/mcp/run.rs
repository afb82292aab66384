//! `monolith mcp`: finds the server that is meant, forgets logins and lists them.

use std::fmt::Write as _;

use serde::Serialize;
use url::Url;

use super::args::{LoginsArgs, McpCommand, ServerArgs};
use super::login::{inform, login};
use crate::context::app::App;
use monolith_core::contract::{ContractSpec, McpTransport, Remote, check_address};
use monolith_host::driver::{Reached, ToolLogin};
use monolith_host::tools::server_address;
use monolith_service::clock::unix_ms;
use monolith_service::contract_file::{ContractFile, look_for_agent_file};
use monolith_service::error::ServiceError;
use monolith_service::error::login::LoginRefused;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;

#[derive(Serialize)]
struct Logins {
    logins: Vec<KeptLogin>,
}

/// A login, without anything that is secret.
#[derive(Serialize)]
struct KeptLogin {
    server: String,
    issuer: String,
    scopes: Vec<String>,
    expires_unix_s: Option<u64>,
    refreshable: bool,
}

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
    if let Some(url) = &args.url {
        let refuse = |rule: String| LoginRefused::Address { rule };
        check_address(url).map_err(|rule| refuse(rule.to_owned()))?;
        let url = Url::parse(url).map_err(|fault| refuse(fault.to_string()))?;
        return Ok(ToolLogin::of_address(url, &app.environment));
    }
    if args.contract.is_none() {
        look_for_agent_file(app, None, "mcp login NAME --contract FILE")?;
    }
    let file = ContractFile::given_or_found(app, args.contract.clone(), Vec::new());
    let spec = app.read_contract(&file)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => only_server(&spec).ok_or_else(|| LoginRefused::NoName {
            known: remote_servers(&spec),
        })?,
    };
    let reached = ToolLogin::of_contract(&spec, &name, &app.environment);
    match reached.map_err(|fault| file.located(fault))? {
        Reached::At(server) => Ok(*server),
        Reached::NotRemote => Err(LoginRefused::NotRemote { name }.into()),
        Reached::WithoutPerson => Err(LoginRefused::WithoutPerson { name }.into()),
        Reached::Unknown => Err(LoginRefused::Unknown {
            known: remote_servers(&spec),
            name,
        }
        .into()),
    }
}

/// The servers of a file that can be logged in at.
fn remote_servers(spec: &ContractSpec) -> Vec<String> {
    let is_remote = |transport: &McpTransport| match transport {
        McpTransport::Remote { remote, .. } => *remote != Remote::Websocket,
        McpTransport::Openapi { .. } | McpTransport::Rest { .. } | McpTransport::Stdio { .. } => {
            false
        }
    };
    let servers = spec.tools.servers.iter();
    let remote = servers.filter(|(_, server)| is_remote(&server.transport));
    remote.map(|(name, _)| name.clone()).collect()
}

fn only_server(spec: &ContractSpec) -> Option<String> {
    let mut remote = remote_servers(spec).into_iter();
    let first = remote.next();
    first.filter(|_| remote.next().is_none())
}

fn logout(app: &App, args: &ServerArgs) -> Result<Exit, ServiceError> {
    let server = server_address(server_of(app, args)?.url());
    let forgotten = app.own_keys()?.forget_authorization(&server)?;
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
    let kept = app.own_keys()?.authorizations()?;
    let logins = kept.into_iter().map(|kept| KeptLogin {
        expires_unix_s: kept.expires_unix_s,
        refreshable: kept.refresh_token.is_some(),
        server: kept.server,
        issuer: kept.issuer,
        scopes: kept.scopes,
    });
    let logins: Vec<KeptLogin> = logins.collect();
    if args.json {
        app.screen.out_json(&Logins { logins })?;
        return Ok(Exit::OK);
    }
    if logins.is_empty() {
        inform(app, "there is no login at a tool server");
        return Ok(Exit::OK);
    }
    let now = unix_ms() / 1_000;
    let mut out = String::new();
    for login in &logins {
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
