//! The tool `http_get`. Does not know addresses, which the guard judges, nor what a document means.

use std::fmt::Write as _;
use std::sync::Arc;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION,
};
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::refusal::Refusal;
use crate::contract::HttpGetTerms;
use crate::message::{amount, char_prefix};
use crate::tools::address_guard::{AddressGuard, AddressRefusal, Resolver};

#[cfg(test)]
mod tests;

/// The longest address that is asked.
const ADDRESS_BYTES: usize = 8_192;
/// The longest media type that a result quotes.
const TYPE_BYTES: usize = 255;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Get {
    url: String,
}

/// What asks, within the terms of one contract.
#[derive(Debug)]
pub(in crate::tools) struct HttpGet {
    guard: AddressGuard,
    terms: HttpGetTerms,
}

/// How the bytes of a text are read.
#[derive(Clone, Copy)]
enum Charset {
    /// Each byte is the character of that number.
    Latin1,
    Utf8,
}

pub(super) fn description() -> String {
    "Gets a text document from the web by HTTP GET and returns its status, its media type and its text. Only hosts that the contract allows are asked, \
     redirects included; no cookies and no credentials are sent. A document that is not text is refused."
        .to_owned()
}

pub(super) fn properties() -> Value {
    json!({"url": {"type": "string", "description": "The address, with its scheme, such as https://example.com/page."}})
}

impl HttpGet {
    pub(in crate::tools) fn new(terms: HttpGetTerms, resolver: Arc<dyn Resolver>) -> Self {
        let guard = AddressGuard::new(terms.loopback, resolver);
        Self { guard, terms }
    }

    /// Asks, follows redirects, and judges every hop as if it were the first.
    pub(super) async fn perform(&self, request: Get) -> Result<String, Refusal> {
        let mut url = address(&request.url, None)?;
        let mut left = self.terms.max_redirects;
        loop {
            let response = self.ask(&url).await?;
            let Some(target) = target_of(&response) else {
                return self.answer(response, &url).await;
            };
            let Some(rest) = left.checked_sub(1) else {
                let most = amount(self.terms.max_redirects, "redirect");
                return refuse("TOO_MANY_REDIRECTS", format!("the contract allows {most}"));
            };
            left = rest;
            url = next_hop(&url, &target)?;
        }
    }

    async fn ask(&self, url: &Url) -> Result<Response, Refusal> {
        if let Err(rule) = self.terms.check(url) {
            return refuse("URL_NOT_ALLOWED", rule);
        }
        let client = self.guard.client(url).await.map_err(|fault| {
            let code = match fault {
                AddressRefusal::Special { .. } | AddressRefusal::Loopback { .. } => {
                    "ADDRESS_NOT_ALLOWED"
                }
                AddressRefusal::Unresolved { .. } | AddressRefusal::Client { .. } => "UNREACHED",
            };
            let message = fault.to_string();
            Refusal { code, message }
        })?;
        let request = client
            .get(url.clone())
            .header(
                ACCEPT,
                "text/*, application/json, application/xml;q=0.9, */*;q=0.1",
            )
            .header(ACCEPT_ENCODING, "identity");
        request.send().await.map_err(unreached)
    }

    async fn answer(&self, mut response: Response, url: &Url) -> Result<String, Refusal> {
        let status = response.status();
        let media_type = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let charset = charset_of(&media_type)?;
        let encoding = header(response.headers(), &CONTENT_ENCODING).unwrap_or_default();
        if !matches!(encoding.as_str(), "" | "identity") {
            let words = format!("{url} came as {encoding:?}, which was not asked for");
            return refuse("NOT_TEXT", words);
        }
        let most = usize::try_from(self.terms.max_bytes).unwrap_or(usize::MAX);
        let mut body = Vec::new();
        let mut whole = true;
        while let Some(chunk) = response.chunk().await.map_err(unreached)? {
            let room = most - body.len();
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if chunk.len() > room {
                whole = false;
                break;
            }
        }
        let Some(text) = text_of(body, charset, whole) else {
            let named = if media_type.is_empty() {
                "no media type"
            } else {
                &media_type
            };
            let words = format!("{url} is not text ({named})");
            return refuse("NOT_TEXT", words);
        };
        let reason = status.canonical_reason().unwrap_or_default();
        let mut said = format!("HTTP {} {reason}\nurl: {url}\n", status.as_u16());
        if !media_type.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(said, "content-type: {media_type}");
        }
        said.push('\n');
        said.push_str(&text);
        if !whole {
            let kept = amount(self.terms.max_bytes, "byte");
            let _ = write!(said, "\n[the first {kept} of a longer document]");
        }
        if status.is_success() {
            Ok(said)
        } else {
            refuse("HTTP_STATUS", said)
        }
    }
}

