//! The wait that a provider asks for, in headers, in members of an error, or in words. Does not decide
//! whether to retry.

use std::time::UNIX_EPOCH;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

use super::ResponseMeta;
use crate::message::MAX_EXACT;

/// A longer wait is no wait but a moment, counted from 1970-01-01 UTC.
const YEAR_MS: u64 = 366 * 24 * 3_600_000;
/// The least such moment that is counted in milliseconds: in seconds it is in the year 5138.
const LEAST_UNIX_MS: f64 = 1e11;

/// Milliseconds that the provider asks to wait: `retry-after-ms`, else `retry-after` in seconds, with a unit
/// or as a date, relative to the moment of the response. The longest counts where there are several. None if
/// none is readable and positive.
pub(super) fn retry_after_ms(meta: &ResponseMeta) -> Option<u64> {
    let longest = |name: &str, unit_ms: f64| {
        let values = meta.values(name);
        values
            .filter_map(|text| wait_ms(text, unit_ms, meta.received_unix_ms))
            .max()
    };
    longest("retry-after-ms", 1.0).or_else(|| longest("retry-after", 1_000.0))
}

/// The wait that a value asks for: a count of units, numbers with units, or a date.
fn wait_ms(text: &str, unit_ms: f64, now_unix_ms: u64) -> Option<u64> {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(count) => counted_ms(count, unit_ms, now_unix_ms),
        Err(_) => whole_duration_ms(text).or_else(|| until(unix_ms_of(text)?, now_unix_ms)),
    }
}

/// A positive count of units as a wait. A count beyond a year is a moment.
fn counted_ms(count: f64, unit_ms: f64, now_unix_ms: u64) -> Option<u64> {
    let wait = positive_ms(count * unit_ms)?;
    if wait <= YEAR_MS {
        return Some(wait);
    }
    let unit_ms = if count < LEAST_UNIX_MS { 1_000.0 } else { 1.0 };
    until(positive_ms(count * unit_ms)?, now_unix_ms)
}

/// Milliseconds, rounded up; none if there are none.
fn positive_ms(ms: f64) -> Option<u64> {
    let ms = ms.ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float-to-int casts saturate, and the value is positive"
    )]
    let wait = (ms.is_finite() && ms > 0.0).then_some(ms as u64);
    wait.map(|ms| ms.min(MAX_EXACT))
}

fn until(at_unix_ms: u64, now_unix_ms: u64) -> Option<u64> {
    at_unix_ms.checked_sub(now_unix_ms).filter(|wait| *wait > 0)
}

/// A date in the forms of HTTP, of mail (`+0000` in place of `GMT`), or of RFC 3339.
fn unix_ms_of(text: &str) -> Option<u64> {
    if let Ok(date) = httpdate::parse_http_date(text) {
        let unix = date.duration_since(UNIX_EPOCH).ok()?;
        return u64::try_from(unix.as_millis()).ok();
    }
    let rfc3339 = || text.parse::<Timestamp>().ok();
    let date = DateTimeParser::new().parse_timestamp(text).ok();
    let date = date.or_else(rfc3339)?;
    u64::try_from(date.as_millisecond()).ok()
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

/// The wait that an error's message asks for: `try again in 3.2s`, `Please retry in 1m3s`, `retry after 20
/// seconds`. A number without a unit counts seconds.
pub(super) fn retry_after_in(message: &str, now_unix_ms: u64) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    WAIT_WORDS.iter().find_map(|words| {
        let (_, text) = message.split_once(words)?;
        let with_unit = duration_ms(text).map(|(ms, _)| ms);
        with_unit
            .and_then(positive_ms)
            .or_else(|| counted_ms(plain_number(text)?, 1_000.0, now_unix_ms))
    })
}

/// The duration that a text is.
fn whole_duration_ms(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let (ms, rest) = duration_ms(&text)?;
    rest.is_empty().then(|| positive_ms(ms)).flatten()
}

/// The duration that a text begins with, numbers, each with its unit, in milliseconds; and the text after it.
fn duration_ms(mut text: &str) -> Option<(f64, &str)> {
    let mut total = None;
    while let Some((ms, rest)) = part_ms(text) {
        total = Some(total.unwrap_or(0.0) + ms);
        text = rest.trim_start();
    }
    Some((total?, text))
}

