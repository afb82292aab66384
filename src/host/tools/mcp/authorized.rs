//! What follows where a server refuses a request for want of authorization. Does not know what was requested.

use std::sync::Arc;

use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{RequestBuilder, Response, StatusCode};

use crate::tools::ToolServerError;
use crate::tools::oauth::{Authorization, Challenge, Renewal};

/// How often one request is sent again: once for a token that expired, once for scopes.
const MOST_ROUNDS: usize = 2;

/// A request that was refused for want of authorization.
pub(super) struct Refused<'t> {
    challenge: Challenge,
    /// How often it was sent before.
    round: usize,
    /// The token that it was sent with.
    used: Option<&'t str>,
}

impl<'t> Refused<'t> {
    pub(super) const fn new(used: Option<&'t str>, challenge: Challenge, round: usize) -> Self {
        Self {
            challenge,
            round,
            used,
        }
    }

    /// Whether another token is there to send it with.
    pub(super) async fn is_renewed(&self, authorization: &Authorization) -> bool {
        if self.round >= MOST_ROUNDS {
            authorization.lack(self.used, &self.challenge, None);
            return false;
        }
        authorization.renew(self.used, &self.challenge).await == Renewal::Again
    }
}

/// What a response asks for, if that is authorization: then nothing was carried out.
pub(super) fn asked_by(response: &Response) -> Option<Challenge> {
    let all = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let all: Vec<&str> = all.filter_map(|value| value.to_str().ok()).collect();
    let challenge = Challenge::of(&all.join(", "));
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(challenge),
        StatusCode::FORBIDDEN if challenge.insufficient_scope => Some(challenge),
        _ => None,
    }
}

/// Sends a request with the token that is there; once more where that is refused, and another one is there.
pub(super) async fn sent(
    authorization: Option<&Authorization>,
    request: impl Fn() -> RequestBuilder,
) -> Result<Response, reqwest::Error> {
    let mut round = 0;
    loop {
        let token = match authorization {
            Some(authorization) => authorization.token().await,
            None => None,
        };
        let mut request = request();
        if let Some(token) = &token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await?;
        let (Some(authorization), Some(challenge)) = (authorization, asked_by(&response)) else {
            return Ok(response);
        };
        let refused = Refused::new(token.as_deref(), challenge, round);
        if !refused.is_renewed(authorization).await {
            return Ok(response);
        }
        round += 1;
    }
}

/// That the server of that name wants authorization, where a request was refused for that.
pub(super) fn unauthorized(
    authorization: Option<&Arc<Authorization>>,
    name: &str,
) -> Option<ToolServerError> {
    let need = authorization?.need()?;
    let reason = need.remedy(name);
    Some(ToolServerError::Unauthorized { reason })
}
