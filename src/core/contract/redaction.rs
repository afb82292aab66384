//! The redaction terms of a contract: patterns, variables, addresses. Does not scrub texts.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bytes that one compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The most patterns of one contract.
pub(super) const MAX_PATTERNS: usize = 100;
/// The most headers of one contract, and the longest name of one: together they are one expression, which must compile.
pub(super) const MAX_HEADERS: usize = 100;
pub(super) const MAX_HEADER_BYTES: usize = 256;
/// The longest pattern.
const MAX_PATTERN_TEXT: usize = 4_096;
/// The text that replaces a secret in a contract.
pub(crate) const SECRET_MARKER: &str = "[SECRET]";

/// Additional redaction of everything that is recorded, on top of the built-in redaction: names and patterns, never values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactionTerms {
    /// Environment variables whose values are secret.
    pub env: Vec<String>,
    /// Headers whose values are secret, wherever they are quoted; without regard to case.
    pub headers: Vec<String>,
    /// Regular expressions of texts that are secret: the first group where there is one, else the whole match.
    pub patterns: Vec<String>,
}

impl RedactionTerms {
    /// True if the author configures no redaction.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.env.is_empty() && self.headers.is_empty() && self.patterns.is_empty()
    }
}

/// Compiles a pattern as the author wrote it: linear in the text it searches, and bounded in size.
///
/// # Errors
/// The rule that it breaks.
pub(crate) fn secret_pattern(text: &str) -> Result<Regex, String> {
    if text.len() > MAX_PATTERN_TEXT {
        return Err(format!("a pattern has at most {MAX_PATTERN_TEXT} bytes"));
    }
    let pattern = RegexBuilder::new(text)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|fault| match fault {
            regex::Error::CompiledTooBig(_) => "it is too large once compiled".to_owned(),
            other => {
                let message = other.to_string();
                let last = message.lines().last().unwrap_or_default();
                let reason = last.trim().trim_start_matches("error: ");
                format!("not a regular expression: {reason}")
            }
        })?;
    if pattern.is_match(b"") {
        return Err("it matches the empty text, and so everywhere".to_owned());
    }
    Ok(pattern)
}

/// The variables named as `${NAME}` in each of these values, by the value's own name; values without any are left out.
pub(super) fn variables_of(values: &BTreeMap<String, String>) -> BTreeMap<String, Vec<String>> {
    let named = values.iter().map(|(name, text)| {
        let found = placeholders(text).map(str::to_owned).collect();
        (name.clone(), found)
    });
    named
        .filter(|(_, found): &(String, Vec<String>)| !found.is_empty())
        .collect()
}

/// The names between `${` and `}` in a text, in order.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let mut parts = text.split("${");
    parts.next();
    parts.filter_map(|part| part.split_once('}').map(|(name, _)| name))
}

/// An address as a contract may hold it: no user, no password, no fragment, and of a query the names alone.
#[must_use]
pub fn recorded_url(url: &str) -> String {
    let url = url.split_once('#').map_or(url, |(before, _)| before);
    let (place, query) = url
        .split_once('?')
        .map_or((url, None), |(p, q)| (p, Some(q)));
    let (before, _, host) = split_at_user(place);
    let mut out = format!("{before}{host}");
    for (at, part) in query.into_iter().flat_map(|q| q.split('&')).enumerate() {
        out.push(if at == 0 { '?' } else { '&' });
        match part.split_once('=') {
            Some((name, value)) if !value.is_empty() => {
                out.push_str(name);
                out.push('=');
                out.push_str(SECRET_MARKER);
            }
            _ => out.push_str(part),
        }
    }
    out
}

/// An address without its query: the part before the user, the user with the password, which may be empty, and the rest.
///
/// It is read as loosely as clients and people write it, with one slash or none behind the scheme, slashes of either kind, and slashes in
/// the password: whether it can be used is judged elsewhere, and until then it may be shown.
fn split_at_user(place: &str) -> (&str, &str, &str) {
    let slashes = ['/', '\\'];
    let named = place.split_once(':').filter(|(name, rest)| {
        let usual = ["http", "https"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known));
        let is_word = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        usual || is_word && rest.starts_with(slashes)
    });
    let rest = named.map_or(place, |(_, rest)| rest);
    let rest = rest.trim_start_matches(slashes);
    let before = place.strip_suffix(rest).unwrap_or_default();
    let host = rest.split(slashes).next().unwrap_or_default();
    let is_port = |(_, port): (&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    let whole = host.starts_with('[') || host.rsplit_once(':').is_none_or(is_port);
    let within = if host.contains('@') || whole {
        host
    } else {
        rest
    };
    match within.rfind('@').and_then(|at| rest.split_at_checked(at)) {
        Some((user, host)) => (before, user, host.strip_prefix('@').unwrap_or(host)),
        None => (before, "", rest),
    }
}

