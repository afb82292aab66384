//! Numbers for people.

use monolith_core::message::noun_for;

/// Milliseconds as seconds with three decimals.
pub fn seconds(ms: u64) -> String {
    format!("{}.{:03}s", ms / 1000, ms % 1000)
}

/// Millionths of a dollar as dollars, to a hundredth of a cent, upwards.
pub fn dollars(micro_usd: u64) -> String {
    let hundredths = micro_usd.div_ceil(100);
    format!(
        "${}.{:04}",
        grouped(hundredths / 10_000),
        hundredths % 10_000
    )
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
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
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{} {}", grouped(number), noun_for(number, noun))
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
    fn dollars_are_rounded_up() {
        assert_eq!(dollars(0), "$0.0000");
        assert_eq!(dollars(1), "$0.0001");
        assert_eq!(dollars(3_100), "$0.0031");
        assert_eq!(dollars(12_345_678_900), "$12,345.6789");
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
}
