//! Every parameter of every contract in every protocol: in the request, or named as not sent. 000 §9 calls a parameter that
//! is configured and ignored a violation.

use serde_json::{Value, json};

use super::fixture::{body, encode, terms_of, text_message};
use crate::adapter::Adapter;
use crate::contract::Terms;
use crate::kernel::ToolExposure;
use crate::message::Role;

/// The adapters that write requests, and the type of provider that each is for.
const WRITERS: [(&str, &str); 7] = [
    ("openai-chat/1", "openai"),
    ("openrouter-chat/1", "openrouter"),
    ("openai-responses/1", "openai_responses"),
    ("anthropic-messages/1", "anthropic"),
    ("google-gemini/1", "google"),
    ("ollama-chat/1", "ollama"),
    ("local-hermes/1", "local"),
];

/// For each key: a value unlike that of [`base`], and its pointer in the requests of the protocols in the order of
/// [`WRITERS`], as pointer and value. Null: the key is named as not sent.
fn rows() -> Vec<(&'static str, Value, [Value; 7])> {
    let at = |pointer: &str, value: Value| json!([pointer, value]);
    let no = Value::Null;
    let half = |chat: &str, google: &str, ollama: &str, local: &str| {
        let chat = at(chat, json!(0.5));
        [
            chat.clone(),
            chat.clone(),
            chat.clone(),
            chat,
            at(google, json!(0.5)),
            at(ollama, json!(0.5)),
            at(local, json!(0.5)),
        ]
    };
    vec![
        (
            "temperature",
            json!(0.5),
            half(
                "/temperature",
                "/generationConfig/temperature",
                "/options/temperature",
                "/sampling/temperature",
            ),
        ),
        (
            "top_p",
            json!(0.5),
            half(
                "/top_p",
                "/generationConfig/topP",
                "/options/top_p",
                "/sampling/top_p",
            ),
        ),
        (
            "max_output_tokens",
            json!(77),
            [
                at("/max_tokens", json!(77)),
                at("/max_tokens", json!(77)),
                at("/max_output_tokens", json!(77)),
                at("/max_tokens", json!(77)),
                at("/generationConfig/maxOutputTokens", json!(77)),
                at("/options/num_predict", json!(77)),
                at("/max_tokens", json!(77)),
            ],
        ),
        (
            "repeat_penalty",
            json!(1.5),
            [
                no.clone(),
                at("/repetition_penalty", json!(1.5)),
                no.clone(),
                no.clone(),
                no.clone(),
                at("/options/repeat_penalty", json!(1.5)),
                at("/sampling/repeat_penalty", json!(1.5)),
            ],
        ),
        (
            "seed",
            json!(41),
            [
                at("/seed", json!(41)),
                at("/seed", json!(41)),
                no.clone(),
                no.clone(),
                at("/generationConfig/seed", json!(41)),
                at("/options/seed", json!(41)),
                at("/sampling/seed", json!(41)),
            ],
        ),
        (
            "stop",
            json!(["END"]),
            [
                at("/stop", json!(["END"])),
                at("/stop", json!(["END"])),
                no.clone(),
                at("/stop_sequences", json!(["END"])),
                at("/generationConfig/stopSequences", json!(["END"])),
                at("/options/stop", json!(["END"])),
                no.clone(),
            ],
        ),
        (
            "reasoning",
            json!("low"),
            [
                at("/reasoning_effort", json!("low")),
                at("/reasoning/effort", json!("low")),
                at("/reasoning/effort", json!("low")),
                at("/thinking/budget_tokens", json!(1024)),
                at(
                    "/generationConfig/thinkingConfig/thinkingBudget",
                    json!(1024),
                ),
                at("/think", json!(true)),
                no.clone(),
            ],
        ),
        (
            "reasoning_tokens",
            json!(2000),
            [
                no.clone(),
                at("/reasoning/max_tokens", json!(2000)),
                no.clone(),
                at("/thinking/budget_tokens", json!(2000)),
                at(
                    "/generationConfig/thinkingConfig/thinkingBudget",
                    json!(2000),
                ),
                no.clone(),
                no.clone(),
            ],
        ),
        (
            "caching",
            json!("none"),
            [
                no.clone(),
                no.clone(),
                no.clone(),
                at("/messages/0/content/0/cache_control", Value::Null),
                no.clone(),
                no.clone(),
                no,
            ],
        ),
    ]
}

