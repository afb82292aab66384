//! Synthetic streams: one message in many forms, cut and split everywhere.

use proptest::prelude::*;

use super::test_support::{call, check, decode, message, stream, verdict, whole};
use crate::adapter::Decoded;

/// The same message as a blocking body, and as streams of different forms.
const TWIN: &str = "End: hi [x read {\"p\":\"é😀\"}] [y list {}]";

fn twins() -> Vec<String> {
    let usual = stream(
        &[
            r#"{"role":"assistant","content":""}"#,
            r#"{"content":"h"}"#,
            r#"{"content":"i","tool_calls":[]}"#,
            r#"{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"read","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"é😀\"}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"y","type":"function","function":{"name":"list","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    );
    let interleaved = stream(
        &[
            r#"{"content":"hi","tool_calls":[{"index":1,"id":"y","function":{"name":"li"}},{"index":0,"id":"x","function":{"name":"read","arguments":"{\"p\""}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"name":"st","arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":":\"é😀\"}"}},{"index":1,"function":{"name":"list","arguments":"}"}}]}"#,
        ],
        "stop",
    );
    let no_index = stream(
        &[
            r#"{"content":"hi","tool_calls":[{"id":"x","function":{"name":"read","arguments":"{\"p\":"}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":"\"é😀\"}"}}]}"#,
            r#"{"tool_calls":[{"id":"y","function":{"name":"list","arguments":"{}"}},null]}"#,
        ],
        "tool_calls",
    );
    let all_zero = stream(
        &[
            r#"{"content":"hi","tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":"{\"p\":\"é😀\"}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"y","function":{"name":"list","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    );
    let repeated_head = stream(
        &[
            r#"{"content":"hi","tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":"{\"p\":\"é"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":"😀\"}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"y","function":{"name":"list","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    );
    let fresh_ids = stream(
        &[
            r#"{"content":"hi","tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":"{\"p\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"x2","function":{"name":null,"arguments":"\"é😀\"}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"y","function":{"name":"list","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    );
    let dressed = format!(
        "\u{feff}: OPENROUTER PROCESSING\n\ndata:\n\ndata: {{\"choices\":[],\"prompt_filter_results\":[]}}\n\n{}",
        usual.replace("data: [DONE]\n\n", "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\nevent: ping\ndata: \n\ndata: [DONE]\n\ndata: not json\n\n: bye")
    );
    vec![
        whole(
            r#"{"role":"assistant","content":"hi","tool_calls":[{"id":"x","type":"function","function":{"name":"read","arguments":"{\"p\":\"é😀\"}"}},{"id":"y","type":"function","function":{"name":"list","arguments":"{}"}}]}"#,
            "tool_calls",
        ),
        usual.replace("\n\n", "\r\n\r\n"),
        usual.replace("\n\n", "\r\r"),
        // One document over two data lines.
        usual.replace(",\"choices\"", ",\ndata: \"choices\""),
        // No blank lines between events.
        usual.replace("\n\n", "\n"),
        usual.replace("data: [DONE]\n\n", ""),
        usual.replace(
            "\"finish_reason\":\"tool_calls\"",
            "\"finish_reason\":\"stop\"",
        ),
        dressed,
        usual,
        interleaved,
        no_index,
        all_zero,
        repeated_head,
        fresh_ids,
    ]
}

#[test]
fn the_same_message_in_every_dialect_is_the_same_message() {
    for twin in twins() {
        check(&twin, TWIN);
        let calls = message(&twin).tool_calls;
        assert!(calls.iter().all(|call| call.source_model == "m"), "{twin}");
    }
    let nameless = whole(&call(r#""{}""#), "stop").replace("\"model\":\"m\",", "");
    assert_eq!(message(&nameless).tool_calls[0].source_model, "asked");
}

#[test]
fn calls_without_index_and_id_that_come_whole_are_separate_calls() {
    let body = stream(
        &[
            r#"{"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"g","arguments":"{\"a\""}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":":1}"}}]}"#,
        ],
        "tool_calls",
    );
    check(
        &body,
        "End:  [call_1 f {}] [call_2 f {}] [call_3 g {\"a\":1}]",
    );
}

#[test]
fn another_name_after_the_arguments_began_is_no_piece_of_the_call() {
    let body = stream(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"g","arguments":"}"}}]}"#,
        ],
        "tool_calls",
    );
    check(
        &body,
        "CALL_SHAPE /choices/0/message/tool_calls/0/function/name",
    );
}

#[test]
fn a_name_that_comes_again_is_a_repeat() {
    for pieces in [
        [
            r#"{"name":"f","arguments":""}"#,
            r#"{"name":"f","arguments":"{\"a\""}"#,
            r#"{"name":"f","arguments":":1}"}"#,
        ],
        [
            r#"{"name":"f"}"#,
            r#"{"arguments":"{\"a\":1}"}"#,
            r#"{"name":"f","arguments":""}"#,
        ],
    ] {
        for index in [r#""index":0,"#, ""] {
            let deltas = pieces
                .map(|function| format!(r#"{{"tool_calls":[{{{index}"function":{function}}}]}}"#));
            let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
            check(&stream(&deltas, "tool_calls"), "End:  [call_1 f {\"a\":1}]");
        }
    }
}

#[test]
fn whole_calls_under_one_index_without_ids_are_separate_calls() {
    let piece = |name: &str, n: u8| {
        format!(
            r#"{{"tool_calls":[{{"index":0,"function":{{"name":"{name}","arguments":"{{\"a\":{n}}}"}}}}]}}"#
        )
    };
    let deltas = [piece("f", 1), piece("f", 2), piece("g", 3)];
    let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
    check(
        &stream(&deltas, "tool_calls"),
        "End:  [call_1 f {\"a\":1}] [call_2 f {\"a\":2}] [call_3 g {\"a\":3}]",
    );
    let braces = [
        r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\":\"}\""}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":",\"b\":[{}]}"}}]}"#,
    ];
    check(
        &stream(&braces, "tool_calls"),
        "End:  [call_1 f {\"a\":\"}\",\"b\":[{}]}]",
    );
}

#[test]
fn a_stream_ends_with_a_reason_or_with_done() {
    let open = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
    check(open, "fault STREAM_INCOMPLETE /choices/0/finish_reason");
    check(&format!("{open}data: [DONE]\n\n"), "End: x");
    check(&format!("{open}data: [DONE]"), "End: x");
    check(
        &format!("{open}data: {{\"choices\":[{{\"ind"),
        "fault STREAM_INCOMPLETE ",
    );
    check(
        &format!("{open}data: nonsense\n\ndata: [DONE]\n\n"),
        "fault BODY_INVALID_JSON ",
    );
    check(
        &format!("{open}data: [1]\n\ndata: [DONE]\n\n"),
        "fault BODY_SHAPE ",
    );
    check(
        ": keep-alive\n\n",
        "fault STREAM_INCOMPLETE /choices/0/finish_reason",
    );
    check("data: [DONE]\n\n", "fault BODY_SHAPE /choices/0/message");
    check(
        "data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
        "fault BODY_SHAPE /choices/0/message",
    );
    for filler in ["null", ": PROCESSING", ":"] {
        check(
            &format!("data: {filler}\n\n{open}data: {filler}\n\ndata: [DONE]\n\n"),
            "End: x",
        );
    }
    let broken = [
        open.as_bytes(),
        b"data: {\"x\":\"\xff\"}\n\ndata: [DONE]\n\n",
    ]
    .concat();
    assert_eq!(
        verdict(&decode([broken.as_slice()])),
        "fault BODY_INVALID_JSON "
    );
}

#[test]
fn an_error_after_the_status_is_a_fault_whatever_came_before() {
    let error = r#"{"error":{"message":"upstream broke","code":502}}"#;
    check(error, "fault model");
    check(
        r#"{"object":"error","message":"no","type":"x","code":429}"#,
        "fault rate_limit",
    );
    check(
        r#"{"choices":[{"index":0,"message":{"content":"x"},"error":{"code":500,"message":"x"}}]}"#,
        "fault model",
    );
    check(&whole(&call(r#""{}""#), "error"), "fault model");
    check(
        &whole(r#"{"content":"x"}"#, "stop").replace("{\"id\"", "{\"error\":null,\"id\""),
        "End: x",
    );
    for twin in twins() {
        if twin.contains("data: [DONE]") {
            let cut = twin.split("data: [DONE]").next().unwrap();
            check(
                &format!("{cut}\n\ndata: {error}\n\ndata: [DONE]\n\n"),
                "fault model",
            );
        }
    }
    check(
        "data: {}\n\nevent: error\ndata: {\"message\":\"slow down\",\"type\":\"rate_limit_error\"}\n\n",
        "fault rate_limit",
    );
    check(
        "data: {}\n\nerror: {\"code\":500,\"message\":\"x\",\"type\":\"server_error\"}\n\n",
        "fault model",
    );
    check("event: error\ndata: it broke\n\n", "fault model");
}

#[test]
fn a_cut_at_any_byte_gives_the_whole_message_or_none() {
    for twin in twins() {
        let whole = verdict(&decode([twin.as_bytes()]));
        let mut natives = 0;
        for end in 0..twin.len() {
            let cut = decode([&twin.as_bytes()[..end]]);
            match &cut {
                Decoded::Fault { fault, .. } => {
                    assert_eq!(
                        fault.class.as_str(),
                        "invalid_response",
                        "cut at {end} of {twin}"
                    );
                }
                Decoded::Message(result) if result.canonical_message.is_some() => {
                    assert_eq!(verdict(&cut), whole, "cut at {end} of {twin}");
                    natives += 1;
                }
                Decoded::Message(_) => panic!("{} at {end} of {twin}", verdict(&cut)),
            }
        }
        assert!(natives < 200, "{natives} cuts pass as whole: {twin}");
    }
}

proptest! {
    #[test]
    fn the_verdict_does_not_depend_on_the_split(
        which in 0_usize..14,
        damage in proptest::option::of((0_usize..2000, any::<u8>())),
        cuts in proptest::collection::vec(1_usize..60, 0..40),
    ) {
        let mut bytes = twins()[which].clone().into_bytes();
        if let Some((at, byte)) = damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let mut rest = bytes.as_slice();
        let mut pieces = Vec::new();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        prop_assert_eq!(decode(pieces), decode([bytes.as_slice()]));
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode([bytes.as_slice()]);
        let _ = decode([b"data: ".as_slice(), &bytes]);
        let _ = decode([b"{\"choices\":[{\"message\":".as_slice(), &bytes]);
    }
}

#[test]
fn halves_of_pairs_stay_in_their_call_and_in_their_text() {
    let swapped = stream(
        &[
            r#"{"reasoning_content":"r\ud83e","tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":\"\ud83d"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"y","type":"function","function":{"name":"f","arguments":"{\"a\":\"\ud83e"}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":"\udd23\"}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]}"#,
            r#"{"reasoning_content":"\udd14"}"#,
        ],
        "tool_calls",
    );
    check(&swapped, r#"End:  [x f {"a":"😀"}] [y f {"a":"🤣"}]"#);
    let stolen = stream(
        &[
            r#"{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":\"\ud83d"}}]}"#,
            r#"{"content":"\ude00"}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}"#,
        ],
        "tool_calls",
    );
    let decoded = decode([stolen.as_bytes()]);
    assert!(matches!(decoded, Decoded::Fault { .. }), "{decoded:?}");
}