/// The first number of a text with its unit, in milliseconds, and the text after it.
fn part_ms(text: &str) -> Option<(f64, &str)> {
    let (number, rest) = number(text)?;
    let rest = rest.trim_start();
    let (rest, unit_ms) = UNITS.iter().find_map(|(unit, unit_ms)| {
        let rest = rest.strip_prefix(unit)?;
        let ends = !rest.starts_with(|c: char| c.is_ascii_alphabetic());
        ends.then_some((rest, *unit_ms))
    })?;
    Some((number * unit_ms, rest))
}

/// The number that a text begins with, where a sentence ends after it.
fn plain_number(text: &str) -> Option<f64> {
    let (number, rest) = number(text)?;
    let ends = rest.is_empty() || rest.starts_with(['.', ',', ';', '!', ')', '"', '\n']);
    ends.then_some(number)
}

/// The number that a text begins with, and the text after it. A dot at its end ends a sentence.
fn number(text: &str) -> Option<(f64, &str)> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c: char| !is_number(c)).unwrap_or(text.len());
    let digits = text.get(..end)?.trim_end_matches('.');
    Some((digits.parse().ok()?, text.get(digits.len()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(headers: &[(&str, &str)], now_unix_ms: u64) -> Option<u64> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        retry_after_ms(&ResponseMeta {
            headers: headers.iter().map(owned).collect(),
            received_unix_ms: now_unix_ms,
            status: 429,
        })
    }

    #[test]
    fn only_a_readable_positive_wait_counts() {
        // 1994-11-06 08:49:37 UTC.
        let date_ms = 784_111_777_000;
        let check = |name: &str, value: &str, expect: Option<u64>| {
            let got = asked(&[(name, value)], date_ms - 5_000);
            assert_eq!(got, expect, "{name}: {value}");
        };
        check("Retry-After", "30", Some(30_000));
        check("retry-after", " 1.5 ", Some(1_500));
        check("retry-after", "2s", Some(2_000));
        check("retry-after", "1700ms", Some(1_700));
        check("retry-after", "1m 3s", Some(63_000));
        check("retry-after-ms", "250", Some(250));
        check("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(5_000));
        check("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT", Some(5_000));
        check("retry-after", "Sun, 06 Nov 1994 08:49:32 GMT", None);
        check(
            "retry-after",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            Some(5_000),
        );
        check("retry-after", "1994-11-06T08:49:37Z", Some(5_000));
        check("retry-after", "1994-11-06T09:49:37.5+01:00", Some(5_500));
        for unreadable in [
            "0",
            "-1",
            "",
            "soon",
            "NaN",
            "inf",
            "2 of 3",
            "99999999999999999999 GMT",
        ] {
            check("retry-after", unreadable, None);
        }
        check("x-ratelimit-reset", "30", None);
    }

    #[test]
    fn a_count_beyond_a_year_is_a_moment() {
        let now = 1_764_407_000_000;
        let check = |name: &str, value: &str, expect: Option<u64>| {
            assert_eq!(asked(&[(name, value)], now), expect, "{name}: {value}");
        };
        check("retry-after", "31536000", Some(31_536_000_000));
        check("retry-after", "1764407003", Some(3_000));
        check("retry-after", "1764407003000", Some(3_000));
        check("retry-after-ms", "1764407003000", Some(3_000));
        check("retry-after", "1764406000", None);
        check("retry-after", "1e300", Some(MAX_EXACT - now));
    }

    #[test]
    fn milliseconds_come_before_seconds_where_they_are_readable() {
        let both = |ms: &str| asked(&[("retry-after", "7"), ("retry-after-ms", ms)], 0);
        assert_eq!(both("120"), Some(120));
        assert_eq!(both("?"), Some(7_000));
    }

    #[test]
    fn the_longest_of_several_waits_counts() {
        let of = |values: [&str; 3]| asked(&values.map(|value| ("Retry-After", value)), 0);
        assert_eq!(of(["0", "2", "1"]), Some(2_000));
        assert_eq!(of(["soon", "0", "1"]), Some(1_000));
    }

    #[test]
    fn a_wait_is_read_from_a_message() {
        let check = |message: &str, expect: Option<u64>| {
            assert_eq!(retry_after_in(message, 0), expect, "{message}");
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
        check("Please retry after 2", Some(2_000));
        check("Please retry after 2. Visit", Some(2_000));
        for unreadable in [
            "please try again in a moment",
            "try again in 3 score",
            "retry after 2026-11-29T09:00:00Z",
            "retry after 12:30",
            "retry after some time",
            "slow down",
            "try again in 0s",
        ] {
            check(unreadable, None);
        }
    }
}
