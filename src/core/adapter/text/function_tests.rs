//! Calls in the form of Qwen3-Coder: values are bare text, and the tool's schema gives their types.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use crate::adapter::fixture::{terms, verdict};
use crate::adapter::{Adapter, Decoded, ResponseMeta};
use crate::contract::Terms;
use crate::message::{AdapterStatus, FailureCode, ProtocolAdapterResult};

const VERSION: &str = "openai-chat+qwen/1";

/// One tool `f` with a parameter of every kind.
fn offered() -> Terms {
    terms(|value| {
        value["targets"][0]["adapter_version"] = json!(VERSION);
        value["tools"][0]["name"] = json!("f");
        value["tools"][0]["input_schema"] = json!({
            "type": "object",
            "$defs": {"size": {"enum": [1, 2]}},
            "properties": {
                "any": {},
                "count": {"type": "integer"},
                "list": {"type": "array"},
                "map": {"type": "object"},
                "maybe": {"type": ["string", "null"]},
                "on": {"type": "boolean"},
                "none": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
                "size": {"$ref": "#/$defs/size"},
                "text": {"type": "string"},
            },
        });
    })
}

fn decode(version: &str, text: &str, piece: usize) -> Decoded {
    let message = json!({"role": "assistant", "content": text});
    let body = json!({"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]});
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let adapter = Adapter::by_version(version).unwrap();
    let mut decoder = adapter.decoder_under(&offered(), meta, "m");
    for bytes in body.to_string().as_bytes().chunks(piece) {
        decoder.push(bytes);
    }
    decoder.finish()
}

fn message(text: &str) -> ProtocolAdapterResult {
    match decode(VERSION, text, usize::MAX) {
        Decoded::Message(result) => *result,
        fault @ Decoded::Fault { .. } => panic!("{fault:?}"),
    }
}

fn check(text: &str, expect: &str) {
    let whole = decode(VERSION, text, usize::MAX);
    assert_eq!(verdict(&whole), expect, "{text}");
    assert_eq!(decode(VERSION, text, 1), whole, "byte by byte: {text}");
}

/// The same of a text that had to be repaired, and how.
fn check_repaired(text: &str, expect: &str, steps: &[&str]) {
    check(text, expect);
    let result = message(text);
    assert_eq!(result.status, AdapterStatus::Recovered, "{text}");
    assert_eq!(result.repair.unwrap().steps, steps, "{text}");
}

fn written(parameters: &[(&str, &str)]) -> String {
    let mut text = String::from("<tool_call>\n<function=f>\n");
    for (key, value) in parameters {
        let _ = writeln!(text, "<parameter={key}>\n{value}\n</parameter>");
    }
    text + "</function>\n</tool_call>"
}

const SHAPE: &str = "CALL_SHAPE /choices/0/message/content";
const CUT: &str = "ARGS_INVALID_JSON /choices/0/message/content";

#[test]
fn a_value_has_the_type_of_its_schema() {
    for (key, value, expect) in [
        ("text", "5", "\"5\""),
        ("text", "true", "\"true\""),
        ("text", "", "\"\""),
        ("text", " a\n\n b ", "\" a\\n\\n b \""),
        (
            "text",
            "say \"hi\" \\ <b>&amp;</b>",
            "\"say \\\"hi\\\" \\\\ <b>&amp;</b>\"",
        ),
        ("any", "5", "\"5\""),
        ("unknown", "5", "\"5\""),
        ("count", "5", "5"),
        ("count", " 1e400 ", "1e400"),
        ("on", "true", "true"),
        ("size", "2", "2"),
        ("maybe", "null", "null"),
        ("maybe", "nothing", "\"nothing\""),
        ("none", "null", "null"),
        ("list", "[1, {\"a\": 2.0}]", "[1, {\"a\": 2.0}]"),
        ("map", "{\"a\":\n[]}", "{\"a\":\n[]}"),
        // What is no value of its kind stays the string that it is: the schema refuses it by name.
        ("count", "five", "\"five\""),
        ("count", "true", "\"true\""),
        ("list", "[1", "\"[1\""),
        ("map", "{\"a\": 1", "\"{\\\"a\\\": 1\""),
    ] {
        let expect = format!("End:  [call_1 f {{\"{key}\": {expect}}}]");
        check(&written(&[(key, value)]), &expect);
    }
}

#[test]
fn calls_may_be_between_text_and_beside_calls_of_the_other_form() {
    check(&written(&[]), "End:  [call_1 f {}]");
    check(
        &written(&[("count", "1"), ("text", "a")]),
        "End:  [call_1 f {\"count\": 1, \"text\": \"a\"}]",
    );
    let two = format!(
        "I look.\n{}\n<tool_call>{{\"name\": \"g\", \"arguments\": {{}}}}</tool_call>",
        written(&[("on", "false")])
    );
    check(
        &two,
        "End: I look. [call_1 f {\"on\": false}] [call_2 g {}]",
    );
    // One line, as some templates write it.
    check(
        "<tool_call><function=f><parameter=text>a b</parameter></function></tool_call>",
        "End:  [call_1 f {\"text\": \"a b\"}]",
    );
}

#[test]
fn a_value_may_hold_what_looks_like_the_end_of_one() {
    check(
        &written(&[(
            "text",
            "close with </parameter> or </tool_call>, <tool_call> too",
        )]),
        "End:  [call_1 f {\"text\": \"close with </parameter> or </tool_call>, <tool_call> too\"}]",
    );
    // A tag at the beginning of a line may be the next one, after one that was never closed.
    for unclosed in [
        "\na\n<parameter=count>\n1",
        "\na\n  <parameter=count>\n1",
        "a\r<parameter=count>1",
        "a\u{2028}\u{a0}<parameter=count>1",
        "<parameter=count>1",
        "\na\n\t<function=f>\n1",
        "\na\n </function>\n 1",
        "\na\n </tool_call>\n<b>",
        "a\n<tool_call><b>",
        // So may one that follows the end of a call.
        "a</function></tool_call><b>",
        "a</tool_call> <tool_call> <function=f><parameter=text>b",
    ] {
        let text = format!(
            "<tool_call><function=f><parameter=text>{unclosed}\n</parameter>\n</function></tool_call>"
        );
        check(&text, SHAPE);
    }
}

#[test]
fn what_breaks_the_form_is_rejected() {
    let whole = written(&[("text", "a"), ("count", "1")]);
    let closing = whole.rfind("\n</tool_call>").unwrap();
    for end in "<tool_call>\n<function=f>".len()..closing {
        let cut = verdict(&decode(VERSION, &whole[..end], usize::MAX));
        assert!(
            [CUT, SHAPE].contains(&cut.as_str()),
            "{:?} {cut}",
            &whole[..end]
        );
    }
    check(
        "<tool_call><function=></function></tool_call>",
        "CALL_NAME_MISSING /choices/0/message/content",
    );
    check("<tool_call><function=f>words</function></tool_call>", SHAPE);
    check(
        "<tool_call><function=f><parameter=text>a</parameter></function> and <b></tool_call>",
        SHAPE,
    );
    let twice = written(&[("text", "a"), ("text", "b")]);
    check(&twice, "ARGS_DUPLICATE_KEY /choices/0/message/content");
}

#[test]
fn what_has_one_meaning_is_repaired_and_recorded() {
    let function = "<function=f>\n<parameter=on>\ntrue\n</parameter>\n</function>";
    let expect = "End:  [call_1 f {\"on\": true}]";
    check_repaired(function, expect, &["call_opened"]);
    check_repaired(
        &format!("{function}\n</tool_call>"),
        expect,
        &["call_opened"],
    );
    check_repaired(
        &format!("I look.\n{function}\nSo."),
        "End: I look.\nSo. [call_1 f {\"on\": true}]",
        &["call_opened"],
    );
    check_repaired(
        &format!("<tool_call>\n{function}"),
        expect,
        &["call_closed"],
    );
    check_repaired(&written(&[("on", "True")]), expect, &["literal_replaced"]);
    check_repaired(
        &written(&[("none", "None")]),
        "End:  [call_1 f {\"none\": null}]",
        &["literal_replaced"],
    );
    check_repaired(
        &written(&[("map", "{'a': 1}")]),
        "End:  [call_1 f {\"map\": {\"a\": 1}}]",
        &["quotes_replaced"],
    );
}

#[test]
fn words_about_the_form_are_words() {
    for text in [
        "Write <function=f></function> to call it.",
        "```\n<function=f>\n</function>\n```",
        "~~~\n<function=f>\n</function>\n~~~",
        "````\n```\n<function=f></function>\n````",
        "So:\n\n    <function=f></function>",
        "So:\n\t<function=f></function>",
        "a <function=f> b <function=f>",
    ] {
        check(text, &format!("End: {text}"));
    }
}

#[test]
fn what_begins_a_line_like_a_function_is_a_call_or_rejected() {
    for text in [
        "<function=f>\nnothing closes it",
        "<function=f>\n<parameter=on>\ntrue\n",
        "<function=f",
        "<function=></function>",
        "a\r<function=f>",
        "It is ``` here.\n<function=f>",
        "```not a fence```\n  <function=f>",
        "~~~\n~~~\n<function=f>",
        // The rest of the line on which a call ended is ignored.
        &format!("{} <function=f></function>", written(&[])),
        &format!("{}      <function=f></function>", written(&[])),
        &format!("<function=f>\nunclosed\n{}", written(&[])),
    ] {
        check(text, SHAPE);
    }
    let function = "<function=f>\n<parameter=on>\ntrue\n</parameter>\n</function>";
    let expect = "[call_1 f {\"on\": true}]";
    check_repaired(
        &format!("It is ``` here.\n{function}"),
        &format!("End: It is ``` here. {expect}"),
        &["call_opened"],
    );
    let mentions = "a <function= b\n".repeat(200);
    check_repaired(
        &format!("{mentions}{function}"),
        &format!("End: {} {expect}", mentions.trim_end()),
        &["call_opened"],
    );
    // A fence that a value opens is no fence of the message.
    check_repaired(
        &format!("{}\n{function}", written(&[("text", "\n```\n")])),
        "End:  [call_1 f {\"text\": \"\\n```\\n\"}] [call_2 f {\"on\": true}]",
        &["call_opened"],
    );
}

#[test]
fn a_function_without_tags_is_a_call_whatever_its_values_need() {
    let function = |key: &str, value: &str| {
        format!("<function=f>\n<parameter={key}>\n{value}\n</parameter>\n</function>")
    };
    check_repaired(
        &function("on", "True"),
        "End:  [call_1 f {\"on\": true}]",
        &["call_opened", "literal_replaced"],
    );
    check_repaired(
        &function("map", "{'a': True}"),
        "End:  [call_1 f {\"map\": {\"a\": true}}]",
        &["call_opened", "quotes_replaced", "literal_replaced"],
    );
    check_repaired(
        &format!("{}\n{}", function("on", "True"), written(&[("count", "1")])),
        "End:  [call_1 f {\"on\": true}] [call_2 f {\"count\": 1}]",
        &["call_opened", "literal_replaced"],
    );
}

/// A server whose template writes `<think>` itself gives the closing tag only.
#[test]
fn the_end_of_a_reasoning_is_no_part_of_a_call() {
    let function = "<function=f>\n<parameter=text>\na</think>b\n</parameter>\n</function>";
    check_repaired(
        function,
        "End:  [call_1 f {\"text\": \"a</think>b\"}]",
        &["call_opened"],
    );
    let reading = |text: &str| {
        let message = message(text).canonical_message.unwrap();
        (
            message.reasoning.unwrap_or_default(),
            message.tool_calls.len(),
        )
    };
    let short = "<function=f></function>";
    for (text, calls) in [
        (format!("I think</think>{short}"), 1),
        (format!("I think</think>  \n {short}"), 1),
        (format!("I think</think>\n\n     {short}"), 0),
        (format!("I think</think>     {short}"), 1),
        (format!("I think</think>```\n{short}"), 0),
    ] {
        assert_eq!(reading(&text), ("I think".to_owned(), calls), "{text}");
    }
}

#[test]
fn other_families_do_not_read_it() {
    let text = written(&[("text", "a")]);
    let Decoded::Message(result) = decode("openai-chat+hermes/1", &text, usize::MAX) else {
        panic!("a message");
    };
    assert_eq!(result.failure_code, Some(FailureCode::ArgsInvalidJson));
}

/// The first beginning decides; the text is not read again from every beginning.
#[test]
fn a_flood_of_beginnings_is_rejected_at_the_first() {
    let heads = "<function=f>\n<parameter=text>\n".repeat(50_000);
    check_rejected_at_once(&heads);
    let open = "<function=f><parameter=a>\n".repeat(128);
    check_rejected_at_once(&(open + &"</parameter> x ".repeat(200_000)));
}

fn check_rejected_at_once(text: &str) {
    assert_eq!(message(text).failure_code, Some(FailureCode::CallShape));
}

proptest! {
    #[test]
    fn no_text_panics_and_what_is_read_is_an_object(text in "(<tool_call>|</tool_call>|<function=f>|</function>|<parameter=(on|text|map)>|</parameter>|True|\\{'a': 1\\}|\n| |x){0,14}") {
        if let Decoded::Message(result) = decode(VERSION, &text, usize::MAX)
            && let Some(message) = result.canonical_message
        {
            for call in message.tool_calls {
                prop_assert!(call.arguments.to_value().is_object());
            }
        }
    }
}
