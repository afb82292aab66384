//! A JSON value as a stored contract has it.

use serde_json::{Map, Value};

use super::execution_contract::canonical;

/// A value as its RFC 8785 text would be read back: the same whether it comes from a server, from the author or from a stored
/// contract, down to the order of keys and the type of numbers.
pub(super) fn settled(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(settled).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // RFC 8785 §3.2.3: by UTF-16 code units.
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            let members = members.into_iter();
            let members = members.map(|(name, value)| (name.clone(), settled(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        // The type of a number is that of its text: 1.0 is 1.
        Value::Number(_) => serde_json::from_str(&canonical(value)).unwrap_or(Value::Null),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read_back(value: &Value) -> Value {
        serde_json::from_str(&canonical(value)).unwrap()
    }

    fn check(value: &Value) {
        let settled = settled(value);
        assert_eq!(settled, read_back(value));
        // Equality of mappings does not see their order.
        assert_eq!(settled.to_string(), read_back(value).to_string());
    }

    #[test]
    fn numbers_get_the_type_of_their_text_and_keys_their_order() {
        check(&json!({"b": 1.0, "a": [1e21, 1e300, -0.0, 0.1], "A": {"é": 1, "z": 2}}));
        check(&json!({"\u{10000}": 1, "\u{ffff}": 2, "": 3}));
        check(&json!([
            u64::MAX,
            i64::MIN,
            9_007_199_254_740_993_u64,
            123_456_789.0
        ]));
        assert_eq!(
            settled(&json!({"b": 1.0, "a": 2})).to_string(),
            r#"{"a":2,"b":1}"#
        );
    }

    proptest! {
        #[test]
        fn any_value_is_settled_as_its_text_is_read_back(
            keys in proptest::collection::vec(any::<String>(), 0..6),
            number in any::<f64>().prop_filter("JSON has only finite ones", |n| n.is_finite()),
            whole in any::<i64>(),
        ) {
            let leaves = [json!(number), json!(whole), json!(null), json!("x")];
            let members = keys.into_iter().zip(leaves.into_iter().cycle());
            let inner = Value::Object(members.collect());
            check(&json!([inner.clone(), {"z": inner, "a": number}]));
        }
    }
}
