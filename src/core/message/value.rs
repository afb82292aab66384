//! JSON text as a value in memory, without duplicate keys. Knows JSON limits; does not know any message.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Number, Value};

/// Maximum depth of a value. Deeper text is refused before a value is built.
const MAX_DEPTH: usize = 64;

/// The value in memory of a text that models or people wrote, under the rules of [`super::ObjectText`]: no key twice in one
/// object, no more than 64 levels.
///
/// `serde_json` reserves one key: it reads an object with that key as the text that the key holds. A schema would then
/// check another value than the one that is sent. Here every key is a key.
///
/// # Errors
/// [`ObjectFault`] names the rule that the text breaks; never [`ObjectFault::NotObject`].
pub fn exact_value(text: &str) -> Result<Value, ObjectFault> {
    let whole: &RawValue = serde_json::from_str(text).map_err(|e| invalid(&e))?;
    walk(whole, 0)?;
    Ok(nearest_value(whole))
}

/// Like [`exact_value`], but with both neighbours of a number that memory does not hold.
///
/// # Errors
/// As of [`exact_value`].
pub(crate) fn rounded_value(text: &str) -> Result<RoundedValue, ObjectFault> {
    let whole: &RawValue = serde_json::from_str(text).map_err(|e| invalid(&e))?;
    walk(whole, 0)?;
    Ok(RoundedValue::around(whole))
}

/// The nearest value in memory: a number beyond the largest that a double holds is that one, so that rules about types and
/// bounds judge it as they would judge the number itself; half a surrogate pair is the replacement character.
///
/// Costs one scan of the text per level: for what `walk` has seen.
pub fn nearest_value(raw: &RawValue) -> Value {
    value_with(raw, &mut nearest_number)
}

/// A value in memory whose numbers may lie between those that memory holds, or beyond them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoundedValue {
    /// Every number as it is, or rounded down.
    pub down: Value,
    /// Every number as it is, or rounded up; `None` if each is as it is.
    pub up: Option<Value>,
}

impl RoundedValue {
    /// The values around a text that [`walk`] has seen.
    pub(super) fn around(raw: &RawValue) -> Self {
        let mut is_exact = true;
        let down = value_with(raw, &mut |text| match neighbours(text) {
            Some((down, _)) => {
                is_exact = false;
                Value::from(down)
            }
            None => nearest_number(text),
        });
        let mut rounded_up = |text: &str| match neighbours(text) {
            Some((_, up)) => Value::from(up),
            None => nearest_number(text),
        };
        let up = (!is_exact).then(|| value_with(raw, &mut rounded_up));
        Self { down, up }
    }

    /// True if memory holds each number of the text.
    pub(crate) fn is_exact(&self) -> bool {
        self.up.is_none()
    }

    /// Each of the one or two values.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.down).chain(&self.up)
    }

    /// The same one or two values, changed.
    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        std::iter::once(&mut self.down).chain(&mut self.up)
    }
}

/// The value of a text, with the value of each number, `true`, `false` and `null` from `scalar`.
fn value_with(raw: &RawValue, scalar: &mut dyn FnMut(&str) -> Value) -> Value {
    let text = raw.get();
    if text.starts_with('[')
        && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text)
    {
        let items = items.into_iter();
        return items.map(|item| value_with(item, scalar)).collect();
    }
    if text.starts_with('{')
        && let Ok(Members(members)) = serde_json::from_str(text)
    {
        let members = members.into_iter();
        let members = members.map(|(key, value)| (key, value_with(value, scalar)));
        return Value::Object(members.collect());
    }
    if text.starts_with('"') {
        let read = serde_json::from_str::<Lossy>(text);
        return Value::String(read.map_or_else(|_| text.to_owned(), |Lossy(read)| read));
    }
    scalar(text)
}

fn nearest_number(text: &str) -> Value {
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(sign * f64::MAX))
}

/// The doubles around a number that no double equals, by their decimal texts; the largest of its sign twice for a number beyond all
/// doubles. `None` of a number that memory holds, and of `true`, `false` and `null`.
fn neighbours(text: &str) -> Option<(f64, f64)> {
    let Ok(number) = serde_json::from_str::<Number>(text) else {
        let largest = nearest_number(text).as_f64()?;
        return Some((largest, largest));
    };
    if number.is_i64() || number.is_u64() {
        return None;
    }
    let nearest = number.as_f64()?;
    let (down, up) = match Decimal::read(text).cmp(&Decimal::read(&number.to_string())) {
        Ordering::Equal => return None,
        Ordering::Less => (nearest.next_down(), nearest),
        Ordering::Greater => (nearest, nearest.next_up()),
    };
    Some((down.max(f64::MIN), up.min(f64::MAX)))
}

