//! Reads price tables. Does not compute costs.

use super::keys::{PRICE, PriceEntry};
use super::reporter::Reporter;
use super::section::{Judge, Section};
use super::tree::{Kind, Node};
use crate::contract::prices::{PriceFault, PriceUnit};
use crate::contract::{BigCount, ModelPrice};

impl Judge for PriceEntry {
    type Output = ModelPrice;

    fn judge(self, section: &Section<'_, '_>) -> Option<ModelPrice> {
        let price =
            |key: &str, node: Option<Node>| price(&node?, &section.reporter.below(key), self.unit);
        let (input, output) = (
            price(PRICE.input.name, self.input),
            price(PRICE.output.name, self.output),
        );
        let cache_read = price(PRICE.cache_read.name, self.cache_read);
        let cache_write = price(PRICE.cache_write.name, self.cache_write);
        let input = input?;
        Some(ModelPrice {
            cache_read_pico_usd: cache_read.unwrap_or(input),
            cache_write_pico_usd: cache_write.unwrap_or(input),
            input_pico_usd: input,
            output_pico_usd: output?,
        })
    }
}

/// A price in dollars. Read from the text, as a number of the file would not be exact.
fn price(node: &Node, reporter: &Reporter<'_>, unit: PriceUnit) -> Option<BigCount> {
    let Kind::Scalar { text, .. } = &node.kind else {
        reporter.expected(node, "a price in dollars, such as 2.50");
        return None;
    };
    match unit.pico_usd(text) {
        Ok(price) => Some(price),
        Err(PriceFault::NotDecimal) => {
            reporter.expected(node, "a price in dollars, such as 2.50");
            None
        }
        Err(PriceFault::TooFine(most)) => {
            let rule = format!("{} has more than {most} decimals", reporter.describe(node));
            let help = "prices are counted exactly, in trillionths of a dollar per token";
            reporter.refuse(node, rule, Some(help.to_owned()));
            None
        }
        Err(PriceFault::TooLarge) => {
            let rule = format!(
                "out of range: {} is more than can be counted",
                reporter.describe(node)
            );
            reporter.refuse(node, rule, None);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parse, rules, small};

    #[test]
    fn prices_are_read_digit_by_digit() {
        let prices = |text: &str| parse(&small(&format!("prices: {text}")));
        let read = prices(
            "{version: a, models: {p: {m: {input: 2.50, output: '10'}, n: {unit: per_1k, input: 0.000000001, output: 0, \
             cache_read: 1, cache_write: 2}}}}",
        );
        let table = read.unwrap().prices.unwrap();
        let recorded_prices = |model: &str| {
            let price = table.models["p"][model];
            [
                price.input_pico_usd.0,
                price.output_pico_usd.0,
                price.cache_read_pico_usd.0,
                price.cache_write_pico_usd.0,
            ]
        };
        assert_eq!(
            recorded_prices("m"),
            [2_500_000, 10_000_000, 2_500_000, 2_500_000]
        );
        assert_eq!(recorded_prices("n"), [1, 0, 1_000_000_000, 2_000_000_000]);
        assert_eq!(parse(&small("prices: null")).unwrap().prices, None);
        let check = |text: &str, expect: &[&str]| assert_eq!(rules(prices(text)), expect, "{text}");
        let of_m = |price: &str| format!("{{version: a, models: {{p: {{m: {price}}}}}}}");
        check("{models: {}}", &["prices: the key `version` is missing"]);
        check("{version: a}", &["prices: the key `models` is missing"]);
        check(
            "{version: a, models: {q: {}}}",
            &["prices.models.q: no provider `q` is defined under `providers`"],
        );
        check(
            &of_m("{input: 1}"),
            &["prices.models.p.m: the key `output` is missing"],
        );
        check(
            &of_m("{input: -1, output: 1e-6}"),
            &[
                "prices.models.p.m.input: expected a price in dollars, such as 2.50, got `-1`",
                "prices.models.p.m.output: expected a price in dollars, such as 2.50, got `1e-6`",
            ],
        );
        check(
            &of_m("{input: 0.0000001, output: 99999999999999, unit: per_1m}"),
            &[
                "prices.models.p.m.input: `0.0000001` has more than 6 decimals",
                "prices.models.p.m.output: out of range: `99999999999999` is more than can be counted",
            ],
        );
        check(
            &of_m("{input: 1, output: 1, unit: per_1g}"),
            &["prices.models.p.m.unit: expected one of per_1m, per_1k, got `per_1g`"],
        );
    }
}
