//! Folds the lines of an embedded model into one message. Does not know llama.cpp.

use super::hermes::{Parsed, parse};
use super::wire::LocalLine;
use crate::adapter::error_report::ErrorReport;
use crate::adapter::fold::{self, Failure, Folded, Form, Framing, Progress, document};
use crate::adapter::invented::ResultScanner;
use crate::contract::CALL_OPEN;
use crate::message::{AgentMessage, Role, StopReason, Usage};

/// An answer of an embedded model, folded from its lines.
#[derive(Debug, Default)]
pub(in crate::adapter) struct Fold {
    progress: Progress,
    /// Holds back what may be a tool's result that the model wrote itself.
    results: ResultScanner,
    /// Length of the text that belongs to the message, whatever follows.
    shown: usize,
    stop: Option<StopReason>,
    text: String,
}

impl Fold {
    /// Moves `shown` on: to the first call or invented result, or to what may be the beginning of one. White space around the text goes where a call
    /// follows, so it waits, too.
    fn look(&mut self) {
        if self.text.starts_with(char::is_whitespace) {
            return;
        }
        let settled = self.results.settled().max(self.shown);
        let new = self.text.get(self.shown..settled).unwrap_or_default();
        let end = new.find(CALL_OPEN).unwrap_or_else(|| {
            let part = (1..CALL_OPEN.len()).rev();
            let mut parts = part.filter_map(|length| CALL_OPEN.get(..length));
            let part = parts.find(|part| new.ends_with(part));
            new.len() - part.map_or(0, str::len)
        });
        let sure = new.get(..end).unwrap_or_default();
        self.shown += sure.trim_end().len();
    }
}

impl fold::Fold for Fold {
    const FRAMING: Framing = Framing::Lines;
    const STOP: &'static str = "/stop";

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn is_done(&self) -> bool {
        self.progress.done
    }

    fn text(&self) -> Option<&str> {
        self.text.get(..self.shown)
    }

    fn take(&mut self, text: &str, _: Form) -> Result<(), Failure> {
        match document(text)? {
            LocalLine::Text { text } => {
                self.text.push_str(&text);
                self.results.push(&text);
                self.look();
            }
            LocalLine::Stop { stop, usage } => {
                self.progress.done = true;
                self.progress.usage = Some(Usage {
                    cache_read: 0,
                    cache_write: 0,
                    cost_fault: false,
                    cost_micro_usd: None,
                    estimated: false,
                    input: usage.input,
                    output: usage.output,
                });
                self.progress.ended = true;
                self.stop = Some(stop);
            }
            LocalLine::Fault { fault, message } => {
                self.progress.done = true;
                let report = ErrorReport::of_text(&message).of_class(fault);
                self.progress.report(report);
            }
        }
        Ok(())
    }

    fn error_body(text: &str) -> ErrorReport {
        match document(text) {
            Ok(LocalLine::Fault { fault, message }) => {
                ErrorReport::of_text(&message).of_class(fault)
            }
            Ok(LocalLine::Text { .. } | LocalLine::Stop { .. }) | Err(_) => {
                ErrorReport::of_body(text)
            }
        }
    }

    fn stop(&mut self) -> StopReason {
        self.stop.unwrap_or(StopReason::Unknown)
    }

    fn finish(mut self, _: Form, model: &str) -> Folded {
        if let Some(decided) = self.progress.decided() {
            return decided;
        }
        match parse(&self.text, model, self.progress.rules) {
            Ok(Parsed { content, validated }) => {
                let message = AgentMessage {
                    tool_calls: validated.calls,
                    ..AgentMessage::text(Role::Assistant, content, 0)
                };
                Folded::of(message, validated.repair)
            }
            Err(failure) => Folded::Rejected(failure),
        }
    }
}
