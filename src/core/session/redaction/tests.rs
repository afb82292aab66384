//! Secrets that are found in disguises, and texts that stay unchanged.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::values::base64_forms;
use super::{KnownSecrets, RedactionKey, Redactor, can_be_matched};
use crate::contract::RedactionTerms;
use crate::message::{RunId, Scrubber};
use crate::session::Scrub;

const SECRET: &str = r#"pa55/wo"rd\n+x? é"#;

/// Returns a redactor that knows these values, except those that cannot be distinguished from ordinary text.
pub(super) fn knowing(values: &[&str], terms: &RedactionTerms) -> Redactor {
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    let salt = RedactionKey::new([7; 32]).salt(&run_id);
    let values = values.iter().copied().filter(|value| can_be_matched(value));
    let secrets = std::sync::Arc::new(KnownSecrets::of(values, terms));
    Redactor::salted(secrets, salt)
}

pub(super) fn marker(value: &str) -> String {
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    let salt = RedactionKey::new([7; 32]).salt(&run_id);
    salt.marker(value.as_bytes())
}

fn escaped(text: &str, every: usize) -> String {
    let units = text.encode_utf16().enumerate();
    let units = units.map(|(at, unit)| match char::from_u32(unit.into()) {
        Some(c) if at % every != 0 && !matches!(c, '"' | '\\') => c.to_string(),
        _ => format!("\\u{unit:04x}"),
    });
    units.collect()
}

fn nested_of(text: &str) -> String {
    let quoted = serde_json::to_string(&serde_json::to_string(text).unwrap()).unwrap();
    quoted[3..quoted.len() - 3].to_owned()
}

fn percent(text: &str) -> String {
    let bytes = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    bytes.collect()
}

#[test]
fn a_value_is_found_in_every_form_and_all_get_the_same_marker() {
    use base64::Engine as _;
    let redactor = knowing(&[SECRET], &RedactionTerms::default());
    let json = serde_json::to_string(SECRET).unwrap();
    let json = &json[1..json.len() - 1];
    let nested = serde_json::to_string(json).unwrap();
    let nested = &nested[1..nested.len() - 1];
    let check = |form: &str| {
        let text = format!("say {form}, twice: {form}.");
        let expect = format!("say {0}, twice: {0}.", marker(SECRET));
        assert_eq!(redactor.text(&text), expect, "{form}");
    };
    check(SECRET);
    check(json);
    check(nested);
    check(&json.replace('/', "\\/"));
    check(&escaped(SECRET, 1));
    check(&escaped(SECRET, 3));
    check(&percent(SECRET));
    check(&percent(SECRET).to_lowercase());
    let thrice = serde_json::to_string(nested).unwrap();
    let thrice = &thrice[1..thrice.len() - 1];
    check(thrice);
    for escaped in [json, nested, &escaped(SECRET, 1), &escaped(SECRET, 3)] {
        check(&percent(escaped));
    }
    check(&percent(&percent(SECRET)));
    check(&nested_of(&percent(SECRET)));
    check(&nested_of(&percent(json)));
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("user:{SECRET}"));
    let gone = redactor.text(&encoded).into_owned();
    assert!(
        gone.contains(&marker(SECRET)) && gone.len() < encoded.len() + 30,
        "{gone}"
    );
}

