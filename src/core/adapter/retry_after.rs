//! The wait that a provider's headers ask for. Knows header forms; does not decide whether to retry.

use std::time::UNIX_EPOCH;

use crate::message::MAX_EXACT;

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
}
