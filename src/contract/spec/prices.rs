use std::collections::BTreeMap;

use super::reader::{Choice, Out, Read, Section};
use super::suggest::suggest;
use super::tree::{Kind, Node};
use crate::contract::prices::{PriceFault, PriceUnit};
use crate::contract::{BigCount, ModelPrice, PriceTable};

impl Choice for PriceUnit {
    const WORDS: &'static [(&'static str, Self)] =
        &[("per_1m", Self::PerMillion), ("per_1k", Self::PerThousand)];
}

/// Reads `prices`; the names of providers that it may speak of are those of the file.
pub(super) fn read_prices(node: &Node, out: &Out<'_>, providers: &[String]) -> Option<PriceTable> {
    Section::read(node, out, |section| {
        let version = section.required::<String>("version");
        let models = section.required::<BTreeMap<String, BTreeMap<String, ModelPrice>>>("models");
        let below = section.out.below("models");
        if let Some(Kind::Map(entries)) = section.peek("models").map(|node| &node.kind) {
            let unknown = entries
                .iter()
                .filter(|(key, _)| !providers.contains(&key.text));
            for (key, value) in unknown {
                let rule = format!("no provider `{}` stands under `providers`", key.text);
                let help = suggest(&key.text, providers.iter().map(String::as_str));
                below.below(&key.text).refuse(value, rule, help);
            }
        }
        Some(PriceTable {
            models: models?,
            version: version?,
        })
    })?
}

impl Read for ModelPrice {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        Section::read(node, out, |section| {
            let unit = section.get("unit").unwrap_or(PriceUnit::PerMillion);
            let (input, output) = (
                price(section, "input", unit),
                price(section, "output", unit),
            );
            for key in ["input", "output"] {
                if !section.has(key) {
                    section.refuse(format!("the key `{key}` is missing"), None);
                }
            }
            let cache_read = price(section, "cache_read", unit);
            let cache_write = price(section, "cache_write", unit);
            let input = input?;
            Some(Self {
                cache_read_pico_usd: cache_read.unwrap_or(input),
                cache_write_pico_usd: cache_write.unwrap_or(input),
                input_pico_usd: input,
                output_pico_usd: output?,
            })
        })?
    }
}

/// A price in dollars. Read from the text, as a number of the file would not be exact.
fn price(section: &mut Section<'_, '_>, key: &'static str, unit: PriceUnit) -> Option<BigCount> {
    let node = section.node(key)?;
    let out = section.out.below(key);
    let Kind::Scalar { text, .. } = &node.kind else {
        out.expected(node, "a price in dollars, such as 2.50");
        return None;
    };
    match unit.pico_usd(text) {
        Ok(price) => Some(price),
        Err(PriceFault::NotDecimal) => {
            out.expected(node, "a price in dollars, such as 2.50");
            None
        }
        Err(PriceFault::TooFine(most)) => {
            let rule = format!("{} has more than {most} decimals", out.describe(node));
            let help = "prices are counted exactly, in trillionths of a dollar per token";
            out.refuse(node, rule, Some(help.to_owned()));
            None
        }
        Err(PriceFault::TooLarge) => {
            let rule = format!(
                "out of range: {} is more than can be counted",
                out.describe(node)
            );
            out.refuse(node, rule, None);
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
        let told = |model: &str| {
            let price = table.models["p"][model];
            [
                price.input_pico_usd.0,
                price.output_pico_usd.0,
                price.cache_read_pico_usd.0,
                price.cache_write_pico_usd.0,
            ]
        };
        assert_eq!(told("m"), [2_500_000, 10_000_000, 2_500_000, 2_500_000]);
        assert_eq!(told("n"), [1, 0, 1_000_000_000, 2_000_000_000]);
        assert_eq!(parse(&small("prices: null")).unwrap().prices, None);
        let check = |text: &str, expect: &[&str]| assert_eq!(rules(prices(text)), expect, "{text}");
        let of_m = |price: &str| format!("{{version: a, models: {{p: {{m: {price}}}}}}}");
        check("{models: {}}", &["prices: the key `version` is missing"]);
        check("{version: a}", &["prices: the key `models` is missing"]);
        check(
            "{version: a, models: {q: {}}}",
            &["prices.models.q: no provider `q` stands under `providers`"],
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