#[test]
fn headers_and_shapes_give_a_secret_away() {
    let terms = RedactionTerms {
        env: Vec::new(),
        headers: vec!["X-Acme".to_owned()],
        patterns: vec![r"acme-[0-9]{6}".to_owned(), r"pin=(\d{4})".to_owned()],
    };
    let redactor = knowing(&[], &terms);
    let check = |text: &str, hidden: &str| {
        assert!(text.contains(hidden), "{text}");
        let expect = text.replace(hidden, &marker(hidden));
        assert_eq!(redactor.text(text), expect);
    };
    check("GET /\r\nAuthorization: Bearer abc\r\nAccept: x", "abc");
    check("x-api-key:  abc def \nnext", "abc def");
    check("x-api-key: ${INV_TOKEN}abc", "${INV_TOKEN}abc");
    check("Cookie: a=b; c=\"d\"", "a=b; c=\"d\"");
    check(
        r#"{"headers":{"authorization":"Basic dXNlcg==","accept":"x"}}"#,
        "Basic dXNlcg==",
    );
    check(r#"{"note":"send X-ACME: 12 34","b":1}"#, "12 34");
    check(r#"data: {"a":"{\"cookie\":\"k=v\",\"b\":1}"}"#, "k=v");
    check("it is acme-123456.", "acme-123456");
    check("pin=1234, said", "1234");
    check("key sk-abcdefghij0123456789", "sk-abcdefghij0123456789");
    check(
        "ghp_0123456789abcdefghij0123456789abcdef",
        "ghp_0123456789abcdefghij0123456789abcdef",
    );
    check("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE");
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n-----END RSA PRIVATE KEY-----";
    check(&format!("a {key} b"), key);
    for text in [
        "authorization is needed",
        "task-0123456789abcdef",
        "a bearer of bad news",
        "cookie:",
        // The name of a variable is no secret.
        r#"headers: {Authorization: "Bearer ${INV_TOKEN}"}"#,
        "x-api-key: ${INV_TOKEN}",
        r#"{"Authorization": "Bearer ${INV_TOKEN}"}"#,
    ] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn what_is_marked_is_not_marked_again() {
    let redactor = knowing(&["hunter2-hunter2"], &RedactionTerms::default());
    for text in [
        "authorization: Bearer hunter2-hunter2",
        "cookie: a; hunter2-hunter2",
    ] {
        let once = redactor.text(text).into_owned();
        assert_eq!(redactor.text(&once), once);
        assert!(!once.contains("hunter2"), "{once}");
    }
    let hex = "0123456789abcdef0123456789abcdef";
    let disguised = format!("[REDACTED:{hex}]");
    assert_eq!(
        knowing(&[hex], &RedactionTerms::default()).text(&disguised),
        marker(hex)
    );
}

#[test]
fn values_that_overlap_are_one_and_a_value_that_was_cut_goes_too() {
    let redactor = knowing(&["abcdefgh", "efghijkl"], &RedactionTerms::default());
    assert_eq!(
        redactor.text("abcdefghijkl!"),
        format!("{}!", marker("abcdefgh"))
    );
    assert_eq!(
        redactor.cut_text("so abcdefg"),
        format!("so {}", marker("abcdefgh"))
    );
    assert_eq!(redactor.cut_text("so abcde"), "so abcde");
    let cut = redactor.cut_bytes(b"\xff efghijk").into_owned();
    assert_eq!(
        cut,
        [b"\xff ".as_slice(), marker("efghijkl").as_bytes()].concat()
    );
}

/// Wherever a text is cut, and be it within an escape, six bytes of a value do not stay.
#[test]
fn an_escaped_value_that_was_cut_goes_too() {
    let value = "p4ss/wo\"rd\\+x?-horse";
    let redactor = knowing(&[value], &RedactionTerms::default());
    let json = serde_json::to_string(value).unwrap();
    let forms = [
        json[1..json.len() - 1].to_owned(),
        nested_of(value),
        percent(value),
        percent(&escaped(value, 3)),
        escaped(value, 1),
        escaped(value, 4),
    ];
    // The first bytes of a value are no more than its beginning; in each form one of them takes twelve bytes at most.
    for form in forms {
        for length in 6 * 12..form.len() {
            let cut = redactor.cut_text(&format!("it said {}", &form[..length]));
            assert_eq!(cut, format!("it said {}", marker(value)), "{form}");
        }
        let whole = redactor.cut_text(&format!("it said {form}"));
        assert_eq!(whole, format!("it said {}", marker(value)));
    }
    for other in ["p4ss/w% of it", "p4ss%2f\\n", "50% \\"] {
        assert_eq!(redactor.cut_text(other), other);
    }
}

#[test]
fn base64_of_a_value_that_was_cut_goes_too() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    let value = "hunter2-very-secret";
    let redactor = knowing(&[value], &RedactionTerms::default());
    for before in ["", "u", "us", "use"] {
        let whole = STANDARD.encode(format!("{before}{value} and more"));
        // What does not depend on the bytes before the value begins at this character.
        let from = (before.len() * 8).div_ceil(6);
        for length in from..whole.len() {
            let text = format!("it said {}", &whole[..length]);
            let reported = format!("it said {}{}", &whole[..from], marker(value));
            let cut = redactor.cut_text(&text);
            if length < from + 8 {
                assert_eq!(cut, text);
            } else {
                assert!(cut.starts_with(&reported), "{text}: {cut}");
            }
        }
    }
}

#[test]
fn bytes_that_broke_off_are_not_kept_where_their_pieces_show_a_value() {
    let redactor = knowing(&["hunter2-very-secret"], &RedactionTerms::default());
    let kept = |raw: &str| Scrub(&redactor).broken(raw.as_bytes()).0.is_some();
    let stream = "data: {\"c\":\"hunter2-\"}\n\ndata: {\"c\":\"very-\"}\n\ndata: {\"c\":\"secret";
    assert!(!kept(stream));
    assert!(kept("data: {\"c\":\"nothing \"}\n\ndata: {\"c\":\"to hide"));
    let (_, name) = Scrub(&redactor).broken(stream.as_bytes());
    assert_ne!(name, crate::message::Digest::of(stream.as_bytes()));
}

#[test]
fn a_commitment_is_of_one_run_and_one_key() {
    let run = |name: &str| RunId::try_from(name.to_owned()).unwrap();
    let of = |key: u8, name: &str| {
        RedactionKey::new([key; 32])
            .salt(&run(name))
            .marker(b"value")
    };
    assert_eq!(of(1, "a"), of(1, "a"));
    assert_ne!(of(1, "a"), of(1, "b"));
    assert_ne!(of(1, "a"), of(2, "a"));
}

/// Every string of a document, keys included.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(members) => members.iter().for_each(|(key, item)| {
            found.push(key.clone());
            strings(item, found);
        }),
        _ => {}
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_around_a_secret_keep_it_and_nothing_is_taken_twice(
        secret in "[ -~é]{6,24}",
        before in prop::collection::vec(any::<u8>(), 0..40),
        between in prop::collection::vec(prop::sample::select(b"\\\"n{}[]:,u0%2F \n".to_vec()), 0..12),
        after in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        prop_assume!(can_be_matched(&secret));
        let redactor = knowing(&[&secret], &RedactionTerms::default());
        let text = [&before, &between, secret.as_bytes(), &between, secret.as_bytes(), &after].concat();
        let once = redactor.bytes(&text).into_owned();
        prop_assert!(!contains(&once, secret.as_bytes()));
        prop_assert_eq!(redactor.bytes(&once).into_owned(), once);
    }

    #[test]
    fn a_document_stays_one_and_none_of_its_strings_shows_the_secret(
        secret in "[ -~é]{6,24}",
        around in prop::collection::vec("[\\\\\"nu0-9a-f/%é\n ]{0,6}", 6),
    ) {
        prop_assume!(can_be_matched(&secret));
        // The text between the strings of a document must not be the secret itself.
        prop_assume!(!secret.contains('"'));
        let redactor = knowing(&[&secret], &RedactionTerms::default());
        let inner = json!({ "deep": format!("{}{secret}{}", around[0], around[1]) });
        let document = json!({
            "plain": format!("{}{secret}{}", around[2], around[3]),
            "nested": inner.to_string(),
            "list": [format!("{}{secret}{secret}{}", around[4], around[5]), 1, null, true],
        });
        let plain = document.to_string();
        // A backslash is escaped already, so that what would be replaced is not the whole of it.
        let odd = plain.replace(&secret, &escaped(&secret, 2));
        let odd = if secret.contains('\\') { plain.clone() } else { odd };
        for text in [plain, odd] {
            let gone = redactor.text(&text).into_owned();
            let read: Value = serde_json::from_str(&gone)
                .map_err(|fault| TestCaseError::fail(format!("{fault}: {text} became {gone}")))?;
            let nested = read.get("nested").and_then(Value::as_str).unwrap_or_default();
            let inner: Value = serde_json::from_str(nested)
                .map_err(|fault| TestCaseError::fail(format!("{fault}: {nested}")))?;
            let mut found = Vec::new();
            strings(&read, &mut found);
            strings(&inner, &mut found);
            for text in found {
                prop_assert!(!text.contains(&secret), "{}", text);
            }
        }
    }
}

