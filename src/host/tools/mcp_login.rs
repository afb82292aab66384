//! Begins a login at a server: finds out what it asks for, by connecting to it without a token. Does not finish it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::ToolServerError;
use super::mcp::{Endpoint, McpServer, Timeouts};
use super::oauth::{Authorization, Challenge, ClientTerms, Login, LoginTerms, OAuthFault};
use monolith_core::contract::{McpTerms, Remote};
use monolith_core::message::Scrubber;

/// Time limit for a server to say what it needs.
const LOOK_MS: u64 = 60_000;

/// An error that prevents a login.
#[derive(Debug, thiserror::Error)]
pub enum LoginFault {
    /// The server did not say whether it wants one.
    #[error(transparent)]
    Server(#[from] ToolServerError),
    /// There is no way to one.
    #[error(transparent)]
    OAuth(#[from] OAuthFault),
}

/// Begins a login at a server; `None` if the server asks for no authorization. Where scopes are wanted it begins in any case.
///
/// # Errors
/// [`LoginFault`].
pub(crate) async fn begin_login(
    terms: LoginTerms,
    (headers, remote): (&BTreeMap<String, String>, Remote),
    scrub: &Arc<dyn Scrubber>,
    cancel: &CancellationToken,
) -> Result<Option<Login>, LoginFault> {
    let proxies = terms.client.proxies.clone();
    let unknown = ClientTerms {
        proxies: proxies.clone(),
        ..ClientTerms::default()
    };
    let stranger = Authorization::new(terms.server.clone(), unknown, None)?;
    let stranger = Arc::new(stranger);
    let url = terms.server.as_str();
    let place = Endpoint {
        authorization: Some(&stranger),
        headers,
        proxies: &proxies,
        remote,
        url,
    };
    let mcp_terms = McpTerms::default();
    let timeouts = (Timeouts::within(LOOK_MS), scrub);
    let connected = McpServer::connect(("login", &mcp_terms), place, timeouts, cancel);
    let challenge = match Box::pin(connected).await {
        Ok(server) => {
            server.close().await;
            None
        }
        Err(fault) => match stranger.need() {
            Some(need) => Some(need.challenge),
            None => return Err(fault.into()),
        },
    };
    let challenge = match challenge {
        Some(challenge) => challenge,
        None if terms.scopes.is_empty() => return Ok(None),
        None => Challenge::default(),
    };
    Ok(Some(Box::pin(Login::begin(terms, &challenge)).await?))
}
