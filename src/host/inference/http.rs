//! The HTTP backend of one target. Carries bytes; does not know protocols.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use monolith_core::contract::recorded_url;
use reqwest::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue,
};
use reqwest::{RequestBuilder, Url};

use super::http_body::{BodyFault, HttpBody};
use super::proxies::through;
use super::timeouts::{Timeouts, wait};
use super::{Proxies, ProxyFault, Secret, TransportFault, TransportFaultKind};

/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The name of a llama-server in its header `server`.
const LLAMA_SERVER: &str = "llama.cpp";
/// The most bytes of its properties that are read.
const PROPERTIES_BYTES: usize = 1024 * 1024;
/// The user agent of monolith.
const USER_AGENT: &str = concat!("monolith/", env!("CARGO_PKG_VERSION"));

/// The address of a server and its headers and key; every value is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpTarget {
    /// The address below which the protocol's paths lie, such as `https://api.openai.com/v1`. A query stays.
    pub base_url: String,
    /// Headers of every request; one replaces the protocol's own of the same name.
    pub headers: Vec<(String, Secret)>,
    /// Sent as a bearer token; without one no Authorization header is sent.
    pub key: Option<Secret>,
    /// The proxies of the environment.
    pub proxies: Proxies,
}

/// A server that speaks HTTP/1.1, with TLS by rustls.
///
/// Follows no redirect and sends nothing twice: a request may have had its effect.
#[derive(Debug)]
pub struct HttpBackend {
    base: Url,
    client: reqwest::Client,
    /// The names of the author's headers, and of the key's.
    own: Vec<HeaderName>,
    /// The address for people, without user, password, query and fragment.
    location: String,
}

/// An arriving body.
#[derive(Debug)]
pub(super) struct HttpReply(HttpBody);