/// Returns a base without anything that another key displaces.
fn base() -> Value {
    json!({"repeat_penalty": null, "temperature": null, "top_p": null, "seed": null})
}

fn terms(writer: (&str, &str), sampling: &Value) -> Terms {
    with_provider(writer, sampling, |_| ())
}

fn with_provider(
    (version, kind): (&str, &str),
    sampling: &Value,
    change: impl FnOnce(&mut Value),
) -> Terms {
    let mut value = serde_json::to_value(terms_of(version, sampling)).unwrap();
    value["providers"]["p"]["type"] = json!(kind);
    change(&mut value["providers"]["p"]);
    serde_json::from_value(value).unwrap()
}

fn request(terms: &Terms) -> Value {
    body(terms, &[text_message(Role::User, "x")], ToolExposure::Auto)
}

#[test]
fn a_parameter_is_in_the_request_or_named_as_not_sent() {
    for (key, value, expected) in rows() {
        for (writer, pointer_and_value) in WRITERS.into_iter().zip(expected) {
            let mut sampling = base();
            let before = request(&terms(writer, &sampling));
            sampling[key] = value.clone();
            let stated = terms(writer, &sampling);
            let after = request(&stated);
            let unsent = Adapter::unsent(&stated, 0).unwrap();
            if pointer_and_value.is_null() {
                assert_eq!(unsent, [key], "{writer:?}");
                assert_eq!(after, before, "{writer:?} {key}");
            } else {
                assert_eq!(unsent, [""; 0], "{writer:?} {key}");
                assert_ne!(after, before, "{writer:?} {key}");
                let found = after.pointer(pointer_and_value[0].as_str().unwrap());
                assert_eq!(
                    found.unwrap_or(&Value::Null),
                    &pointer_and_value[1],
                    "{writer:?} {key}"
                );
            }
        }
    }
}

#[test]
fn no_parameter_of_a_contract_is_without_a_row() {
    // Set where a separate place shows it: in the path of Gemini, and together with the keys that they go with.
    let elsewhere = ["max_output_tokens_unsent", "reasoning_value", "stream"];
    let all = json!({
        "max_output_tokens_unsent": true, "reasoning_value": 5, "stop": ["a"], "seed": 1,
    });
    let written = serde_json::to_value(&terms_of("openai-chat/1", &all).targets[0].sampling);
    let written = written.unwrap();
    let rows = rows();
    for key in written.as_object().unwrap().keys() {
        let known = rows.iter().any(|(row, ..)| row == key);
        assert!(known || elsewhere.contains(&key.as_str()), "{key}");
    }
}

#[test]
fn what_is_switched_off_is_in_no_request() {
    let mut off = base();
    off["caching"] = json!("none");
    off["max_output_tokens_unsent"] = json!(true);
    for writer in WRITERS {
        let stated = terms(writer, &off);
        let text = encode(
            &stated,
            &[text_message(Role::User, "x")],
            ToolExposure::Auto,
        );
        for word in [
            "temperature",
            "topP",
            "top_p",
            "penalty",
            "seed",
            "stop",
            "reason",
            "think",
        ] {
            let local = writer.1 == "local";
            // What comes back of reasoning is asked for in any case.
            let text = text.replace("reasoning.encrypted_content", "");
            assert!(local || !text.contains(word), "{writer:?} {word}: {text}");
        }
        // Anthropic and the embedded model always have a limit; the factory refuses a contract without one there.
        if !matches!(writer.1, "anthropic" | "local") {
            assert!(!text.contains("4096"), "{writer:?} {text}");
        }
    }
}

