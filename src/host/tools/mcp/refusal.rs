//! The refusal of a request: a JSON-RPC error, or an answer over HTTP that is none of the protocol. Does not know who waits for it.

use reqwest::StatusCode;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER,
};
use serde_json::Number;
use serde_json::value::RawValue;

use super::frame_text;
use monolith_core::message::{Members, char_prefix, escaped_line};

/// The code of an answer over HTTP that holds no message of the protocol.
const HTTP_STATUS: &str = "HTTP_STATUS";
/// The code of a JSON-RPC error that states none.
const RPC_ERROR: &str = "RPC_ERROR";
/// The codes of errors about a frame that the server could not read: JSON-RPC 2.0 §5.1 gives them no id.
const UNREAD_FRAME: [&str; 2] = ["-32700", "-32600"];
/// Maximum size of a quoted header.
const HEADER_BYTES: usize = 200;
/// The text about a page in place of an answer.
const PAGE: &str = "the server sent a web page, not an answer; check its address, and any proxy or login page in front of it";

/// The refusal of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
}

impl Refusal {
    /// The JSON-RPC error in a frame without a result; `None` if there is none with a message.
    pub(super) fn in_frame(frame: &[u8]) -> Option<Self> {
        let text = frame_text::of(frame);
        let Members(members) = serde_json::from_str(&text).ok()?;
        let member = |name: &str| {
            let found = members.iter().rfind(|(key, _)| key == name);
            found
                .map(|(_, value)| *value)
                .filter(|value| value.get() != "null")
        };
        let error = member("error").filter(|_| member("result").is_none())?;
        let (code, message) = parts(error);
        Some(Self {
            code,
            message: message?,
        })
    }

    /// The content of an error object. An error of another form is quoted whole.
    pub(super) fn of_error(error: &RawValue) -> Self {
        let (code, message) = parts(error);
        Self {
            code,
            message: message.unwrap_or_else(|| error.get().to_owned()),
        }
    }

    /// The answer over HTTP with that status and those headers, which holds no message of the protocol.
    pub(super) fn of_http(status: StatusCode, headers: &HeaderMap) -> Self {
        let header = |name: &HeaderName| {
            let value = String::from_utf8_lossy(headers.get(name)?.as_bytes());
            Some(value.trim().to_owned())
        };
        let quoted = |value: &str| escaped_line(char_prefix(value, HEADER_BYTES));
        let media_type = header(&CONTENT_TYPE).unwrap_or_default();
        let is_page = ["text/html", "application/xhtml+xml"];
        let is_page = is_page.iter().any(|page| {
            let start = media_type.get(..page.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(page))
        });
        let words = if status.is_redirection() {
            let target = header(&LOCATION).filter(|target| !target.is_empty());
            let target = target.map_or_else(
                || "elsewhere".to_owned(),
                |target| format!("to {}", quoted(&without_secrets(&target))),
            );
            format!(
                "the server redirects {target}; redirects are not followed, so the contract must name the final address"
            )
        } else if status == StatusCode::TOO_MANY_REQUESTS {
            let wait = header(&RETRY_AFTER);
            let wait = wait.filter(|wait| wait.bytes().all(|b| matches!(b, b' '..=b'~')));
            let wait = wait.map_or_else(String::new, |wait| {
                let wait = quoted(&wait);
                if wait.bytes().all(|b| b.is_ascii_digit()) {
                    format!("; it asks to wait {wait} seconds")
                } else {
                    format!("; it asks to wait until {wait}")
                }
            });
            format!("the server limits the number of requests{wait}")
        } else if status.is_server_error() {
            "the server failed; the request may have taken effect".to_owned()
        } else if is_page {
            PAGE.to_owned()
        } else if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            "the server took the request and sent no answer to it".to_owned()
        } else if let Some(encoding) = encoding(headers).filter(|_| status.is_success()) {
            format!(
                "the server compressed its answer with {:?}, which was not asked for",
                quoted(&encoding)
            )
        } else if status.is_success() && media_type.is_empty() {
            "the server sent an answer without a media type".to_owned()
        } else if status.is_success() {
            format!(
                "the server sent {:?}, which is neither JSON nor a stream of events",
                quoted(&media_type)
            )
        } else {
            "the server refused the request".to_owned()
        };
        Self::in_words(status, &words)
    }

    /// The answer over HTTP with that status and a body that should be JSON; `None` if it may be.
    pub(super) fn of_body(status: StatusCode, body: &[u8]) -> Option<Self> {
        // The bytes of a byte order mark, too.
        let is_space = |b: u8| b.is_ascii_whitespace() || matches!(b, 0xEF | 0xBB | 0xBF);
        match body.iter().copied().find(|b| !is_space(*b)) {
            None => Some(Self::in_words(status, "the body of the answer is empty")),
            Some(b'<') => Some(Self::in_words(status, PAGE)),
            Some(_) => None,
        }
    }

    fn in_words(status: StatusCode, words: &str) -> Self {
        Self {
            code: HTTP_STATUS.to_owned(),
            message: format!("HTTP {status}: {words}"),
        }
    }

    /// True if the server could not read a frame, and so cannot name the id of its request.
    pub(super) fn is_of_unread_frame(&self) -> bool {
        UNREAD_FRAME.contains(&self.code.as_str())
    }
}

