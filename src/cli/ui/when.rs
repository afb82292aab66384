//! A moment that a person names, by date or by how long ago. Has no clock: the caller says when now is.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

/// A moment in the past, as a person names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// A moment, in milliseconds since 1970-01-01 UTC.
    At(u64),
    /// So many milliseconds before now.
    Ago(u64),
}

impl When {
    /// The moment, in milliseconds since 1970-01-01 UTC.
    pub(crate) const fn unix_ms(self, now_unix_ms: u64) -> u64 {
        match self {
            Self::At(unix_ms) => unix_ms,
            Self::Ago(ms) => now_unix_ms.saturating_sub(ms),
        }
    }
}

/// Reads a date (midnight in UTC), a date with a time (UTC where it names no offset), or a span such as `90m`, `12h`, `3d`, `2w`.
///
/// # Errors
/// What would have been understood.
pub(crate) fn parse(text: &str) -> Result<When, String> {
    let at = || {
        let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
        let stamp = text.parse::<Timestamp>().ok();
        let stamp = stamp.or_else(|| civil().map(|zoned| zoned.timestamp()));
        u64::try_from(stamp?.as_millisecond()).ok().map(When::At)
    };
    let ago = || {
        let span: Span = text.parse().ok()?;
        let span = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
        let ms = SignedDuration::as_millis(&span);
        u64::try_from(ms).ok().map(When::Ago)
    };
    let expected = "expected a date such as 2026-11-20, a moment such as 2026-11-20T08:00:00Z, or a span such as 90m, 12h or 3d";
    at().or_else(ago).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_moments_and_spans_are_read() {
        let check =
            |text: &str, expect: Option<When>| assert_eq!(parse(text).ok(), expect, "{text}");
        check("1970-01-02", Some(When::At(86_400_000)));
        check("1970-01-01T00:00:01Z", Some(When::At(1_000)));
        check("1970-01-01T01:00:01+01:00", Some(When::At(1_000)));
        check("1970-01-01T00:00:01", Some(When::At(1_000)));
        check("1970-01-01 00:00:01", Some(When::At(1_000)));
        check("90m", Some(When::Ago(5_400_000)));
        check("3d", Some(When::Ago(259_200_000)));
        check("2w", Some(When::Ago(1_209_600_000)));
        check("1h 30m", Some(When::Ago(5_400_000)));
        for wrong in [
            "",
            "yesterday",
            "3",
            "-3d",
            "1mo",
            "1969-12-31",
            "2026-13-01",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_span_is_counted_from_now_and_never_from_before_the_beginning_of_time() {
        assert_eq!(When::Ago(1_000).unix_ms(5_000), 4_000);
        assert_eq!(When::Ago(6_000).unix_ms(5_000), 0);
        assert_eq!(When::At(7).unix_ms(5_000), 7);
    }
}
