//! Requests to authorization servers: bounded in time and size, no redirect followed. Does not know what they mean.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Proxy, RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use super::fault::{OAuthFault, word_of};
use super::well_known::named;
use crate::inference::Proxies;
use crate::tools::http_client;

/// The most bytes of an answer.
const MOST_BYTES: usize = 256 << 10;
/// Time limit for a whole answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The HTTP client for authorization servers.
#[derive(Clone, Debug)]
pub(super) struct Web(reqwest::Client);

/// An answer as it came.
pub(super) struct Reply {
    address: String,
    body: Vec<u8>,
    pub(super) status: StatusCode,
}

impl Web {
    pub(super) fn new(proxies: &Proxies) -> Result<Self, OAuthFault> {
        let proxies = proxies.clone();
        // One that cannot be used is reported by the connection to the tool server.
        let proxy = Proxy::custom(move |url| proxies.for_url(url).ok().flatten());
        let client = http_client::builder().proxy(proxy);
        let client = client.timeout(TIMEOUT).build();
        let client = client.map_err(|fault| OAuthFault::Unreached {
            address: "an authorization server".to_owned(),
            reason: fault.without_url().to_string(),
        })?;
        Ok(Self(client))
    }

    pub(super) async fn get(&self, url: &Url) -> Result<Reply, OAuthFault> {
        let request = self.0.get(url.clone()).header(ACCEPT, "application/json");
        reply(request, url).await
    }

    /// Posts a form; `basic` is the value of its header, if it has one.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        pairs: &[(&str, String)],
        basic: Option<HeaderValue>,
    ) -> Result<Reply, OAuthFault> {
        let form = Serializer::new(String::new()).extend_pairs(pairs).finish();
        let mut request = self
            .0
            .post(url.clone())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        if let Some(basic) = basic {
            request = request.header(AUTHORIZATION, basic);
        }
        reply(request, url).await
    }

    pub(super) async fn post_json(&self, url: &Url, body: &Value) -> Result<Reply, OAuthFault> {
        let request = self
            .0
            .post(url.clone())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        reply(request, url).await
    }
}

async fn reply(request: RequestBuilder, url: &Url) -> Result<Reply, OAuthFault> {
    let address = named(url);
    let failed = |fault: reqwest::Error| {
        let reason = if fault.is_timeout() {
            "no answer came in time".to_owned()
        } else if fault.is_connect() {
            "no connection came about".to_owned()
        } else {
            fault.without_url().to_string()
        };
        let address = named(url);
        OAuthFault::Unreached { address, reason }
    };
    let mut response = request.send().await.map_err(failed)?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if chunk.len() > MOST_BYTES - body.len() {
            let rule = format!("its answer is longer than {MOST_BYTES} bytes");
            return Err(OAuthFault::Document { address, rule });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Reply {
        address,
        body,
        status,
    })
}

impl Reply {
    /// Parses the body of a success.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, OAuthFault> {
        // The parser's words may quote what it read, which may be a token.
        serde_json::from_slice(&self.body).map_err(|_| OAuthFault::Document {
            address: self.address.clone(),
            rule: "its answer is not the document that belongs there".to_owned(),
        })
    }

    /// The standard's word for a refusal, else the status.
    pub(super) fn refusal(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let word = body.get("error").and_then(Value::as_str).and_then(word_of);
        word.unwrap_or_else(|| format!("HTTP {}", self.status.as_u16()))
    }
}
