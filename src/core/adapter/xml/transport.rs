//! The XML transport of one run: renders calls as tags and reads tags as calls. Does not know the wire protocol below it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::XmlNext;
use super::scanner::read_tags;
use super::slot::{FINAL, Nonce, PROGRESS, SlotRange, XmlTerms};
use crate::adapter::Adapter;
use crate::adapter::calls::{CallFields, GatheredCall, validate};
use crate::adapter::fold::Failure;
use crate::adapter::marks::XML;
use crate::adapter::rendered_messages::common;
use crate::adapter::repair::joined;
use crate::contract::{
    FINAL_REPORT, PROGRESS_REPORT, SessionTool, Terms, ToolTerms, ToolTransport,
};
use crate::kernel::tags::{TagResult, has_progress};
use crate::kernel::{Run, XmlOffer};
use crate::message::{
    AdapterStatus, AgentMessage, FailureCode, ObservedStatus, ProtocolAdapterResult, Role,
    StopReason, ToolInvocation, estimate_tokens,
};

/// A payload between tags has no separate pointers.
const FIELDS: CallFields = CallFields {
    arguments: "",
    id: "",
    name: "",
};

/// One run's conversation as the XML transport renders it: calls as tags, results as messages of the user. Every message is
/// rendered once.
#[derive(Debug)]
pub(crate) struct XmlTransport {
    /// The format of the final report, where there is to be one.
    format: Option<&'static str>,
    /// The rendered messages, each with the length of `plain` after it.
    rendered_messages: Vec<(Arc<AgentMessage>, usize)>,
    plain: Vec<Arc<AgentMessage>>,
    progress: bool,
    /// The schema of the final report, as text.
    schema: Option<String>,
    tools: Vec<ToolTerms>,
    transport: ToolTransport,
}

/// The message that describes the tags of the request in flight, in that request only; `None` under the native transport.
#[must_use]
pub fn offered_tags(run: &Run) -> Option<AgentMessage> {
    let (target, offer) = run.offered_tags()?;
    let xml = XmlTransport::of(run.contract().as_sent_to(target).as_ref())?;
    Some(xml.next(&offer))
}

impl XmlTransport {
    /// The transport of a contract; none if that is the providers' own.
    pub(in crate::adapter) fn of(terms: &Terms) -> Option<Self> {
        if terms.tool_transport == ToolTransport::Native {
            return None;
        }
        let numbered = |tool: &&ToolTerms| {
            terms.tool_transport == ToolTransport::Xml
                && !matches!(
                    terms.session_tool(&tool.name),
                    Some(SessionTool::FinalReport | SessionTool::ProgressReport)
                )
        };
        Some(Self {
            format: terms.final_report.as_ref().map(|r| r.format.as_str()),
            rendered_messages: Vec::new(),
            plain: Vec::new(),
            progress: has_progress(terms),
            schema: terms
                .final_report
                .as_ref()
                .and_then(|report| report.schema.as_ref())
                .map(ToString::to_string),
            tools: terms
                .offered_tools(false)
                .filter(numbered)
                .cloned()
                .collect(),
            transport: terms.tool_transport,
        })
    }

    /// XML-NEXT: the tags of one request, described in that request only.
    pub(in crate::adapter) fn next(&self, offer: &XmlOffer) -> AgentMessage {
        let tools: Vec<&ToolTerms> = self.tools.iter().collect();
        let text = XmlNext {
            format: self.format,
            schema: self.schema.as_deref(),
            terms: &xml_terms(offer, self.progress),
            tools: &tools,
        }
        .message();
        let tokens = estimate_tokens(&text);
        AgentMessage::text(Role::User, text, tokens)
    }

    /// The conversation without the calls and results that the tags carry.
    pub(in crate::adapter) fn plain(
        &mut self,
        conversation: &[Arc<AgentMessage>],
    ) -> &[Arc<AgentMessage>] {
        let mut common = common(&self.rendered_messages, conversation);
        if common < self.rendered_messages.len() || results_from(conversation, common) > 0 {
            // Results are rendered together: back to the message that they answer.
            while common > 0 && role(conversation, common - 1) == Some(Role::Tool) {
                common -= 1;
            }
            self.rendered_messages.truncate(common);
            let rendered = self
                .rendered_messages
                .last()
                .map_or(0, |(_, rendered)| *rendered);
            self.plain.truncate(rendered);
        }
        let mut at = common;
        while let Some(message) = conversation.get(at) {
            let run = results_from(conversation, at);
            if run == 0 {
                let rendered_as_text = self.rendered_as_text(message);
                self.plain.push(rendered_as_text);
                self.rendered_messages
                    .push((Arc::clone(message), self.plain.len()));
                at += 1;
                continue;
            }
            let results = conversation.get(at..at + run).unwrap_or_default();
            let calls = at
                .checked_sub(1)
                .and_then(|before| conversation.get(before));
            self.results(calls.map_or(&[], |calls| &calls.tool_calls), results);
            let rendered = self.plain.len();
            let results = results.iter().map(|m| (Arc::clone(m), rendered));
            self.rendered_messages.extend(results);
            at += run;
        }
        &self.plain
    }