impl HttpBackend {
    /// Sets up a client for one server; connects nowhere.
    ///
    /// # Errors
    /// [`BackendError`] where the address, a header or the platform does not allow it.
    pub fn new(target: &HttpTarget) -> Result<Self, BackendError> {
        let refuse = |rule: String| BackendError::BaseUrl {
            got: recorded_url(&target.base_url).chars().take(200).collect(),
            rule,
        };
        let base = Url::parse(&target.base_url).map_err(|e| refuse(e.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(refuse(format!("its scheme is {:?}", base.scheme())));
        }
        let proxy = target.proxies.for_url(&base).map_err(BackendError::Proxy)?;
        let mut client = reqwest::Client::builder();
        if base.scheme() == "http" && proxy.as_ref().is_none_or(|proxy| proxy.scheme() == "http") {
            // No redirect is followed, so no TLS is ever spoken: reading the platform's certificates would be most of a
            // client's cost.
            client = client.tls_certs_only([]);
        }
        let own = headers(target)?;
        let client =
            through(client, proxy.as_ref()).map_err(|e| BackendError::Client(chain(&e)))?;
        let client = client
            .connect_timeout(CONNECT_TIMEOUT)
            .default_headers(own.clone())
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .user_agent(USER_AGENT)
            .build()
            .map_err(|e| BackendError::Client(chain(&e)))?;
        let location = location(&base);
        Ok(Self {
            base,
            client,
            own: own.keys().cloned().collect(),
            location,
        })
    }

    pub(super) async fn probe(&self, headers: &[(String, String)], timeouts: &Timeouts) -> Probe {
        let request = self.with(headers, self.client.get(self.at("models")));
        let first = |error| first_fault(error, self.base.scheme());
        let sent = wait(timeouts, async { request.send().await.map_err(first) });
        match sent.await {
            Ok(response) => {
                let headers = headers_of(&response);
                let is_llama_server = |(name, value): &(String, String)| {
                    name == "server" && value.starts_with(LLAMA_SERVER)
                };
                let properties = if headers.iter().any(is_llama_server) {
                    self.properties(timeouts).await
                } else {
                    Vec::new()
                };
                Probe {
                    detail: format!("HTTP {}", response.status().as_u16()),
                    headers,
                    properties,
                    responsive: true,
                }
            }
            Err(fault) => Probe {
                detail: self.placed(fault).detail,
                responsive: false,
                ..Probe::default()
            },
        }
    }

    /// The properties of a llama-server, which lie beside its `/v1`; nothing where it does not give them in time.
    async fn properties(&self, timeouts: &Timeouts) -> Vec<u8> {
        let mut url = self.base.clone();
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/props", path.strip_suffix("/v1").unwrap_or(path));
        url.set_path(&path);
        let read = wait(timeouts, async {
            let response = self.client.get(url).send().await.map_err(fault)?;
            if !response.status().is_success() {
                return Ok(Vec::new());
            }
            let (mut reply, mut body) = (HttpReply::new(response)?, Vec::new());
            while let Some(bytes) = reply.chunk().await? {
                body.extend_from_slice(&bytes);
                if body.len() > PROPERTIES_BYTES {
                    return Ok(Vec::new());
                }
            }
            Ok(body)
        });
        read.await.unwrap_or_default()
    }

    pub(super) async fn send(
        &self,
        path: &str,
        headers: &[(String, String)],
        body: Bytes,
        timeouts: &Timeouts,
    ) -> Result<(ResponseHead, HttpReply), TransportFault> {
        let request = self
            .client
            .post(self.at(path))
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let request = self.with(headers, request);
        let sent = wait(timeouts, async { request.send().await.map_err(fault) }).await;
        let response = sent.map_err(|fault| self.placed(fault))?;
        let mut head = ResponseHead {
            headers: headers_of(&response),
            status: response.status().as_u16(),
        };
        let reply = HttpReply::new(response).map_err(|fault| self.placed(fault))?;
        if reply.0.is_unpacked() {
            let of_packed =
                |name: &str| name == CONTENT_ENCODING.as_str() || name == CONTENT_LENGTH.as_str();
            head.headers.retain(|(name, _)| !of_packed(name));
        }
        Ok((head, reply))
    }

    /// The request with the protocol's headers that the author does not replace.
    fn with(&self, headers: &[(String, String)], request: RequestBuilder) -> RequestBuilder {
        let of_protocol = headers
            .iter()
            .filter(|(name, _)| !self.own.iter().any(|own| own == name.as_str()));
        of_protocol.fold(request, |request, (name, value)| {
            request.header(name, value)
        })
    }

    /// The fault, with the address that it is about.
    fn placed(&self, fault: TransportFault) -> TransportFault {
        let detail = match fault.kind {
            TransportFaultKind::Cancelled => return fault,
            TransportFaultKind::Refused => "connection refused",
            _ => &fault.detail,
        };
        TransportFault::new(fault.kind, format!("{}: {detail}", self.location))
    }

    /// The address of `path`: segments, and after a question mark a query, which goes behind the base URL's own.
    fn at(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let (path, query) = path
            .rsplit_once('?')
            .map_or((path, None), |(path, query)| (path, Some(query)));
        // An http URL always has path segments, so the error case cannot occur.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        if let Some(query) = query {
            let whole = match url.query().filter(|own| !own.is_empty()) {
                Some(own) => format!("{own}&{query}"),
                None => query.to_owned(),
            };
            url.set_query(Some(&whole));
        }
        url
    }
}

/// The headers of a response whose values are text; names are in lower case.
fn headers_of(response: &reqwest::Response) -> Vec<(String, String)> {
    let headers = response.headers().iter();
    headers
        .filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        })
        .collect()
}

impl HttpReply {
    /// The body of a response.
    ///
    /// # Errors
    /// [`TransportFault`] if it is compressed in a way that is not unpacked here.
    fn new(response: reqwest::Response) -> Result<Self, TransportFault> {
        let body = HttpBody::new(response).map_err(body_fault)?;
        Ok(Self(body.of_text()))
    }

    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, TransportFault> {
        self.0.chunk().await.map_err(body_fault)
    }
}

/// An address for transcripts: it holds no secret except in its path.
fn location(base: &Url) -> String {
    let path = base.path().trim_end_matches('/');
    let port = base.port().map(|port| format!(":{port}"));
    format!(
        "{}://{}{}{path}",
        base.scheme(),
        base.host_str().unwrap_or_default(),
        port.unwrap_or_default()
    )
}

fn headers(target: &HttpTarget) -> Result<HeaderMap, BackendError> {
    let mut map = HeaderMap::new();
    let mut add = |name: &str, value: &str| {
        let refuse = || BackendError::Header {
            name: name.to_owned(),
        };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse())?;
        let mut value = header_value(value).ok_or_else(refuse)?;
        value.set_sensitive(true);
        map.insert(key, value);
        Ok(())
    };
    if let Some(key) = &target.key {
        add(AUTHORIZATION.as_str(), &format!("Bearer {}", key.reveal()))?;
    }
    for (name, value) in &target.headers {
        add(name, value.reveal())?;
    }
    Ok(map)
}