/// The part before the `@` of an address; empty if there is none.
pub(super) fn address_user(url: &str) -> &str {
    let url = url.split_once('#').map_or(url, |(before, _)| before);
    let (place, _) = url.split_once('?').unwrap_or((url, ""));
    split_at_user(place).1
}

/// Returns the secrets of a URL: user, password and query values, each as written and decoded. Each is paired with its query
/// parameter, if it has one.
#[must_use]
pub fn url_secrets(url: &str) -> Vec<(Option<&str>, String)> {
    let url = url.split_once('#').map_or(url, |(before, _)| before);
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let (_, user, _) = split_at_user(place);
    let user = user.split(':').map(|text| (None, text));
    let pairs = query.split('&').filter_map(|part| part.split_once('='));
    let written = user.chain(pairs.map(|(name, value)| (Some(name), value)));
    let mut found = Vec::new();
    for (name, text) in written.filter(|(_, text)| !text.is_empty()) {
        let spaced = text.replace('+', " ");
        for form in [text.to_owned(), decoded(text), decoded(&spaced)] {
            if !found.contains(&(name, form.clone())) {
                found.push((name, form));
            }
        }
    }
    found
}

/// A text without its percent-encoding; as it is where it has none that gives text.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|two| str::from_utf8(two).ok());
        let digits = digits.filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.map(|two| u8::from_str_radix(two, 16)) {
            Some(Ok(byte)) if *first == b'%' => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_place_and_the_names_of_its_query() {
        let check = |url: &str, expect: &str, secrets: &[&str]| {
            assert_eq!(recorded_url(url), expect);
            let found = url_secrets(url).into_iter().map(|(_, value)| value);
            assert_eq!(found.collect::<Vec<_>>(), secrets, "{url}");
        };
        check("https://a.b/v1", "https://a.b/v1", &[]);
        check(
            "https://a.b/v1?token=xyz&b=&c#frag",
            "https://a.b/v1?token=[SECRET]&b=&c",
            &["xyz"],
        );
        check(
            "http://u:p@a.b:80?k=a=b",
            "http://a.b:80?k=[SECRET]",
            &["u", "p", "a=b"],
        );
        check("http://u@a.b/x@y", "http://a.b/x@y", &["u"]);
        check("http://[::1]:80/x@y", "http://[::1]:80/x@y", &[]);
        check("a.b:80/x@y", "a.b:80/x@y", &[]);
        // What no client takes may be shown all the same.
        check("//u:p@a.b/x", "//a.b/x", &["u", "p"]);
        check("u:p@a.b/x", "a.b/x", &["u", "p"]);
        check("HTTP:/\\u:p@a.b/x", "HTTP:/\\a.b/x", &["u", "p"]);
        check("https:u:p@a.b", "https:a.b", &["u", "p"]);
        check("ftp:\\\\u:p@a.b\\x", "ftp:\\\\a.b\\x", &["u", "p"]);
        check("http://u:p/q@a.b/x", "http://a.b/x", &["u", "p/q"]);
        check(
            "http://a.b?k=a%2Fb+c&l=%ff",
            "http://a.b?k=[SECRET]&l=[SECRET]",
            &["a%2Fb+c", "a/b+c", "a/b c", "%ff"],
        );
    }

    #[test]
    fn a_pattern_is_linear_bounded_and_matches_something() {
        let check = |text: &str, expect: Option<&str>| {
            let fault = secret_pattern(text).err();
            let paired = fault.as_deref().zip(expect);
            let good = fault.is_none() && expect.is_none();
            assert!(
                good || paired.is_some_and(|(f, e)| f.contains(e)),
                "{text}: {fault:?}"
            );
        };
        check("acme-[0-9]{8}", None);
        check(r"pin=(\d+)", None);
        check("(", Some("not a regular expression: unclosed group"));
        check("(?=a)b", Some("look-around"));
        check("a*", Some("matches the empty text"));
        check("(?:(?:a{1000}){1000})", Some("too large"));
        check(&"a".repeat(5_000), Some("at most 4096 bytes"));
    }

    #[test]
    fn variables_are_named_in_their_order() {
        let values = [("A", "x${B}-${C}"), ("D", "plain $E {F}"), ("G", "${")];
        let values = values.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let found = variables_of(&BTreeMap::from(values));
        let expect = [("A".to_owned(), vec!["B".to_owned(), "C".to_owned()])];
        assert_eq!(found, BTreeMap::from(expect));
    }
}
