//! The conversation of an ended run as another run can go on from it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Attribution;
use super::replayer::Replayer;
use crate::contract::{FINAL_REPORT, FinalReport};
use crate::kernel::{RunStarted, is_instruction};
use crate::message::{AgentMessage, BytesPerToken, Role, estimate_tokens};
use crate::transcript::SealedEntry;

/// The conversation without what was cut off and without the closing turn's instruction. An accepted report is text, and a message
/// with a call that was never answered ends what is kept. Providers refuse a history in which a call has no answer.
pub(super) fn closed_history(
    conversation: &[Arc<AgentMessage>],
    report: Option<&FinalReport>,
) -> Vec<AgentMessage> {
    let last = conversation
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let mut text = None;
    let mut kept = Vec::with_capacity(conversation.len());
    for (index, message) in conversation.iter().enumerate() {
        // The closing turn was another run's.
        if message.role == Role::User && is_instruction(&message.content) {
            continue;
        }
        let mut message = (**message).clone();
        let answered = answered_after(conversation.get(index..).unwrap_or_default());
        if let Some(report) = report.filter(|_| last == Some(index)) {
            let before = message.tool_calls.len();
            message
                .tool_calls
                .retain(|call| call.name != FINAL_REPORT || answered.contains(call.id.as_str()));
            if message.tool_calls.len() < before {
                // What the provider signed was the call.
                if let Some(state) = &mut message.state {
                    state.drop_parts();
                }
                text = Some(report.text());
            }
        }
        let is_open = |id: &str| !answered.contains(id);
        if message.tool_calls.iter().any(|call| is_open(&call.id)) {
            break;
        }
        if message.role != Role::Assistant || !message.is_blank() || !message.tool_calls.is_empty()
        {
            kept.push(message);
        }
    }
    if let Some(text) = text {
        let tokens = estimate_tokens(text);
        kept.push(AgentMessage::text(Role::Assistant, text, tokens));
    }
    kept
}

/// The calls that are answered between a message of the model, the first of these, and its next one. Ids may come again.
fn answered_after(messages: &[Arc<AgentMessage>]) -> BTreeSet<&str> {
    let own = messages.iter().skip(1);
    own.take_while(|message| message.role != Role::Assistant)
        .filter_map(|message| message.tool_call_id.as_deref())
        .collect()
}

impl Replayer {
    /// Counts again what the system and the user say, and, where the contract names a tokenizer, the definitions of its tools. Without
    /// one these are estimated from what the server wrote, which the contract does not keep.
    ///
    /// A conversation that was taken over from another run keeps what that run counted.
    pub(super) fn check_opening(&mut self, entry: &SealedEntry, started: &RunStarted) {
        if started.parent.is_none() {
            self.check_messages(entry, started);
        }
        if self.contract.tokenizer.is_none() || started.tokenizer_fault.is_some() {
            return;
        }
        let Some(counter) = self.counts() else { return };
        let contract = self.contract.clone();
        for (pointer, tool, replayed) in contract.definitions_counted(counter.as_ref()) {
            if tool.schema_tokens != replayed {
                let (recorded, replayed) = (tool.schema_tokens.to_string(), replayed.to_string());
                self.differ_at(entry, &pointer, &recorded, &replayed, Attribution::Contract);
            }
        }
    }

    fn check_messages(&mut self, entry: &SealedEntry, started: &RunStarted) {
        for (index, message) in started.messages.iter().enumerate() {
            if !matches!(message.role, Role::System | Role::User) {
                continue;
            }
            // A process without the tokenizer estimated.
            let counter = match &started.tokenizer_fault {
                Some(_) => Some(BytesPerToken::counter()),
                None => self.counts(),
            };
            let Some(counter) = counter else { continue };
            let replayed = counter.count(&message.content);
            if replayed != message.tokens {
                let pointer = format!("/event/event/value/messages/{index}/tokens");
                let (recorded, replayed) = (message.tokens.to_string(), replayed.to_string());
                self.differ_at(entry, &pointer, &recorded, &replayed, Attribution::Tampered);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{ReportContent, ReportFormat};
    use crate::message::{ObjectText, ToolInvocation};

    fn asks(content: &str, calls: &[(&str, &str)]) -> AgentMessage {
        let call = |(id, name): &(&str, &str)| ToolInvocation {
            arguments: ObjectText::parse("{}").unwrap(),
            fault: None,
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            raw_payload: None,
            source_model: "m".to_owned(),
        };
        AgentMessage {
            tool_calls: calls.iter().map(call).collect(),
            ..AgentMessage::text(Role::Assistant, content, 1)
        }
    }

    fn check(messages: Vec<AgentMessage>, report: Option<&str>, expect: &[&str]) {
        let mut all = vec![AgentMessage::text(Role::User, "Go.", 1)];
        all.extend(messages);
        let all: Vec<_> = all.into_iter().map(Arc::new).collect();
        let report = report.map(|text| FinalReport {
            content: ReportContent::Text(text.to_owned()),
            format: ReportFormat::Text,
            metadata: None,
            warnings: Vec::new(),
        });
        let shown = |message: &AgentMessage| {
            let calls: Vec<&str> = message.tool_calls.iter().map(|call| &*call.id).collect();
            format!("{:?} {}{}", message.role, message.content, calls.join(","))
        };
        let kept = closed_history(&all, report.as_ref());
        let kept: Vec<String> = kept.iter().map(shown).collect();
        assert_eq!(kept, expect);
    }

    #[test]
    fn an_accepted_report_is_text() {
        check(
            vec![asks("", &[("a", FINAL_REPORT)])],
            Some("MIT."),
            &["User Go.", "Assistant MIT."],
        );
    }

    #[test]
    fn calls_beside_a_report_stay_and_their_results_follow_it() {
        let observed = AgentMessage::observation("a", "found", 1);
        check(
            vec![
                asks("So: ", &[("a", "read_file"), ("b", FINAL_REPORT)]),
                observed,
            ],
            Some("MIT."),
            &[
                "User Go.",
                "Assistant So: a",
                "Tool found",
                "Assistant MIT.",
            ],
        );
    }

    #[test]
    fn a_call_that_was_never_answered_ends_what_is_kept() {
        let observed = AgentMessage::observation("a", "found", 1);
        check(
            vec![
                asks("", &[("a", "read_file"), ("b", "read_file")]),
                observed,
            ],
            None,
            &["User Go."],
        );
    }

    #[test]
    fn a_whole_conversation_stays_as_it_is() {
        let observed = AgentMessage::observation("a", "found", 1);
        check(
            vec![asks("", &[("a", "read_file")]), observed, asks("MIT.", &[])],
            None,
            &["User Go.", "Assistant a", "Tool found", "Assistant MIT."],
        );
    }
}