/// True if the double nearest to a decimal number is that number, by its shortest decimal text.
pub(crate) fn is_recorded_exactly(text: &str) -> bool {
    let nearest = text
        .parse::<f64>()
        .ok()
        .filter(|nearest| nearest.is_finite());
    let text = text.trim_start_matches('+');
    nearest.is_none_or(|nearest| Decimal::read(text) == Decimal::read(&nearest.to_string()))
}

/// A decimal number: 0.DIGITS · 10^point, without zeros at either end of its digits.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    digits: Vec<u8>,
    is_negative: bool,
    point: i64,
}

impl Decimal {
    /// Reads a number of JSON.
    fn read(text: &str) -> Self {
        let is_negative = text.starts_with('-');
        let text = text.trim_start_matches('-');
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let far = if exponent.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        };
        let exponent: i64 = exponent.parse().unwrap_or(far);
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let zeros = length(&all) - length(digits);
        let digits = digits.trim_end_matches('0').as_bytes().to_vec();
        let point = exponent.saturating_add(length(whole) - zeros);
        Self {
            is_negative: is_negative && !digits.is_empty(),
            point: if digits.is_empty() { i64::MIN } else { point },
            digits,
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_size = |one: &Self, other: &Self| {
            let by_point = one.point.cmp(&other.point);
            by_point.then_with(|| one.digits.cmp(&other.digits))
        };
        match (self.is_negative, other.is_negative) {
            (false, false) => by_size(self, other),
            (true, true) => by_size(other, self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A JSON string; what is no character stands as the replacement character.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

pub(super) fn invalid(error: &serde_json::Error) -> ObjectFault {
    ObjectFault::InvalidJson {
        line: error.line(),
        column: error.column(),
    }
}

/// Walks a JSON value level by level, noticing duplicate keys and depth. Numbers are never converted, so a number
/// that no machine type holds passes as the text it is. Costs at most one scan of the text per level.
pub(super) fn walk(value: &RawValue, depth: usize) -> Result<(), ObjectFault> {
    if depth > MAX_DEPTH {
        return Err(ObjectFault::TooDeep);
    }
    let text = value.get();
    let children: Vec<&RawValue> = if text.starts_with('{') {
        let Members(members) = serde_json::from_str(text).map_err(|e| invalid(&e))?;
        let mut seen = HashSet::new();
        if !members.iter().all(|(key, _)| seen.insert(key)) {
            return Err(ObjectFault::DuplicateKey);
        }
        members.into_iter().map(|(_, value)| value).collect()
    } else if text.starts_with('[') {
        serde_json::from_str(text).map_err(|e| invalid(&e))?
    } else {
        return Ok(());
    };
    children
        .into_iter()
        .try_for_each(|child| walk(child, depth + 1))
}

/// The size of a JSON text, found without building anything from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonSize {
    /// Nesting of objects and lists; 0 for a scalar.
    pub depth: u64,
    /// The members of all objects and the items of all lists.
    pub values: u64,
}

impl JsonSize {
    /// Of a text without white space between its tokens; of any other text it is a bound.
    pub(crate) fn of(text: &str) -> Self {
        let (mut size, mut depth) = (Self::default(), 0_u64);
        let (mut in_string, mut escaped, mut opened) = (false, false, false);
        for byte in text.bytes() {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            let first = opened && !matches!(byte, b'}' | b']');
            size.values = size.values.saturating_add(u64::from(first || byte == b','));
            opened = matches!(byte, b'{' | b'[');
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => depth = depth.saturating_add(1),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            size.depth = size.depth.max(depth);
        }
        size
    }
}

/// A JSON object's members in their order, duplicate keys included; each value as it is written.
pub struct Members<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Ordered)
    }
}

/// The reason why a text is not one JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ObjectFault {
    /// The text is not JSON: cut off, or with something after the value.
    #[error("not valid JSON (line {line}, column {column})")]
    InvalidJson {
        /// Line in the text, from 1.
        line: usize,
        /// Column in the text, from 1.
        column: usize,
    },
    /// The text is JSON, but of another type: null, an array, a string, a number.
    #[error("not a JSON object")]
    NotObject,
    /// An object in it names the same key twice.
    #[error("the same key stands twice in one object")]
    DuplicateKey,
    /// It nests deeper than 64 levels.
    #[error("nested deeper than 64 levels")]
    TooDeep,
}

