//! Numbers and integers of a schema as grammar. Does not know objects.

use serde_json::{Map, Value};

use super::expr::Expr;

/// Digits of the largest integer: every one of them is exact as a JSON number.
const INTEGER_LIMIT: f64 = 999_999_999_999_999.0;
/// The largest whole part of a number with a fraction, so that its value is never rounded to a whole one.
const FRACTION_LIMIT: i64 = 1_000_000;
/// Digits after the point; the last is not 0.
const FRACTION_DIGITS: u32 = 6;

const DIGIT: &str = "0-9";

/// The numbers that a schema's bounds leave: whole ones of at most 15 digits, and where `fractions`, those with at most six
/// digits after the point. None if there are none of this form.
pub(super) fn numbers(schema: &Map<String, Value>, fractions: bool) -> Option<Expr> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let least = |inclusive: f64| inclusive.ceil();
    let most = |inclusive: f64| inclusive.floor();
    let (min, above) = (bound("minimum"), bound("exclusiveMinimum"));
    let (max, below) = (bound("maximum"), bound("exclusiveMaximum"));
    let low = min
        .map_or(f64::NEG_INFINITY, least)
        .max(above.map_or(f64::NEG_INFINITY, |v| v.floor() + 1.0));
    let high = max
        .map_or(f64::INFINITY, most)
        .min(below.map_or(f64::INFINITY, |v| v.ceil() - 1.0));
    let mut forms = Vec::new();
    if low <= INTEGER_LIMIT && high >= -INTEGER_LIMIT {
        forms.extend(whole_numbers(clamp(low), clamp(high)));
    }
    if fractions {
        // A fraction lies strictly between two whole numbers, so exclusive bounds are as good as inclusive ones.
        let low = [min, above].into_iter().flatten().map(least);
        let high = [max, below].into_iter().flatten().map(most);
        let low = clamp(low.fold(f64::NEG_INFINITY, f64::max));
        let high = clamp(high.fold(f64::INFINITY, f64::min));
        forms.extend(fractional(low, high));
    }
    (!forms.is_empty()).then(|| Expr::alt(forms).lexeme())
}

/// A bound as a whole number of the grammar's range.
fn clamp(bound: f64) -> i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole and within 15 digits after the clamp; a NaN would become 0"
    )]
    let whole = bound.clamp(-INTEGER_LIMIT, INTEGER_LIMIT) as i64;
    whole
}

fn whole_numbers(low: i64, high: i64) -> Option<Expr> {
    let mut forms = Vec::new();
    if low <= high {
        if high >= 0 {
            forms.push(naturals(low.max(0).unsigned_abs(), high.unsigned_abs()));
        }
        if low < 0 {
            let (small, large) = (high.min(-1).unsigned_abs(), low.unsigned_abs());
            forms.push(Expr::seq(vec![Expr::literal("-"), naturals(small, large)]));
        }
    }
    (!forms.is_empty()).then(|| Expr::alt(forms))
}

/// Numbers with a fraction that is not 0, between two whole numbers.
fn fractional(low: i64, high: i64) -> Vec<Expr> {
    let fraction = || {
        let zeros = Expr::class(DIGIT).repeat(0, FRACTION_DIGITS - 1);
        Expr::seq(vec![Expr::literal("."), zeros, Expr::class("1-9")])
    };
    let mut forms = Vec::new();
    let (from, to) = (low.max(0), high.min(FRACTION_LIMIT) - 1);
    if from <= to {
        let whole = naturals(from.unsigned_abs(), to.unsigned_abs());
        forms.push(Expr::seq(vec![whole, fraction()]));
    }
    // -k.f lies between -(k + 1) and -k.
    let (from, to) = ((-high).max(0), (-low).min(FRACTION_LIMIT) - 1);
    if from <= to {
        let whole = naturals(from.unsigned_abs(), to.unsigned_abs());
        forms.push(Expr::seq(vec![Expr::literal("-"), whole, fraction()]));
    }
    forms
}

/// The decimal forms of `low` to `high`, without leading zeros.
fn naturals(low: u64, high: u64) -> Expr {
    let mut forms = Vec::new();
    // Lengths that are there whole become one form.
    let mut whole: Option<(u32, u32)> = None;
    let mut rest = Vec::new();
    if low == 0 {
        forms.push(Expr::literal("0"));
    }
    let mut length = 1;
    let mut smallest: u64 = 1;
    while smallest <= high {
        let largest = smallest.saturating_mul(10) - 1;
        let (from, to) = (low.max(smallest), high.min(largest));
        if (from, to) == (smallest, largest) {
            let first = whole.map_or(length, |(first, _)| first);
            whole = Some((first, length));
        } else if from <= to {
            rest.push(between(&digits(from), &digits(to)));
        }
        length += 1;
        smallest = smallest.saturating_mul(10);
    }
    if let Some((least, most)) = whole {
        let more = Expr::class(DIGIT).repeat(least - 1, most - 1);
        forms.push(Expr::seq(vec![Expr::class("1-9"), more]));
    }
    forms.append(&mut rest);
    Expr::alt(forms)
}

fn digits(number: u64) -> Vec<u8> {
    number.to_string().bytes().map(|byte| byte - b'0').collect()
}

/// Digit strings of one length between two of them.
fn between(low: &[u8], high: &[u8]) -> Expr {
    let (Some((&first, low_rest)), Some((&last, high_rest))) =
        (low.split_first(), high.split_first())
    else {
        return Expr::literal("");
    };
    let free = |count: usize| {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        match count {
            0 => Expr::literal(""),
            1 => Expr::class(DIGIT),
            _ => Expr::class(DIGIT).repeat(count, count),
        }
    };
    let all_low = low_rest.iter().all(|digit| *digit == 0);
    let all_high = high_rest.iter().all(|digit| *digit == 9);
    let count = low_rest.len();
    if all_low && all_high {
        return Expr::seq(vec![range(first, last), free(count)]);
    }
    if first == last {
        return Expr::seq(vec![range(first, last), between(low_rest, high_rest)]);
    }
    let (zeros, nines) = (vec![0; count], vec![9; count]);
    let mut forms = Vec::new();
    let mut middle = (first, last);
    if !all_low {
        forms.push(Expr::seq(vec![
            range(first, first),
            between(low_rest, &nines),
        ]));
        middle.0 += 1;
    }
    if !all_high {
        middle.1 -= 1;
    }
    if middle.0 <= middle.1 {
        forms.push(Expr::seq(vec![range(middle.0, middle.1), free(count)]));
    }
    if !all_high {
        forms.push(Expr::seq(vec![
            range(last, last),
            between(&zeros, high_rest),
        ]));
    }
    Expr::alt(forms)
}

/// One digit of a range.
fn range(first: u8, last: u8) -> Expr {
    if first == last {
        return Expr::literal(char::from(b'0' + first).to_string());
    }
    Expr::Class(format!("{first}-{last}").into())
}
