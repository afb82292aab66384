//! Renders request bodies of Anthropic's protocol. Does not know how they are sent.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::RequestShape;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::joined_turns::{Around, JoinedTurns, TurnForm};
use crate::adapter::json::{Elements, put};
use crate::adapter::recipient::{IdForm, Recipient, SentPart, is_silent};
use crate::adapter::rendered_messages::reasoning_budget;
use crate::adapter::response_format::AnthropicFormat;
use crate::adapter::tail::tail;
use crate::contract::{TargetTerms, Terms, ThinkingForm, ToolTerms, wire_version};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role};

/// The adapter's name in contracts and results.
pub(in crate::adapter) const VERSION: &str = wire_version::ANTHROPIC;
/// Request path below the base URL.
pub(in crate::adapter) const PATH: &str = "messages";

/// The least that the protocol takes as a budget of reasoning.
const LEAST_BUDGET: u64 = 1024;
const MARK: &[u8] = b",\"cache_control\":{\"type\":\"ephemeral\"}";

/// Renders bodies for one target; see the module's documentation for what is sent.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    caches: bool,
    messages: JoinedTurns,
    /// The choice of tools where a call is forced: `auto` for a model that refuses to be forced.
    forced: &'static str,
    /// `{"model":…`
    head: Vec<u8>,
    one_call: bool,
    /// With reasoning, and without: a forced call allows none, nor does a loop of calls that began without it.
    tails: [Vec<u8>; 2],
    to: Recipient,
    /// `,"tools":[…]`; none if no tool is exposed.
    tools: Option<Vec<u8>>,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let mut head = b"{\"model\":".to_vec();
        put(&mut head, &target.model);
        let thinking = Thinking::of(target);
        // Where a call is forced, a model that reasons by itself is told not to.
        let on = target.thinking() == Some(ThinkingForm::AdaptiveOn);
        let without = on.then_some(Thinking::Disabled);
        let tail = |thinking| {
            let format = AnthropicFormat::of(terms, target);
            tail(terms, target, &Parameters::of(target, thinking, format))
        };
        let caches = target.sampling.caching == "full";
        Self {
            caches,
            messages: JoinedTurns::new(TurnForm {
                model: b"{\"role\":\"assistant\",\"content\":[",
                user: b"{\"role\":\"user\",\"content\":[",
                close: b"]}",
                mark: if caches { MARK } else { b"" },
            }),
            forced: if target.refuses("tool_choice") {
                "auto"
            } else {
                "any"
            },
            head,
            one_call: !terms.parallel_tool_calls,
            tails: [tail(thinking), tail(without)],
            to: Recipient::of(terms, target, IdForm::Word(64)),
            tools: tools(terms),
        }
    }

    /// The tools and how they may be called. Where they are withheld, a conversation that holds calls needs them all the
    /// same: then the choice is none.
    fn tools(&self, exposure: ToolExposure, conversation: &[Arc<AgentMessage>]) -> Vec<u8> {
        let Some(tools) = &self.tools else {
            return Vec::new();
        };
        let called = || conversation.iter().any(|m| !m.tool_calls.is_empty());
        let choice = match exposure {
            ToolExposure::Withheld if !called() => return Vec::new(),
            ToolExposure::Withheld => "none",
            ToolExposure::Auto => "auto",
            ToolExposure::Forced => self.forced,
        };
        let mut out = tools.clone();
        out.extend_from_slice(b",\"tool_choice\":");
        let one_call = self.one_call && exposure != ToolExposure::Withheld;
        put(
            &mut out,
            &Choice {
                kind: choice,
                disable_parallel_tool_use: one_call.then_some(true),
            },
        );
        out
    }
}

impl Encode for Encoder {
    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody {
        if self.to.refuse_state(shape.without_state) {
            self.messages.forget();
        }
        let is_asked = shape.tools == ToolExposure::Forced && self.tools.is_some();
        let forced = is_asked && self.forced == "any";
        let [with, without] = &self.tails;
        let tools = self.tools(shape.tools, conversation);
        let tail = if forced || !may_think(conversation, &self.to) {
            without
        } else {
            with
        };
        let rest = [b"]".as_slice(), &tools, tail].concat();
        let Self { messages, to, .. } = self;
        let (caches, head) = (self.caches, &self.head);
        messages.body(
            conversation,
            shape.notices,
            |before, message| rendered(before, message, to),
            |system| Around {
                head: opening(head, system, caches),
                rest: rest.clone(),
            },
        )
    }
}

/// The bytes before the turns: the instructions' last block has the cache's mark.
fn opening(head: &[u8], system: &[u8], caches: bool) -> Vec<u8> {
    let mut out = head.to_vec();
    if !system.is_empty() {
        out.extend_from_slice(b",\"system\":[");
        match system.strip_suffix(b"}") {
            Some(open) if caches => out.extend([open, MARK, b"}"].concat()),
            _ => out.extend_from_slice(system),
        }
        out.push(b']');
    }
    out.extend_from_slice(b",\"messages\":[");
    out
}

