//! One JSON request to a server outside of a run. Knows no key, redirect or proxy.

use std::time::Duration;

use reqwest::Url;
use tokio_util::sync::CancellationToken;

use super::{HttpBackend, HttpTarget};
use super::{Probe, Timeouts};

/// The most bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Asks a server for one JSON document: no key, no redirect, no proxy, and everything within `timeout`. None if nothing
/// answers so.
///
/// `body` makes it a POST.
pub(crate) async fn request_json(
    address: &str,
    body: Option<&serde_json::Value>,
    timeout: Duration,
) -> Option<serde_json::Value> {
    let url = Url::parse(address).ok()?;
    let mut client = reqwest::Client::builder();
    if url.scheme() == "http" {
        client = client.tls_certs_only([]);
    }
    let client = client
        .no_proxy()
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
    if !response.status().is_success() {
        return None;
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_ANSWER_BYTES {
            return None;
        }
    }
    serde_json::from_slice(&bytes).ok()
}

/// Whether a server answers at an address. The request is a run's probe without a key, a header of the contract, a user or a
/// query.
pub(crate) async fn probe_address(address: &str, timeout: Duration) -> Probe {
    let bare = Url::parse(address).map(|mut url| {
        url.set_query(None);
        // An address that can have no user has none to take away.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        String::from(url)
    });
    let target = HttpTarget {
        base_url: bare.unwrap_or_else(|_| address.to_owned()),
        headers: Vec::new(),
        key: None,
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
