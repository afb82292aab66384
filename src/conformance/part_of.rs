//! The comparison of a document with a case's expectation.

use serde_json::Value;

/// Everything in which `got` differs from `expected`, each with its pointer behind `at`.
///
/// Of a mapping only the given members count, and null means that there is none; a list counts as a whole; a text that ends in
/// `…` is a beginning.
pub(super) fn part_of(expected: &Value, got: &Value, at: &str) -> Vec<String> {
    match (expected, got) {
        (Value::Object(members), Value::Object(others)) => members
            .iter()
            .flat_map(|(key, expected)| {
                let got = others.get(key).unwrap_or(&Value::Null);
                part_of(expected, got, &format!("{at}/{key}"))
            })
            .collect(),
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => items
            .iter()
            .zip(others)
            .enumerate()
            .flat_map(|(n, (expected, got))| part_of(expected, got, &format!("{at}/{n}")))
            .collect(),
        _ if same(expected, got) => Vec::new(),
        _ => vec![format!("{at}: expected {expected}, got {got}")],
    }
}

/// True if two values that are not both mappings are equal; numbers compare by value.
fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::String(expected), Value::String(got)) => expected
            .strip_suffix('…')
            .map_or(expected == got, |beginning| got.starts_with(beginning)),
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (expected, got) => expected == got,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(expected: &Value, got: &Value, expect: &[&str]) {
        assert_eq!(part_of(expected, got, "x"), expect);
    }

    #[test]
    fn of_mappings_the_given_members_count_and_of_lists_everything() {
        check(
            &json!({"a": {"b": 1}}),
            &json!({"a": {"b": 1.0, "c": 2}, "d": 3}),
            &[],
        );
        check(
            &json!({"a": {"b": 1}}),
            &json!({"a": {"b": 2}}),
            &["x/a/b: expected 1, got 2"],
        );
        check(&json!({"a": null}), &json!({}), &[]);
        check(
            &json!({"a": null}),
            &json!({"a": 1}),
            &["x/a: expected null, got 1"],
        );
        check(&json!([1, 2]), &json!([1, 3]), &["x/1: expected 2, got 3"]);
        check(&json!([1]), &json!([1, 2]), &["x: expected [1], got [1,2]"]);
        check(&json!({}), &json!([]), &["x: expected {}, got []"]);
    }

    #[test]
    fn a_text_may_be_given_by_its_beginning() {
        check(&json!("auth…"), &json!("auth: no"), &[]);
        check(
            &json!("auth…"),
            &json!("no auth"),
            &["x: expected \"auth…\", got \"no auth\""],
        );
        check(
            &json!("auth"),
            &json!("auth: no"),
            &["x: expected \"auth\", got \"auth: no\""],
        );
    }
}
