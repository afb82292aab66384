//! The HTTP client of a hub. Does not know the store.

use std::time::Duration;

use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LOCATION, RANGE,
};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Deserialize;

use super::hub_reference::{HubFile, location};
use super::{HubReference, Partial, PullError};
use crate::inference::Secret;
use crate::inference::http::chain;
use monolith_core::contract::recorded_url;

/// The default hub of references.
pub const USUAL_HUB: &str = "https://huggingface.co";
/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time without data.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// The most redirects of one request.
const MAX_REDIRECTS: usize = 5;
/// The most stretches that one fetch is made of; each but the last has brought bytes.
const MAX_STRETCHES: usize = 8;
/// The most bytes of a repository's description that are read.
const MAX_CARD_BYTES: usize = 8 << 20;

/// A server with repositories of models.
#[derive(Debug)]
pub struct Hub {
    base: Url,
    client: reqwest::Client,
    token: Option<Secret>,
}

/// The part of a repository's description that is of use here.
#[derive(Debug, Default, Deserialize)]
struct Described {
    #[serde(rename = "cardData", default)]
    card: Option<Card>,
}

#[derive(Debug, Default, Deserialize)]
struct Card {
    #[serde(default)]
    license: Option<serde_json::Value>,
}

impl Hub {
    /// A hub at that address. `token` is sent to it alone, never to where it redirects.
    ///
    /// # Errors
    /// [`PullError::Address`].
    pub fn new(base: &str, token: Option<Secret>) -> Result<Self, PullError> {
        let refuse = |rule: String| PullError::Address {
            got: recorded_url(base).chars().take(120).collect(),
            rule,
        };
        let mut url = Url::parse(base).map_err(|fault| refuse(fault.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(refuse("it begins with http:// or https://".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("it holds no user name and no password".to_owned()));
        }
        url.set_query(None);
        url.set_fragment(None);
        let mut client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("monolith/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&url) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|fault| refuse(fault.to_string()))?;
        Ok(Self {
            base: url,
            client,
            token,
        })
    }

    /// The hub's description of a file: length, hash, licence. Fetches nothing of the file itself.
    ///
    /// # Errors
    /// Why there is no such file, or none to be had.
    pub async fn describe(&self, reference: &HubReference) -> Result<HubFile, PullError> {
        let HubReference {
            file,
            owner,
            repo,
            revision,
        } = reference;
        let mut path: Vec<&str> = vec![owner, repo, "resolve", revision];
        path.extend(file.split('/'));
        let url = self.at(&path);
        let what = reference.to_string();
        let head = self.send(Method::HEAD, url.clone(), &what, None).await?;
        let headers = head.headers();
        let linked = text(headers, "x-linked-etag");
        let etag = linked.or_else(|| text(headers, ETAG.as_str()));
        let etag = etag.map(bare).unwrap_or_default().to_owned();
        let bytes = text(headers, "x-linked-size")
            .or_else(|| text(headers, CONTENT_LENGTH.as_str()).filter(|_| linked.is_none()))
            .and_then(|size| size.parse().ok());
        Ok(HubFile {
            bytes: bytes.ok_or_else(|| PullError::NoLength { what: what.clone() })?,
            commit: text(headers, "x-repo-commit").map(str::to_owned),
            sha256: Some(etag.to_ascii_lowercase()).filter(|etag| is_sha256(etag)),
            etag,
            licence: self.licence(reference).await,
            reference: reference.clone(),
            url,
        })
    }

    /// Fetches what is missing of a file. `progress` receives how many bytes are here after each piece.
    ///
    /// # Errors
    /// Why it is not whole; what came stays, unless it was too much.
    pub async fn fetch(
        &self,
        file: &HubFile,
        partial: &mut Partial,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), PullError> {
        let mut stretches = 1;
        loop {
            let before = partial.have();
            match self.stretch(file, partial, progress).await {
                Err(PullError::CutOff { .. })
                    if partial.have() > before && stretches < MAX_STRETCHES =>
                {
                    stretches += 1;
                }
                done => return done,
            }
        }
    }

    /// One request, and what it brings.
    async fn stretch(
        &self,
        file: &HubFile,
        partial: &mut Partial,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), PullError> {
        if partial.missing() == 0 {
            return Ok(());
        }
        let what = file.what();
        let from = partial.have();
        let mut response = self
            .send(Method::GET, file.url.clone(), &what, Some(from))
            .await?;
        let goes_on = response.status() == StatusCode::PARTIAL_CONTENT
            && text(response.headers(), CONTENT_RANGE.as_str()).and_then(first_byte) == Some(from);
        if !goes_on && from > 0 {
            partial.restart()?;
        }
        if response.status() == StatusCode::PARTIAL_CONTENT && !goes_on {
            // Another range than the one that was asked for: of no use.
            return Err(PullError::Length {
                expected: file.bytes,
                got: 0,
                what,
            });
        }
        let here = partial.have();
        if let Some(length) = response
            .content_length()
            .filter(|length| *length != partial.missing())
        {
            return Err(PullError::Length {
                expected: file.bytes,
                got: here.saturating_add(length),
                what,
            });
        }
        let cut = |partial: &Partial, detail: String| PullError::CutOff {
            detail,
            expected: file.bytes,
            got: partial.have(),
            what: what.clone(),
        };
        progress(partial.have());
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) => {
                    partial.append(&bytes)?;
                    progress(partial.have());
                }
                Ok(None) if partial.missing() == 0 => return Ok(()),
                Ok(None) => return Err(cut(partial, String::new())),
                Err(fault) => {
                    return Err(cut(partial, format!(": {}", chain(&fault.without_url()))));
                }
            }
        }
    }

