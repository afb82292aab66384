//! The content of a web response: the redirect target and its text. Sends nothing.

use reqwest::header::{HeaderMap, HeaderName, LOCATION};
use reqwest::{Response, StatusCode};

use monolith_core::message::char_prefix;

use crate::inference::{BodyFault, HttpBody};

/// The longest media type that a result quotes.
const TYPE_BYTES: usize = 255;

/// The encoding of a text.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    /// Each byte is the character of that number.
    Latin1,
    Utf8,
}

/// The first bytes of a body, unpacked, and whether they are all of it.
pub(super) async fn body_of(response: Response, most: usize) -> Result<(Vec<u8>, bool), BodyFault> {
    let (mut arriving, mut body) = (HttpBody::new(response)?, Vec::new());
    while let Some(chunk) = arriving.chunk().await? {
        let room = most - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

/// Returns the reason why no answer came, without the address.
pub(super) fn reason_of(fault: reqwest::Error) -> String {
    if fault.is_connect() {
        "no connection came about".to_owned()
    } else if fault.is_timeout() {
        "no answer came in time".to_owned()
    } else {
        fault.without_url().to_string()
    }
}

/// Returns the reason why a body cannot be read, without the address.
pub(super) fn reason_of_body(fault: BodyFault) -> String {
    match fault {
        BodyFault::Network(fault) => reason_of(fault),
        fault => fault.to_string(),
    }
}

/// Returns the target of a redirect.
pub(super) fn target_of(response: &Response) -> Option<String> {
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

/// The value of a header as text that a result may quote.
pub(super) fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    Some(char_prefix(value, TYPE_BYTES).to_owned())
}

/// Returns the charset for a document of that media type. Without one its bytes tell.
///
/// # Errors
/// Why it is not.
pub(super) fn charset_of(media_type: &str) -> Result<Charset, String> {
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
        return Err(format!("the document is {essence:?}, which is not text"));
    }
    let charset = parts.find_map(|part| part.strip_prefix("charset="));
    match charset.map(|charset| charset.trim_matches('"')) {
        None | Some("" | "utf-8" | "utf8" | "us-ascii" | "ascii") => Ok(Charset::Utf8),
        Some("iso-8859-1" | "latin1") => Ok(Charset::Latin1),
        Some(other) => Err(format!("the charset {other:?} is not read")),
    }
}

/// The text of a body; `None` if it is no text. The last character of one that was cut may be incomplete.
pub(super) fn text_of(body: Vec<u8>, charset: Charset, whole: bool) -> Option<String> {
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