/// The code of an error object, and its message if it has one.
fn parts(error: &RawValue) -> (String, Option<String>) {
    let members = serde_json::from_str::<Members<'_>>(error.get());
    let members = members.map_or_else(|_| Vec::new(), |Members(members)| members);
    let member = |name: &str| {
        let found = members.iter().rfind(|(key, _)| key == name);
        found.map(|(_, value)| value.get())
    };
    let text = |value: &str| serde_json::from_str::<String>(value).ok();
    let number = |value: &str| serde_json::from_str::<Number>(value).ok();
    let code = member("code");
    let code =
        code.and_then(|code| number(code).map_or_else(|| text(code), |n| Some(n.to_string())));
    let message = member("message").and_then(text);
    (code.unwrap_or_else(|| RPC_ERROR.to_owned()), message)
}

/// The address without user, password, query and fragment.
pub(super) fn without_secrets(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let shown = url.get(..end).unwrap_or_default();
    // The target of a redirect may leave out the scheme.
    match (shown.find("//"), shown.rfind('@')) {
        (Some(slashes), Some(at)) if at > slashes => format!(
            "{}{}",
            shown.get(..slashes + 2).unwrap_or_default(),
            shown.get(at + 1..).unwrap_or_default()
        ),
        _ => shown.to_owned(),
    }
}

