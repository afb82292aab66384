//! Logins at tool servers: which server, as what, and where the tokens are kept. Shows nothing to a person.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::bring_up::client_terms;
use super::{DriverError, Environment, Secrets};
use crate::tools::{ClientTerms, Login, LoginFault, LoginTerms, begin_login};
use monolith_core::contract::{ContractSpec, McpTransport, OAuthGrant, RedactionTerms, Remote};

/// A person's choices for a login, in addition to the contract's.
#[derive(Clone, Debug, Default)]
pub struct LoginRequest {
    /// The registered client; `None` registers one.
    pub client_id: Option<String>,
    /// The loopback port for the returned code; `None` takes a free one.
    pub port: Option<u16>,
    /// The requested scopes.
    pub scopes: Vec<String>,
}

/// A server that a person logs in at.
#[derive(Debug)]
pub struct ToolLogin {
    client: ClientTerms,
    environment: Environment,
    headers: BTreeMap<String, String>,
    redact: RedactionTerms,
    remote: Remote,
    secrets: Vec<String>,
    url: Url,
}

/// The target of a login.
#[derive(Debug)]
pub enum Reached {
    /// A server with an address.
    At(Box<ToolLogin>),
    /// A server of that name has no address of the web.
    NotRemote,
    /// No server of that name is there.
    Unknown,
    /// Tokens for it are got without a person.
    WithoutPerson,
}

impl ToolLogin {
    /// The server of that name in a contract's file.
    ///
    /// # Errors
    /// [`DriverError`], where a variable is not set that it names.
    pub fn of_contract(
        spec: &ContractSpec,
        name: &str,
        environment: &Environment,
    ) -> Result<Reached, DriverError> {
        let Some(server) = spec.tools.servers.get(name) else {
            return Ok(Reached::Unknown);
        };
        let McpTransport::Remote {
            headers,
            oauth,
            remote,
            url,
        } = &server.transport
        else {
            return Ok(Reached::NotRemote);
        };
        let Ok(url) = Url::parse(url) else {
            return Ok(Reached::NotRemote);
        };
        if *remote == Remote::Websocket {
            return Ok(Reached::NotRemote);
        }
        let oauth = oauth.as_deref();
        if oauth.is_some_and(|oauth| oauth.grant != OAuthGrant::AuthorizationCode) {
            return Ok(Reached::WithoutPerson);
        }
        let secrets = Secrets::of(spec, environment);
        let environment = environment.over(spec);
        let place = format!("tools.mcp.{name}");
        let client = client_terms(oauth, &environment, &format!("{place}.oauth"))?;
        let headers = environment.expand_all(headers, &format!("{place}.headers"))?;
        Ok(Reached::At(Box::new(Self {
            client,
            headers,
            redact: spec.redact.clone(),
            remote: *remote,
            secrets: secrets.matched().map(str::to_owned).collect(),
            url,
            environment,
        })))
    }

    /// A server of no contract.
    #[must_use]
    pub fn of_address(url: Url, environment: &Environment) -> Self {
        Self {
            client: ClientTerms::default(),
            environment: environment.clone(),
            headers: BTreeMap::new(),
            redact: RedactionTerms::default(),
            remote: Remote::Http,
            secrets: Vec::new(),
            url,
        }
    }

    /// Its address.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Begins the login; `None` if the server asks for none, or the host keeps no keys.
    ///
    /// # Errors
    /// [`LoginFault`].
    pub async fn begin(
        self,
        request: LoginRequest,
        cancel: &CancellationToken,
    ) -> Result<Option<Login>, LoginFault> {
        let Some(keeper) = self.environment.token_keeper() else {
            return Ok(None);
        };
        let secrets = self.secrets.iter().map(String::as_str);
        let host = self.environment.shared().server_host(secrets, &self.redact);
        let client = ClientTerms {
            client_id: request.client_id.or(self.client.client_id),
            ..self.client
        };
        let terms = LoginTerms {
            client,
            keeper,
            port: request.port,
            scopes: request.scopes,
            server: self.url,
        };
        begin_login(terms, (&self.headers, self.remote), &host.scrub, cancel).await
    }
}
