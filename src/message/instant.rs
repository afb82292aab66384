const MS_PER_DAY: u64 = 86_400_000;

/// A moment as RFC 3339 text in UTC with milliseconds, such as `2026-11-21T22:32:51.000Z`.
#[must_use]
pub(crate) fn rfc3339(unix_ms: u64) -> String {
    let (year, month, day) = civil_from_days(unix_ms / MS_PER_DAY);
    let ms = unix_ms % MS_PER_DAY;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        ms / 3_600_000,
        ms / 60_000 % 60,
        ms / 1_000 % 60,
        ms % 1_000
    )
}

/// The proleptic Gregorian date of a day counted from 1970-01-01.
///
/// Years are counted from March, so the leap day is the last of its year; 400 of them always have 146,097 days.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // from 0000-03-01
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, carry) = if month_from_march < 10 {
        (month_from_march + 3, 0)
    } else {
        (month_from_march - 9, 1)
    };
    (year_of_era + era * 400 + carry, month, day)
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    fn check(unix_ms: u64, expect: &str) {
        assert_eq!(rfc3339(unix_ms), expect);
    }

    #[test]
    fn moments_are_written_as_utc() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_709_251_199_000, "2024-02-29T23:59:59.000Z");
        check(1_735_689_600_000, "2025-01-01T00:00:00.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(253_402_300_799_999, "9999-12-31T23:59:59.999Z");
    }
}
