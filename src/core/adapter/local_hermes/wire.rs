//! Requests and lines between an adapter and an embedded model. Knows shapes only; does not know llama.cpp.

use serde::{Deserialize, Serialize};

use super::LocalChat;
use crate::contract::wire_version;
use crate::message::{ProviderFaultClass, StopReason};

/// The adapter's name in contracts and results.
pub(in crate::adapter) const VERSION: &str = wire_version::LOCAL_HERMES;

/// The control tokens of every prompt: ChatML's.
pub const CONTROL_TOKENS: [&str; 2] = ["<|im_start|>", "<|im_end|>"];

/// The text that the model may write (semantics §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatePhase {
    /// Calls and nothing else: the token gate is closed.
    Closed,
    /// Anything.
    Open,
    /// Anything but calls: tools are forbidden or withheld.
    Prose,
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// One control token by its name.
    Control(String),
    /// Text; nothing in it is a control token.
    Text(String),
}

/// The sampling of the next token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalSampling {
    /// Divides the logits of recent tokens where it is above 1.
    pub repeat_penalty: Option<f64>,
    /// The contract's seed.
    pub seed: u64,
    /// 0 takes the likeliest token.
    pub temperature: Option<f64>,
    /// The share of probability that is kept.
    pub top_p: Option<f64>,
}

/// A request to the embedded engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalRequest {
    /// The prompt, where the model's own template lays it out; else it is `segments`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<LocalChat>,
    /// The most tokens that ending the message may still take under the grammar.
    pub closing_tokens: u64,
    /// The allowed text.
    pub gate: GatePhase,
    /// The grammar of the phase, in Lark; none in the open phase.
    pub grammar: Option<String>,
    /// The most tokens of the answer.
    pub max_tokens: u64,
    /// The sampling of tokens.
    pub sampling: LocalSampling,
    /// The prompt.
    pub segments: Vec<Segment>,
}

/// Tokens of one inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalUsage {
    /// Tokens of the prompt, whether or not they were still in memory.
    pub input: u64,
    /// Tokens of the answer, those that the grammar forced among them.
    pub output: u64,
}

/// One line of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum LocalLine {
    /// The next piece of text.
    Text {
        /// Whole characters.
        text: String,
    },
    /// The end of the text.
    Stop {
        /// The stop reason.
        stop: StopReason,
        /// Its usage.
        usage: LocalUsage,
    },
    /// No text comes.
    Fault {
        /// Cause.
        fault: ProviderFaultClass,
        /// For people.
        message: String,
    },
}

impl LocalLine {
    /// The line, line feed included.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // A value of strings and integers serialises.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// An embedded model has no paths.
pub(in crate::adapter) const PATH: &str = "";