    /// True if tags carry that call.
    fn carries(&self, call: &ToolInvocation) -> bool {
        self.transport.carries(&call.name)
    }

    fn rendered_as_text(&self, message: &Arc<AgentMessage>) -> Arc<AgentMessage> {
        if !message.tool_calls.iter().any(|call| self.carries(call)) {
            return Arc::clone(message);
        }
        let mut rendered_as_text = AgentMessage::clone(message);
        rendered_as_text
            .tool_calls
            .retain(|call| !self.carries(call));
        for call in message.tool_calls.iter().filter(|call| self.carries(call)) {
            if !rendered_as_text.content.is_empty() {
                rendered_as_text.content.push('\n');
            }
            rendered_as_text.content.push_str(&tag(call));
        }
        Arc::new(rendered_as_text)
    }

    /// Adds the results of a message's calls: those in the provider's own form unchanged, then the others in one message.
    fn results(&mut self, calls: &[ToolInvocation], results: &[Arc<AgentMessage>]) {
        let call_of = |message: &AgentMessage| {
            let id = message.tool_call_id.as_deref();
            calls.iter().find(|call| Some(call.id.as_str()) == id)
        };
        let mut past = Vec::new();
        let mut tokens: u64 = 0;
        for message in results {
            match call_of(message).filter(|call| self.carries(call)) {
                None => self.plain.push(Arc::clone(message)),
                Some(call) => {
                    tokens = tokens.saturating_add(message.tokens);
                    past.push(TagResult {
                        duration_ms: message.observed.map_or(0, |o| o.duration_ms),
                        request: call.arguments.as_str(),
                        response: &message.content,
                        slot: &call.id,
                        status: match message.observed.map(|o| o.status) {
                            Some(ObservedStatus::Ok) => "ok",
                            Some(ObservedStatus::Failed) | None => "failed",
                        },
                        tool: &call.name,
                    });
                }
            }
        }
        if !past.is_empty() {
            let text = past_message(&past);
            self.plain
                .push(Arc::new(AgentMessage::text(Role::User, text, tokens)));
        }
    }
}

fn role(conversation: &[Arc<AgentMessage>], at: usize) -> Option<Role> {
    conversation.get(at).map(|message| message.role)
}

/// Returns the number of consecutive results from `at` on.
fn results_from(conversation: &[Arc<AgentMessage>], at: usize) -> usize {
    conversation.get(at..).map_or(0, |rest| {
        rest.iter().take_while(|m| m.role == Role::Tool).count()
    })
}

fn xml_terms(offer: &XmlOffer, progress: bool) -> XmlTerms {
    XmlTerms {
        nonce: Nonce::of(&offer.genesis),
        progress: progress && !offer.closing,
        slots: SlotRange {
            count: offer.slots,
            first: offer.first_slot,
        },
    }
}

#[derive(Deserialize)]
struct Reported<'a> {
    #[serde(default)]
    format: Option<&'a str>,
    #[serde(default)]
    report_content: Option<String>,
}

#[derive(Deserialize)]
struct Progressed {
    progress: String,
}

/// A call as the tag that it was, or would have been.
fn tag(call: &ToolInvocation) -> String {
    let ToolInvocation { id, name, .. } = call;
    let arguments = call.arguments.as_str();
    if name == FINAL_REPORT
        && let Ok(Reported {
            format,
            report_content: Some(content),
        }) = serde_json::from_str(arguments)
    {
        let format = format.map_or_else(String::new, |format| format!(" format=\"{format}\""));
        return format!("<ai-agent-{id} tool=\"{name}\"{format}>\n{content}\n</ai-agent-{id}>");
    }
    if name == PROGRESS_REPORT
        && let Ok(Progressed { progress }) = serde_json::from_str(arguments)
    {
        return format!("<ai-agent-{id} tool=\"{name}\">\n{progress}\n</ai-agent-{id}>");
    }
    format!("<ai-agent-{id} tool=\"{name}\">{arguments}</ai-agent-{id}>")
}

