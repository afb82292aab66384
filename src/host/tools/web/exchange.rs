//! Sends one request and follows where its service leads. Does not know tools, nor what an answer means.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use monolith_core::contract::{
    HttpMethod, OpenapiFault, RequestFault, RequestParts, WebLimits, recorded_url,
};
use monolith_core::message::amount;
use reqwest::Response;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::tools::address_guard::{AddressGuard, AddressRefusal};
use crate::tools::envelope::ToolResponse;
use crate::tools::web_answer::{reason_of, target_of};

/// The default `Accept` header.
const ACCEPTED: &str = "application/json, text/*;q=0.9, */*;q=0.1";

/// The settings for every request to a service.
#[derive(Debug)]
pub(super) struct Exchange {
    guard: AddressGuard,
    /// The author's; they come before what arguments say. Secret.
    headers: BTreeMap<String, Secret>,
    pub(super) limits: WebLimits,
}

/// A value that is not shown.
struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl Exchange {
    pub(super) fn new(
        headers: &BTreeMap<String, String>,
        limits: &WebLimits,
        guard: AddressGuard,
    ) -> Self {
        let headers = headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), Secret(value.clone())));
        Self {
            guard,
            headers: headers.collect(),
            limits: limits.clone(),
        }
    }

    /// Sends a request and returns its answer, of which no body is read yet. A redirect is followed where asking again changes nothing, and within
    /// the scheme, host and port that the contract names: nothing that is meant for one service goes to another.
    pub(super) async fn send(&self, request: RequestParts) -> Result<Response, WebFault> {
        let headers = self.headers_of(&request)?;
        let (method, mut url) = (request.method, request.url);
        let origin = url.origin();
        let mut body = request.body.map(|body| body.bytes);
        let mut left = self.limits.max_redirects;
        loop {
            let response = self.ask(method, &url, &headers, body.take()).await?;
            let Some(target) = target_of(&response) else {
                return Ok(response);
            };
            let refuse = |rule| {
                // A service's text about itself may hold one of its keys.
                let (from, to) = (shown(&url), recorded_url(&target));
                Err(WebFault::Redirect { from, rule, to })
            };
            if !matches!(method, HttpMethod::Get | HttpMethod::Head) {
                return refuse("only GET and HEAD are asked again elsewhere");
            }
            let Ok(next) = url.join(&target) else {
                return refuse("that is no address");
            };
            if next.origin() != origin || !next.username().is_empty() || next.password().is_some() {
                return refuse("that is not the service that the contract names");
            }
            let Some(rest) = left.checked_sub(1) else {
                let most = amount(self.limits.max_redirects, "redirect");
                return Err(WebFault::TooManyRedirects { most });
            };
            left = rest;
            url = next;
            url.set_fragment(None);
        }
    }

    /// A request for people: of the author's headers the names alone.
    pub(super) fn shown(&self, request: &RequestParts) -> String {
        let mut out = format!("{} {}", request.method.as_str(), request.url);
        for (name, value) in &request.headers {
            // Writing to a String cannot fail.
            let _ = write!(out, "; {name}: {value}");
        }
        if let Some(body) = &request.body {
            let _ = write!(out, "; content-type: {}", body.media_type);
        }
        let names: Vec<&str> = self.headers.keys().map(String::as_str).collect();
        if !names.is_empty() {
            let _ = write!(out, "; with {}", names.join(", "));
        }
        if let Some(body) = &request.body {
            let _ = write!(out, "\n{}", String::from_utf8_lossy(&body.bytes));
        }
        out
    }

    async fn ask(
        &self,
        method: HttpMethod,
        url: &Url,
        headers: &HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Response, WebFault> {
        let client = self.guard.client(url).await?;
        let mut request = client
            .request(method_of(method), url.clone())
            .headers(headers.clone());
        if let Some(body) = body {
            request = request.body(body);
        }
        let sent = request.send().await;
        sent.map_err(|fault| WebFault::Unreached {
            reason: reason_of(fault),
        })
    }

    fn headers_of(&self, request: &RequestParts) -> Result<HeaderMap, WebFault> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(body) = &request.body {
            headers.insert(CONTENT_TYPE, value_of(&CONTENT_TYPE, &body.media_type)?);
        }
        for (name, value) in &request.headers {
            let name = name_of(name)?;
            let value = value_of(&name, value)?;
            headers.insert(name, value);
        }
        for (name, Secret(value)) in &self.headers {
            let name = name_of(name)?;
            let mut value = value_of(&name, value)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

fn name_of(name: &str) -> Result<HeaderName, WebFault> {
    let read = HeaderName::from_bytes(name.as_bytes());
    read.map_err(|_| WebFault::Header {
        name: name.to_owned(),
    })
}

/// True if a request header to a web service may have this value.
pub(crate) fn web_header_holds(value: &str) -> bool {
    HeaderValue::from_bytes(value.as_bytes()).is_ok()
}

fn value_of(name: &HeaderName, value: &str) -> Result<HeaderValue, WebFault> {
    let read = HeaderValue::from_bytes(value.as_bytes());
    read.map_err(|_| WebFault::Header {
        name: name.to_string(),
    })
}

fn method_of(method: HttpMethod) -> reqwest::Method {
    match method {
        HttpMethod::Delete => reqwest::Method::DELETE,
        HttpMethod::Get => reqwest::Method::GET,
        HttpMethod::Head => reqwest::Method::HEAD,
        HttpMethod::Options => reqwest::Method::OPTIONS,
        HttpMethod::Patch => reqwest::Method::PATCH,
        HttpMethod::Post => reqwest::Method::POST,
        HttpMethod::Put => reqwest::Method::PUT,
    }
}

/// An address without its query.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.to_string()
}

/// The error of a web service request without an answer: an error of the call, never of the run.
#[derive(Debug, thiserror::Error)]
pub(in crate::tools) enum WebFault {
    /// The model: its arguments make no request.
    #[error(transparent)]
    Request(#[from] RequestFault),
    /// The author, or the operator: the host is none that may be asked, or it was not found.
    #[error("{0}")]
    Address(#[from] AddressRefusal),
    /// The author: the description of a service gives no tools.
    #[error("{spec}: {fault}")]
    Description { fault: OpenapiFault, spec: String },
    /// The operator: the file of a description cannot be read.
    #[error("read {path}: {reason}")]
    File { path: String, reason: String },
    /// The network, or the disk: the description did not come in time.
    #[error("the description did not come in time")]
    Late,
    /// The service: it has no such description.
    #[error("the address of the description answered HTTP {status}")]
    NoDescription { status: u16 },
    /// The operator: a header cannot be sent. Its value is not shown.
    #[error("the header {name} holds what no header may hold")]
    Header { name: String },
    /// The service: it leads elsewhere.
    #[error("{from} leads to {to}: {rule}")]
    Redirect {
        from: String,
        rule: &'static str,
        to: String,
    },
    /// The service: it leads on and on.
    #[error("the contract allows {most}")]
    TooManyRedirects { most: String },
    /// The service, or the network: no answer came.
    #[error("{reason}")]
    Unreached { reason: String },
}

impl WebFault {
    const fn code(&self) -> &'static str {
        match self {
            Self::Request(RequestFault::Address { .. }) => "URL_NOT_ALLOWED",
            Self::Request(_) => "INVALID_ARGUMENTS",
            Self::Address(fault) => fault.code(),
            Self::Description { .. }
            | Self::File { .. }
            | Self::Late
            | Self::NoDescription { .. } => "NO_DESCRIPTION",
            Self::Header { .. } => "HEADER_NOT_ALLOWED",
            Self::Redirect { .. } => "REDIRECT_NOT_FOLLOWED",
            Self::TooManyRedirects { .. } => "TOO_MANY_REDIRECTS",
            Self::Unreached { .. } => "UNREACHED",
        }
    }

    /// As what the call came to.
    pub(super) fn response(&self) -> ToolResponse {
        ToolResponse::failed(self.code(), self.to_string())
    }
}
