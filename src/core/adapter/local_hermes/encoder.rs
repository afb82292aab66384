//! Lays a conversation out as a prompt for an embedded model. Does not know tokens or llama.cpp.

use std::sync::Arc;

use super::chat::{self, LocalChat};
use super::hermes;
use super::wire::{CONTROL_TOKENS, GatePhase, LocalRequest, LocalSampling, Segment};
use crate::adapter::RequestShape;
use crate::adapter::body::{Encode, RequestBody};
use crate::contract::{GateGrammar, GrammarLanguage, PromptLayout, TargetTerms, Terms};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role};

/// Assumed cost of ending a message if a contract's author wrote the grammar.
const UNKNOWN_CLOSING: u64 = 64;

/// Lays conversations out for an embedded model.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    closed: Option<GateGrammar>,
    max_tokens: u64,
    prose: GateGrammar,
    /// Of a closing turn that asks for the final report; none if it asks for words.
    report: Option<GateGrammar>,
    sampling: LocalSampling,
    /// The tools and the time, as given to the model's own template; none if prompts are laid out here.
    template: Option<LocalChat>,
    tools: Option<String>,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let sampling = &target.sampling;
        let closing_bytes = || {
            GateGrammar::closed(terms, GrammarLanguage::Lark)
                .map_or(UNKNOWN_CLOSING, |made| made.closing_bytes)
        };
        Self {
            closed: terms.grammar.clone().map(|text| GateGrammar {
                closing_bytes: closing_bytes(),
                text,
            }),
            max_tokens: sampling.max_output_tokens,
            prose: GateGrammar::prose(GrammarLanguage::Lark),
            // A schema that no grammar can express is left to the model.
            report: GateGrammar::report(terms, GrammarLanguage::Lark).and_then(Result::ok),
            sampling: LocalSampling {
                repeat_penalty: sampling.repeat_penalty,
                seed: sampling.seed.map_or(0, |seed| seed.0),
                temperature: sampling.temperature,
                top_p: sampling.top_p,
            },
            template: target
                .prompt_layout
                .map(|PromptLayout::Template| LocalChat {
                    tools: chat::declarations(terms),
                    ..LocalChat::default()
                }),
            tools: hermes::tools_prompt(terms),
        }
    }

    /// ChatML: every message between two control tokens, the role first; then the beginning of the answer. What is said of
    /// tools stays also where they are withheld: so the beginning of the prompt stays the same over the whole run.
    fn prompt(&self, conversation: &[Arc<AgentMessage>], notices: &[AgentMessage]) -> Vec<Segment> {
        let [begin, end] = CONTROL_TOKENS;
        let mut segments = Vec::new();
        let mut text_message = |text: String| {
            segments.push(Segment::Control(begin.to_owned()));
            segments.push(Segment::Text(text));
        };
        let mut messages: Vec<&AgentMessage> = conversation.iter().map(AsRef::as_ref).collect();
        messages.extend(notices);
        let mut turns: Vec<String> = Vec::with_capacity(messages.len() + 1);
        let opening = messages.first().filter(|first| first.role == Role::System);
        let system = opening.map(|first| first.content.as_str());
        if system.is_some() {
            messages.remove(0);
        }
        let parts: Vec<&str> = system.into_iter().chain(self.tools.as_deref()).collect();
        if !parts.is_empty() {
            turns.push(format!("system\n{}", parts.join("\n\n")));
        }
        for message in messages {
            let role = match message.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            };
            turns.push(format!("{role}\n{}", hermes::body(message)));
        }
        turns.into_iter().for_each(&mut text_message);
        text_message("assistant\n".to_owned());
        let mut closed = Vec::with_capacity(segments.len() * 2);
        let last = segments.len();
        for (n, segment) in segments.into_iter().enumerate() {
            let ends = matches!(segment, Segment::Text(_)) && n + 1 < last;
            closed.push(segment);
            if ends {
                closed.push(Segment::Control(end.to_owned()));
                closed.push(Segment::Text("\n".to_owned()));
            }
        }
        closed
    }
}

impl Encode for Encoder {
    fn begun_at(&mut self, unix_ms: u64) {
        if let Some(template) = &mut self.template {
            template.now_unix_ms = unix_ms;
        }
    }

    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody {
        let (gate, grammar) = match (shape.tools, &self.closed, &self.report) {
            (ToolExposure::Forced, Some(closed), _) => (GatePhase::Closed, Some(closed)),
            (ToolExposure::Withheld, ..) => (GatePhase::Prose, Some(&self.prose)),
            (ToolExposure::Auto, _, Some(report)) if shape.closing => {
                (GatePhase::Closed, Some(report))
            }
            (ToolExposure::Auto, ..) | (ToolExposure::Forced, None, _) => (GatePhase::Open, None),
        };
        let chat = self.template.clone().map(|template| LocalChat {
            messages: chat::messages(conversation, shape.notices),
            ..template
        });
        let segments = match &chat {
            Some(_) => Vec::new(),
            None => self.prompt(conversation, shape.notices),
        };
        let request = LocalRequest {
            chat,
            closing_tokens: grammar.map_or(0, |grammar| grammar.closing_bytes),
            gate,
            grammar: grammar.map(|grammar| grammar.text.clone()),
            max_tokens: self.max_tokens,
            sampling: self.sampling.clone(),
            segments,
        };
        let body = serde_json::to_vec(&request);
        debug_assert!(body.is_ok(), "a request did not serialise");
        RequestBody::whole(body.unwrap_or_default())
    }
}
