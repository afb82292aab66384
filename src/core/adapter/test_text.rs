//! Text for property tests: pieces of markup, whole and broken, among other text.

use proptest::prelude::*;

const PIECES: [&str; 30] = [
    "<",
    ">",
    "\\",
    "/",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<tools>",
    "</tools>",
    "<think>",
    "</think>",
    "tool_call>",
    "<|python_tag|>",
    "<|im_end|>",
    "|eot_id|>",
    "{\"name\":",
    "\"parameters\":{}}",
    "{\"name\":\"f\",\"arguments\":{}}",
    "{",
    "}",
    "\"",
    "\n",
    " ",
    "é",
    "\u{2028}",
    "a",
    "<ai-agent-",
    "0a1b2c3d-",
    "```json\n",
];

/// Any text, markup more often than not.
pub(super) fn marked_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES.as_slice()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}
