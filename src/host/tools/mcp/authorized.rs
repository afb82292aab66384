//! Repeats a request that a server refused for want of authorization. Does not know the request.

use std::sync::Arc;

use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{RequestBuilder, Response, StatusCode};

use crate::tools::ToolServerError;
use crate::tools::oauth::{Authorization, Challenge, Renewal};

/// Maximum number of times that one request is sent again: once for an expired token, once for scopes.
const MOST_ROUNDS: usize = 2;

/// Sends with the current token, and again while `refused` finds a challenge and another token can be had for it.
pub(super) async fn with_token<T, F: Future<Output = T>>(
    authorization: Option<&Authorization>,
    send: impl Fn(Option<String>) -> F,
    refused: impl Fn(&T) -> Option<Challenge>,
) -> T {
    let Some(authorization) = authorization else {
        return send(None).await;
    };
    let mut round = 0;
    loop {
        let token = authorization.token().await;
        let result = send(token.clone()).await;
        let Some(challenge) = refused(&result) else {
            return result;
        };
        let used = token.as_deref();
        if round == MOST_ROUNDS {
            authorization.lack(used, &challenge, None);
            return result;
        }
        if authorization.renew(used, &challenge).await == Renewal::Never {
            return result;
        }
        round += 1;
    }
}

/// Sends a request as [`with_token`] does.
pub(super) async fn send_with_token(
    authorization: Option<&Authorization>,
    request: impl Fn() -> RequestBuilder,
) -> Result<Response, reqwest::Error> {
    let send = |token: Option<String>| match token {
        Some(token) => request().bearer_auth(token).send(),
        None => request().send(),
    };
    let refused = |result: &Result<Response, reqwest::Error>| {
        let refusal = refusal(result.as_ref().ok()?)?;
        Some(Challenge::of(&refusal))
    };
    with_token(authorization, send, refused).await
}

/// The challenges of a response that refuses for want of authorization: nothing was carried out then.
pub(super) fn refusal(response: &Response) -> Option<String> {
    let all = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let all: Vec<&str> = all.filter_map(|value| value.to_str().ok()).collect();
    let all = all.join(", ");
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(all),
        StatusCode::FORBIDDEN if Challenge::of(&all).insufficient_scope => Some(all),
        _ => None,
    }
}

/// Reports that the server of that name wants authorization, if it refused a request for that.
pub(super) fn unauthorized(
    authorization: Option<&Arc<Authorization>>,
    name: &str,
) -> Option<ToolServerError> {
    let need = authorization?.need()?;
    let reason = need.remedy(name);
    let scopes = Some(need.lacking_scopes().to_vec());
    Some(ToolServerError::Unauthorized { reason, scopes })
}
