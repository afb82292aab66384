//! One JSON request to a server outside of a run. Knows no key and no redirect.

use std::time::Duration;

use reqwest::Url;
use tokio_util::sync::CancellationToken;

use super::proxies::through;
use super::{HttpBackend, HttpTarget};
use super::{Probe, Proxies, Timeouts};

/// The most bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Asks a server of this machine for one JSON document: no key, no redirect, no proxy, and everything within `timeout`. None if
/// nothing answers so.
///
/// `body` makes it a POST.
pub async fn request_json(
    address: &str,
    body: Option<&serde_json::Value>,
    timeout: Duration,
) -> Option<serde_json::Value> {
    let direct = Proxies::default();
    let answer = request(Url::parse(address).ok()?, body, timeout, &direct).await?;
    if !(200..300).contains(&answer.status) {
        return None;
    }
    serde_json::from_slice(&answer.body).ok()
}

/// The answer of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerAnswer {
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// The stated type of the body; empty if not stated.
    pub content_type: String,
    /// The HTTP status code.
    pub status: u16,
}

/// Sends a GET of `path` below an address, without a key, a user or a query, and returns the answer; none if nothing answers in
/// time.
pub async fn answer_at(
    address: &str,
    path: &str,
    timeout: Duration,
    proxies: &Proxies,
) -> Option<ServerAnswer> {
    let mut url = Url::parse(&bare(address)).ok()?;
    url.path_segments_mut()
        .ok()?
        .pop_if_empty()
        .extend(path.split('/'));
    request(url, None, timeout, proxies).await
}

async fn request(
    url: Url,
    body: Option<&serde_json::Value>,
    timeout: Duration,
    proxies: &Proxies,
) -> Option<ServerAnswer> {
    let proxy = proxies.for_url(&url).ok()?;
    let mut client = reqwest::Client::builder();
    if url.scheme() == "http" && proxy.as_ref().is_none_or(|proxy| proxy.scheme() == "http") {
        client = client.tls_certs_only([]);
    }
    let client = through(client, proxy.as_ref()).ok()?;
    let client = client
        .redirect(reqwest::redirect::Policy::none())
        .timeout(timeout)
        .build()
        .ok()?;
    let request = match body {
        None => client.get(url),
        Some(body) => client
            .post(url)
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(body.to_string()),
    };
    let mut response = request.send().await.ok()?;
    let content_type = response.headers().get(reqwest::header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let mut answer = ServerAnswer {
        body: Vec::new(),
        content_type: content_type.unwrap_or_default().to_owned(),
        status: response.status().as_u16(),
    };
    while let Some(piece) = response.chunk().await.ok()? {
        answer.body.extend_from_slice(&piece);
        if answer.body.len() > MAX_ANSWER_BYTES {
            return None;
        }
    }
    Some(answer)
}

/// An address without its user and query.
fn bare(address: &str) -> String {
    let bare = Url::parse(address).map(|mut url| {
        url.set_query(None);
        // An address that can have no user has none to take away.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        String::from(url)
    });
    bare.unwrap_or_else(|_| address.to_owned())
}

/// Probes the server at an address. The request is a run's probe without a key, a header of the contract, a user or a query.
pub async fn probe_address(address: &str, timeout: Duration, proxies: &Proxies) -> Probe {
    let target = HttpTarget {
        base_url: bare(address),
        headers: Vec::new(),
        key: None,
        proxies: proxies.clone(),
    };
    match HttpBackend::new(&target) {
        Ok(backend) => {
            let timeouts = Timeouts {
                cancel: CancellationToken::new(),
                idle: timeout,
            };
            backend.probe(&[], &timeouts).await
        }
        Err(fault) => Probe {
            detail: fault.to_string(),
            responsive: false,
            ..Probe::default()
        },
    }
}
