//! The rule of a schema that a value breaks, on one line. Validates nothing.

use std::cmp::Reverse;

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
    let branches = context.iter().filter(|branch| !branch.is_empty());
    let branches: Vec<&[ValidationError<'_>]> = branches.map(Vec::as_slice).collect();
    let meant = branches
        .iter()
        .filter(|branch| !branch.iter().any(is_other));
    let meant: Vec<_> = meant.copied().collect();
    // Another word than the one that distinguishes an alternative chooses another one: it is farther than any other fault.
    let distance = |branch: &[ValidationError<'_>]| {
        let depth = branch
            .first()
            .map(|error| below(error).matches('/').count());
        let choices = branch.iter().filter(|error| is_choice(error)).count();
        (choices, branch.len(), Reverse(depth))
    };
    let nearest = meant.iter().map(|branch| distance(branch)).min();
    let nearest = meant
        .iter()
        .filter(|branch| Some(distance(branch)) == nearest);
    let nearest: Vec<_> = nearest.copied().collect();
    let rule_at = |error: &ValidationError<'_>| {
        let at = below(error);
        let at = if at.is_empty() { at } else { format!("{at}: ") };
        format!("{at}{}", text_of(error))
    };
    let first_of_each = |branches: &[&[ValidationError<'_>]]| {
        let firsts = branches.iter().filter_map(|branch| branch.first());
        let mut all: Vec<String> = firsts.map(rule_at).collect();
        all.dedup();
        all
    };
    let count = context.len();
    match first_of_each(&nearest).as_slice() {
        [rule] => format!("{keyword}: none of {count} fits, the nearest fails: {rule}"),
        [] if branches.is_empty() => format!("{keyword}: {}", error.masked()),
        [] => format!("{keyword}: {}", first_of_each(&branches).join("; ")),
        all => format!("{keyword}: none of {count} fits: {}", all.join("; or ")),
    }
}

/// Whether a value is another one than the only ones that may stand there.
fn is_choice(error: &ValidationError<'_>) -> bool {
    let kind = error.kind();
    matches!(
        kind,
        ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. }
    )
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
    use serde_json::{Value, json};

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

    #[test]
    fn the_alternative_that_its_own_word_chooses_is_the_nearest() {
        let kind = |word: &str| json!({"const": word});
        let schema = json!({"anyOf": [
            {"required": ["kind"], "properties": {"kind": kind("all")}},
            {"required": ["kind", "id"], "properties": {"kind": kind("one"), "id": {"type": "string"}}},
        ]});
        let validator = jsonschema::validator_for(&schema).unwrap();
        let check = |arguments: Value, expect: &str| {
            let fault = validator.validate(&arguments).unwrap_err();
            assert_eq!(rule_of(&fault), expect, "{arguments}");
        };
        let none = "anyOf: none of 2 fits";
        check(
            json!({"kind": "one"}),
            &format!("{none}, the nearest fails: required: \"id\" is a required property"),
        );
        check(
            json!({"kind": "one", "id": 7}),
            &format!("{none}, the nearest fails: /id: type: value is not of type \"string\""),
        );
        // None is nearer than the other one.
        check(
            json!({"kind": "two", "id": "x"}),
            &format!(
                "{none}: /kind: const: \"all\" was expected; or /kind: const: \"one\" was expected"
            ),
        );
    }
}
