//! What llama-server says of itself at `/props`. Knows its JSON; does not know how it was asked for.

use serde_json::Value;

use crate::message::{Digest, NamedText};

/// The properties that say which server and which model it is. The chat template, which may be long, is named by its hash.
pub fn server_properties(body: &[u8]) -> Vec<NamedText> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Vec::new();
    };
    let text = |pointer: &str| match body.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let template = text("/chat_template").map(|text| Digest::of(text.as_bytes()).to_string());
    let found = [
        ("build_info", text("/build_info")),
        ("chat_template", template),
        ("model_alias", text("/model_alias")),
        ("model_path", text("/model_path")),
        ("n_ctx", text("/default_generation_settings/n_ctx")),
    ];
    let found = found.into_iter();
    found
        .filter_map(|(name, value)| Some(NamedText::new(name, &value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_property_of_the_expected_kind_is_left_out() {
        let check = |body: &str, expect: &[&str]| {
            let found = server_properties(body.as_bytes());
            let found: Vec<String> = found
                .iter()
                .map(|one| format!("{}={}", one.name, one.value))
                .collect();
            assert_eq!(found, expect, "{body}");
        };
        check("no JSON", &[]);
        check(r#"{"build_info":[1],"model_path":null}"#, &[]);
        let template = Digest::of(b"{{ t }}");
        check(
            r#"{"build_info":"b1-abc","chat_template":"{{ t }}","default_generation_settings":{"n_ctx":4096},"model_path":"m.gguf"}"#,
            &[
                "build_info=b1-abc",
                &format!("chat_template={template}"),
                "model_path=m.gguf",
                "n_ctx=4096",
            ],
        );
    }
}