/// Reads the tags of an answer to a request that offered them: each becomes a call, and the text outside of them is the message's text.
///
/// Pure, over the verdict of `adapter`, that of the target; under the native transport, where nothing is offered, it changes
/// nothing.
#[must_use]
pub(crate) fn transported(
    mut result: ProtocolAdapterResult,
    offer: Option<&XmlOffer>,
    terms: &Terms,
    (target, adapter): (usize, Adapter),
) -> ProtocolAdapterResult {
    let (Some(offer), Some(message)) = (offer, result.canonical_message.as_mut()) else {
        return result;
    };
    // Nothing of the provider's own form was offered for what is a tag.
    let unexpected = |call: &ToolInvocation| terms.tool_transport.carries(&call.name);
    if let Some(index) = message.tool_calls.iter().position(unexpected) {
        let pointer = format!("/tool_calls/{index}");
        let failure = Failure::new(FailureCode::CallUnexpected, pointer);
        let name = message.tool_calls.get(index).map(|call| call.name.clone());
        let failure = failure.around(&name.unwrap_or_default(), 0);
        return rejected(result, failure);
    }
    let xml = xml_terms(offer, has_progress(terms));
    let nonce = &xml.nonce;
    // A word that nobody knows is no end, as a cut is none. A missing one may be (000 §11).
    let is_named = result.stop == StopReason::Unknown && result.stop_word.is_some();
    let ended = if is_named {
        StopReason::Length
    } else {
        result.stop
    };
    let reading = read_tags(&xml, &message.content, ended);
    result.tag_warnings = reading.warnings();
    let model = terms.targets.get(target).map_or("", |t| t.model.as_str());
    let mut calls = reading.gathered(nonce);
    // Texts in an object of our own: it is always the text of one.
    let own = |slot: &str, name: &str, arguments: serde_json::Value| GatheredCall {
        arguments: arguments.to_string(),
        flaw: None,
        id: format!("{nonce}-{slot}"),
        name: name.to_owned(),
        pointer: format!("{nonce}-{slot}"),
    };
    if let Some(progress) = &reading.progress {
        let arguments = json!({"progress": progress.trim()});
        calls.push(own(PROGRESS, PROGRESS_REPORT, arguments));
    }
    if let Some(report) = &reading.final_report {
        let content = on_its_own_lines(&report.payload);
        let arguments = match &report.format {
            Some(format) => json!({"format": format, "report_content": content}),
            None => json!({"report_content": content}),
        };
        calls.push(own(FINAL, FINAL_REPORT, arguments));
    }
    // What the adapter holds to, here too.
    let rules = adapter.rules().stopped(result.stop, false);
    let validated = match validate(calls, &FIELDS, model, rules) {
        Ok(validated) => validated,
        Err(failure) => {
            let failure = failure.around(&message.content, 0);
            return rejected(result, failure);
        }
    };
    if reading.text != message.content {
        // Text around tags is mostly white space.
        reading.text.trim().clone_into(&mut message.content);
        // Blocks and signatures belong to the content as it was.
        if let Some(state) = &mut message.state {
            state.drop_parts();
        }
    }
    message.tool_calls.extend(validated.calls);
    if validated.repair.is_some() {
        result.status = AdapterStatus::Recovered;
        result.repair = joined(result.repair, validated.repair);
    }
    result
}

/// A payload without the line break after its opening tag and the one before its closing tag.
fn on_its_own_lines(payload: &str) -> &str {
    let payload = payload.strip_prefix("\r\n").unwrap_or(payload);
    let payload = payload.strip_prefix('\n').unwrap_or(payload);
    let payload = payload.strip_suffix('\n').unwrap_or(payload);
    payload.strip_suffix('\r').unwrap_or(payload)
}

fn rejected(result: ProtocolAdapterResult, failure: Failure) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        canonical_message: None,
        excerpt: failure.excerpt,
        failure_code: Some(failure.code),
        pointer: Some(failure.pointer),
        repair: None,
        status: AdapterStatus::Rejected,
        ..result
    }
}

/// The message XML-PAST: the calls of one turn, in the given order; empty where there are none. What it quotes is escaped, so no
/// tag or block in a quotation counts.
#[must_use]
pub(super) fn past_message(calls: &[TagResult<'_>]) -> String {
    let escaped = |call: &TagResult<'_>| {
        let (request, response) = (XML.escape(call.request), XML.escape(call.response));
        let quoting = TagResult {
            request: &request,
            response: &response,
            ..*call
        };
        quoting.text()
    };
    let texts: Vec<String> = calls.iter().map(escaped).collect();
    texts.join("\n\n")
}
