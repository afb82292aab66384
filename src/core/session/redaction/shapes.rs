//! Headers and shapes that give credentials away. Does not know configured values.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
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
pub const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];

/// The shapes of well-known credentials, each with the texts of which it holds one, in whatever case.
const CREDENTIALS: [(&[&str], &str); 9] = [
    (&["sk-"], r"(?-u)\bsk-[A-Za-z0-9_-]{16,}"),
    (
        &["gho_", "ghp_", "ghr_", "ghs_", "ghu_"],
        r"(?-u)\bgh[oprsu]_[A-Za-z0-9]{20,}",
    ),
    (&["github_pat_"], r"(?-u)\bgithub_pat_[A-Za-z0-9_]{20,}"),
    (&["xox"], r"(?-u)\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
    (&["akia", "asia"], r"(?-u)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    (&["aiza"], r"(?-u)\bAIza[0-9A-Za-z_-]{35}"),
    (
        &[PRIVATE_KEY],
        r"(?-u)-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\+[nrt])*(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY-----)?",
    ),
    (
        &["eyj"],
        r"(?-u)\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    ),
    (&[BEARER], r"(?i-u)\bbearer[ \t]+([A-Za-z0-9._~+/-]{20,}=*)"),
];
const BEARER: &str = "bearer";
const PRIVATE_KEY: &str = "-----begin";

/// The expressions that every run looks for: compiled once in a process, each when a text first holds what it begins with.
static HEADER_SHAPES: LazyLock<HeaderShapes> =
    LazyLock::new(|| HeaderShapes::of(HEADERS.into_iter()));
static CREDENTIAL_SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    CREDENTIALS
        .map(|(_, text)| Shape::of(text.to_owned()))
        .into()
});

/// The words that every run looks for, with their owners: most contracts add no header.
static FIXED_WORDS: LazyLock<Words> = LazyLock::new(|| Words::of([].into_iter()));

/// The signs of a secret whose value is unknown: headers and shapes.
///
/// A text is first looked through for the names and the words that they begin with, and only for those found is an expression
/// compiled and tried: few texts hold any.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    words: Words,
    /// Headers that the author names.
    own_headers: Option<HeaderShapes>,
    /// The author's patterns: what they match may begin anywhere.
    own: Vec<Regex>,
}

/// The words that a text is first looked through for.
#[derive(Clone, Debug, Default)]
struct Words {
    /// Finds them, whatever their case. Without it, every text counts as one that holds them all.
    automaton: Option<AhoCorasick>,
    /// Owner of each word.
    owners: Vec<Owner>,
}

/// The owner of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Header,
    OwnHeader,
    Credential(usize),
}

/// The forms in which a header may stand in a text.
#[derive(Clone, Debug)]
struct HeaderShapes {
    /// Up to the end of its line.
    line: Shape,
    /// In a JSON document, up to the end of the line or of the string.
    line_in_json: Shape,
    /// As a member of a JSON object, also of one within a string.
    members: [Shape; 2],
}

/// An expression that is compiled when it is first needed. One that does not compile is none: a contract file with such a header is
/// refused.
#[derive(Clone, Debug)]
struct Shape {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Shape {
    const fn of(text: String) -> Self {
        let compiled = OnceLock::new();
        Self { text, compiled }
    }

    fn regex(&self) -> Option<&Regex> {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref()
    }
}

impl HeaderShapes {
    fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let names: Vec<String> = names.map(regex::escape).collect();
        let schemes = SCHEMES.join("|");
        let name = format!(r"(?i-u)(?:^|[^A-Za-z0-9_-]|\\[nrt])(?:{})", names.join("|"));
        let line = |rest: &str| {
            Shape::of(format!(
                r"{name}[ \t]*:[ \t]*(?:(?:{schemes})[ \t]+)?({rest})"
            ))
        };
        let member = |rest: &str| Shape::of(format!(r"{name}{rest}"));
        Self {
            line: line(r"[^\s][^\r\n]*"),
            line_in_json: line(r#"[^\s"\\][^"\\\r\n]*"#),
            members: [
                member(r#"["'][ \t]*[:=][ \t]*\[?[ \t]*"((?:[^"\\\r\n]|\\.)+)""#),
                member(r#"\\+"[ \t]*[:=][ \t]*\[?[ \t]*\\+"([^"\\\r\n]+)"#),
            ],
        }
    }

    /// Returns the expressions to try.
    fn of_text(&self, is_json: bool) -> impl Iterator<Item = &Regex> {
        let line = if is_json {
            &self.line_in_json
        } else {
            &self.line
        };
        self.members.iter().chain([line]).filter_map(Shape::regex)
    }
}

impl Words {
    /// Collects the words of the built-in headers and shapes, and of the author's headers.
    fn of<'n>(own: impl Iterator<Item = &'n str>) -> Self {
        let names = HEADERS.map(|name| (name, Owner::Header));
        let own = own.map(|name| (name, Owner::OwnHeader));
        let shapes = CREDENTIALS.iter().enumerate();
        let shapes = shapes.flat_map(|(at, (words, _))| {
            words.iter().map(move |word| (*word, Owner::Credential(at)))
        });
        let (words, owners): (Vec<&str>, Vec<Owner>) =
            names.into_iter().chain(own).chain(shapes).unzip();
        let automaton = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(words);
        Self {
            automaton: automaton.ok(),
            owners,
        }
    }

    /// Returns the owners of a text's words.
    fn owners_in(&self, text: &[u8]) -> BTreeSet<Owner> {
        let Some(words) = &self.automaton else {
            return self.owners.iter().copied().collect();
        };
        let hits = words.find_overlapping_iter(text);
        hits.filter_map(|hit| self.owners.get(hit.pattern().as_usize()).copied())
            .collect()
    }
}

impl Shapes {
    /// The shapes that are always looked for, and the author's. A pattern that does not compile is none: a contract file
    /// with such a pattern is refused.
    pub(super) fn new(terms: &RedactionTerms) -> Self {
        let own = terms.headers.iter().map(String::as_str);
        let has_own = !terms.headers.is_empty();
        Self {
            words: if has_own {
                Words::of(own.clone())
            } else {
                FIXED_WORDS.clone()
            },
            own_headers: has_own.then(|| HeaderShapes::of(own)),
            own: terms
                .patterns
                .iter()
                .filter_map(|text| secret_pattern(text).ok())
                .collect(),
        }
    }

