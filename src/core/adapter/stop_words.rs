//! The stop reasons of every protocol: one closed table. Does not decide what follows from one.

use crate::message::{FailureCode, StopReason};

/// The meaning of a stop reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopMeaning {
    /// The provider broke the answer off.
    Fault,
    /// The provider could not read the model's message, or paused it.
    Rejected(FailureCode),
    /// The answer stopped there.
    Stopped(StopReason),
}

/// The ends at a call. A text without one has lost it.
const CALL_WORDS: &[&str] = &["function_call", "tool_call", "tool_calls", "tool_use"];

/// The words in lower case, for all protocols together: gateways pass on the words of the provider behind them.
///
/// Deliberately absent are words that name no reason: Gemini's `OTHER`, `IMAGE_OTHER` and `NO_IMAGE`, and `incomplete`.
const WORDS: &[(StopMeaning, &[&str])] = &[
    (
        StopMeaning::Stopped(StopReason::End),
        &[
            "complete",
            "completed",
            "end",
            "end_turn",
            "eos",
            "eos_token",
            "normal",
            "stop",
            "stop_sequence",
        ],
    ),
    (StopMeaning::Stopped(StopReason::End), CALL_WORDS),
    (
        StopMeaning::Stopped(StopReason::Length),
        &[
            "error_limit",
            "length",
            "max_output_tokens",
            "max_tokens",
            "model_context_window_exceeded",
            "model_length",
            "time_limit",
            "token_limit",
        ],
    ),
    (StopMeaning::Stopped(StopReason::Refusal), &["refusal"]),
    (
        StopMeaning::Stopped(StopReason::ContentFilter),
        &[
            "blocklist",
            "content_filter",
            "content_filtered",
            "error_toxic",
            "guardrail_intervened",
            "image_prohibited_content",
            "image_recitation",
            "image_safety",
            "language",
            "model_armor",
            "prohibited_content",
            "recitation",
            "safety",
            "sensitive",
            "spii",
        ],
    ),
    (
        StopMeaning::Fault,
        &[
            "abort",
            "aborted",
            "cancelled",
            "error",
            "failed",
            "in_progress",
            "insufficient_system_resource",
            "load",
            "missing_thought_signature",
            "network_error",
            "queued",
            "repetition",
            "timeout",
            "unload",
            "user_cancel",
        ],
    ),
    (
        StopMeaning::Rejected(FailureCode::CallMalformed),
        &[
            "malformed_function_call",
            "malformed_model_output",
            "malformed_response",
            "malformed_tool_use",
        ],
    ),
    (
        StopMeaning::Rejected(FailureCode::CallUnexpected),
        &["too_many_tool_calls", "unexpected_tool_call"],
    ),
    (
        StopMeaning::Rejected(FailureCode::TurnPaused),
        &["compaction", "pause_turn"],
    ),
];

/// Returns the meaning of a stop reason; none of a word that is in no row.
pub(super) fn meaning(word: &str) -> Option<StopMeaning> {
    let word = word.trim().to_ascii_lowercase();
    let mut rows = WORDS.iter();
    let row = rows.find(|(_, words)| words.contains(&word.as_str()));
    row.map(|(meaning, _)| *meaning)
}

/// The weight of a stop reason among those of one response: no lighter one replaces it. An end has none, and neither
/// has an unknown word.
pub(super) fn weight(word: &str) -> u8 {
    match meaning(word) {
        None | Some(StopMeaning::Stopped(StopReason::End | StopReason::Unknown)) => 0,
        Some(StopMeaning::Stopped(StopReason::Length)) => 1,
        Some(StopMeaning::Stopped(StopReason::Refusal | StopReason::ContentFilter)) => 2,
        Some(StopMeaning::Rejected(_)) => 3,
        Some(StopMeaning::Fault) => 4,
    }
}

/// True if a stop reason says that the answer ended at a call.
pub(super) fn names_call(word: &str) -> bool {
    CALL_WORDS.contains(&word.trim().to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_in_one_row_and_is_found_in_any_case() {
        let mut all: Vec<&str> = WORDS
            .iter()
            .flat_map(|(_, words)| *words)
            .copied()
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for word in all {
            assert_eq!(word, word.to_ascii_lowercase());
            assert!(meaning(&format!(" {} ", word.to_ascii_uppercase())).is_some());
        }
        for absent in ["other", "incomplete", "null", "", "no_image", "finished"] {
            assert_eq!(meaning(absent), None, "{absent}");
        }
    }

    #[test]
    fn every_word_of_the_table_is_in_the_documentation() {
        let page = include_str!("../../../docs/adapters.md");
        for word in WORDS.iter().flat_map(|(_, words)| *words) {
            assert!(
                page.to_ascii_lowercase().contains(&format!("`{word}`")),
                "{word} is missing from docs/adapters.md"
            );
        }
    }
}