fn refuse<T>(code: &'static str, message: String) -> Result<T, Refusal> {
    Err(Refusal { code, message })
}

/// An address that the model or a server gave; the second may be relative to the one that was asked.
fn address(text: &str, base: Option<&Url>) -> Result<Url, Refusal> {
    if text.len() > ADDRESS_BYTES {
        let words = format!("an address has at most {ADDRESS_BYTES} bytes");
        return refuse("URL_NOT_ALLOWED", words);
    }
    let parsed = base.map_or_else(|| Url::parse(text), |base| base.join(text));
    let mut url = parsed.map_err(|fault| Refusal {
        code: "URL_NOT_ALLOWED",
        message: format!("{text:?} is no address: {fault}"),
    })?;
    // It is never sent.
    url.set_fragment(None);
    Ok(url)
}

/// The address that a redirect from another one leads to.
fn next_hop(from: &Url, target: &str) -> Result<Url, Refusal> {
    let next = address(target, Some(from))?;
    if from.scheme() == "https" && next.scheme() == "http" {
        let words = format!("{from} leads from https to http, to {next}");
        return refuse("URL_NOT_ALLOWED", words);
    }
    Ok(next)
}

/// Where a redirect leads.
fn target_of(response: &Response) -> Option<String> {
    let redirects = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let location = response.headers().get(LOCATION).filter(|_| redirects)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

fn header(headers: &HeaderMap, name: &reqwest::header::HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    Some(char_prefix(value, TYPE_BYTES).to_owned())
}

/// How a document of that media type is read. Without one its bytes tell.
fn charset_of(media_type: &str) -> Result<Charset, Refusal> {
    let lower = media_type.to_ascii_lowercase();
    let mut parts = lower.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let is_text = essence.is_empty()
        || essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence,
            "application/ecmascript"
                | "application/javascript"
                | "application/json"
                | "application/jsonl"
                | "application/toml"
                | "application/x-ndjson"
                | "application/x-www-form-urlencoded"
                | "application/x-yaml"
                | "application/xml"
                | "application/yaml"
        );
    if !is_text {
        return refuse(
            "NOT_TEXT",
            format!("the document is {essence:?}, which is not text"),
        );
    }
    let charset = parts.find_map(|part| part.strip_prefix("charset="));
    match charset.map(|charset| charset.trim_matches('"')) {
        None | Some("" | "utf-8" | "utf8" | "us-ascii" | "ascii") => Ok(Charset::Utf8),
        Some("iso-8859-1" | "latin1") => Ok(Charset::Latin1),
        Some(other) => refuse("NOT_TEXT", format!("the charset {other:?} is not read")),
    }
}

/// The text of a body; none where it is no text. The last character of one that was cut may be incomplete.
fn text_of(body: Vec<u8>, charset: Charset, whole: bool) -> Option<String> {
    if body.contains(&0) {
        return None;
    }
    if matches!(charset, Charset::Latin1) {
        return Some(body.into_iter().map(char::from).collect());
    }
    String::from_utf8(body).map_or_else(
        |fault| {
            let end = fault.utf8_error();
            let only_cut = !whole && end.error_len().is_none();
            let mut bytes = fault.into_bytes();
            bytes.truncate(end.valid_up_to());
            String::from_utf8(bytes).ok().filter(|_| only_cut)
        },
        Some,
    )
}

fn unreached(fault: reqwest::Error) -> Refusal {
    let message = if fault.is_connect() {
        "no connection came about".to_owned()
    } else if fault.is_timeout() {
        "no answer came in time".to_owned()
    } else {
        fault.without_url().to_string()
    };
    Refusal {
        code: "UNREACHED",
        message,
    }
}
