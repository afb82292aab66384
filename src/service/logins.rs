//! The logins of this user at tool servers.

use std::path::PathBuf;

use serde::Serialize;
use url::Url;

use crate::contract_file::{ContractFile, look_for_agent_file};
use crate::error::ServiceError;
use crate::error::login::LoginRefused;
use crate::service::Service;
use monolith_core::contract::{ContractSpec, McpTransport, Remote, check_address};
use monolith_host::driver::{Reached, ToolLogin};
use monolith_host::tools::server_address;

/// The tool server that a caller means.
#[derive(Clone, Debug, Default)]
pub struct ServerRequest {
    /// Contract file; `None` for the usual file of the working folder.
    pub contract: Option<PathBuf>,
    /// Name of the server in the contract; `None` for its only server with an address.
    pub name: Option<String>,
    /// Address of the server, in place of a contract.
    pub url: Option<String>,
}

/// The logins at tool servers, without anything secret.
#[derive(Debug, Serialize)]
pub struct Logins {
    /// Each login.
    pub logins: Vec<KeptLogin>,
}

/// A login at a tool server.
#[derive(Debug, Serialize)]
pub struct KeptLogin {
    /// Address of the server.
    pub server: String,
    /// Authorization server.
    pub issuer: String,
    /// Granted scopes.
    pub scopes: Vec<String>,
    /// End of the access token, in seconds since 1970-01-01 UTC.
    pub expires_unix_s: Option<u64>,
    /// True if runs refresh it.
    pub refreshable: bool,
}

/// Returns the logins that are kept.
///
/// # Errors
///
/// The key folder cannot be read.
pub fn logins(service: &Service) -> Result<Logins, ServiceError> {
    let kept = service.own_keys()?.authorizations()?;
    let logins = kept.into_iter().map(|kept| KeptLogin {
        expires_unix_s: kept.expires_unix_s,
        refreshable: kept.refresh_token.is_some(),
        server: kept.server,
        issuer: kept.issuer,
        scopes: kept.scopes,
    });
    Ok(Logins {
        logins: logins.collect(),
    })
}

/// Forgets the login at a server. Returns the address of the server, and true if there was a login.
///
/// # Errors
///
/// The server is unknown, or the key folder cannot be written.
pub fn logout(service: &Service, request: &ServerRequest) -> Result<(String, bool), ServiceError> {
    let server = server_address(login_server(service, request)?.url());
    let forgotten = service.own_keys()?.forget_authorization(&server)?;
    Ok((server, forgotten))
}

impl ServerRequest {
    /// Returns the contract file.
    ///
    /// # Errors
    ///
    /// No file is named, and the working folder has none.
    pub fn contract_file(&self, service: &Service) -> Result<ContractFile, ServiceError> {
        if self.contract.is_none() {
            look_for_agent_file(service, None, "mcp login NAME --contract FILE")?;
        }
        let contract = self.contract.clone();
        Ok(ContractFile::given_or_found(service, contract, Vec::new()))
    }
}

/// Returns the server that is meant.
///
/// # Errors
///
/// The server is unknown or takes no login, or the contract needs trust.
pub fn login_server(service: &Service, request: &ServerRequest) -> Result<ToolLogin, ServiceError> {
    if let Some(url) = &request.url {
        let refuse = |rule: String| LoginRefused::Address { rule };
        check_address(url).map_err(|rule| refuse(rule.to_owned()))?;
        let url = Url::parse(url).map_err(|fault| refuse(fault.to_string()))?;
        return Ok(ToolLogin::of_address(url, &service.environment));
    }
    let file = request.contract_file(service)?;
    let spec = file.read(service)?;
    let name = match &request.name {
        Some(name) => name.clone(),
        None => only_server(&spec).ok_or_else(|| LoginRefused::NoName {
            known: remote_servers(&spec),
        })?,
    };
    let reached = ToolLogin::of_contract(&spec, &name, &service.environment);
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

/// The servers of a file that take a login.
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