/// Returns true if a header of a model request may hold that.
pub(crate) fn header_holds(value: &str) -> bool {
    header_value(value).is_some()
}

fn header_value(value: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(value).ok()
}

/// The fault of the first request to an address, with the way out where its scheme may be the wrong one.
fn first_fault(error: reqwest::Error, scheme: &str) -> TransportFault {
    if is_no_tls(&error) {
        let detail = "what answers there does not speak TLS: write http:// in its address";
        return TransportFault::new(TransportFaultKind::Tls, detail);
    }
    let mut fault = fault(error);
    if scheme == "http" && fault.kind == TransportFaultKind::Reset {
        fault
            .detail
            .push_str("; if what listens there speaks TLS, write https:// in its address");
    }
    fault
}

/// Returns true if the client spoke TLS to a peer without it.
fn is_no_tls(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        let io = cause.downcast_ref::<io::Error>().map(innermost);
        let tls = io.and_then(io::Error::get_ref);
        let tls = tls.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::InvalidMessage(_)) = tls {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Converts the fault of a body.
fn body_fault(found: BodyFault) -> TransportFault {
    let detail = found.to_string();
    match found {
        BodyFault::Damaged(_) => TransportFault::new(TransportFaultKind::Reset, detail),
        BodyFault::Network(error) => fault(error),
        BodyFault::Bomb | BodyFault::Packed(_) => {
            TransportFault::new(TransportFaultKind::Other, detail)
        }
    }
}

/// Converts reqwest's error. Types decide; the text is for people only.
fn fault(error: reqwest::Error) -> TransportFault {
    TransportFault::new(kind_of(&error), chain(&error.without_url()))
}

fn kind_of(error: &reqwest::Error) -> TransportFaultKind {
    if error.is_timeout() {
        return TransportFaultKind::Timeout;
    }
    if error.is_dns() {
        return TransportFaultKind::Dns;
    }
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            match innermost(io).kind() {
                io::ErrorKind::ConnectionRefused => return TransportFaultKind::Refused,
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof => return TransportFaultKind::Reset,
                io::ErrorKind::TimedOut => return TransportFaultKind::Timeout,
                // rustls reports a failed handshake as invalid data.
                io::ErrorKind::InvalidData if error.is_connect() => return TransportFaultKind::Tls,
                _ => {}
            }
        }
        source = cause.source();
    }
    if error.is_builder() || error.is_connect() {
        TransportFaultKind::Other
    } else {
        // The connection was up and the message did not arrive whole.
        TransportFaultKind::Reset
    }
}

/// The error that `error` was made from, as long as that is one of input and output too: its `source` skips it.
fn innermost(error: &io::Error) -> &io::Error {
    let mut error = error;
    while let Some(inner) = error.get_ref().and_then(|e| e.downcast_ref::<io::Error>()) {
        error = inner;
    }
    error
}

/// An error with its causes, outermost first.
pub(super) fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// The reason why a backend cannot be built: the author of the configuration is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The address is no http or https URL.
    #[error("base URL {got:?} is not an http or https URL: {rule}")]
    BaseUrl {
        /// The address, cut to 200 characters.
        got: String,
        /// The error in it.
        rule: String,
    },
    /// A header's name or value holds bytes that no header may hold; the value is not shown.
    #[error("header {name:?} has a name or value that cannot be sent")]
    Header {
        /// The header's name.
        name: String,
    },
    /// The HTTP client could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
    /// The environment names a proxy that cannot be used.
    #[error(transparent)]
    Proxy(ProxyFault),
}

/// The part before the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Names in lower case and values; values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// The HTTP status.
    pub status: u16,
}

/// The result of a probe; never an inference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The observation, for people; holds no key, and of the address neither user nor query.
    pub detail: String,
    /// The headers of the answer, names in lower case; empty if there is no HTTP.
    pub headers: Vec<(String, String)>,
    /// The body of a llama-server's `/props`, where it gave one.
    pub properties: Vec<u8>,
    /// True if anything answered; any HTTP answer counts.
    pub responsive: bool,
}
