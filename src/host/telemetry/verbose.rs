//! The requests and answers of a run, one line each, in the form of 001 §1. Words of models and tools appear
//! unchanged.

use super::exit_tag::ExitTag;
use super::failures;
use super::log_line::{LogLine, Severity};
use monolith_core::adapter::xml::offered_tags;
use monolith_core::kernel::{
    ClosingReason, EffectRecord, EventKind, InferenceReturned, LostEffect, Run,
};
use monolith_core::message::{AgentMessage, CallSeq, InferenceSeq};
use monolith_core::view::{Call, Entry, Request, RequestPurpose, RunView};

/// The most characters of arguments in a line.
const ARGUMENT_CHARS: usize = 120;

/// The lines of an entry that `view` has just taken; `run` is the machine after its step.
pub fn verbose_lines(view: &RunView, entry: Entry<'_>, run: &Run) -> Vec<LogLine> {
    let warnings = entry.event.and_then(|event| match &event.event {
        EventKind::InferenceReturned(returned) => warnings(view, returned),
        _ => None,
    });
    let back = entry.event.and_then(|event| match &event.event {
        EventKind::InferenceReturned(returned) => response(view, returned.inference),
        EventKind::InferenceFailed(failed) => response(view, failed.inference),
        EventKind::EffectLost(LostEffect::Inference(lost)) => response(view, *lost),
        EventKind::ToolReturned(returned) => result(view, returned.call),
        EventKind::EffectLost(LostEffect::Call(lost)) => result(view, *lost),
        _ => None,
    });
    let effects = entry.action.effects.iter();
    let begun = effects.clone().flat_map(|effect| match effect {
        EffectRecord::Infer { inference, .. } => {
            turn_header(view, *inference, entry.action.closing)
        }
        _ => Vec::new(),
    });
    let sent = effects.filter_map(|effect| match effect {
        EffectRecord::Infer { inference, .. } => request(view, *inference, &carried(run)),
        EffectRecord::Summarise { inference, .. } => {
            request(view, *inference, "summary of a result")
        }
        EffectRecord::Sample { inference, .. } => {
            request(view, *inference, "for the server of a call")
        }
        EffectRecord::Execute { call, .. } | EffectRecord::Delegate { call, .. } => {
            started(view, *call)
        }
        _ => None,
    });
    let back = back.into_iter().chain(warnings.into_iter().flatten());
    back.chain(begun).chain(sent).collect()
}

/// The line before the thinking of the response to the last request. Its text follows, and a line feed closes it.
pub fn thinking_line(view: &RunView) -> Option<LogLine> {
    let request = view.requests().values().next_back()?;
    let (place, model) = (place_of_request(view, request), model(view, request));
    let words = format!("← {place} llm {model}: thinking");
    Some(LogLine::new(Severity::Thinking, words))
}

/// The header of a turn, before its first request. If a full context makes it the last one, a warning says so.
fn turn_header(
    view: &RunView,
    inference: InferenceSeq,
    closing: Option<ClosingReason>,
) -> Vec<LogLine> {
    let turn = view.turns().last();
    let Some(turn) = turn.filter(|turn| turn.attempts.first() == Some(&inference)) else {
        return Vec::new();
    };
    let full = (closing == Some(ClosingReason::Context)).then(|| {
        let tag = ExitTag::TokenLimit;
        let why = "the context is used up; no more tools in the last turn";
        LogLine::new(Severity::Warning, format!("{tag} fatal=false: {why}"))
    });
    let header = format!("turn {} of {}", turn.number, view.contract().max_turns);
    let header = LogLine::new(Severity::Verbose, header);
    full.into_iter().chain([header]).collect()
}

/// A line for each tag of a response that was ignored, or taken although it is not closed.
fn warnings(view: &RunView, returned: &InferenceReturned) -> Option<Vec<LogLine>> {
    let request = view.request(returned.inference)?;
    let (place, model) = (place_of_request(view, request), model(view, request));
    let warnings = returned.result.tag_warnings.iter();
    let words = warnings.map(|warning| format!("← {place} llm {model}: {warning}"));
    Some(
        words
            .map(|words| LogLine::new(Severity::Warning, words))
            .collect(),
    )
}

/// Counts the messages of the request in flight: the conversation, and those that only this request contains.
fn carried(run: &Run) -> String {
    let conversation = run.conversation().iter().map(|message| &**message);
    let tags = offered_tags(run);
    let messages = conversation.chain(run.notices()).chain(&tags);
    let sizes: Vec<usize> = messages.map(size).collect();
    let bytes: usize = sizes.iter().sum();
    format!("messages {}, {bytes} bytes", sizes.len())
}

