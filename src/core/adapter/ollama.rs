//! Ollama chat, `ollama-chat`.
//!
//! **Requests.** `model`, `messages` (an observation names its tool), `tools`, `think` where the contract asks for reasoning,
//! `stream`, `options`: `num_predict`, `num_ctx` (the target's window; the server's own default is far smaller and cuts a
//! prompt without a word), `temperature`, `top_p`, `repeat_penalty`, `seed`, `stop`. The protocol cannot force a call. The members
//! of the model's messages that no message holds, such as `thinking`, go back to the same target.
//!
//! **Responses.** Lines of JSON; a body is one line. Dialect rules:
//! - `arguments` is an object, whose bytes are kept; a text in its place is validated as the text of one.
//! - A message ends with `done: true`, also without `done_reason`; without either the response is a provider's fault.
//! - A line with `error` is a provider's fault, whatever came before it.

#[cfg(test)]
mod payload_tests;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::adapter::blocks::UsageReport;
use crate::adapter::body::{Encode, RequestBody};
use crate::adapter::calls::{CallFields, GatheredCall, MAX_CALLS};
use crate::adapter::draft::{Draft, ResponseOrigin};
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold::{Failure, Folded, Form, Framing, Progress, document};
use crate::adapter::json::{append, elements, given, is_null, object, put, string, wire};
use crate::adapter::openai_tools::FunctionTool;
use crate::adapter::recipient::{IdForm, Recipient, is_silent};
use crate::adapter::rendered_messages::JoinedMessages;
use crate::adapter::tail::tail;
use crate::adapter::{RequestShape, fold};
use crate::contract::{TargetTerms, Terms, wire_version};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, FailureCode, Role, ToolInvocation};

/// The adapter's name in contracts and results.
pub(in crate::adapter) const VERSION: &str = wire_version::OLLAMA;
/// Request path below the base URL.
pub(in crate::adapter) const PATH: &str = "api/chat";

/// Renders bodies for one target; see the module's documentation for what is sent.
#[derive(Debug)]
pub(in crate::adapter) struct Encoder {
    /// After `{"model":…,"messages":[`.
    messages: JoinedMessages,
    /// Parameters and the closing brace, after a comma: of a request that offers tools, and of one that offers none. The form of the
    /// answer is for the latter alone, because it binds calls, too.
    tails: [Vec<u8>; 2],
    to: Recipient,
    /// `,"tools":[…]`; none if no tool is exposed.
    tools: Option<Vec<u8>>,
}

impl Encoder {
    pub(in crate::adapter) fn new(terms: &Terms, target: &TargetTerms) -> Self {
        let mut head = b"{\"model\":".to_vec();
        put(&mut head, &target.model);
        head.extend_from_slice(b",\"messages\":[");
        let tail = |format| {
            let own = Parameters::of(target);
            tail(terms, target, &Parameters { format, ..own })
        };
        let asked = terms.asked_format(target).map(|form| {
            let schema = form.schema.as_ref();
            schema.map_or(Format::Word("json"), Format::Schema)
        });
        Self {
            messages: JoinedMessages::after(&head, false),
            tails: [tail(None), tail(asked)],
            to: Recipient::of(terms, target, IdForm::Text(usize::MAX)),
            tools: tools(terms),
        }
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
        let [calling, answering] = &self.tails;
        let (tools, tail): (&[u8], _) = match (&self.tools, shape.tools) {
            // The protocol has no way to force a call.
            (Some(tools), ToolExposure::Auto | ToolExposure::Forced) => (tools, calling),
            (None, _) | (_, ToolExposure::Withheld) => (b"", answering),
        };
        let rest = [b"]", tools, tail];
        let to = &self.to;
        let render =
            |before: &[Arc<AgentMessage>], message: &AgentMessage| rendered(before, message, to);
        self.messages
            .body(conversation, shape.notices, render, &rest)
    }
}