#[cfg(test)]
mod tests {
    use super::{JsonSize, *};

    #[test]
    fn a_number_between_two_doubles_is_both() {
        let check = |text: &str, expect: Option<(f64, f64)>| {
            assert_eq!(neighbours(text), expect, "{text}");
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            let rounded = RoundedValue::around(raw);
            assert_eq!(rounded.up.is_some(), expect.is_some(), "{text}");
            if let Some((down, up)) = expect {
                assert_eq!(rounded.down, Value::from(down));
                assert_eq!(rounded.up, Some(Value::from(up)));
            }
        };
        for exact in [
            "0",
            "-0",
            "0.0",
            "-0.0e5",
            "10",
            "10.0",
            "1e1",
            "100e-1",
            "0.1",
            "1.50",
            "0.00015e4",
            "1e300",
            "-2.5",
            "18446744073709551615",
            "5e-324",
        ] {
            check(exact, None);
        }
        check("1e400", Some((f64::MAX, f64::MAX)));
        check("-1e400", Some((f64::MIN, f64::MIN)));
        let ten = 10.0_f64;
        check("10.00000000000000000001", Some((ten, ten.next_up())));
        check("1000000000000000000000.1e-20", Some((ten, ten.next_up())));
        check("9.99999999999999999999", Some((ten.next_down(), ten)));
        check("-10.00000000000000000001", Some((-ten.next_up(), -ten)));
        check("-9.99999999999999999999", Some((-ten, -ten.next_down())));
        check("0.10000000000000000001", Some((0.1, 0.1_f64.next_up())));
        check("1e-400", Some((0.0, 5e-324)));
        check("-1e-99999999999999999999", Some((-5e-324, 0.0)));
        check(
            "18446744073709551617",
            Some((18_446_744_073_709_549_568.0, 18_446_744_073_709_551_616.0)),
        );
    }

    #[test]
    fn a_decimal_text_is_recorded_exactly_or_not() {
        for text in [
            "0.1", "+0.50", ".5", "5.", "-0.0", "1.5e+300", "10.0", ".inf", "1e400",
        ] {
            assert!(is_recorded_exactly(text), "{text}");
        }
        for text in [
            "0.30000000000000000001",
            "9.99999999999999999999",
            "18446744073709551615.0",
        ] {
            assert!(!is_recorded_exactly(text), "{text}");
        }
    }

    #[test]
    fn a_value_is_read_exactly_with_any_keys() {
        let check = |text: &str, expect: Result<&str, ObjectFault>| {
            let got = exact_value(text).map(|value| value.to_string());
            assert_eq!(got, expect.map(str::to_owned), "{text}");
        };
        for same in [
            r#"{"$serde_json::private::RawValue":"{\"text\":1}"}"#,
            r#"[{"a":{"$serde_json::private::RawValue":"\"ok\""}}]"#,
            r#"{"$serde_json::private::Number":"1"}"#,
            r#"{"a":[null,true,-1,1.5,"\u0000"],"b":{}}"#,
        ] {
            check(same, Ok(same));
        }
        check(
            "[1e400,-1e400]",
            Ok("[1.7976931348623157e+308,-1.7976931348623157e+308]"),
        );
        check(
            r#"{"k":"a\ud800b"}"#,
            Ok("{\"k\":\"a\u{fffd}\u{fffd}\u{fffd}b\"}"),
        );
        check(r#"{"a":1,"a":2}"#, Err(ObjectFault::DuplicateKey));
        check(
            &"[".repeat(100_000),
            Err(ObjectFault::InvalidJson {
                line: 1,
                column: 100_000,
            }),
        );
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        check(&deep, Err(ObjectFault::TooDeep));
    }

    #[test]
    fn members_items_and_levels_are_counted() {
        let check = |text: &str, values: u64, depth: u64| {
            assert_eq!(JsonSize::of(text), JsonSize { depth, values }, "{text}");
        };
        check("", 0, 0);
        check("7", 0, 0);
        check(r#""[,{""#, 0, 0);
        check("[]", 0, 1);
        check("[[],{}]", 2, 2);
        check(r#"{"a":[1,2,{"b":"\",[{"}],"c":{}}"#, 6, 3);
        check(&"[".repeat(10_000), 9_999, 10_000);
    }
}
