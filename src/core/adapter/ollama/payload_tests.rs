//! Synthetic responses, errors and requests of this protocol.

use serde_json::json;

use super::VERSION;
use crate::adapter::Adapter;
use crate::adapter::fixture::{
    self, conversation, decode, decoded_answer, encode, terms_of, verdict,
};
use crate::kernel::ToolExposure;

fn check(body: &str, expect: &str) {
    fixture::check(VERSION, body, expect);
}

fn line(message: &str) -> String {
    format!(r#"{{"model":"q","message":{message},"done":false}}"#)
}

const END: &str = r#"{"model":"q","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}"#;

#[test]
fn a_body_is_one_line_and_a_stream_is_many() {
    let call = r#"{"content":"","tool_calls":[{"function":{"index":0,"name":"f","arguments":{ "a": 1.50 }}}]}"#;
    let other =
        r#"{"content":"","tool_calls":[{"id":"x","function":{"name":"g","arguments":{}}}]}"#;
    let expect = "End: hi <why> [call_1 f { \"a\": 1.50 }] [x g {}]";
    let lines = [
        line(r#"{"content":"","thinking":"wh"}"#),
        line(r#"{"content":"h","thinking":"y"}"#),
        line(r#"{"content":"i"}"#),
        line(call),
        line(other),
        END.to_owned(),
    ];
    check(&lines.join("\n"), expect);
    check(&(lines.join("\r\n\n") + "\n"), expect);
    check(&(lines.join("\n") + "\n{\"more\":1}"), expect);
    let events: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(&fixture::events(&events), expect);
    check(
        r#"{"model":"q","message":{"content":"hi","thinking":"why","tool_calls":[{"function":{"name":"f","arguments":{ "a": 1.50 }}},{"id":"x","function":{"name":"g","arguments":{}}}]},"done":true,"done_reason":"stop"}"#,
        expect,
    );
    let full = lines.join("\n");
    for end in 0..full.len() {
        let cut = verdict(&decode(VERSION, [&full.as_bytes()[..end]]));
        assert!(!cut.contains("[call_1"), "cut at {end}: {cut}");
    }
}

#[test]
fn the_end_is_a_line_of_its_own() {
    check(
        &line(r#"{"content":"hi"}"#),
        "fault STREAM_INCOMPLETE /done_reason",
    );
    check(
        &(line(r#"{"content":"hi"}"#) + "\n{\"mo"),
        "fault STREAM_INCOMPLETE ",
    );
    check(
        &(line(r#"{"content":"hi"}"#) + "\nnonsense"),
        "fault BODY_INVALID_JSON ",
    );
    check(
        &(line(r#"{"content":"hi"}"#) + "\n[1]"),
        "fault BODY_SHAPE ",
    );
    check(&END.replace("\"stop\"", "\"length\""), "Length: ");
    check(r#"{"done":true}"#, "fault BODY_SHAPE /message");
}

#[test]
fn arguments_are_an_object_or_the_message_is_rejected() {
    let whole = |call: &str| {
        END.replace(
            r#""content":"""#,
            &format!(r#""content":"","tool_calls":[{call}]"#),
        )
    };
    let call = |arguments: &str| whole(&format!(r#"{{"function":{{"name":"f"{arguments}}}}}"#));
    let at = |code: &str| format!("{code} /message/tool_calls/0/function/arguments");
    check(
        &call(r#","arguments":"{\"a\":1}""#),
        "End:  [call_1 f {\"a\":1}]",
    );
    check(&call(""), "End:  [call_1 f {}]");
    check(&call(r#","arguments":" ""#), "End:  [call_1 f {}]");
    check(
        &call("").replace("\"stop\"", "\"length\""),
        &at("ARGS_INVALID_JSON"),
    );
    check(&call(r#","arguments":[]"#), &at("ARGS_NOT_OBJECT"));
    check(
        &call(r#","arguments":{"a":1,"a":2}"#),
        &at("ARGS_DUPLICATE_KEY"),
    );
    check(&whole("{}"), "CALL_SHAPE /message/tool_calls/0/function");
    check(
        &whole(r#"{"function":{"arguments":{}}}"#),
        "CALL_NAME_MISSING /message/tool_calls/0/function/name",
    );
    let many = vec![r#"{"function":{"name":"f","arguments":{}}}"#; 129].join(",");
    check(&whole(&many), "TOO_MANY_CALLS /message/tool_calls/128");
}

#[test]
fn an_error_is_a_fault_at_every_place() {
    let error = r#"{"error":"an error was encountered while running the model"}"#;
    check(error, "fault model");
    check(
        &format!("{}\n{error}\n", line(r#"{"content":"hi"}"#)),
        "fault model",
    );
    let missing = decoded_answer(
        VERSION,
        404,
        [br#"{"error":"model \"x\" not found"}"#.as_slice()],
    );
    assert_eq!(verdict(&missing), "fault model");
    let auth = decoded_answer(VERSION, 401, [br#"{"error":"unauthorized"}"#.as_slice()]);
    assert_eq!(verdict(&auth), "fault auth");
}

#[test]
fn the_text_of_a_stream_is_there_with_the_end_of_its_line() {
    let lines = [
        line(r#"{"content":"It "}"#),
        line("{\n \"content\":\n\"is\"}"),
        line(r#"{"content":" noon."}"#),
        END.to_owned(),
    ];
    let body = lines.join("\n") + "\n";
    let texts = fixture::arriving(VERSION, &body, 1);
    let ends = body.match_indices('\n').map(|(at, _)| texts[at].as_str());
    let shown: Vec<&str> = ends.collect();
    assert_eq!(
        shown,
        ["It ", "It ", "It ", "It is", "It is noon.", "It is noon."]
    );
}

#[test]
fn a_request_is_these_bytes() {
    let expect = concat!(
        r#"{"model":"m","messages":["#,
        r#"{"role":"system","content":"Be \"brief\"."},"#,
        r#"{"role":"user","content":"Grüße\n"},"#,
        r#"{"role":"assistant","content":"","tool_calls":["#,
        r#"{"id":"a","function":{"name":"read","arguments":{ "path": "x\u0000", "n": 1.0e2 }}},"#,
        r#"{"id":"b","function":{"name":"read","arguments":{}}}]},"#,
        r#"{"role":"tool","content":"ok","tool_call_id":"a","tool_name":"read"},"#,
        r#"{"role":"assistant","content":""}],"#,
        r#""tools":[{"type":"function","function":{"name":"read","description":"does read","#,
        r#""parameters":{"type":"object","properties":{"path":{"type":"string"}},"a":1}}},"#,
        r#"{"type":"function","function":{"name":"write","description":"does write","parameters":{"type":"object","properties":{}}}}],"#,
        r#""think":true,"stream":true,"options":{"num_predict":4096,"num_ctx":1,"temperature":0.7,"#,
        r#""repeat_penalty":1.1,"seed":7}}"#,
    );
    let terms = terms_of(VERSION, &json!({"stream": true, "reasoning": "low"}));
    assert_eq!(
        encode(&terms, &conversation(), ToolExposure::Forced),
        expect
    );
    let bare = encode(&terms, &conversation(), ToolExposure::Withheld);
    assert!(!bare.contains("\"tools\""), "{bare}");
    let adapter = Adapter::of_target(&terms, 0).unwrap();
    assert_eq!(adapter.path(&terms.targets[0]), "api/chat");
}
