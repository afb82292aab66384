//! Text profiles as types, so that a fold needs no arguments. Knows the names only, not how their text is read.

use crate::contract::TextProfile;

/// A text profile as a type: folds are made without arguments.
pub(in crate::adapter) trait Family: Default + std::fmt::Debug + Send {
    /// The profile.
    const PROFILE: TextProfile;
}

/// `<tool_call>` tags, results as JSON between `<tool_response>` tags.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Hermes;

/// A JSON object as the whole message, or after `<|python_tag|>`.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Llama3;

/// `<tool_call>` tags, results as plain text between `<tool_response>` tags.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Qwen;

impl Family for Hermes {
    const PROFILE: TextProfile = TextProfile::Hermes;
}

impl Family for Llama3 {
    const PROFILE: TextProfile = TextProfile::Llama3;
}

impl Family for Qwen {
    const PROFILE: TextProfile = TextProfile::Qwen;
}