    /// The licence of a repository's card. A hub that does not say is no error: it is shown as unknown.
    async fn licence(&self, reference: &HubReference) -> Option<String> {
        let HubReference {
            owner,
            repo,
            revision,
            ..
        } = reference;
        let url = self.at(&["api", "models", owner, repo, "revision", revision]);
        let what = reference.to_string();
        let mut response = self.send(Method::GET, url, &what, None).await.ok()?;
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.ok()? {
            body.extend_from_slice(&bytes);
            if body.len() > MAX_CARD_BYTES {
                return None;
            }
        }
        let described: Described = serde_json::from_slice(&body).ok()?;
        match described.card?.license? {
            serde_json::Value::String(licence) => Some(licence),
            serde_json::Value::Array(several) => {
                let several: Vec<&str> = several.iter().filter_map(|one| one.as_str()).collect();
                Some(several.join(", ")).filter(|text| !text.is_empty())
            }
            _ => None,
        }
    }

    /// Sends a request and follows redirects, up to the answer that is no redirect; a HEAD stops where the hub itself says
    /// what the file is.
    async fn send(
        &self,
        method: Method,
        mut url: Url,
        what: &str,
        from: Option<u64>,
    ) -> Result<Response, PullError> {
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.client.request(method.clone(), url.clone());
            // What is counted and hashed is the file, not a compressed form of it.
            request = request.header(ACCEPT_ENCODING, "identity");
            if let Some(from) = from.filter(|from| *from > 0) {
                request = request.header(RANGE, format!("bytes={from}-"));
            }
            if let Some(token) = self
                .token
                .as_ref()
                .filter(|_| url.origin() == self.base.origin())
            {
                request = request.header(AUTHORIZATION, format!("Bearer {}", token.reveal()));
            }
            let response = request
                .send()
                .await
                .map_err(|fault| PullError::Unreachable {
                    location: location(&url),
                    detail: chain(&fault.without_url()),
                })?;
            let status = response.status();
            let is_linked =
                method == Method::HEAD && response.headers().contains_key("x-linked-etag");
            if status.is_success() || (status.is_redirection() && is_linked) {
                return Ok(response);
            }
            if !status.is_redirection() {
                return Err(self.refusal(status, what));
            }
            let refuse = |rule| PullError::Redirect {
                rule,
                what: what.to_owned(),
            };
            let to = text(response.headers(), LOCATION.as_str());
            let to = to.and_then(|to| url.join(to).ok());
            let to = to.ok_or_else(|| refuse("it names no address"))?;
            if !matches!(to.scheme(), "http" | "https") {
                return Err(refuse("it leaves HTTP"));
            }
            if url.scheme() == "https" && to.scheme() == "http" {
                return Err(refuse("it leaves TLS"));
            }
            url = to;
        }
        Err(PullError::Redirect {
            rule: "there are more than 5 in a row",
            what: what.to_owned(),
        })
    }

    fn refusal(&self, status: StatusCode, what: &str) -> PullError {
        let what = what.to_owned();
        match status.as_u16() {
            404 => PullError::NotFound { what },
            status @ (401 | 403) => PullError::Gated {
                had_token: self.token.is_some(),
                status,
                what,
            },
            status => PullError::Status { status, what },
        }
    }

    fn at(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        // An http URL always has path segments, so the error case cannot occur. A slash within a part is escaped, as the hub
        // wants it in revisions.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// An entity tag without its quotes and without the mark of a weak one.
fn bare(etag: &str) -> &str {
    etag.trim_start_matches("W/").trim_matches('"')
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The first byte of a `Content-Range`.
fn first_byte(range: &str) -> Option<u64> {
    let (first, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    first.parse().ok()
}

fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
}
