//! The rule of a schema that a value breaks, on one line. Validates nothing.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;

/// Bytes of a rule's text; the model reads it.
pub(super) const MAX_RULE_BYTES: usize = 200;

/// What is wrong, the offending value masked. Of alternatives none of which fits: what the nearest one lacks, or what each wants.
fn text_of(error: &ValidationError<'_>) -> String {
    let keyword = error.kind().keyword();
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return format!("{keyword}: {}", error.masked());
    };
    let place = error.instance_path().as_str();
    let below = |error: &ValidationError<'_>| {
        let path = error.instance_path().as_str().to_owned();
        path.strip_prefix(place).map_or(path.clone(), str::to_owned)
    };
    // One of another type than the value is not meant.
    let is_other = |error: &ValidationError<'_>| {
        below(error).is_empty() && matches!(error.kind(), ValidationErrorKind::Type { .. })
    };
    let firsts: Vec<_> = context.iter().filter_map(|branch| branch.first()).collect();
    let meant = firsts.iter().filter(|error| !is_other(error));
    match meant.max_by_key(|error| below(error).matches('/').count()) {
        Some(nearest) => {
            let (count, at) = (context.len(), below(nearest));
            let at = if at.is_empty() { at } else { format!("{at}: ") };
            let text = text_of(nearest);
            format!("{keyword}: none of {count} fits, the nearest fails: {at}{text}")
        }
        None if firsts.is_empty() => format!("{keyword}: {}", error.masked()),
        None => {
            let mut all: Vec<String> = firsts.iter().map(|error| text_of(error)).collect();
            all.dedup();
            format!("{keyword}: {}", all.join("; "))
        }
    }
}

/// The broken rule on one short line.
pub(super) fn rule_of(error: &ValidationError<'_>) -> String {
    let text = text_of(error);
    let mut rule = String::new();
    for c in text.chars() {
        let c = if c.is_control() { ' ' } else { c };
        if rule.len() + c.len_utf8() > MAX_RULE_BYTES - '…'.len_utf8() {
            rule.push('…');
            break;
        }
        rule.push(c);
    }
    rule
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_alternatives_the_nearest_is_named_or_what_each_wants() {
        let schema = json!({"properties": {"to": {"anyOf": [
            {"type": "string"},
            {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
            {"type": "object", "required": ["name"], "properties": {"at": {"enum": [1]}}},
        ]}}});
        let nearest = "anyOf: none of 3 fits, the nearest fails: ";
        let validator = jsonschema::validator_for(&schema).unwrap();
        let check_of = |arguments: &str, expect: &str| {
            let arguments = serde_json::from_str(arguments).unwrap();
            let fault = validator.validate(&arguments).unwrap_err();
            assert_eq!(fault.instance_path().as_str(), "/to");
            assert_eq!(rule_of(&fault), expect, "{arguments}");
        };
        check_of(
            r#"{"to": {"id": "hunter2"}}"#,
            &format!("{nearest}/id: type: value is not of type \"integer\""),
        );
        check_of(
            r#"{"to": 7}"#,
            "anyOf: type: value is not of type \"string\"; type: value is not of type \"object\"",
        );
    }
}
