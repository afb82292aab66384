//! Price tables, and the cost of usage at them. Does not know costs that providers report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BigCount, Terms};
use crate::message::{MAX_EXACT, Usage};

/// Trillionths of a dollar in a millionth of one.
const PICO_PER_MICRO: u128 = 1_000_000;

/// The prices of models, as the author of the contract states them. They are part of the contract, so a changed price makes
/// another contract.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// Prices by provider, a key of `providers`, and by the model's name at it.
    pub models: BTreeMap<String, BTreeMap<String, ModelPrice>>,
    /// The author's name for this state of the table.
    pub version: String,
}

/// Prices of a run of a line of delegated ones.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPrices {
    /// True if it has a limit of cost: then no run below it makes a price cheaper. False before it delegates.
    pub limited: bool,
    /// Its own prices, also of models that the runs below it lack.
    pub stated: Option<PriceTable>,
}

/// The prices of one model, in trillionths of a US dollar per token: the same number as millionths per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// A prompt token read from the provider's cache.
    pub cache_read_pico_usd: BigCount,
    /// A prompt token written into it.
    pub cache_write_pico_usd: BigCount,
    /// Any other prompt token.
    pub input_pico_usd: BigCount,
    /// A generated token.
    pub output_pico_usd: BigCount,
}

/// The number of tokens for a price in the author's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PriceUnit {
    /// Dollars per thousand tokens.
    PerThousand,
    /// Dollars per million tokens.
    PerMillion,
}

/// Errors in a price's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PriceFault {
    /// It is not digits with at most one point among them.
    NotDecimal,
    /// It has more decimals than are counted.
    TooFine(usize),
    /// It is more than can be counted.
    TooLarge,
}

impl PriceUnit {
    /// Decimals of a dollar that are whole trillionths per token: 10^-6 per million is 10^-12 per token.
    const fn decimals(self) -> usize {
        match self {
            Self::PerThousand => 9,
            Self::PerMillion => 6,
        }
    }