fn rendered(before: &[Arc<AgentMessage>], message: &AgentMessage, to: &Recipient) -> Vec<u8> {
    let mut out = Vec::new();
    if is_silent(message) {
        return out;
    }
    let calls = message.tool_calls.iter();
    let id = message.tool_call_id.as_deref();
    put(
        &mut out,
        &SentMessage {
            role: message.role,
            content: &message.content,
            tool_calls: calls.map(|call| SentCall::of(before, call, to)).collect(),
            tool_call_id: id.map(|id| to.result_id(before, id)),
            tool_name: id.map(|id| to.result_name(before, id)),
        },
    );
    append(&mut out, to.members(message));
    out
}

#[derive(Serialize)]
struct SentMessage<'a> {
    role: Role,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<SentCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct SentCall<'a> {
    id: Cow<'a, str>,
    function: SentFunction<'a>,
}

#[derive(Serialize)]
struct SentFunction<'a> {
    name: Cow<'a, str>,
    arguments: Option<&'a RawValue>,
}

impl<'a> SentCall<'a> {
    fn of(before: &[Arc<AgentMessage>], call: &'a ToolInvocation, to: &Recipient) -> Self {
        Self {
            id: to.call_id(before, &call.id),
            function: SentFunction {
                name: to.name(&call.name),
                arguments: serde_json::from_str(call.arguments.as_str()).ok(),
            },
        }
    }
}

fn tools(terms: &Terms) -> Option<Vec<u8>> {
    let tools = FunctionTool::exposed(terms);
    if tools.is_empty() {
        return None;
    }
    let mut out = b",\"tools\":".to_vec();
    put(&mut out, &tools);
    Some(out)
}

#[derive(Serialize)]
struct Parameters<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think<'a>>,
    stream: bool,
    options: Options<'a>,
}

/// The form of the answer: `json`, or a schema.
#[derive(Serialize)]
#[serde(untagged)]
enum Format<'a> {
    Schema(&'a serde_json::Value),
    Word(&'static str),
}

/// Thinking on or off, or its level in the word that the author gives.
#[derive(Serialize)]
#[serde(untagged)]
enum Think<'a> {
    Whether(bool),
    Word(&'a str),
}

#[derive(Serialize)]
struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
    /// The server's own default is far smaller than the model's window, and it cuts a longer prompt without a word.
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
}

impl<'a> Parameters<'a> {
    fn of(target: &'a TargetTerms) -> Self {
        let sampling = &target.sampling;
        let own = sampling.reasoning_own_word().map(Think::Word);
        let switch = (sampling.reasoning.is_some() || sampling.reasoning_off())
            .then_some(Think::Whether(!sampling.reasoning_off()));
        Self {
            format: None,
            think: own.or(switch),
            stream: sampling.stream,
            options: Options {
                num_predict: sampling.sent_limit(),
                num_ctx: target.context_window,
                temperature: sampling.temperature,
                top_p: sampling.top_p,
                repeat_penalty: sampling.repeat_penalty,
                seed: sampling.seed.map(|seed| seed.0),
                stop: &sampling.stop,
            },
        }
    }
}

const CALLS: &str = "/message/tool_calls";
const FIELDS: CallFields = CallFields {
    arguments: "/function/arguments",
    id: "/id",
    name: "/function/name",
};

/// A message, folded from the lines of a body; a blocking body is one line.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Fold {
    calls: usize,
    draft: Draft,
    progress: Progress,
    saw_message: bool,
    usage: UsageReport,
}

impl fold::Fold for Fold {
    const CALLS: &'static str = CALLS;
    const FRAMING: Framing = Framing::Lines;
    const STOP: &'static str = "/done_reason";
    const TEXT: &'static str = "/message/content";

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn is_done(&self) -> bool {
        self.progress.done
    }

    fn text(&self) -> Option<&str> {
        Some(self.draft.content())
    }

