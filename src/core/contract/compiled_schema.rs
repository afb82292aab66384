//! A compiled schema and what may be judged by it. Does not know tools.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::approval_rule::{ApprovalAction, ApprovalRule};
use super::schema_bounds::{SchemaFault, bounds};
use super::schema_rule::rule_of;
use super::typed_schema::typed_schema;
use super::value_bounds::{StepsLeft, ValueBounds};
use crate::message::{Digest, RoundedValue};

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

/// The first rule of a tool's input schema that arguments break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {rule}")]
pub struct ArgumentFault {
    /// RFC 6901, into the arguments; empty for the whole.
    pub pointer: String,
    /// The rule, at most 200 bytes; it names no value of the arguments.
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
    /// The first rule that it breaks.
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
        self.validator
            .validate(value)
            .map_err(|error| ArgumentFault {
                pointer: error.instance_path().as_str().to_owned(),
                rule: rule_of(&error),
            })
    }
}
