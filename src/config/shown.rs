//! Every key of the layers for people: its value as it is written, with secrets masked, and the file that it is from.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::merged::Merged;
use crate::contract::recorded_url;

/// What stands in the place of a secret.
const MASK: &str = "***";
/// Keys of which every value below may be a secret.
const SECRET_SECTIONS: [&str; 4] = ["apiKey", "api_key", "env", "headers"];
/// Parts of a name that mark its value as secret.
const TELLING: [&str; 7] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "pass",
    "secret",
    "token",
];
/// Keys that are called so and hold no secret: numbers, and names of variables.
const OPEN: [&str; 7] = [
    "api_key_env",
    "contextWindowBufferTokens",
    "maxOutputTokens",
    "max_output_tokens",
    "reasoningTokens",
    "reasoning_tokens",
    "tokenizer",
];
/// What stands before a secret in a header.
const SCHEMES: [&str; 3] = ["basic", "bearer", "token"];

/// One value of the layers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShownValue {
    /// The file that it is from.
    pub(crate) file: Arc<Path>,
    /// Its keys, the outermost first.
    pub(crate) path: Vec<String>,
    pub(crate) value: Value,
}

/// Appends what stands at `path`, leaf by leaf. `file` gives the file of a layer.
pub(super) fn values(
    path: &mut Vec<String>,
    merged: &Merged,
    file: &dyn Fn(usize) -> Arc<Path>,
    out: &mut Vec<ShownValue>,
) {
    match merged {
        Merged::Leaf { layer, value } => out.push(ShownValue {
            file: file(*layer),
            path: path.clone(),
            value: masked(path, value),
        }),
        Merged::Map(members) => {
            for (key, value) in members {
                path.push(key.clone());
                values(path, value, file, out);
                path.pop();
            }
        }
    }
}

fn masked(path: &[String], value: &Value) -> Value {
    let is_secret = path
        .iter()
        .any(|key| SECRET_SECTIONS.contains(&key.as_str()))
        || path.last().is_some_and(|key| tells(key));
    match value {
        Value::String(text) => Value::String(text_of(text, is_secret)),
        Value::Array(items) => {
            // `--token VALUE`: the value is an argument of its own.
            let mut after_flag = false;
            let items = items.iter().map(|item| {
                let is_secret = is_secret || after_flag;
                after_flag = item.as_str().is_some_and(|text| {
                    text.starts_with('-') && !text.contains('=') && tells(text)
                });
                match item {
                    Value::String(text) => Value::String(text_of(text, is_secret)),
                    other => masked(path, other),
                }
            });
            Value::Array(items.collect())
        }
        Value::Object(members) => {
            let mut path = path.to_vec();
            let members = members.iter().map(|(key, value)| {
                path.push(key.clone());
                let shown = masked(&path, value);
                path.pop();
                (key.clone(), shown)
            });
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) if !is_secret => value.clone(),
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(_) => Value::from(MASK),
    }
}

/// Whether the name says that what it names is a secret.
fn tells(name: &str) -> bool {
    let lower = name.to_lowercase();
    !OPEN.contains(&name) && TELLING.iter().any(|part| lower.contains(part))
}

fn text_of(text: &str, is_secret: bool) -> String {
    if is_secret {
        let bare = without_placeholders(text).trim().to_lowercase();
        let is_open = bare.is_empty() || SCHEMES.contains(&bare.as_str());
        return if is_open { text } else { MASK }.to_owned();
    }
    // An address that begins the text may have `=` in its query.
    if let Some((scheme, _)) = text.split_once("://")
        && is_name(scheme)
    {
        return recorded_url(text);
    }
    // `Authorization: VALUE`: an argument may be a header.
    if let Some((name, value)) = text.split_once(':')
        && is_name(name)
        && tells(name)
    {
        return format!("{name}: {}", text_of(value.trim_start(), true));
    }
    // `Bearer VALUE`
    if let Some((scheme, value)) = text.split_once(' ')
        && SCHEMES.contains(&scheme.to_lowercase().as_str())
        && !value.contains(' ')
    {
        return format!("{scheme} {}", text_of(value, true));
    }
    // `--token=VALUE`, `--header=Authorization: VALUE`
    if let Some((name, value)) = text.split_once('=')
        && (is_name(name) || tells(name))
    {
        return format!("{name}={}", text_of(value, tells(name)));
    }
    if text.contains("://") {
        return recorded_url(text);
    }
    text.to_owned()
}

/// Whether it may be the name of a header or an option, or the scheme of an address.
fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    !name.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || "-_+.".contains(c))
}

/// What is left of a text without `${NAME}`.
fn without_placeholders(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((_, tail)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            break;
        };
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(path: &str, value: &Value, expect: &Value) {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        assert_eq!(&masked(&path, value), expect, "{path:?}");
    }

    #[test]
    fn what_may_be_a_secret_is_masked_and_the_names_of_variables_are_not() {
        check("p.apiKey", &json!("sk-123"), &json!("***"));
        check("p.apiKey", &json!("${KEY}"), &json!("${KEY}"));
        check("s.env.TOKEN", &json!("abc"), &json!("***"));
        check("s.env.ROOT", &json!("/srv"), &json!("***"));
        check("s.env.TOKEN", &json!("${TOKEN}"), &json!("${TOKEN}"));
        check(
            "s.headers.Authorization",
            &json!("Bearer ${T}"),
            &json!("Bearer ${T}"),
        );
        check(
            "s.headers.Authorization",
            &json!("Bearer abc"),
            &json!("***"),
        );
        check("s.headers.Authorization", &json!("abc${T}"), &json!("***"));
        check(
            "s.args",
            &json!(["--token", "abc", "x"]),
            &json!(["--token", "***", "x"]),
        );
        check(
            "s.args",
            &json!(["--token=abc", "--n=1"]),
            &json!(["--token=***", "--n=1"]),
        );
        check(
            "s.url",
            &json!("http://u:p@h/x?k=v"),
            &json!("http://h/x?k=[SECRET]"),
        );
        check(
            "s.url",
            &json!("http://u:PLAINpw@h/p?key=abc"),
            &json!("http://h/p?key=[SECRET]"),
        );
        check(
            "s.args",
            &json!([
                "--to",
                "http://u:PLAINpw@h/p?key=abc",
                "--url=http://u:PLAINpw@h/p?key=abc"
            ]),
            &json!([
                "--to",
                "http://h/p?key=[SECRET]",
                "--url=http://h/p?key=[SECRET]"
            ]),
        );
        check(
            "s.args",
            &json!([
                "--header",
                "Authorization: Bearer abcdefghijklmnopqrstuvwxyz",
                "X-Api-Key:qwerty",
                "--header=Authorization: Basic dXNlcjpwYXNzd29yZA==",
                "Authorization: Basic dXNlcjpwYXNzd29yZA==",
                "Authorization: Bearer ${T}",
                "Bearer abc",
                "Accept: text/html",
                "bearer of news, all",
            ]),
            &json!([
                "--header",
                "Authorization: ***",
                "X-Api-Key: ***",
                "--header=Authorization: ***",
                "Authorization: ***",
                "Authorization: Bearer ${T}",
                "Bearer ***",
                "Accept: text/html",
                "bearer of news, all",
            ]),
        );
        check("d.maxOutputTokens", &json!(4096), &json!(4096));
        check("x.password", &json!(4096), &json!("***"));
        check(
            "p.custom",
            &json!({"apiToken": "abc", "n": [1]}),
            &json!({"apiToken": "***", "n": [1]}),
        );
        check("p.api_key_env", &json!("KEY"), &json!("KEY"));
    }
}