fn request(view: &RunView, inference: InferenceSeq, what: &str) -> Option<LogLine> {
    let request = view.request(inference)?;
    let attempt = match request.attempt {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    let place = place_of_request(view, request);
    let model = model(view, request);
    let words = format!("→ {place} llm {model}: {what}{attempt}");
    Some(LogLine::new(Severity::Verbose, words))
}

fn response(view: &RunView, inference: InferenceSeq) -> Option<LogLine> {
    let request = view.request(inference)?;
    let took = request.ended_at_ms.unwrap_or(request.sent_at_ms);
    let took = took.saturating_sub(request.sent_at_ms);
    let (severity, what) = if let Some(failure) = failures::of_request(request) {
        (Severity::Warning, failure)
    } else {
        let usage = request.usage.unwrap_or_default();
        let what = format!(
            "tokens {} in, {} out, {} cached",
            usage.input, usage.output, usage.cache_read
        );
        (Severity::Verbose, what)
    };
    let place = place_of_request(view, request);
    let model = model(view, request);
    let words = format!("← {place} llm {model}: {what}, {took} ms");
    Some(LogLine::new(severity, words))
}

fn started(view: &RunView, number: CallSeq) -> Option<LogLine> {
    let call = view.call(number)?;
    let (bytes, name) = (call.arguments.len(), tool(view, call));
    let mut arguments: String = call.arguments.chars().take(ARGUMENT_CHARS).collect();
    if arguments.len() < bytes {
        arguments.push('…');
    }
    let place = place_of_call(view, number)?;
    let words = format!("→ {place} tool {name}: {arguments}, {bytes} bytes");
    Some(LogLine::new(Severity::Verbose, words))
}

fn result(view: &RunView, number: CallSeq) -> Option<LogLine> {
    let call = view.call(number)?;
    let execution = call.executions.last()?;
    let took = execution.ended_at_ms.unwrap_or(execution.began_at_ms);
    let took = took.saturating_sub(execution.began_at_ms);
    let (severity, what) = match (failures::of_execution(execution), execution.result()) {
        (None, Some(result)) if result.cut => {
            let terms = &view.contract().tool_output_budget;
            let (bytes, limit) = (result.bytes_out, terms.max_bytes_per_call);
            let cut = if terms.summarizer_model.is_some() {
                "a summary is asked for"
            } else {
                "the model reads its beginning"
            };
            let warning = format!(
                "Tool response exceeded max size (actual {bytes} B > limit {limit} B): {cut}"
            );
            (Severity::Warning, warning)
        }
        (None, Some(result)) => (Severity::Verbose, format!("ok, {} bytes", result.bytes_out)),
        (Some(failure), _) => (Severity::Error, failure),
        (None, None) => (Severity::Error, "no result".to_owned()),
    };
    let (place, name) = (place_of_call(view, number)?, tool(view, call));
    let words = format!("← {place} tool {name}: {what}, {took} ms");
    Some(LogLine::new(severity, words))
}

/// Returns `[turn.0]` for an attempt; any other request belongs to its call.
fn place_of_request(view: &RunView, request: &Request) -> String {
    let call = match request.purpose {
        RequestPurpose::Summary(call) | RequestPurpose::Sampling(call) => place_of_call(view, call),
        RequestPurpose::Attempt => None,
    };
    call.unwrap_or_else(|| format!("[{}.0]", request.turn))
}

/// `[turn.call]`, calls counted from 1 in each turn, those that a person denied included.
fn place_of_call(view: &RunView, number: CallSeq) -> Option<String> {
    let turn = turn_of(view, view.call(number)?)?;
    let before = view.calls().range(..=number);
    let of_turn = before.filter(|(_, call)| turn_of(view, call) == Some(turn));
    Some(format!("[{turn}.{}]", of_turn.count()))
}

/// The turn whose message asked for the call. A call that was started again belongs to the same one.
fn turn_of(view: &RunView, call: &Call) -> Option<u32> {
    let asked = call.requested_in.and_then(|asked| view.request(asked));
    let started = || Some(call.executions.first()?.turn);
    asked.map(|request| request.turn).or_else(started)
}

/// `provider:model`.
fn model(view: &RunView, request: &Request) -> String {
    let target = usize::try_from(request.target).ok();
    let target = target.and_then(|index| view.contract().targets.get(index));
    target.map_or_else(String::new, |target| {
        format!("{}:{}", target.provider, target.model)
    })
}

/// `builtin:tool`, `mcp:server:tool` or `agent:name`, the tool as its server calls it.
fn tool(view: &RunView, call: &Call) -> String {
    let Some(tool) = view.contract().tool(&call.name) else {
        return call.name.clone();
    };
    format!("{}:{}", tool.origin, view.contract().own_name_of(tool))
}

fn size(message: &AgentMessage) -> usize {
    let arguments = message.tool_calls.iter();
    let arguments: usize = arguments.map(|call| call.arguments.as_str().len()).sum();
    message.content.len().saturating_add(arguments)
}
