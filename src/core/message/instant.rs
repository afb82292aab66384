//! RFC 3339 text of a moment. Has no clock.

use jiff::Timestamp;

/// A moment as RFC 3339 text in UTC with milliseconds, such as `2026-11-21T22:32:51.000Z`; one after the year 9999 as the last moment of
/// it.
#[must_use]
pub fn rfc3339(unix_ms: u64) -> String {
    format!("{:.3}", moment(unix_ms))
}

/// A moment in UTC to the second, for people: `2026-11-21 22:32:51`.
#[must_use]
pub fn utc(unix_ms: u64) -> String {
    moment(unix_ms).strftime("%F %T").to_string()
}

fn moment(unix_ms: u64) -> Timestamp {
    let moment = i64::try_from(unix_ms).map(Timestamp::from_millisecond);
    moment.ok().and_then(Result::ok).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::{rfc3339, utc};

    #[test]
    fn moments_are_written_as_utc() {
        let check = |unix_ms, expect: &str| assert_eq!(rfc3339(unix_ms), expect);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_709_251_199_000, "2024-02-29T23:59:59.000Z");
        check(1_735_689_600_000, "2025-01-01T00:00:00.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(u64::MAX, "9999-12-30T22:00:00.999Z");
        assert_eq!(utc(1_795_301_679_999), "2026-11-21 22:54:39");
    }
}