    /// True if a text may hold a header or a credential. Few do, and the rest are scanned once.
    pub(super) fn may_be_in(&self, text: &[u8]) -> bool {
        let Words { automaton, owners } = &self.words;
        let words = || match automaton {
            Some(words) => words.find_overlapping_iter(text).next().is_some(),
            None => !owners.is_empty(),
        };
        !self.own.is_empty() || words()
    }

    /// The expressions of the headers that a text may hold.
    pub(super) fn headers(&self, text: &[u8]) -> Vec<&Regex> {
        let found = self.words.owners_in(text);
        let is_json = is_json(text);
        let fixed = found
            .contains(&Owner::Header)
            .then(|| HEADER_SHAPES.of_text(is_json));
        let own = self
            .own_headers
            .as_ref()
            .filter(|_| found.contains(&Owner::OwnHeader));
        let own = own.map(|own| own.of_text(is_json));
        fixed
            .into_iter()
            .flatten()
            .chain(own.into_iter().flatten())
            .collect()
    }

    /// The length of the beginning of a growing text in which no shape can begin that ends later. A line that names a header is held back
    /// with all that follows, and so is everything where the author has patterns.
    pub(super) fn may_grow(&self, text: &str) -> usize {
        let Words { automaton, owners } = &self.words;
        let unsearched = automaton.is_none() && !owners.is_empty();
        if unsearched || !self.own.is_empty() {
            return 0;
        }
        let words = automaton.iter();
        let hits = words.flat_map(|words| words.find_overlapping_iter(text));
        let named = hits.filter(|hit| {
            let owner = owners.get(hit.pattern().as_usize());
            owner.is_some_and(|owner| match owner {
                Owner::Header | Owner::OwnHeader => true,
                Owner::Credential(at) => CREDENTIALS.get(*at).is_some_and(|(words, _)| {
                    words
                        .iter()
                        .any(|word| [BEARER, PRIVATE_KEY].contains(word))
                }),
            })
        });
        match named.map(|hit| hit.start()).min() {
            Some(named) => {
                let before = text.get(..named).unwrap_or_default();
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

    /// The shapes of credentials that a text may hold.
    pub(super) fn credentials(&self, text: &[u8]) -> Vec<&Regex> {
        let found = self.words.owners_in(text).into_iter();
        let fixed = found.filter_map(|owner| match owner {
            Owner::Credential(at) => CREDENTIAL_SHAPES.get(at)?.regex(),
            Owner::Header | Owner::OwnHeader => None,
        });
        fixed.chain(&self.own).collect()
    }
}

/// Returns the parts of a text shaped like a well-known credential.
pub fn credentials_in(text: &str) -> Vec<&str> {
    let shapes = Shapes::new(&RedactionTerms::default());
    if !shapes.may_be_in(text.as_bytes()) {
        return Vec::new();
    }
    let found = shapes.credentials(text.as_bytes()).into_iter();
    let found = found.flat_map(|shape| shape.captures_iter(text.as_bytes()));
    let found = found.filter_map(|hit| text.get(secret_of(&hit)?));
    found.collect()
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

/// A variable that a file names in place of a secret.
static REFERENCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u)\$\{[A-Za-z_][A-Za-z0-9_]*\}").ok());

/// True if a header's value holds no secret any more: only words for its scheme, variables by their names, quotes and brackets of the
/// file around them, and what `is_marker` takes away.
pub(super) fn is_spent(value_without_markers: &[u8]) -> bool {
    let bare = REFERENCE.as_ref().map_or_else(
        || Cow::Borrowed(value_without_markers),
        |reference| reference.replace_all(value_without_markers, &b""[..]),
    );
    let has_reference = bare.len() < value_without_markers.len();
    let text = String::from_utf8_lossy(&bare).to_ascii_lowercase();
    let of_file = |c: char| has_reference && matches!(c, '"' | '\'' | '{' | '}' | '[' | ']');
    text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';'))
        .map(|word| word.trim_matches(of_file))
        .all(|word| word.is_empty() || SCHEMES.contains(&word))
}

/// True if a text is a JSON document, a list of them, or an event stream, so that its strings must stay closed.
fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let streams: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    text.first().is_some_and(|byte| b"{[\"".contains(byte))
        || streams.iter().any(|stream| text.starts_with(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of which a shape takes one at least; each word of a shape stands in one of them.
    const SAMPLES: [&str; 22] = [
        "sk-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnopqrst0",
        "gho_abcdefghijklmnopqrst0",
        "ghr_abcdefghijklmnopqrst0",
        "ghs_abcdefghijklmnopqrst0",
        "ghu_abcdefghijklmnopqrst0",
        "github_pat_abcdefghijklmnopqrst",
        "xoxb-1234567890",
        "AKIAABCDEFGHIJKLMNOP",
        "ASIAABCDEFGHIJKLMNOP",
        "AIzaabcdefghijklmnopqrstuvwxyz012345678",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "eyJhbGciOiJI.eyJzdWIiOiIx.abc",
        "BeArEr abcdefghijklmnopqrst==",
        "Api-Key: abc",
        "X-API-Key: abc\nAuthorization: Bearer x",
        r#"{"x-Goog-Api-Key": "abc", 'cookie'= ["a=b"]}"#,
        r#"{"a": "{\"set-cookie\": \"s=1\"}"}"#,
        "Proxy-Authorization: Basic eA==",
        "X-Auth-Token: abc",
        "X-Own: abc",
        "x-own: bearer abcdefghijklmnopqrst==",
    ];

    fn ranges<'r>(shapes: impl IntoIterator<Item = &'r Regex>, text: &str) -> Vec<(usize, usize)> {
        let all = shapes
            .into_iter()
            .flat_map(|shape| shape.find_iter(text.as_bytes()));
        all.map(|hit| (hit.start(), hit.end())).collect()
    }

    #[test]
    fn as_many_headers_as_a_contract_may_name_are_found() {
        let terms = RedactionTerms {
            headers: (0..100).map(|n| format!("{n:a>256}")).collect(),
            ..RedactionTerms::default()
        };
        let shapes = Shapes::new(&terms);
        for name in &terms.headers {
            for text in [format!("{name}: abc"), format!("{{\"{name}\": \"abc\"}}")] {
                assert!(!ranges(shapes.headers(text.as_bytes()), &text).is_empty());
            }
        }
    }

    #[test]
    fn no_shape_is_found_in_a_text_without_its_words() {
        let terms = RedactionTerms {
            headers: vec!["x-own".to_owned()],
            ..RedactionTerms::default()
        };
        let shapes = Shapes::new(&terms);
        let mut all = BTreeSet::new();
        for text in SAMPLES {
            let bytes = text.as_bytes();
            let own = shapes.own_headers.as_ref().unwrap();
            let headers = HEADER_SHAPES
                .of_text(is_json(bytes))
                .chain(own.of_text(is_json(bytes)));
            let headers = ranges(headers, text);
            assert_eq!(ranges(shapes.headers(bytes), text), headers, "{text}");
            let credentials = CREDENTIAL_SHAPES.iter().filter_map(Shape::regex);
            let credentials = ranges(credentials, text);
            assert_eq!(
                ranges(shapes.credentials(bytes), text),
                credentials,
                "{text}"
            );
            assert!(headers.len() + credentials.len() > 0, "{text}");
            let words = shapes.words.automaton.iter();
            let hits = words.flat_map(|words| words.find_overlapping_iter(bytes));
            all.extend(hits.map(|hit| hit.pattern().as_usize()));
        }
        assert_eq!(
            all.len(),
            shapes.words.owners.len(),
            "each word stands in a text"
        );
        // Where the words cannot be looked for, a text may hold every shape.
        let unsearched = Shapes {
            words: Words {
                automaton: None,
                ..shapes.words.clone()
            },
            ..shapes.clone()
        };
        for text in SAMPLES {
            let found = ranges(unsearched.credentials(text.as_bytes()), text);
            assert_eq!(found, ranges(shapes.credentials(text.as_bytes()), text));
            assert_eq!(unsearched.may_grow(text), 0);
        }
        assert!(shapes.headers(b"nothing of the kind").is_empty());
        assert!(shapes.credentials(b"nothing of the kind").is_empty());
    }
}