#[test]
fn streaming_is_asked_for_in_the_body_or_in_the_path() {
    for writer in WRITERS {
        let body_of = |stream: bool| {
            let stated = terms(writer, &json!({"stream": stream}));
            let path = Adapter::of_target(&stated, 0)
                .unwrap()
                .path(&stated.targets[0])
                .into_owned();
            (request(&stated)["stream"].clone(), path)
        };
        let (plain, streamed) = (body_of(false), body_of(true));
        match writer.1 {
            "google" => assert!(streamed.1.contains("streamGenerateContent"), "{streamed:?}"),
            // The embedded engine has one way to answer, piece by piece.
            "local" => assert_eq!(streamed, plain),
            _ => assert_eq!(
                (plain.0, streamed.0),
                (json!(false), json!(true)),
                "{writer:?}"
            ),
        }
    }
}

/// 000/1.reasoning.1
/// 001/1.reasoning.1
#[test]
fn a_level_of_reasoning_is_what_the_provider_calls_it() {
    let check = |writer: usize, value: Value, pointer: &str, expect: Value| {
        let writer = WRITERS[writer];
        let mut sampling = base();
        sampling["reasoning"] = json!("low");
        sampling["reasoning_value"] = value.clone();
        let sent = request(&terms(writer, &sampling));
        let found = sent.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, &expect, "{writer:?} {value} {sent}");
    };
    check(0, json!("light"), "/reasoning_effort", json!("light"));
    check(1, json!("light"), "/reasoning/effort", json!("light"));
    check(1, json!(9), "/reasoning", json!({"max_tokens": 9}));
    check(2, json!("light"), "/reasoning/effort", json!("light"));
    check(
        3,
        json!("light"),
        "/output_config",
        json!({"effort": "light"}),
    );
    check(3, json!("light"), "/thinking", Value::Null);
    check(3, json!(2048), "/thinking/budget_tokens", json!(2048));
    let thinking = "/generationConfig/thinkingConfig";
    check(
        4,
        json!("light"),
        thinking,
        json!({"thinkingLevel": "light", "includeThoughts": true}),
    );
    check(
        4,
        json!(9),
        thinking,
        json!({"thinkingBudget": 9, "includeThoughts": true}),
    );
    check(5, json!("light"), "/think", json!("light"));
}

#[test]
fn a_count_of_zero_switches_reasoning_off() {
    let check = |writer: usize, pointer: &str, expect: Value| {
        let writer = WRITERS[writer];
        let mut sampling = base();
        sampling["reasoning"] = json!("high");
        sampling["reasoning_tokens"] = json!(0);
        let sent = request(&terms(writer, &sampling));
        let found = sent.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, &expect, "{writer:?} {sent}");
    };
    check(0, "/reasoning_effort", Value::Null);
    check(1, "/reasoning", json!({"enabled": false}));
    check(2, "/reasoning", Value::Null);
    check(3, "/thinking", Value::Null);
    check(
        4,
        "/generationConfig/thinkingConfig",
        json!({"thinkingBudget": 0, "includeThoughts": false}),
    );
    check(5, "/think", json!(false));
}

/// 001/6.providers.10
#[test]
fn options_of_the_provider_are_in_every_request_as_they_are_written() {
    let options = r#"{"temperature":0.20,"extra":{"b":1e400,"a":"\u0000"},"options":{"num_ctx":8192},"generationConfig":{"topK":40}}"#;
    for writer in WRITERS.into_iter().filter(|(_, kind)| *kind != "local") {
        let sampling = json!({"temperature": 0.7, "reasoning": "low"});
        let stated = with_provider(writer, &sampling, |p| {
            p["provider_options"] = json!(options);
        });
        for exposure in [
            ToolExposure::Auto,
            ToolExposure::Forced,
            ToolExposure::Withheld,
        ] {
            let text = encode(&stated, &[text_message(Role::User, "x")], exposure);
            assert!(text.contains(r#""temperature":0.20"#), "{writer:?} {text}");
            assert!(
                text.contains(r#""extra":{"b":1e400,"a":"\u0000"}"#),
                "{text}"
            );
            assert!(text.contains(r#""num_ctx":8192"#), "{text}");
            assert!(text.contains(r#""topK":40"#), "{text}");
            assert_eq!(text.matches("\"generationConfig\":").count(), 1, "{text}");
            assert_eq!(text.matches("\"options\":").count(), 1, "{text}");
            let top = text.matches("\"temperature\":").count();
            let nested = matches!(writer.1, "google" | "ollama");
            assert_eq!(top, 1 + usize::from(nested), "{text}");
        }
    }
}
