use std::collections::{BTreeMap, HashMap};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::tools::ToolServerError;

/// A transport to a server's address.
///
/// It follows no redirect, so headers go nowhere but there, and it never repeats a request on a session that expired:
/// a repeated call would be executed twice.
pub(super) fn connect(
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, ToolServerError> {
    let refuse = |reason: String| ToolServerError::Address {
        reason,
        url: without_secrets(url),
    };
    let parsed = reqwest::Url::parse(url).map_err(|error| refuse(error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(refuse("the scheme is not http or https".to_owned()));
    }
    let mut custom = HashMap::with_capacity(headers.len());
    for (name, value) in headers {
        let header = HeaderName::try_from(name.as_str())
            .map_err(|_| refuse(format!("{name:?} cannot name a header")))?;
        let mut value = HeaderValue::try_from(value.as_str())
            .map_err(|_| refuse(format!("the value of header {name:?} cannot be sent")))?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| refuse(error.to_string()))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .reinit_on_expired_session(false);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// The address without user, password and query.
fn without_secrets(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let shown = url.get(..end).unwrap_or_default();
    match (shown.find("://"), shown.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!(
            "{}{}",
            shown.get(..scheme + 3).unwrap_or_default(),
            shown.get(at + 1..).unwrap_or_default()
        ),
        _ => shown.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::connect;

    #[tokio::test]
    async fn an_address_is_refused_without_showing_its_secrets() {
        let refused = |url: &str, header: &str, value: &str| {
            let headers = BTreeMap::from([(header.to_owned(), value.to_owned())]);
            connect(url, &headers).map(drop).unwrap_err().to_string()
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
