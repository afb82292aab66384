//! Judges a response without calls, and text where a final report is asked for.

use super::edges::FromValidateCalls;
use super::guard::{Guard, holds};
use super::machine::{Machine, Verdict};
use super::outbox::Outbox;
use super::texts;
use super::turn::Failure;
use crate::contract::{ArgumentFault, ToolTransport};
use crate::message::{AgentMessage, StopReason, Usage, excerpt};

impl Machine {
    /// A response without calls.
    pub(super) fn judge_text(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        stop: StopReason,
        has_text: bool,
        plain_texts: u32,
        outbox: &mut Outbox,
    ) -> FromValidateCalls {
        // What was cut inside a tag of the XML transport left no text.
        let in_a_tag = self.contract.tool_transport != ToolTransport::Native;
        let cut = (has_text || in_a_tag) && stop == StopReason::Length;
        if holds(Guard::CutResponse, cut) {
            return self.fail_cut(outbox);
        }
        if has_text && self.wants_report() && holds(Guard::ReportOnly, true) {
            return self.judge_prose(message, usage, plain_texts, outbox);
        }
        if has_text && let Err(fault) = self.judge_form(&message.content) {
            return self.fail_form("OUTPUT_INVALID", &message.content, &fault, outbox);
        }
        // Under the XML transport a response must act (000 §11).
        let may_think = self.contract.tool_transport == ToolTransport::Native;
        if has_text {
            self.accept(message, usage);
            self.verdict = Verdict::Terminal;
        } else if message.has_reasoning() && may_think {
            self.accept(message, usage);
            self.verdict = Verdict::Advanced;
        } else if holds(Guard::BlankResponse, true) {
            self.notices.push(if self.wants_report() {
                texts::prose_notice()
            } else {
                texts::blank_notice()
            });
            outbox.note = Some("empty".to_owned());
            return self.fail(Failure::Blank);
        } else {
            self.accept(message, usage);
            self.verdict = Verdict::Terminal;
        }
        FromValidateCalls::Commit
    }

    /// Text where a final report is asked for: in the closing turn it stands in for one where it passes the format, before
    /// that it counts for nothing.
    fn judge_prose(
        &mut self,
        message: AgentMessage,
        usage: Usage,
        plain_texts: u32,
        outbox: &mut Outbox,
    ) -> FromValidateCalls {
        if self.closing.is_none() {
            self.notices.push(if self.required_unproven() {
                texts::unproven_notice()
            } else {
                self.plain_texts = plain_texts.saturating_add(1);
                texts::prose_notice()
            });
            outbox.note = Some("text without a call".to_owned());
            return self.fail(Failure::Prose);
        }
        if let Err(fault) = self.take_text(&message.content) {
            return self.fail_form("FINAL_REPORT_INVALID", &message.content, &fault, outbox);
        }
        self.accept(message, usage);
        self.verdict = Verdict::Terminal;
        FromValidateCalls::Commit
    }

    /// A text that does not have the form that the contract asks for.
    fn fail_form(
        &mut self,
        code: &str,
        text: &str,
        fault: &ArgumentFault,
        outbox: &mut Outbox,
    ) -> FromValidateCalls {
        let place = if fault.pointer.is_empty() {
            "/"
        } else {
            &fault.pointer
        };
        let stood = excerpt(text, 0);
        let notice = texts::rejection_notice(code, place, Some(&stood));
        self.notices.push(notice);
        let what = if self.wants_report() {
            "a report"
        } else {
            "in the form of the answer"
        };
        outbox.note = Some(format!("the text is not {what}: {fault}"));
        self.fail(Failure::Report)
    }

    /// Judges the text of the message that would end the run; any text fits where the contract asks for no form.
    pub(super) fn judge_form(&self, text: &str) -> Result<(), ArgumentFault> {
        let form = self.contract.response_format.as_ref();
        form.map_or(Ok(()), |form| form.check_text(text, &self.validators))
    }

    /// True if a message stands whatever the stop reason: for its calls, or in the closing turn for its report, or as a violation.
    pub(super) fn stands_with_any_stop(&self, message: &AgentMessage, has_text: bool) -> bool {
        let has_calls = !message.tool_calls.is_empty();
        let by_text = self.closing.is_some() && has_text;
        has_calls
            && (!by_text
                || self.violates_by_asking(message)
                || self.wants_report() && self.reports(message))
    }
}
