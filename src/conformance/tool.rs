//! The actions of tools in a case.

use super::drive::{Drive, Running};
use super::script::{ToolResult, Word};
use monolith_core::message::{
    CallSeq, ContentBlock, EnvelopeError, EnvelopeFields, EnvelopeStatus, FileChanges,
    InputQuestion, ObjectText, Role, SampledText, SamplingPrompt, SamplingRequest, ToolEnvelope,
    ToolOutcome,
};
use monolith_core::session::Input;

impl Drive {
    pub(super) fn tool(&mut self, call: Option<u64>, result: &ToolResult) -> Result<(), String> {
        let calls = &mut self.flight.calls;
        let place = match call {
            None => (!calls.is_empty()).then_some(0),
            Some(number) => calls.iter().position(|c| c.order.call == CallSeq(number)),
        };
        let Some(place) = place else {
            let state = self.state();
            let waits_for = self.flight.describe();
            return Err(format!("no such call runs: {state} waits for {waits_for}"));
        };
        let running = calls.remove(place);
        let call = running.order.call;
        let outcome = self.outcome(&running, result);
        self.hand_in(Input::ToolResult {
            call,
            exchanges: Vec::new(),
            outcome,
        })
    }

    fn outcome(&mut self, running: &Running, result: &ToolResult) -> ToolOutcome {
        let ok = |text: &str| (text.to_owned(), None);
        let (text, error) = match result {
            ToolResult::Ok(text) => ok(text),
            ToolResult::OkBytes(bytes) => {
                let pattern = "0123456789abcdef".chars().cycle();
                ok(&pattern.take(*bytes).collect::<String>())
            }
            ToolResult::Error(message) => (
                String::new(),
                Some(EnvelopeError {
                    code: "TOOL_ERROR".to_owned(),
                    message: message.clone(),
                }),
            ),
            ToolResult::Malformed(detail) => {
                return ToolOutcome::Malformed {
                    detail: detail.clone(),
                    raw_hash: None,
                };
            }
            ToolResult::Asks(message) => {
                let question = serde_json::json!({"message": message}).to_string();
                return ObjectText::parse(question).map_or(ToolOutcome::TimedOut, |question| {
                    ToolOutcome::InputRequired(InputQuestion {
                        question,
                        resume: Some("as the case says".to_owned()),
                    })
                });
            }
            ToolResult::Samples(text) => {
                let prompt = SamplingPrompt {
                    messages: vec![SampledText {
                        role: Role::User,
                        text: text.clone(),
                    }],
                    system: None,
                };
                let prompt = prompt.to_blob();
                return ToolOutcome::SamplingRequired(SamplingRequest {
                    bytes: u64::try_from(prompt.len()).unwrap_or(u64::MAX),
                    max_tokens: 64,
                    prompt: self.keep(prompt),
                    resume: Some("as the case says".to_owned()),
                });
            }
            ToolResult::Word(Word::Timeout) => return ToolOutcome::TimedOut,
            ToolResult::Word(Word::Lost) => {
                return ToolOutcome::ConnectionLost {
                    detail: "as the case says".to_owned(),
                };
            }
            ToolResult::Word(Word::Cancelled) => return ToolOutcome::Cancelled,
            ToolResult::Word(Word::Changed) => {
                let detail = String::new();
                return ToolOutcome::ToolChanged { detail };
            }
            ToolResult::Word(_) => ok(""),
        };
        let wrong_id = matches!(result, ToolResult::Word(Word::WrongId));
        let order = &running.order;
        let budget = self.contract().tool_output_budget.clone();
        let bytes_out = error.as_ref().map_or(text.len(), |e| e.message.len());
        let length = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        let too_long = length(text.len()) > budget.max_bytes_per_call;
        let full = too_long.then(|| self.keep(text.clone().into_bytes()));
        let envelope = ToolEnvelope::new(EnvelopeFields {
            bytes_in: length(order.invocation.arguments.as_str().len()),
            bytes_out: length(bytes_out),
            changes: FileChanges::default(),
            content: if error.is_none() {
                vec![ContentBlock::Text(text)]
            } else {
                Vec::new()
            },
            duration_ms: self.now_ms.saturating_sub(running.started_at_ms),
            status: if error.is_none() {
                EnvelopeStatus::Ok
            } else {
                EnvelopeStatus::Error
            },
            error,
            full,
            started_at_ms: running.started_at_ms,
            tokens: 0,
            tool: order.invocation.name.clone(),
            tool_call_id: if wrong_id {
                "another".to_owned()
            } else {
                order.invocation.id.clone()
            },
        });
        ToolOutcome::Returned(envelope)
    }
}
