//! The requests and answers of a run, one line each, in the form of 001 §1. Words of models and tools appear unchanged.

use std::sync::Arc;

use super::failures;
use monolith_core::kernel::{EffectRecord, EventKind, InferenceReturned, LostEffect};
use monolith_core::message::{AgentMessage, CallSeq, InferenceSeq};
use monolith_core::view::{Call, Entry, Request, RequestPurpose, RunView};

/// The most characters of arguments in a line.
const ARGUMENT_CHARS: usize = 120;

/// The lines of an entry that `view` has just taken; `conversation` is what a request of it carries.
pub fn verbose_lines(
    view: &RunView,
    entry: Entry<'_>,
    conversation: &[Arc<AgentMessage>],
) -> Vec<String> {
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
    let sent = entry.action.effects.iter();
    let sent = sent.filter_map(|effect| match effect {
        EffectRecord::Infer { inference, .. } => {
            let bytes: usize = conversation.iter().map(|message| size(message)).sum();
            let what = format!("messages {}, {bytes} bytes", conversation.len());
            request(view, *inference, &what)
        }
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
    back.chain(sent).collect()
}

/// A line for each tag of a response that was ignored, or taken although it is not closed.
fn warnings(view: &RunView, returned: &InferenceReturned) -> Option<Vec<String>> {
    let request = view.request(returned.inference)?;
    let (place, model) = (place_of_request(view, request), model(view, request));
    let warnings = returned.result.tag_warnings.iter();
    Some(
        warnings
            .map(|warning| format!("[WRN] ← {place} llm {model}: {warning}"))
            .collect(),
    )
}

fn request(view: &RunView, inference: InferenceSeq, what: &str) -> Option<String> {
    let request = view.request(inference)?;
    let attempt = match request.attempt {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    let place = place_of_request(view, request);
    let model = model(view, request);
    Some(format!("[VRB] → {place} llm {model}: {what}{attempt}"))
}

fn response(view: &RunView, inference: InferenceSeq) -> Option<String> {
    let request = view.request(inference)?;
    let took = request.ended_at_ms.unwrap_or(request.sent_at_ms);
    let took = took.saturating_sub(request.sent_at_ms);
    let (mark, what) = if let Some(failure) = failures::of_request(request) {
        ("[WRN]", failure)
    } else {
        let usage = request.usage.unwrap_or_default();
        let what = format!(
            "tokens {} in, {} out, {} cached",
            usage.input, usage.output, usage.cache_read
        );
        ("[VRB]", what)
    };
    let place = place_of_request(view, request);
    let model = model(view, request);
    Some(format!("{mark} ← {place} llm {model}: {what}, {took} ms"))
}

fn started(view: &RunView, number: CallSeq) -> Option<String> {
    let call = view.call(number)?;
    let (bytes, name) = (call.arguments.len(), tool(view, call));
    let mut arguments: String = call.arguments.chars().take(ARGUMENT_CHARS).collect();
    if arguments.len() < bytes {
        arguments.push('…');
    }
    let place = place_of_call(view, number)?;
    Some(format!(
        "[VRB] → {place} tool {name}: {arguments}, {bytes} bytes"
    ))
}

fn result(view: &RunView, number: CallSeq) -> Option<String> {
    let call = view.call(number)?;
    let execution = call.executions.last()?;
    let took = execution.ended_at_ms.unwrap_or(execution.began_at_ms);
    let took = took.saturating_sub(execution.began_at_ms);
    let (mark, what) = match (failures::of_execution(execution), execution.result()) {
        (None, Some(result)) if result.cut => {
            let terms = &view.contract().tool_output_budget;
            let (bytes, limit) = (result.bytes_out, terms.max_bytes_per_call);
            let cut = if terms.summarizer_model.is_some() {
                "a summary is asked for"
            } else {
                "the model reads its beginning"
            };
            (
                "[WRN]",
                format!("ok, {bytes} bytes, more than {limit}: {cut}"),
            )
        }
        (None, Some(result)) => ("[VRB]", format!("ok, {} bytes", result.bytes_out)),
        (Some(failure), _) => ("[WRN]", failure),
        (None, None) => ("[WRN]", "no result".to_owned()),
    };
    let (place, name) = (place_of_call(view, number)?, tool(view, call));
    Some(format!("{mark} ← {place} tool {name}: {what}, {took} ms"))
}

/// Returns `[turn.0]` for an attempt; any other request belongs to its call.
fn place_of_request(view: &RunView, request: &Request) -> String {
    let call = match request.purpose {
        RequestPurpose::Summary(call) | RequestPurpose::Sampling(call) => place_of_call(view, call),
        RequestPurpose::Attempt => None,
    };
    call.unwrap_or_else(|| format!("[{}.0]", request.turn))
}

/// `[turn.call]`, calls counted from 1 in each turn.
fn place_of_call(view: &RunView, number: CallSeq) -> Option<String> {
    let turn_of = |call: &Call| Some(call.executions.first()?.turn);
    let turn = turn_of(view.call(number)?)?;
    let before = view.calls().range(..=number).rev();
    let of_turn = before.take_while(|(_, call)| turn_of(call).is_none_or(|own| own == turn));
    Some(format!("[{turn}.{}]", of_turn.count()))
}

/// `provider:model`.
fn model(view: &RunView, request: &Request) -> String {
    let target = usize::try_from(request.target).ok();
    let target = target.and_then(|index| view.contract().targets.get(index));
    target.map_or_else(String::new, |target| {
        format!("{}:{}", target.provider, target.model)
    })
}

/// `builtin:tool` or `mcp:server:tool`, the tool as its server calls it.
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