/// True if a request may ask for reasoning. In a loop of calls the model continues the reasoning that began it: where none of this
/// target did, because another one made the calls or a call was forced, the protocol refuses to think until the next turn of the user.
fn may_think(conversation: &[Arc<AgentMessage>], to: &Recipient) -> bool {
    let mut called = false;
    let mut after = Role::System;
    for message in conversation.iter().rev() {
        // A message of the user right after results is part of their turn.
        if after == Role::User && !matches!(message.role, Role::Tool | Role::User) {
            break;
        }
        after = message.role;
        if message.role == Role::Assistant && !is_silent(message) {
            let is_thought = |part: &SentPart<'_>| matches!(part, SentPart::Block(_));
            if to.parts(message).iter().any(is_thought) {
                return true;
            }
            called |= !message.tool_calls.is_empty();
        }
    }
    !called
}

/// The blocks of a message, joined by commas. A blank text is no block: the protocol takes none. Nor does it take a message that
/// ends with reasoning.
fn rendered(before: &[Arc<AgentMessage>], message: &AgentMessage, to: &Recipient) -> Vec<u8> {
    let mut out = Elements::default();
    match message.role {
        Role::System | Role::User => {
            if !message.content.trim().is_empty() {
                out.add(&Block::Text {
                    text: &message.content,
                });
            }
        }
        Role::Tool => out.add(&Block::ToolResult {
            tool_use_id: to.result_id(before, message.tool_call_id.as_deref().unwrap_or_default()),
            content: &message.content,
        }),
        Role::Assistant if is_silent(message) => {}
        Role::Assistant => {
            for part in to.parts(message) {
                match part {
                    SentPart::Block(json) => out.add_text(json),
                    SentPart::Text(text, _) if text.trim().is_empty() => {}
                    SentPart::Text(text, _) => out.add(&Block::Text { text }),
                    SentPart::Call(call, own) => {
                        let block = Block::ToolUse {
                            id: to.call_id(before, &call.id),
                            name: to.name(&call.name),
                            input: serde_json::from_str(call.arguments.as_str()).ok(),
                        };
                        out.add_with(&block, to.object_members(own));
                    }
                }
            }
        }
    }
    out.into_bytes()
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Option<&'a RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct Choice {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a serde_json::Value,
}

fn tools<'t>(terms: &'t Terms) -> Option<Vec<u8>> {
    let wire = |tool: &'t ToolTerms| WireTool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.input_schema,
    };
    let tools: Vec<WireTool<'_>> = terms.exposed_tools().map(wire).collect();
    if tools.is_empty() {
        return None;
    }
    let mut out = b",\"tools\":".to_vec();
    put(&mut out, &tools);
    Some(out)
}

/// Serialised in this order, after `messages` and `tools`.
#[derive(Serialize)]
struct Parameters<'a> {
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    stream: bool,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Adaptive,
    Disabled,
    Enabled { budget_tokens: u64 },
}

impl Thinking {
    /// A stated number of tokens, else the form that the model takes; none if the author says nothing of reasoning.
    fn of(target: &TargetTerms) -> Option<Self> {
        if let Some(budget_tokens) = reasoning_budget(target, LEAST_BUDGET) {
            return Some(Self::Enabled { budget_tokens });
        }
        let form = target.thinking()?;
        let off = target.sampling.reasoning_off() && form == ThinkingForm::AdaptiveOn;
        let adapts = target.known_effort().map(|_| Self::Adaptive);
        adapts.or(off.then_some(Self::Disabled))
    }
}

/// The model's word for the level, and the form of the answer.
#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<AnthropicFormat<'a>>,
}

/// True if requests ask for reasoning.
pub(in crate::adapter) fn thinks(target: &TargetTerms) -> bool {
    !is_plain(Thinking::of(target))
}

fn is_plain(thinking: Option<Thinking>) -> bool {
    thinking.is_none_or(|thinking| thinking == Thinking::Disabled)
}

impl<'a> Parameters<'a> {
    fn of(
        target: &'a TargetTerms,
        thinking: Option<Thinking>,
        format: Option<AnthropicFormat<'a>>,
    ) -> Self {
        let sampling = &target.sampling;
        let plain = is_plain(thinking);
        let effort = target.known_effort();
        let effort = effort.filter(|_| sampling.reasoning_tokens.is_none());
        Self {
            max_tokens: sampling.max_output_tokens,
            // The protocol's range ends at 1; with reasoning it takes neither of the two.
            temperature: sampling.temperature.filter(|_| plain).map(|t| t.min(1.0)),
            // 1 is the default, and newer models refuse it beside a temperature.
            top_p: sampling.top_p.filter(|p| plain && *p < 1.0),
            stop_sequences: &sampling.stop,
            output_config: (effort.is_some() || format.is_some())
                .then_some(OutputConfig { effort, format }),
            thinking,
            stream: sampling.stream,
        }
    }
}
