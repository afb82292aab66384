//! Token counts of one inference. Plain data; does not know prices.

use serde::{Deserialize, Serialize};

/// Tokens of one inference, as the provider reported them or as they were estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Prompt tokens read from the provider's cache; not part of `input`.
    pub cache_read: u64,
    /// Prompt tokens written into the provider's cache; part of `input`. Left out where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Set where the provider reported a price that is no amount of money, such as one beyond every number: it is not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_fault: bool,
    /// The provider's own price in millionths of a US dollar, where it reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// True where the provider reported nothing and the numbers are estimates.
    pub estimated: bool,
    /// Prompt tokens, without those read from the cache.
    pub input: u64,
    /// Generated tokens, reasoning included.
    pub output: u64,
}

impl Usage {
    /// All tokens of the inference; saturating.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_read)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands the field over by reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Tokens of a text without a tokenizer: its bytes divided by 4, rounded up.
#[must_use]
pub fn estimate_tokens(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX).div_ceil(4)
}

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
