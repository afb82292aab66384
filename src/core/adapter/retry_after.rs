//! The wait that a provider asks for, in headers or in words. Does not decide whether to retry.

use std::time::UNIX_EPOCH;

use super::ResponseMeta;
use crate::message::{MAX_EXACT, ProviderFault};

/// Milliseconds that the provider asks to wait: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date
/// relative to `now_unix_ms`. None if it is missing, unreadable or not positive.
pub(super) fn retry_after_ms(headers: &[(String, String)], now_unix_ms: u64) -> Option<u64> {
    let value = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    };
    value("retry-after-ms")
        .and_then(|text| millis(text, 1.0))
        .or_else(|| {
            let text = value("retry-after")?;
            millis(text, 1000.0).or_else(|| until(text, now_unix_ms))
        })
}

/// A positive count of units as milliseconds.
pub(super) fn millis(text: &str, unit_ms: f64) -> Option<u64> {
    let count: f64 = text.parse().ok()?;
    let ms = (count * unit_ms).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float-to-int casts saturate, and the value is positive"
    )]
    let wait = (ms.is_finite() && ms > 0.0).then_some(ms as u64);
    wait.map(|ms| ms.min(MAX_EXACT))
}

fn until(text: &str, now_unix_ms: u64) -> Option<u64> {
    let date = httpdate::parse_http_date(text).ok()?;
    let unix = date.duration_since(UNIX_EPOCH).ok()?;
    let at_ms = u64::try_from(unix.as_millis()).ok()?;
    at_ms.checked_sub(now_unix_ms).filter(|wait| *wait > 0)
}

/// Words before a wait in an error's message, in lower case.
const WAIT_WORDS: &[&str] = &[
    "try again in ",
    "try again after ",
    "retry in ",
    "retry after ",
    "please wait ",
];
/// Units of a wait, the longer names first, in milliseconds.
const UNITS: &[(&str, f64)] = &[
    ("milliseconds", 1.0),
    ("millisecond", 1.0),
    ("minutes", 60_000.0),
    ("minute", 60_000.0),
    ("seconds", 1_000.0),
    ("second", 1_000.0),
    ("hours", 3_600_000.0),
    ("hour", 3_600_000.0),
    ("min", 60_000.0),
    ("sec", 1_000.0),
    ("ms", 1.0),
    ("h", 3_600_000.0),
    ("m", 60_000.0),
    ("s", 1_000.0),
];

/// The wait that an error's message asks for: `try again in 3.2s`, `Please retry in 1m3s`, `retry after 20 seconds`.
pub(super) fn retry_after_in(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    WAIT_WORDS
        .iter()
        .find_map(|words| duration_ms(message.split_once(words)?.1))
}

/// The duration that a text begins with: numbers, each with its unit.
fn duration_ms(mut text: &str) -> Option<u64> {
    let mut total = None;
    while let Some((ms, rest)) = part_ms(text) {
        total = Some(total.unwrap_or(0.0) + ms);
        text = rest.trim_start();
    }
    millis(&total?.to_string(), 1.0)
}

/// The first number of a text with its unit, in milliseconds, and the text after it.
fn part_ms(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at_checked(end)?;
    let number: f64 = number.parse().ok()?;
    let rest = rest.trim_start();
    let (rest, unit_ms) = UNITS.iter().find_map(|(unit, unit_ms)| {
        let rest = rest.strip_prefix(unit)?;
        let ends = !rest.starts_with(|c: char| c.is_ascii_alphabetic());
        ends.then_some((rest, *unit_ms))
    })?;
    Some((number * unit_ms, rest))
}

/// `fault` with the wait that the headers ask for, else with the one that the body asked for.
pub(super) fn with_retry_after(fault: ProviderFault, meta: &ResponseMeta) -> ProviderFault {
    let wait = retry_after_ms(&meta.headers, meta.received_unix_ms);
    ProviderFault {
        retry_after_ms: wait.or(fault.retry_after_ms),
        ..fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_readable_positive_wait_counts() {
        // 1994-11-06 08:49:37 UTC.
        let date_ms = 784_111_777_000;
        let check = |name: &str, value: &str, expect: Option<u64>| {
            let headers = [(name.to_owned(), value.to_owned())];
            assert_eq!(
                retry_after_ms(&headers, date_ms - 5_000),
                expect,
                "{name}: {value}"
            );
        };
        check("Retry-After", "30", Some(30_000));
        check("retry-after", " 1.5 ", Some(1_500));
        check("retry-after", "1000000000", Some(1_000_000_000_000));
        check("retry-after", "1e300", Some(MAX_EXACT));
        check("retry-after-ms", "250", Some(250));
        check("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(5_000));
        check("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT", Some(5_000));
        check("retry-after", "Sun, 06 Nov 1994 08:49:32 GMT", None);
        for unreadable in [
            "0",
            "-1",
            "",
            "soon",
            "NaN",
            "inf",
            "99999999999999999999 GMT",
        ] {
            check("retry-after", unreadable, None);
        }
        check("x-ratelimit-reset", "30", None);
    }

    #[test]
    fn milliseconds_come_before_seconds_where_they_are_readable() {
        let both = |ms: &str| {
            let headers = [
                ("retry-after".to_owned(), "7".to_owned()),
                ("retry-after-ms".to_owned(), ms.to_owned()),
            ];
            retry_after_ms(&headers, 0)
        };
        assert_eq!(both("120"), Some(120));
        assert_eq!(both("?"), Some(7_000));
    }

    #[test]
    fn a_wait_is_read_from_a_message() {
        let check = |message: &str, expect: Option<u64>| {
            assert_eq!(retry_after_in(message), expect, "{message}");
        };
        let limit = "Rate limit reached for gpt-4o: Limit 30000, Used 28000, Requested 4000.";
        check(
            &format!("{limit} Please try again in 3.2s. Visit https://x to learn more."),
            Some(3_200),
        );
        check("Please try again in 20ms.", Some(20));
        check("Please retry in 17.5s.", Some(17_500));
        check("Please retry in 34.074824224s.", Some(34_075));
        check("Please try again in 1m3s.", Some(63_000));
        check(
            "Please try again in 7m12.5s. Need more tokens?",
            Some(432_500),
        );
        check("Please try again in 1h2m.", Some(3_720_000));
        check("Try again in 2 minutes", Some(120_000));
        check("rate limited, retry after 20 seconds", Some(20_000));
        check("Please wait 5 sec and try again", Some(5_000));
        for unreadable in [
            "please try again in a moment",
            "try again in 3",
            "try again in 3 score",
            "retry after some time",
            "slow down",
            "try again in 0s",
        ] {
            check(unreadable, None);
        }
    }
}
