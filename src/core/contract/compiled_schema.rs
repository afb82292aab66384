//! A compiled schema and what may be judged by it. Does not know tools.

use std::borrow::Cow;
use std::cmp::Reverse;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::approval_rule::{ApprovalAction, ApprovalRule};
use super::schema_bounds::{SchemaFault, bounds};
use super::typed_schema::typed_schema;
use super::value_bounds::{StepsLeft, ValueBounds};
use crate::message::{Digest, RoundedValue};

/// The most broken rules of one value that are named.
const MAX_FAULTS: usize = 3;
/// Bytes of one compiled regular expression.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// The schema of a rule of `approval`.
pub(super) struct CompiledRule {
    stated: Compiled,
    /// The neighbours of a number do not tell if it is a whole one.
    judges_whole: bool,
    /// Multiples are found by doubles, so 2^53 and larger numbers cannot be judged.
    judges_multiples: bool,
    /// The same schema with the types that its keywords are about, for a rule that allows.
    typed: Option<Compiled>,
}

/// The rules of a tool's input schema that arguments break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {rule}")]
pub struct ArgumentFault {
    /// The place of the first one: RFC 6901, into the arguments; empty for the whole.
    pub pointer: String,
    /// The rule, at most 200 bytes; it names no value of the arguments. Up to two more follow, each after its place.
    pub rule: String,
}

/// A schema that judges values of a bounded size.
pub(super) struct Compiled {
    bounds: ValueBounds,
    pub(super) pin: Digest,
    validator: Validator,
}

impl CompiledRule {
    /// `None` of a rule about all arguments, or with a schema that does not compile: PRECHECK refuses that.
    pub(super) fn of(rule: &ApprovalRule) -> Option<Self> {
        let schema = rule.arguments.as_ref()?;
        let allows = rule.action == ApprovalAction::Allow;
        let typed = allows.then(|| Compiled::of(&typed_schema(schema), Digest::ZERO).ok());
        let text = schema.to_string();
        Some(Self {
            stated: Compiled::of(schema, Digest::ZERO).ok()?,
            judges_whole: text.contains("\"integer\""),
            judges_multiples: text.contains("\"multipleOf\""),
            typed: typed.flatten(),
        })
    }

    /// True if the value fits the schema; `None` if that cannot be judged: within the steps that are left, or because of a number that
    /// memory does not hold.
    pub(super) fn takes(&self, value: &RoundedValue, left: &mut StepsLeft) -> Option<bool> {
        let takes = self.stated.takes(value, left);
        let unclear = (self.judges_whole || self.judges_multiples) && !value.is_exact()
            || self.judges_multiples && value.each().any(has_large_number);
        takes.filter(|_| !unclear)
    }

    /// True if a rule that allows takes the value: memory holds its numbers, it fits the schema, and nothing in it has another type than
    /// a keyword is about.
    pub(super) fn allows(&self, value: &RoundedValue, left: &mut StepsLeft) -> bool {
        value.is_exact()
            && self.takes(value, left) == Some(true)
            && self
                .typed
                .as_ref()
                .is_some_and(|typed| typed.takes(value, left) == Some(true))
    }
}

/// True if a value holds a number of 2^53 or more.
fn has_large_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_f64()
            .is_none_or(|n| n.abs() >= 9_007_199_254_740_992.0),
        Value::Array(items) => items.iter().any(has_large_number),
        Value::Object(members) => members.values().any(has_large_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

impl Compiled {
    /// True if a value fits; `None` if that cannot be judged: within the steps that are left, or because only one of the two values fits
    /// that a number between them stands for.
    pub(super) fn takes(&self, value: &RoundedValue, left: &mut StepsLeft) -> Option<bool> {
        let mut found = None;
        for value in value.each() {
            self.bounds.check(value, left).ok()?;
            let fits = self.validator.is_valid(value);
            if found.is_some_and(|other| other != fits) {
                return None;
            }
            found = Some(fits);
        }
        found
    }

    pub(super) fn of(schema: &Value, pin: Digest) -> Result<Self, SchemaFault> {
        let bounds = bounds(schema)?;
        let patterns = PatternOptions::regex()
            .size_limit(MAX_REGEX_BYTES)
            .dfa_size_limit(MAX_REGEX_BYTES);
        let validator = jsonschema::options()
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| SchemaFault {
                pointer: error.instance_path().as_str().to_owned(),
                rule: rule_of(&error),
            })?;
        Ok(Self {
            bounds,
            pin,
            validator,
        })
    }

    /// Checks a value, and each of the two that a number between them stands for.
    ///
    /// # Errors
    /// The first three rules that it breaks.
    pub(super) fn validate_each(
        &self,
        value: &RoundedValue,
        left: &mut StepsLeft,
    ) -> Result<(), ArgumentFault> {
        let mut values = value.each();
        values.try_for_each(|value| self.validate(value, left))
    }

    pub(super) fn validate(
        &self,
        value: &Value,
        left: &mut StepsLeft,
    ) -> Result<(), ArgumentFault> {
        let sized = self.bounds.check(value, left);
        sized.map_err(|rule| ArgumentFault {
            pointer: String::new(),
            rule,
        })?;
        let faults = self.validator.iter_errors(value);
        let fault = faults.take(MAX_FAULTS).fold(None, |fault, error| {
            let (pointer, rule) = (error.instance_path().as_str(), rule_of(&error));
            let Some(ArgumentFault {
                pointer: first,
                rule: rules,
            }) = fault
            else {
                let pointer = pointer.to_owned();
                return Some(ArgumentFault { pointer, rule });
            };
            let rule = format!("{rules}; {}: {rule}", place_of(pointer));
            Some(ArgumentFault {
                pointer: first,
                rule,
            })
        });
        fault.map_or(Ok(()), Err)
    }
}

/// A place in the arguments, for people and models.
pub(crate) const fn place_of(pointer: &str) -> &str {
    if pointer.is_empty() {
        "the arguments"
    } else {
        pointer
    }
}

/// Bytes of a rule's text; the model reads it.
pub(super) const MAX_RULE_BYTES: usize = 200;

/// Describes the error with its value masked. If no alternative fits, names what the nearest one lacks or what each requires.
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

/// True if a value differs from the only permitted values.
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

/// The written form of a [`Digest`](crate::message::Digest), for the JSON Schema.
pub(super) struct HexDigest;

impl JsonSchema for HexDigest {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HexDigest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
    }
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
