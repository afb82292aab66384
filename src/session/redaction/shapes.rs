//! Headers and shapes that give credentials away. Does not know configured values.

use regex::bytes::{Captures, Regex};

use crate::contract::{RedactionTerms, secret_pattern};

/// Headers whose values are always secret.
const HEADERS: [&str; 8] = [
    "api-key",
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
    "x-api-key",
    "x-auth-token",
    "x-goog-api-key",
];
/// Words that may precede a credential in a header; they are no secret.
pub(crate) const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];

/// The shapes of well-known credentials.
const CREDENTIALS: [&str; 9] = [
    r"(?-u)\bsk-[A-Za-z0-9_-]{16,}",
    r"(?-u)\bgh[oprsu]_[A-Za-z0-9]{20,}",
    r"(?-u)\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"(?-u)\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    r"(?-u)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"(?-u)\bAIza[0-9A-Za-z_-]{35}",
    r"(?-u)-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\+[nrt])*(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY-----)?",
    r"(?-u)\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"(?i-u)\bbearer[ \t]+([A-Za-z0-9._~+/-]{20,}=*)",
];

/// What gives a secret away without its value being known: headers and shapes.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    /// A header in a text, up to the end of its line.
    line: Vec<Regex>,
    /// A header in a JSON document, up to the end of the line or of the string.
    line_in_json: Vec<Regex>,
    /// A header as a member of a JSON object, also of one within a string.
    member: Vec<Regex>,
    credentials: Vec<Regex>,
    /// What a text is looked through for that still grows: names of headers and words before a credential.
    begins: Option<Regex>,
    /// Whether the author has patterns: what they match may begin anywhere.
    has_own: bool,
}

impl Shapes {
    /// The shapes that are always looked for, and the author's. A pattern that does not compile is none: a contract file
    /// with such a pattern is refused.
    pub(super) fn new(terms: &RedactionTerms) -> Self {
        let own = terms.headers.iter().map(String::as_str);
        let names: Vec<String> = HEADERS.into_iter().chain(own).map(regex::escape).collect();
        let schemes = SCHEMES.join("|");
        let name = format!(r"(?i-u)(?:^|[^A-Za-z0-9_-]|\\[nrt])(?:{})", names.join("|"));
        let line = |rest: &str| format!(r"{name}[ \t]*:[ \t]*(?:(?:{schemes})[ \t]+)?({rest})");
        let member = |rest: &str| format!(r"{name}{rest}");
        let compiled = |text: String| Regex::new(&text).ok();
        let patterns = CREDENTIALS.into_iter();
        let own = terms.patterns.iter().map(String::as_str);
        Self {
            line: compiled(line(r"[^\s][^\r\n]*")).into_iter().collect(),
            line_in_json: compiled(line(r#"[^\s"\\][^"\\\r\n]*"#))
                .into_iter()
                .collect(),
            member: [
                member(r#"["'][ \t]*[:=][ \t]*\[?[ \t]*"((?:[^"\\\r\n]|\\.)+)""#),
                member(r#"\\+"[ \t]*[:=][ \t]*\[?[ \t]*\\+"([^"\\\r\n]+)"#),
            ]
            .into_iter()
            .filter_map(compiled)
            .collect(),
            begins: compiled(format!(r"(?i-u)(?:{}|bearer|-----BEGIN)", names.join("|"))),
            has_own: !terms.patterns.is_empty(),
            credentials: patterns
                .chain(own)
                .filter_map(|text| secret_pattern(text).ok())
                .collect(),
        }
    }

    /// The headers of a text.
    pub(super) fn headers<'s>(&'s self, text: &[u8]) -> impl Iterator<Item = &'s Regex> {
        let line = if is_json(text) {
            &self.line_in_json
        } else {
            &self.line
        };
        self.member.iter().chain(line)
    }

    /// The length of the beginning of a growing text in which no shape can begin that ends later. A line that names a header is held back
    /// with all that follows, and so is everything where the author has patterns.
    pub(super) fn may_grow(&self, text: &str) -> usize {
        if self.has_own {
            return 0;
        }
        let named = self
            .begins
            .as_ref()
            .and_then(|begins| begins.find(text.as_bytes()));
        match named {
            Some(named) => {
                let before = text.get(..named.start()).unwrap_or_default();
                before.rfind(['\n', '\r']).map_or(0, |at| at + 1)
            }
            None => text.rfind(char::is_whitespace).map_or(0, |at| {
                at + text
                    .get(at..)
                    .and_then(|rest| rest.chars().next())
                    .map_or(0, char::len_utf8)
            }),
        }
    }

    /// The shapes of credentials in any text.
    pub(super) fn credentials(&self) -> impl Iterator<Item = &Regex> {
        self.credentials.iter()
    }
}

/// The bytes of a match that are secret: its first group where it has one, without white space around it.
pub(super) fn secret_of(found: &Captures<'_>) -> Option<std::ops::Range<usize>> {
    let part = found.get(1).or_else(|| found.get(0))?;
    let bytes = part.as_bytes();
    let (front, end) = (bytes.trim_ascii_start(), bytes.trim_ascii_end());
    let start = part.start() + (bytes.len() - front.len());
    let end = part.end() - (bytes.len() - end.len());
    (start < end).then_some(start..end)
}

/// Whether nothing of a header's value is secret any more: words for its scheme, and what `is_marker` takes away.
pub(super) fn is_spent(value_without_markers: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value_without_markers).to_ascii_lowercase();
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';'))
        .all(|word| word.is_empty() || SCHEMES.contains(&word))
}

/// Whether a text is a JSON document, a list of them, or an event stream, so that its strings must stay closed.
fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let streams: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    text.first().is_some_and(|byte| b"{[\"".contains(byte))
        || streams.iter().any(|stream| text.starts_with(stream))
}