/// Base64 of `text` in lines of `width` characters, with `between` as the break.
fn wrapped(text: &[u8], url_safe: bool, width: usize, between: &str) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let encoded = if url_safe {
        URL_SAFE.encode(text)
    } else {
        STANDARD.encode(text)
    };
    let lines: Vec<_> = encoded.as_bytes().chunks(width).collect();
    let lines = lines.iter().map(|line| std::str::from_utf8(line).unwrap());
    lines.collect::<Vec<_>>().join(between)
}

const BREAKS: [&str; 8] = [
    "\n",
    "\r\n",
    "\n  ",
    "\\n",
    "\\r\\n\\t",
    "\\\\n",
    "%0A",
    "%0d%0A",
];

#[test]
fn base64_that_is_broken_into_lines_is_found() {
    let value = "hunter2-hunter2-hunter2";
    let redactor = knowing(&[value], &RedactionTerms::default());
    for between in BREAKS {
        for width in [4, 7, 16, 64] {
            let text = format!("-{}-", wrapped(value.as_bytes(), false, width, between));
            let gone = redactor.text(&text);
            assert!(gone.contains(&marker(value)), "{text:?} became {gone:?}");
        }
    }
    let plain = "some words\nin a few\n  lines\n";
    assert_eq!(redactor.text(plain), plain);
}

