use std::time::Duration;

use reqwest::Url;

/// The most bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Asks a server for one JSON document: no key, no redirect, no proxy, and everything within `patience`. None where nothing
/// answers so.
///
/// `body` makes it a POST.
pub(crate) async fn ask_json(
    address: &str,
    body: Option<&serde_json::Value>,
    patience: Duration,
) -> Option<serde_json::Value> {
    let url = Url::parse(address).ok()?;
    let mut client = reqwest::Client::builder();
    if url.scheme() == "http" {
        client = client.tls_certs_only([]);
    }
    let client = client
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(patience)
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
