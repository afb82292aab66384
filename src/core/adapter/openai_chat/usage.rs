//! Usage and cost as servers of OpenAI's chat protocol report them. Does not estimate.

use serde_json::value::RawValue;

use crate::adapter::json::{Count, Raw, floored, object, wire};
use crate::message::{MAX_EXACT, Usage};

wire! {
    struct WireUsage {
        cache_read_input_tokens, cached_tokens, completion_tokens, cost, num_cached_tokens,
        prompt_cache_hit_tokens, prompt_tokens, prompt_tokens_details, total_tokens,
    }

    struct WirePromptDetails {
        cached_tokens,
    }

    struct WireCost {
        total_cost,
    }
}

/// The provider's report, or none if it reports no token at all, or an absurd number (then an estimate takes
/// its place).
///
/// Where numbers contradict each other, the larger reading counts: a cache read beyond the prompt is no part of the
/// prompt, and a total beyond prompt and completion is reasoning that the completion leaves out.
pub(super) fn usage(raw: &RawValue) -> Option<Usage> {
    let wire: WireUsage<'_> = object(raw.get())?;
    let details: WirePromptDetails<'_> = wire
        .prompt_tokens_details
        .and_then(|raw| object(raw.get()))
        .unwrap_or_default();
    let counts = [
        wire.prompt_tokens,
        wire.completion_tokens,
        wire.total_tokens,
        details.cached_tokens,
        wire.prompt_cache_hit_tokens,
        wire.cached_tokens,
        wire.num_cached_tokens,
        wire.cache_read_input_tokens,
    ]
    .map(Count::of);
    if counts.contains(&Count::Absurd) {
        return None;
    }
    let [prompt, completion, total, of_cache @ ..] = counts.map(Count::number);
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let cached = of_cache.into_iter().flatten().next().unwrap_or(0);
    let (input, read) = if cached <= prompt {
        (prompt - cached, prompt)
    } else {
        (prompt, prompt.saturating_add(cached))
    };
    let output = completion.max(total.unwrap_or(0).saturating_sub(read));
    let (cost_micro_usd, cost_fault) = match cost(wire.cost) {
        Ok(cost) => (cost, false),
        Err(NoAmount) => (None, true),
    };
    if input == 0 && output == 0 && cached == 0 && cost_micro_usd.is_none_or(|cost| cost == 0) {
        return None;
    }
    Some(Usage {
        cache_read: cached,
        cache_write: 0,
        cost_fault,
        cost_micro_usd,
        estimated: false,
        input,
        output,
    })
}

/// More than any sum holds: as much as fits counts in its place.
const MOST_DOLLARS: f64 = 1e12;

/// A provider's cost that is no amount of money.
struct NoAmount;

/// Dollars, as a number or as `{total_cost}`, in millionths; a positive cost is at least one of them. Null is none.
fn cost(raw: Raw<'_>) -> Result<Option<u64>, NoAmount> {
    let Some(given) = raw else {
        return Ok(None);
    };
    let total: Option<WireCost<'_>> = object(given.get());
    let text = match total {
        Some(total) => total.total_cost.ok_or(NoAmount)?.get(),
        None => given.get(),
    };
    if text == "null" {
        return Ok(None);
    }
    let dollars: f64 = serde_json::from_str(text).map_err(|_| NoAmount)?;
    // The text decides, however small: a double may have rounded it to zero.
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let some = mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    if some && text.starts_with('-') {
        return Err(NoAmount);
    }
    let micro = floored((dollars.min(MOST_DOLLARS) * 1_000_000.0).round()).ok_or(NoAmount)?;
    Ok(Some(micro.max(u64::from(some)).min(MAX_EXACT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<(u64, u64, u64, Option<u64>)>) {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        let got = usage(raw).map(|u| (u.input, u.cache_read, u.output, u.cost_micro_usd));
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn cached_prompt_tokens_are_counted_once() {
        check(
            r#"{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":60}}"#,
            Some((40, 60, 7, None)),
        );
        check(
            r#"{"prompt_tokens":18,"completion_tokens":2,"prompt_cache_hit_tokens":8,"prompt_tokens_details":null}"#,
            Some((10, 8, 2, None)),
        );
    }

    #[test]
    fn contradictions_count_the_larger_reading() {
        check(
            r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":40}"#,
            Some((10, 0, 30, None)),
        );
        check(
            r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":115,"cached_tokens":100}"#,
            Some((10, 100, 5, None)),
        );
        check(
            r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":1}"#,
            Some((10, 0, 5, None)),
        );
    }

    #[test]
    fn absurd_numbers_are_safe() {
        check(
            r#"{"prompt_tokens":2147483648,"completion_tokens":2}"#,
            Some((2_147_483_648, 0, 2, None)),
        );
        check(
            r#"{"prompt_tokens":5,"completion_tokens":"7","total_tokens":8.0}"#,
            Some((5, 0, 3, None)),
        );
        for absurd in [
            r#"{"prompt_tokens":18446744073709551615,"completion_tokens":7}"#,
            r#"{"prompt_tokens":5,"completion_tokens":1e30}"#,
            r#"{"prompt_tokens":1152921504606846976,"completion_tokens":1}"#,
            r#"{"prompt_tokens":2147483649}"#,
            r#"{"prompt_tokens":99999999999999999999999999,"cost":-1}"#,
            r#"{"prompt_tokens":-5,"completion_tokens":7}"#,
            r#"{"prompt_tokens":5,"completion_tokens":-0.5,"cost":1}"#,
            r#"{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":-1}}"#,
        ] {
            check(absurd, None);
        }
        check(r#"{"prompt_tokens":3,"cost":1e400}"#, Some((3, 0, 0, None)));
    }

    #[test]
    fn a_cost_that_is_no_amount_is_a_fault_of_the_report() {
        let check = |cost: &str, expect: Option<u64>, fault: bool| {
            let text = format!(r#"{{"prompt_tokens":1,"cost":{cost}}}"#);
            let raw: &RawValue = serde_json::from_str(&text).unwrap();
            let got = usage(raw).unwrap();
            assert_eq!(
                (got.cost_micro_usd, got.cost_fault),
                (expect, fault),
                "{cost}"
            );
        };
        check("1e302", Some(MAX_EXACT), false);
        check("1.7e308", Some(MAX_EXACT), false);
        check("1e-400", Some(1), false);
        check("0.00e5", Some(0), false);
        for cost in [
            "1e400",
            "-1e-400",
            "-1",
            "-0.001",
            "\"0.5\"",
            "true",
            "[1]",
            "{}",
            r#"{"total_cost":1e400}"#,
        ] {
            check(cost, None, true);
        }
        check("null", None, false);
        check("0.5", Some(500_000), false);
        check("1e300", Some(MAX_EXACT), false);
    }

    #[test]
    fn nothing_reported_is_no_report() {
        check("{}", None);
        check("[1,2]", None);
        check(
            r#"{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"cost":0}"#,
            None,
        );
    }

    #[test]
    fn a_cost_in_dollars_becomes_millionths() {
        check(
            r#"{"prompt_tokens":1,"cost":0.00012}"#,
            Some((1, 0, 0, Some(120))),
        );
        check(
            r#"{"prompt_tokens":1,"cost":1e-9}"#,
            Some((1, 0, 0, Some(1))),
        );
        check(r#"{"prompt_tokens":1,"cost":0}"#, Some((1, 0, 0, Some(0))));
        check(
            r#"{"prompt_tokens":1,"cost":{"total_cost":0.00937,"request_cost":0.005}}"#,
            Some((1, 0, 0, Some(9370))),
        );
    }
}
