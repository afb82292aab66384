//! Numbers and moments for people.

/// Milliseconds as seconds with three decimals.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{:03}s", ms / 1000, ms % 1000)
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number and its noun: `1 call`, `2 calls`, `1,024 entries`.
pub(super) fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let shown = grouped(number);
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("{shown} {noun}"),
        (_, Some(stem)) => format!("{shown} {stem}ies"),
        (_, None) => format!("{shown} {noun}s"),
    }
}

/// A moment in UTC, to the second: `2026-11-21 22:54:39`.
pub(super) fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, counted in eras of 400 years (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day_of_month:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_keep_their_leading_zeros() {
        assert_eq!(seconds(0), "0.000s");
        assert_eq!(seconds(412), "0.412s");
        assert_eq!(seconds(61_007), "61.007s");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_071), "1,071");
        assert_eq!(grouped(123_456_789), "123,456,789");
    }

    #[test]
    fn a_noun_has_its_plural() {
        assert_eq!(counted(1_u64, "entry"), "1 entry");
        assert_eq!(counted(0_u64, "entry"), "0 entries");
        assert_eq!(counted(1_071_usize, "call"), "1,071 calls");
    }

    #[test]
    fn moments_are_dates_of_the_gregorian_calendar() {
        let check = |unix_s: u64, expect: &str| assert_eq!(utc(unix_s * 1000), expect);
        check(0, "1970-01-01 00:00:00");
        check(951_782_399, "2000-02-28 23:59:59");
        check(951_782_400, "2000-02-29 00:00:00");
        check(4_107_542_400, "2100-03-01 00:00:00");
        check(1_795_301_679, "2026-11-21 22:54:39");
    }
}