    /// A price in dollars as trillionths per token. Exact: what would need rounding is refused.
    pub(super) fn pico_usd(self, dollars: &str) -> Result<BigCount, PriceFault> {
        let (whole, decimals) = dollars.split_once('.').unwrap_or((dollars, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let has_point = dollars.contains('.');
        if whole.is_empty()
            || !digits(whole)
            || !digits(decimals)
            || has_point == decimals.is_empty()
        {
            return Err(PriceFault::NotDecimal);
        }
        let decimals = decimals.trim_end_matches('0');
        let most = self.decimals();
        if decimals.len() > most {
            return Err(PriceFault::TooFine(most));
        }
        let scaled = format!("{whole}{decimals:0<most$}");
        let price = scaled.parse::<u64>().map_err(|_| PriceFault::TooLarge)?;
        BigCount::try_from(price).map_err(|_| PriceFault::TooLarge)
    }
}

impl ModelPrice {
    /// Returns the cost of a request in millionths of a US dollar: summed exactly, then rounded up once.
    #[must_use]
    pub fn cost_micro_usd(&self, usage: &Usage) -> u64 {
        let written = usage.cache_write.min(usage.input);
        let parts = [
            (usage.input.saturating_sub(written), self.input_pico_usd),
            (written, self.cache_write_pico_usd),
            (usage.cache_read, self.cache_read_pico_usd),
            (usage.output, self.output_pico_usd),
        ];
        let sum = |sum: u128, (tokens, price): (u64, BigCount)| {
            sum.saturating_add(u128::from(tokens).saturating_mul(price.0.into()))
        };
        micro_of(parts.into_iter().fold(0, sum))
    }

    /// The higher one of two prices, for each kind of token.
    #[must_use]
    pub(super) fn or_higher(self, other: Self) -> Self {
        Self {
            cache_read_pico_usd: self.cache_read_pico_usd.max(other.cache_read_pico_usd),
            cache_write_pico_usd: self.cache_write_pico_usd.max(other.cache_write_pico_usd),
            input_pico_usd: self.input_pico_usd.max(other.input_pico_usd),
            output_pico_usd: self.output_pico_usd.max(other.output_pico_usd),
        }
    }

    /// The most that a request costs: its prompt at the highest of the three prompt prices, and a whole answer.
    #[must_use]
    pub fn most_micro_usd(&self, prompt_tokens: u64, output_tokens: u64) -> u64 {
        let prompt = self.input_pico_usd.max(self.cache_read_pico_usd);
        let prompt = prompt.max(self.cache_write_pico_usd);
        let parts = [
            (prompt_tokens, prompt),
            (output_tokens, self.output_pico_usd),
        ];
        let sum = |sum: u128, (tokens, price): (u64, BigCount)| {
            sum.saturating_add(u128::from(tokens).saturating_mul(price.0.into()))
        };
        micro_of(parts.into_iter().fold(0, sum))
    }

    /// The least that a prompt of so many tokens costs: all of it from the cache, and an empty answer.
    #[must_use]
    pub fn least_micro_usd(&self, prompt_tokens: u64) -> u64 {
        let prices = [
            self.input_pico_usd,
            self.cache_read_pico_usd,
            self.cache_write_pico_usd,
        ];
        let least = prices.into_iter().min().unwrap_or_default();
        micro_of(u128::from(prompt_tokens).saturating_mul(least.0.into()))
    }
}

/// Rounded up, and at most what the counters of a run hold exactly.
fn micro_of(pico: u128) -> u64 {
    u64::try_from(pico.div_ceil(PICO_PER_MICRO)).map_or(MAX_EXACT, |micro| micro.min(MAX_EXACT))
}

impl Terms {
    /// The prices of that target's model, if the contract has them: the author's, else the catalogue's.
    #[must_use]
    pub fn price(&self, target: usize) -> Option<&ModelPrice> {
        let target = self.targets.get(target)?;
        let tables = self.prices.as_ref().map(|table| &table.models);
        let models = tables.and_then(|models| models.get(&target.provider));
        let stated = models.and_then(|models| models.get(&target.model));
        stated.or_else(|| target.facts.as_ref()?.price.as_ref())
    }

    /// Returns the cost of a request to that target: as the provider reports, else by the price table. None if there is
    /// neither; a target of none has no price.
    #[must_use]
    pub fn cost_micro_usd(&self, target: Option<usize>, usage: &Usage) -> Option<u64> {
        let priced = || Some(self.price(target?)?.cost_micro_usd(usage));
        usage.cost_micro_usd.or_else(priced)
    }

    /// The least that a request of so many prompt tokens to that target costs; 0 where nothing is known.
    #[must_use]
    pub fn least_cost_micro_usd(&self, target: usize, prompt_tokens: u64) -> u64 {
        let price = self.price(target);
        price.map_or(0, |price| price.least_micro_usd(prompt_tokens))
    }

    /// The most that a request costs at the contract's prices; 0 where nothing is known. No prompt token comes from the cache.
    #[must_use]
    pub fn most_cost_micro_usd(
        &self,
        target: usize,
        prompt_tokens: u64,
        output_tokens: u64,
    ) -> u64 {
        let price = self.price(target);
        price.map_or(0, |price| {
            price.most_micro_usd(prompt_tokens, output_tokens)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_price_is_read_exactly_or_refused() {
        let check = |unit: PriceUnit, text: &str, expect: Result<u64, PriceFault>| {
            assert_eq!(unit.pico_usd(text).map(|price| price.0), expect, "{text}");
        };
        let (k, m) = (PriceUnit::PerThousand, PriceUnit::PerMillion);
        check(m, "2.50", Ok(2_500_000));
        check(k, "0.0025", Ok(2_500_000));
        check(m, "0", Ok(0));
        check(m, "3", Ok(3_000_000));
        check(m, "0.000001", Ok(1));
        check(m, "0.0000010", Ok(1));
        check(m, "0.0000001", Err(PriceFault::TooFine(6)));
        check(k, "0.000000001", Ok(1));
        check(k, "0.0000000001", Err(PriceFault::TooFine(9)));
        check(m, "9007199254.740991", Ok(MAX_EXACT));
        check(m, "9007199254.740992", Err(PriceFault::TooLarge));
        check(m, "18446744073709.551616", Err(PriceFault::TooLarge));
        for text in [
            "", ".", "1.", ".5", "-1", "+1", "1e-6", "1,5", "1.2.3", "٣", "0x1", "NaN", " 1",
        ] {
            check(m, text, Err(PriceFault::NotDecimal));
        }
    }

    fn price(input: u64, output: u64, read: u64, write: u64) -> ModelPrice {
        ModelPrice {
            cache_read_pico_usd: BigCount(read),
            cache_write_pico_usd: BigCount(write),
            input_pico_usd: BigCount(input),
            output_pico_usd: BigCount(output),
        }
    }

    fn usage(input: u64, output: u64, read: u64, write: u64) -> Usage {
        Usage {
            cache_read: read,
            cache_write: write,
            input,
            output,
            ..Usage::default()
        }
    }

    #[test]
    fn a_request_costs_each_kind_of_token_at_its_price_rounded_up_once() {
        let check = |price: ModelPrice, usage: Usage, expect: u64| {
            assert_eq!(price.cost_micro_usd(&usage), expect, "{usage:?}");
        };
        // 2.50, 10, 1.25 and 3.125 dollars per million.
        let dear = price(2_500_000, 10_000_000, 1_250_000, 3_125_000);
        check(dear, usage(0, 0, 0, 0), 0);
        check(dear, usage(1_000, 100, 0, 0), 3_500);
        check(
            dear,
            usage(1_000, 100, 2_000, 400),
            1_500 + 1_250 + 2_500 + 1_000,
        );
        check(dear, usage(1, 0, 0, 0), 3);
        // Four parts of 0.4 are 1.6, not four.
        check(
            price(400_000, 400_000, 400_000, 400_000),
            usage(2, 1, 1, 1),
            2,
        );
        // More written than there was: never more than the prompt.
        check(dear, usage(10, 0, 0, 99), 32);
    }

    #[test]
    fn absurd_numbers_end_at_what_a_counter_holds() {
        let dearest = price(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        let most = usage(MAX_EXACT, MAX_EXACT, MAX_EXACT, MAX_EXACT);
        assert_eq!(dearest.cost_micro_usd(&most), MAX_EXACT);
        assert_eq!(dearest.least_micro_usd(u64::MAX), MAX_EXACT);
    }

    proptest! {
        #[test]
        fn no_request_costs_less_than_its_prompt_at_least_does(
            prices in prop::array::uniform4(any::<u64>()),
            tokens in prop::array::uniform4(0..=MAX_EXACT),
        ) {
            let [input, output, read, write] = prices;
            let price = price(input, output, read, write);
            let usage = usage(tokens[0], tokens[1], tokens[2], tokens[3].min(tokens[0]));
            let prompt = usage.input + usage.cache_read;
            prop_assert!(price.least_micro_usd(prompt) <= price.cost_micro_usd(&usage));
        }

        #[test]
        fn a_price_per_thousand_is_the_one_per_million_with_the_point_moved(digits in 0_u64..1_000_000_000_000) {
            let million = format!("{}.{:06}", digits / 1_000_000, digits % 1_000_000);
            let thousand = format!("{}.{:09}", digits / 1_000_000_000, digits % 1_000_000_000);
            prop_assert_eq!(PriceUnit::PerMillion.pico_usd(&million), Ok(BigCount(digits)));
            prop_assert_eq!(PriceUnit::PerThousand.pico_usd(&thousand), Ok(BigCount(digits)));
        }
    }
}
