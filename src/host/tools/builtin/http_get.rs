//! The tool `http_get`. Does not know addresses, which the guard judges, nor what a document means.

use std::fmt::Write as _;
use std::sync::Arc;

use reqwest::Response;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::workspace::Refusal;
use crate::tools::address_guard::{AddressGuard, Resolver};
use crate::tools::web_answer::{
    body_of, charset_of, header, reason_of, reason_of_body, target_of, text_of,
};
use monolith_core::contract::HttpGetTerms;
use monolith_core::message::amount;

#[cfg(test)]
mod tests;

/// The longest address that is asked.
const ADDRESS_BYTES: usize = 8_192;
/// The code of a document that is not read.
const NOT_TEXT: &str = "NOT_TEXT";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Get {
    url: String,
}

/// The `http_get` client, within the terms of one contract.
#[derive(Debug)]
pub(in crate::tools) struct HttpGet {
    guard: AddressGuard,
    terms: HttpGetTerms,
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
            let (code, message) = (fault.code(), fault.to_string());
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

    async fn answer(&self, response: Response, url: &Url) -> Result<String, Refusal> {
        let status = response.status();
        let media_type = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let charset = charset_of(&media_type).or_else(|rule| refuse(NOT_TEXT, rule))?;
        let encoding = header(response.headers(), &CONTENT_ENCODING).unwrap_or_default();
        if !matches!(encoding.as_str(), "" | "identity") {
            let words = format!("{url} came as {encoding:?}, which was not asked for");
            return refuse(NOT_TEXT, words);
        }
        let most = usize::try_from(self.terms.max_bytes).unwrap_or(usize::MAX);
        let read = body_of(response, most).await;
        let (body, whole) = read.map_err(|fault| Refusal {
            code: "UNREACHED",
            message: reason_of_body(fault),
        })?;
        let Some(text) = text_of(body, charset, whole) else {
            let named = if media_type.is_empty() {
                "no media type"
            } else {
                &media_type
            };
            let words = format!("{url} is not text ({named})");
            return refuse(NOT_TEXT, words);
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

fn unreached(fault: reqwest::Error) -> Refusal {
    Refusal {
        code: "UNREACHED",
        message: reason_of(fault),
    }
}
