//! Every key of the layers for people: its value as it is written, with secrets masked, and the file that it is from.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::merged::Merged;
use monolith_core::contract::{MASK, masked_argument, masked_value, masked_whole};

/// Keys of which every value below may be a secret.
const SECRET_SECTIONS: [&str; 4] = ["apiKey", "api_key", "env", "headers"];
/// Keys of schemas, in which a name is that of an argument.
const SCHEMAS: [&str; 2] = ["parametersSchema", "parameters_schema"];
/// Keys of the words of a command, which may be random and nothing else.
const COMMANDS: [&str; 2] = ["args", "command"];

/// One value of the layers.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownValue {
    /// The file that it is from.
    pub file: Arc<Path>,
    /// Its keys, the outermost first.
    pub path: Vec<String>,
    /// The value, as JSON.
    pub value: Value,
}

impl ShownValue {
    /// A section that is no mapping with members.
    pub(super) fn of(section: &str, value: &Value, file: Arc<Path>) -> Self {
        let path = vec![section.to_owned()];
        let value = masked(&path, value);
        Self { file, path, value }
    }
}

/// The file of a layer.
type FileOf<'f> = &'f dyn Fn(usize) -> Arc<Path>;
/// The layer that has something at a path.
type LayerAt<'f> = &'f dyn Fn(&[String]) -> usize;

/// Appends the values at `path`, leaf by leaf; a mapping without members is a leaf.
pub(super) fn values(
    path: &mut Vec<String>,
    merged: &Merged,
    (file, layer_at): (FileOf<'_>, LayerAt<'_>),
    out: &mut Vec<ShownValue>,
) {
    match merged {
        Merged::Map(members) if members.is_empty() => out.push(ShownValue {
            file: file(layer_at(path)),
            path: path.clone(),
            value: Value::Object(Map::new()),
        }),
        Merged::Leaf { layer, value } => out.push(ShownValue {
            file: file(*layer),
            path: path.clone(),
            value: masked(path, value),
        }),
        Merged::Map(members) => {
            for (key, value) in members {
                path.push(key.clone());
                values(path, value, (file, layer_at), out);
                path.pop();
            }
        }
    }
}

fn masked(path: &[String], value: &Value) -> Value {
    if let Value::Object(members) = value {
        let mut path = path.to_vec();
        let members = members.iter().map(|(key, value)| {
            path.push(key.clone());
            let shown = masked(&path, value);
            path.pop();
            (key.clone(), shown)
        });
        return Value::Object(members.collect());
    }
    let name = path.last().map(String::as_str).unwrap_or_default();
    let is_whole = |key: &String| SECRET_SECTIONS.contains(&key.as_str());
    if path.iter().any(|key| SCHEMAS.contains(&key.as_str())) {
        return masked_value("", value, &mut |_, _| {});
    }
    if path.iter().any(is_whole) {
        return masked_whole(name, value);
    }
    match masked_value(name, value, &mut |_, _| {}) {
        Value::Array(words) if COMMANDS.contains(&name) => {
            let words = words.into_iter().map(|word| match word {
                Value::String(word) => Value::from(masked_argument(&word, MASK)),
                other => other,
            });
            Value::Array(words.collect())
        }
        shown => shown,
    }
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
            "s.args",
            &json!(["stdio", "LEAKq8Zx72Lm4Rt91Vb3", 7]),
            &json!(["stdio", "***", 7]),
        );
        check(
            "s.command",
            &json!(["python3", "mcp.py", "Zx8Kq2Lm9Pw4Rt7Vb1"]),
            &json!(["python3", "mcp.py", "***"]),
        );
        check(
            "s.url",
            &json!("http://u:p@h/x?k=v"),
            &json!("http://h/x?k=[SECRET]"),
        );
        check(
            "r.url",
            &json!("http://h/?v=${parameters.v}&key=${KEY}&to=abc"),
            &json!("http://h/?v=${parameters.v}&key=${KEY}&to=[SECRET]"),
        );
        check(
            "r.parametersSchema",
            &json!({"properties": {"apiKey": {"type": "string"}}}),
            &json!({"properties": {"apiKey": {"type": "string"}}}),
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
        check(
            "s.args",
            &json!(["--pwd", "pwdsecret11", "--session=sesssecret1"]),
            &json!(["--pwd", "***", "--session=***"]),
        );
        check(
            "r.bodyTemplate",
            &json!({"pwd": "bodypwd123", "session": "sess99999"}),
            &json!({"pwd": "***", "session": "***"}),
        );
        check("persistence.sessionsDir", &json!("./s"), &json!("./s"));
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