/// The compression of a body; `None` if there is none.
pub(super) fn encoding(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_ENCODING)?;
    let value = String::from_utf8_lossy(value.as_bytes());
    let value = value.trim();
    (!value.is_empty() && !value.eq_ignore_ascii_case("identity")).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn check(status: u16, headers: &[(HeaderName, &'static str)], expect: &str) {
        let headers = headers.iter();
        let headers = headers.map(|(name, value)| {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            (name.clone(), value)
        });
        let refusal = Refusal::of_http(StatusCode::from_u16(status).unwrap(), &headers.collect());
        assert_eq!(refusal.code, HTTP_STATUS);
        assert_eq!(refusal.message, expect);
    }

    #[test]
    fn each_kind_of_answer_over_http_has_a_text() {
        check(
            500,
            &[(CONTENT_TYPE, "text/html")],
            "HTTP 500 Internal Server Error: the server failed; the request may have taken effect",
        );
        check(
            429,
            &[(RETRY_AFTER, "30")],
            "HTTP 429 Too Many Requests: the server limits the number of requests; it asks to wait 30 seconds",
        );
        check(
            429,
            &[(RETRY_AFTER, "Wed, 21 Oct 2026 07:28:00 GMT")],
            "HTTP 429 Too Many Requests: the server limits the number of requests; it asks to wait until Wed, 21 Oct 2026 07:28:00 GMT",
        );
        check(
            429,
            &[],
            "HTTP 429 Too Many Requests: the server limits the number of requests",
        );
        let page = "the server sent a web page, not an answer; check its address, and any proxy or login page in front of it";
        let html = [(CONTENT_TYPE, "text/html; charset=utf-8")];
        check(200, &html, &format!("HTTP 200 OK: {page}"));
        check(404, &html, &format!("HTTP 404 Not Found: {page}"));
        check(
            307,
            &[(LOCATION, "https://other.example/mcp?key=secret")],
            "HTTP 307 Temporary Redirect: the server redirects to https://other.example/mcp; redirects are not followed, so the contract must name the final address",
        );
        check(
            302,
            &[(LOCATION, "//me:hunter2@other.example/mcp#token=t")],
            "HTTP 302 Found: the server redirects to //other.example/mcp; redirects are not followed, so the contract must name the final address",
        );
        check(
            200,
            &[(CONTENT_TYPE, "Text/HTML")],
            &format!("HTTP 200 OK: {page}"),
        );
        check(
            429,
            &[(RETRY_AFTER, "\u{202e}soon")],
            "HTTP 429 Too Many Requests: the server limits the number of requests",
        );
        check(
            204,
            &[],
            "HTTP 204 No Content: the server took the request and sent no answer to it",
        );
        check(
            200,
            &[(CONTENT_TYPE, "application/json"), (CONTENT_ENCODING, "br")],
            "HTTP 200 OK: the server compressed its answer with \"br\", which was not asked for",
        );
        check(
            200,
            &[(CONTENT_TYPE, "text/plain")],
            "HTTP 200 OK: the server sent \"text/plain\", which is neither JSON nor a stream of events",
        );
        check(
            403,
            &[],
            "HTTP 403 Forbidden: the server refused the request",
        );
    }

    /// A password that a cut would have left without its end is not shown either.
    #[test]
    fn the_target_of_a_redirect_is_shown_without_credentials_and_within_bounds() {
        let shown = |target: &str| {
            let location = HeaderValue::from_str(target).unwrap();
            let headers = HeaderMap::from_iter([(LOCATION, location)]);
            Refusal::of_http(StatusCode::FOUND, &headers).message
        };
        let secret = "s".repeat(1_000);
        let text = shown(&format!("https://me:{secret}@other.example/mcp"));
        assert!(
            text.contains("redirects to https://other.example/mcp;"),
            "{text}"
        );
        let text = shown(&format!("https://other.example/{secret}"));
        assert!(text.len() < 400, "{text}");
    }

    #[test]
    fn an_error_of_any_form_has_a_code_and_a_message() {
        let check = |error: &str, code: &str, message: &str| {
            let error = RawValue::from_string(error.to_owned()).unwrap();
            let refusal = Refusal::of_error(&error);
            assert_eq!(
                (refusal.code.as_str(), refusal.message.as_str()),
                (code, message)
            );
        };
        check(r#"{"code": -32602, "message": "no"}"#, "-32602", "no");
        check(r#"{"code": "E1", "message": "no"}"#, "E1", "no");
        check(r#"{"code": null, "message": "no"}"#, RPC_ERROR, "no");
        check(r#"{"reason": 7}"#, RPC_ERROR, r#"{"reason": 7}"#);
        check(r#""plain""#, RPC_ERROR, r#""plain""#);
        let in_frame = |frame: &str| Refusal::in_frame(frame.as_bytes()).map(|found| found.code);
        assert_eq!(
            in_frame(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#),
            Some("-32600".to_owned())
        );
        assert_eq!(
            in_frame(r#"{"error":{"code":1,"message":"half \ud800"}}"#),
            Some("1".to_owned())
        );
        assert_eq!(in_frame(r#"{"error":"invalid_token"}"#), None);
        assert_eq!(in_frame(r#"{"error":{"message":"no"},"result":{}}"#), None);
        assert_eq!(in_frame(r#"{"id":1,"result":{}}"#), None);
    }
}
