//! A number with its noun. Does not group digits, and knows no terminal.

/// A number and its noun: `1 entry`, `2 entries`, `0 bytes`.
pub fn amount(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {}", noun_for(number, noun))
}

/// The noun as it follows that number.
pub fn noun_for(number: u64, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_every_other_number_plural() {
        assert_eq!(amount(1_u64, "entry"), "1 entry");
        assert_eq!(amount(0_u64, "entry"), "0 entries");
        assert_eq!(amount(1_usize, "byte"), "1 byte");
        assert_eq!(amount(1_071_usize, "byte"), "1071 bytes");
    }
}