    fn reasoning(&self) -> Option<&str> {
        Some(self.draft.thoughts())
    }

    fn take(&mut self, text: &str, _: Form) -> Result<(), Failure> {
        let line: WireLine<'_> = document(text)?;
        if let Some(report) = line.error.and_then(ErrorReport::of_value) {
            self.progress.report(report);
            return Ok(());
        }
        self.progress.name_model(string(line.model));
        self.progress.stopped(string(line.done_reason));
        UsageReport::note(&mut self.usage.input, line.prompt_eval_count);
        UsageReport::note(&mut self.usage.output, line.eval_count);
        self.progress.usage = self.usage.usage();
        self.progress.done |= line.done.is_some_and(|raw| raw.get() == "true");
        self.progress.ended = self.progress.done;
        let Some(raw) = line.message else {
            return Ok(());
        };
        let message: WireMessage<'_> =
            object(raw.get()).ok_or_else(|| Failure::new(FailureCode::BodyShape, "/message"))?;
        self.saw_message = true;
        self.progress
            .role(message.role, "assistant", "/message/role")?;
        if let Some(raw) = message.content {
            let text = string(Some(raw))
                .ok_or_else(|| Failure::new(FailureCode::BodyShape, "/message/content"))?;
            self.draft.text(&text, String::new());
        }
        self.draft
            .reasoning(&string(message.thinking).unwrap_or_default());
        self.draft
            .members(raw.get(), &["role", "content", "images", "tool_calls"]);
        let Some(raw) = message.tool_calls else {
            return Ok(());
        };
        let (calls, _) = elements(raw, MAX_CALLS + 1)
            .ok_or_else(|| Failure::new(FailureCode::CallShape, CALLS))?;
        calls.into_iter().try_for_each(|call| self.call(call))
    }

    fn finish(mut self, _: Form, model: &str) -> Folded {
        if let Some(decided) = self.progress.decided() {
            return decided;
        }
        let fail = |code, pointer: &str| Folded::Rejected(Failure::new(code, pointer));
        if !self.saw_message {
            return fail(FailureCode::BodyShape, "/message");
        }
        let origin = ResponseOrigin {
            requested: model,
            answered: self.progress.model.as_deref(),
            rules: self.progress.rules,
        };
        self.draft.finish(&FIELDS, &origin)
    }
}

impl Fold {
    /// Calls come whole; a line may hold several.
    fn call(&mut self, raw: &RawValue) -> Result<(), Failure> {
        let pointer = format!("{CALLS}/{}", self.calls);
        let shape = |below: &str| Failure::new(FailureCode::CallShape, format!("{pointer}{below}"));
        let call: WireCall<'_> = object(raw.get()).ok_or_else(|| shape(""))?;
        let function: WireFunction<'_> = call
            .function
            .and_then(|raw| object(raw.get()))
            .ok_or_else(|| shape("/function"))?;
        self.calls = self.calls.saturating_add(1);
        // An object, whose text as it stood is validated; servers of the same tongue write its text as a string.
        let arguments = function.arguments.map(|raw| match string(Some(raw)) {
            Some(text) => text,
            None => raw.get().to_owned(),
        });
        self.draft.call(
            GatheredCall {
                arguments: arguments.unwrap_or_default(),
                flaw: is_null(function.arguments)
                    .then_some((FailureCode::ArgsNotObject, FIELDS.arguments)),
                id: string(call.id).unwrap_or_default(),
                name: string(function.name).unwrap_or_default(),
                pointer,
            },
            String::new(),
        );
        Ok(())
    }
}

wire! {
    /// A blocking body, or one line of a stream.
    struct WireLine {
        done, done_reason, error, eval_count, message, model, prompt_eval_count,
    }

    struct WireMessage {
        content, role, thinking, tool_calls,
    }

    struct WireCall {
        function, id,
    }

    struct WireFunction {
        arguments: "given", name,
    }
}