#[test]
fn markers_that_bring_a_value_together_leave_none_behind() {
    let values = ["hunter2-hunter2", "]foo12", "x[REDACTED:"];
    let redactor = knowing(&values, &RedactionTerms::default());
    let check = |text: &str| {
        let gone = redactor.text(text).into_owned();
        assert!(values.iter().all(|value| !gone.contains(value)), "{gone}");
        assert_eq!(redactor.text(&gone), gone);
    };
    for times in [1, 2, 7, 8, 9, 40] {
        check(&format!("hunter2-hunter2{}", "foo12".repeat(times)));
        check(&format!("{}hunter2-hunter2", "x".repeat(times)));
    }
    let cut = redactor.cut_text("xhunter2-");
    assert!(values.iter().all(|value| !cut.contains(value)), "{cut}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_promised_form_of_a_secret_is_left(
        secrets in prop::collection::vec("[ -~é]{6,24}", 1..4),
        around in prop::collection::vec(any::<u8>(), 0..3),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0..6_u8, 2..20_usize, 0..BREAKS.len()), 1..12),
    ) {
        prop_assume!(secrets.iter().all(|secret| can_be_matched(secret)));
        let values: Vec<&str> = secrets.iter().map(String::as_str).collect();
        let redactor = knowing(&values, &RedactionTerms::default());
        let mut text = String::new();
        for (which, form, width, between) in picks {
            let secret = values[which.index(values.len())];
            let padded = [&around[..], secret.as_bytes(), &around[..]].concat();
            text.push_str(&match form {
                0 => secret.to_owned(),
                1 => escaped(secret, width),
                2 => percent(secret),
                3 => wrapped(&padded, false, width, BREAKS[between]),
                4 => wrapped(&padded, true, width, BREAKS[between]),
                _ => "[".to_owned(),
            });
            if form % 2 == 0 {
                text.push(' ');
            }
        }
        let gone = redactor.text(&text).into_owned();
        // What a reader gets who undoes escapes and line breaks, in the orders in which they may have been made.
        let percent = |text: &str| text.replace("%0A", "\n").replace("%0d", "\r");
        let json = |text: &str| text.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t");
        let views = [gone.clone(), percent(&gone), json(&gone), json(&gone.replace("\\\\", "\\"))];
        for view in views {
            let mut flat = view.replace(['\r', '\n'], "\n");
            while let Some(at) = flat.find("\n ").or_else(|| flat.find("\n\t")) {
                flat.remove(at + 1);
            }
            let flat = flat.replace('\n', "");
            for value in &values {
                prop_assert!(!view.contains(value), "{value:?} in {gone:?}");
                for form in base64_forms(value) {
                    let form = String::from_utf8_lossy(&form).into_owned();
                    prop_assert!(!flat.contains(&form), "{form} in {gone:?} of {text:?}");
                }
            }
        }
    }
}

/// Returns the released part of a text that arrives in pieces of `every` bytes, as a stream of responses releases it.
fn released(redactor: &Redactor, text: &str, every: usize) -> String {
    let (mut done, mut out) = (0, String::new());
    for end in (0..text.len()).filter(|at| at % every == 0 && text.is_char_boundary(*at)) {
        let rest = &text[done..end];
        let settled = redactor.settled(rest);
        out += &redactor.text(&rest[..settled]);
        done += settled;
    }
    out
}

proptest! {
    /// A value with white space, one of two lines, one in base64 over two lines, escapes that are cut, keys beside values.
    #[test]
    fn what_is_released_early_is_the_beginning_of_what_is_recorded(
        parts in proptest::collection::vec((0_usize..16, "[a-z ]{0,12}"), 1..6),
        every in 1_usize..12,
    ) {
        let lines = "the first of its lines\nthe second of its lines";
        let values = ["correct horse battery staple", "topsecretvalue12345", "pa55/word\"x?", lines];
        let redactor = knowing(&values, &RedactionTerms::default());
        let mut text = String::new();
        for (kind, words) in parts {
            text += &words;
            text += &match kind {
                0 => values[0].to_owned(),
                1 => values[1].to_owned(),
                2 => values[2].to_owned(),
                3 => escaped(values[2], 3),
                4 => percent(values[0]),
                5 => "dG9wc2VjcmV0dm\n   FsdWUxMjM0NQ==".to_owned(),
                6 => "sk-ABCDEFGHIJKLMNOPQRST".to_owned(),
                7 => "Authorization: Basic dXNlcjpwYXNz\n".to_owned(),
                8 => percent(&escaped(values[2], 2)),
                9 => nested_of(&escaped(values[2], 4)),
                10 => percent(&percent(values[2])),
                11 => lines.to_owned(),
                12 => lines.replace('\n', "\r\n    "),
                13 => lines.replace('\n', "\\n"),
                14 => lines[..words.len() * 3].to_owned(),
                _ => values[0][..words.len().min(20)].to_owned(),
            };
            text += " ";
        }
        let whole = redactor.text(&text).into_owned();
        let early = released(&redactor, &text, every);
        prop_assert!(whole.starts_with(&early), "{early:?} of {whole:?}");
    }
}
