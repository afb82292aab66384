//! The form that a tool server asks a person to fill in (MCP elicitation): its fields, and an answer made of what was typed. Asks no one.

use serde_json::{Map, Value};

use crate::text::escape::brief;
use monolith_core::message::ObjectText;

/// Characters of a field's name or hint that are shown.
const SHOWN: usize = 80;

/// One field of a form.
pub struct Field {
    /// The words that may be chosen; empty where any may be typed.
    choices: Vec<String>,
    default: Option<Value>,
    kind: Kind,
    name: String,
    needed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Integer,
    Number,
    Text,
    Texts,
}

/// The fields of a question, in the order of their names.
pub fn fields(question: &ObjectText) -> Vec<Field> {
    let question = question.to_value();
    let schema = question.get("requestedSchema");
    let needed: Vec<&str> = schema
        .and_then(|schema| schema.get("required")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = schema.and_then(|schema| schema.get("properties")?.as_object());
    fields
        .into_iter()
        .flatten()
        .map(|(name, field)| Field::of(name, field, needed.contains(&name.as_str())))
        .collect()
}

/// The answer to a question: what was given for its fields, and the defaults of the others.
///
/// # Errors
/// Why that is no answer.
pub fn content(question: &ObjectText, given: &[(String, String)]) -> Result<ObjectText, String> {
    let fields = fields(question);
    if let Some((name, _)) = given
        .iter()
        .find(|(name, _)| !fields.iter().any(|field| field.name == *name))
    {
        return Err(format!("it asks for no field `{}`", brief(name, SHOWN)));
    }
    let mut content = Map::new();
    for field in &fields {
        let typed = given.iter().find(|(name, _)| *name == field.name);
        if let Some(value) = field.value(typed.map(|(_, typed)| typed.as_str()))? {
            content.insert(field.name.clone(), value);
        }
    }
    whole(content)
}

/// An answer of those fields.
///
/// # Errors
/// Why it is none.
pub fn whole(content: Map<String, Value>) -> Result<ObjectText, String> {
    ObjectText::parse(Value::Object(content).to_string()).map_err(|fault| fault.to_string())
}

impl Field {
    fn of(name: &str, field: &Value, needed: bool) -> Self {
        let kind = match field.get("type").and_then(Value::as_str) {
            Some("boolean") => Kind::Boolean,
            Some("integer") => Kind::Integer,
            Some("number") => Kind::Number,
            Some("array") => Kind::Texts,
            _ => Kind::Text,
        };
        let of = match kind {
            Kind::Texts => field.get("items").unwrap_or(field),
            _ => field,
        };
        let listed = ["enum", "oneOf", "anyOf"]
            .iter()
            .find_map(|key| of.get(key)?.as_array());
        let choices = listed.into_iter().flatten().filter_map(|choice| {
            let word = choice.get("const").unwrap_or(choice).as_str();
            word.map(str::to_owned)
        });
        Self {
            choices: choices.collect(),
            default: field.get("default").cloned(),
            kind,
            name: name.to_owned(),
            needed,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name and what may be typed, for a terminal.
    pub fn hint(&self) -> String {
        let kind = match self.kind {
            Kind::Boolean => "yes or no".to_owned(),
            Kind::Integer => "an integer".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Text if self.choices.is_empty() => "text".to_owned(),
            Kind::Text => format!("one of {}", self.choices.join(", ")),
            Kind::Texts => format!("some of {}, with commas", self.choices.join(", ")),
        };
        let rest = match (&self.default, self.needed) {
            (Some(default), _) => format!(", else {default}"),
            (None, true) => ", needed".to_owned(),
            (None, false) => String::new(),
        };
        let name = brief(&self.name, SHOWN);
        format!("{name} ({})", brief(&format!("{kind}{rest}"), SHOWN))
    }

    /// The value that was typed, else the default; `None` if it stays empty.
    ///
    /// # Errors
    /// Why that is no value of the field.
    pub fn value(&self, typed: Option<&str>) -> Result<Option<Value>, String> {
        let name = brief(&self.name, SHOWN);
        let Some(typed) = typed else {
            return match &self.default {
                None if self.needed => Err(format!("it needs the field `{name}`")),
                default => Ok(default.clone()),
            };
        };
        let fault =
            |what: &str| format!("`{name}` is {what}, and {:?} is none", brief(typed, SHOWN));
        let chosen = |word: &str| {
            if self.choices.is_empty() || self.choices.iter().any(|choice| choice == word) {
                return Ok(Value::from(word));
            }
            Err(format!(
                "`{name}` is one of {}",
                brief(&self.choices.join(", "), 400)
            ))
        };
        let value = match self.kind {
            Kind::Boolean => match typed.trim() {
                "y" | "yes" | "true" => Value::from(true),
                "n" | "no" | "false" => Value::from(false),
                _ => return Err(fault("yes or no")),
            },
            Kind::Integer => {
                let number: i64 = typed.trim().parse().map_err(|_| fault("an integer"))?;
                Value::from(number)
            }
            Kind::Number => {
                let number: f64 = typed.trim().parse().map_err(|_| fault("a number"))?;
                let number = serde_json::Number::from_f64(number);
                Value::Number(number.ok_or_else(|| fault("a number"))?)
            }
            Kind::Text => chosen(typed)?,
            Kind::Texts => {
                let words = typed
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty());
                Value::Array(words.map(chosen).collect::<Result<_, _>>()?)
            }
        };
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> ObjectText {
        let fields = r#"{"age":{"type":"integer"},"colour":{"type":"string","enum":["red","blue"],"default":"red"},"ok":{"type":"boolean"},"size":{"type":"number"},"tags":{"type":"array","items":{"anyOf":[{"const":"a"},{"const":"b"}]}}}"#;
        let text = format!(
            r#"{{"message":"?","requestedSchema":{{"type":"object","properties":{fields},"required":["age"]}}}}"#
        );
        ObjectText::parse(text).unwrap()
    }

    fn check(given: &[(&str, &str)], expect: Result<&str, &str>) {
        let given: Vec<_> = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let content = content(&question(), &given);
        let content = content.as_ref().map(ObjectText::as_str);
        assert_eq!(content.map_err(String::as_str), expect);
    }

    #[test]
    fn an_answer_has_the_types_of_its_fields() {
        check(&[("age", "7")], Ok(r#"{"age":7,"colour":"red"}"#));
        check(
            &[
                ("age", "-1"),
                ("colour", "blue"),
                ("ok", "yes"),
                ("size", "1.5"),
                ("tags", "a, b"),
            ],
            Ok(r#"{"age":-1,"colour":"blue","ok":true,"size":1.5,"tags":["a","b"]}"#),
        );
    }

    #[test]
    fn what_is_no_answer_is_named() {
        check(&[], Err("it needs the field `age`"));
        check(
            &[("age", "x")],
            Err("`age` is an integer, and \"x\" is none"),
        );
        check(
            &[("age", "1"), ("colour", "green")],
            Err("`colour` is one of red, blue"),
        );
        check(
            &[("age", "1"), ("size", "NaN")],
            Err("`size` is a number, and \"NaN\" is none"),
        );
        check(&[("age", "1"), ("tags", "c")], Err("`tags` is one of a, b"));
        check(
            &[("age", "1"), ("ok", "maybe")],
            Err("`ok` is yes or no, and \"maybe\" is none"),
        );
        check(&[("name", "x")], Err("it asks for no field `name`"));
    }

    #[test]
    fn a_question_without_fields_is_answered_with_none() {
        let question = ObjectText::parse(r#"{"message":"Go on?"}"#).unwrap();
        assert_eq!(content(&question, &[]), Ok(ObjectText::empty()));
        assert!(fields(&question).is_empty());
    }
}
