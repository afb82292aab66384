//! The address of an MCP server, and the client for it. Does not know its tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::call_client::CallClient;
use super::refusal::without_secrets;
use crate::inference::{Proxies, through};
use crate::tools::oauth::Authorization;
use crate::tools::{ToolServerError, http_client};

/// A checked address with its headers and a client for it.
///
/// The client follows no redirect and uses no proxy of the environment, so headers reach only this address. It never repeats a
/// request: a repeated call would run twice.
pub(super) struct Address {
    /// Source of tokens, if the server may want any.
    pub(super) authorization: Option<Arc<Authorization>>,
    pub(super) client: reqwest::Client,
    pub(super) headers: HeaderMap,
    /// Has http instead of ws: a websocket begins as a request.
    pub(super) url: Url,
}

impl Address {
    pub(super) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        proxies: &Proxies,
        authorization: Option<Arc<Authorization>>,
    ) -> Result<Self, ToolServerError> {
        let refuse = |reason: String| ToolServerError::Address {
            reason,
            url: without_secrets(url),
        };
        let as_http = url.strip_prefix("ws").map(|rest| format!("http{rest}"));
        let as_http = as_http.as_deref().unwrap_or(url);
        let mut parsed = Url::parse(as_http).map_err(|error| refuse(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(refuse("the scheme is not http or https".to_owned()));
        }
        // It is never sent, and faults would quote it.
        parsed.set_fragment(None);
        let mut custom = HeaderMap::with_capacity(headers.len());
        for (name, value) in headers {
            let header = HeaderName::try_from(name.as_str())
                .map_err(|_| refuse(format!("{name:?} cannot name a header")))?;
            let mut value = HeaderValue::try_from(value.as_str())
                .map_err(|_| refuse(format!("the value of header {name:?} cannot be sent")))?;
            value.set_sensitive(true);
            custom.insert(header, value);
        }
        let proxy = proxies.for_url(&parsed);
        let proxy = proxy.map_err(|fault| refuse(fault.to_string()))?;
        let client = through(http_client::builder(), proxy.as_ref())
            .and_then(reqwest::ClientBuilder::build)
            .map_err(|error| refuse(error.without_url().to_string()))?;
        Ok(Self {
            authorization,
            client,
            headers: custom,
            url: parsed,
        })
    }

    /// The transport over streamable HTTP. It does not renew an expired session: another connection does, which compares the pins.
    pub(super) fn streamable(self) -> StreamableHttpClientTransport<CallClient> {
        let headers = self.headers.into_iter();
        let headers = headers.filter_map(|(name, value)| Some((name?, value)));
        let config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .custom_headers(headers.collect())
            .reinit_on_expired_session(false);
        let client = CallClient::new(self.client, self.authorization);
        StreamableHttpClientTransport::with_client(client, config)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Address, Proxies};

    #[test]
    fn an_address_is_refused_without_showing_its_secrets() {
        let refused = |url: &str, header: &str, value: &str| {
            let headers = BTreeMap::from([(header.to_owned(), value.to_owned())]);
            Address::new(url, &headers, &Proxies::default(), None)
                .map(drop)
                .unwrap_err()
                .to_string()
        };
        let text = refused("ftp://me:secret@host/path?key=secret", "a", "b");
        assert_eq!(
            text,
            "connect to \"ftp://host/path\": the scheme is not http or https"
        );
        let text = refused("http://host/", "x-key", "sec\nret");
        assert_eq!(
            text,
            "connect to \"http://host/\": the value of header \"x-key\" cannot be sent"
        );
    }
}
