//! The session's own tools (semantics §2, internal tools): the final report, progress, and the container of calls. Nothing is
//! started for them; calls inside a container are calls like any other.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::entry::ReportRecord;
use super::machine::Machine;
use super::texts::FailedReason;
use super::{OutcomeCode, ReportSource};
use crate::contract::{ArgumentFault, BATCH, FinalReport, SessionTool, WireNames};
use crate::message::{
    AgentMessage, Digest, ObjectText, StopReason, TagFlaw, TagWarning, ToolInvocation,
    estimate_tokens,
};

/// The answer to a progress report.
pub(super) const PROGRESS_ANSWER: &str = "noted";
/// The most characters of a progress report that a note shows.
const PROGRESS_CHARS: usize = 200;

/// One call of a message that is judged and may run: a direct call, or one inside a container.
#[derive(Clone, Debug)]
pub(super) struct Unit<'m> {
    /// Index of the call or its container in the message.
    pub(super) call: usize,
    pub(super) invocation: Cow<'m, ToolInvocation>,
    /// The model's name for it, if it is in a container.
    pub(super) part: Option<String>,
    /// Fault of the container, if it is one.
    pub(super) refused: Option<FailedReason>,
}

#[derive(Deserialize)]
struct BatchArguments<'a> {
    #[serde(borrow)]
    calls: Vec<BatchPart<'a>>,
}

#[derive(Deserialize)]
struct BatchPart<'a> {
    #[serde(borrow)]
    arguments: &'a RawValue,
    #[serde(default)]
    id: Option<String>,
    tool: String,
}

#[derive(Deserialize)]
struct Progress {
    progress: String,
}

impl Machine {
    /// The calls of a message that are judged and may run, in its order.
    pub(super) fn units<'m>(&self, message: &'m AgentMessage) -> Vec<Unit<'m>> {
        let mut units = Vec::with_capacity(message.tool_calls.len());
        for (call, invocation) in message.tool_calls.iter().enumerate() {
            let whole = Unit {
                call,
                invocation: Cow::Borrowed(invocation),
                part: None,
                refused: None,
            };
            match self.contract.session_tool(&invocation.name) {
                None => units.push(whole),
                Some(SessionTool::FinalReport | SessionTool::ProgressReport) => {}
                Some(SessionTool::Batch) => match self.parts(call, invocation) {
                    Ok(parts) => units.extend(parts),
                    Err(reason) => units.push(Unit {
                        refused: Some(reason),
                        ..whole
                    }),
                },
            }
        }
        units
    }

    /// The calls inside a container.
    fn parts(
        &self,
        call: usize,
        container: &ToolInvocation,
    ) -> Result<Vec<Unit<'static>>, FailedReason> {
        if container.fault.is_some() {
            return Err(FailedReason::NotJson);
        }
        let invalid = |pointer: String, rule: String| FailedReason::Invalid { pointer, rule };
        self.validators
            .validate(BATCH, &container.arguments)
            .map_err(|fault| invalid(fault.pointer, fault.rule))?;
        let given: BatchArguments<'_> = serde_json::from_str(container.arguments.as_str())
            .map_err(|_| invalid(String::new(), "the calls cannot be read".to_owned()))?;
        let names = WireNames::of(&self.contract);
        let part = |(n, part): (usize, BatchPart<'_>)| {
            let arguments = ObjectText::parse(part.arguments.get())
                .map_err(|fault| invalid(format!("/calls/{n}/arguments"), fault.to_string()))?;
            let number = n + 1;
            Ok(Unit {
                call,
                invocation: Cow::Owned(ToolInvocation {
                    arguments,
                    id: format!("{}/{number}", container.id),
                    name: names.own(&part.tool).to_owned(),
                    fault: None,
                    raw_payload: None,
                    source_model: container.source_model.clone(),
                }),
                part: Some(part.id.unwrap_or_else(|| number.to_string())),
                refused: None,
            })
        };
        given.calls.into_iter().enumerate().map(part).collect()
    }

    /// The final report that a message gives: its last valid one, else why its last one failed.
    pub(super) fn report_of(&self, message: &AgentMessage) -> Report {
        let Some(terms) = &self.contract.final_report else {
            return Report::None;
        };
        let mut found = Report::None;
        for call in &message.tool_calls {
            if self.contract.session_tool(&call.name) != Some(SessionTool::FinalReport) {
                continue;
            }
            let broken = if call.fault.is_some() {
                FailedReason::NotJson
            } else {
                match terms.read(&call.arguments, &self.validators) {
                    Ok(report) => {
                        found = Report::Held(report);
                        continue;
                    }
                    Err(fault) => FailedReason::Invalid {
                        pointer: fault.pointer,
                        rule: fault.rule,
                    },
                }
            };
            if !matches!(found, Report::Held(_)) {
                found = Report::Broken(broken);
            }
        }
        found
    }

    /// True if a message calls `agent__final_report`.
    pub(super) fn reports(&self, message: &AgentMessage) -> bool {
        let is_report = |call: &ToolInvocation| {
            self.contract.session_tool(&call.name) == Some(SessionTool::FinalReport)
        };
        message.tool_calls.iter().any(is_report)
    }

    /// Returns a progress report's text for the note, or why the report is refused.
    pub(super) fn progress_of(&self, call: &ToolInvocation) -> Result<String, FailedReason> {
        if call.fault.is_some() {
            return Err(FailedReason::NotJson);
        }
        self.validators
            .validate(&call.name, &call.arguments)
            .map_err(|fault| FailedReason::Invalid {
                pointer: fault.pointer,
                rule: fault.rule,
            })?;
        let given = serde_json::from_str::<Progress>(call.arguments.as_str());
        let text = given.map_or_else(|_| String::new(), |given| given.progress);
        Ok(text.chars().take(PROGRESS_CHARS).collect())
    }

    /// Takes text instead of a report: only the closing turn does (000 §5). If the run ends otherwise in this step, it takes
    /// none.
    pub(super) fn take_text(&mut self, text: &str) -> Result<(), ArgumentFault> {
        if self.head_decides() {
            return Ok(());
        }
        if let Some(terms) = &self.contract.final_report {
            let report = terms.read_text(text, &self.validators)?;
            self.report = Report::Accepted(report, ReportSource::Text);
        }
        Ok(())
    }

    /// True if a terminal response is a final report and not a message.
    pub(super) fn wants_report(&self) -> bool {
        self.contract.final_report.is_some()
    }

    /// The code of a success.
    pub(super) fn success_code(&self) -> OutcomeCode {
        match &self.report {
            Report::Accepted(_, ReportSource::Tool) => OutcomeCode::FinalReport,
            Report::Accepted(_, ReportSource::Text) => OutcomeCode::TextFallback,
            Report::None | Report::Held(_) | Report::Broken(_) if self.closing.is_some() => {
                OutcomeCode::Synthesis
            }
            Report::None | Report::Held(_) | Report::Broken(_) => OutcomeCode::FinalMessage,
        }
    }

    /// Adds the warning of a report without its closing tag to the report that the message gave.
    pub(super) fn warn_of_open_report(&mut self, warnings: &[TagWarning]) {
        let is_open = |warning: &&TagWarning| warning.flaw == TagFlaw::UnclosedReport;
        if let Some(warning) = warnings.iter().find(is_open)
            && let Report::Held(report) | Report::Accepted(report, ReportSource::Tool) =
                &mut self.report
        {
            report.warnings.push(warning.to_string());
        }
    }

    /// Returns the report's record for the entry that ends the run.
    pub(super) fn report_record(&self) -> Option<ReportRecord> {
        let Report::Accepted(report, source) = &self.report else {
            return None;
        };
        let text = report.text();
        Some(ReportRecord {
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            format: report.format,
            hash: Digest::of(text.as_bytes()),
            source: *source,
            warnings: report.warnings.clone(),
        })
    }

    /// True if a final report cannot count yet: under `required` nothing proves the use of a tool.
    pub(super) fn report_unproven(&self, message: &AgentMessage) -> bool {
        self.required_unproven() && self.reports(message)
    }

    /// True if the output was cut and holds a report: half an answer is none (§12).
    pub(super) fn report_cut(&self, message: &AgentMessage, stop: StopReason) -> bool {
        stop == StopReason::Length && self.reports(message)
    }
}

/// The final report of the run so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Report {
    /// There is none.
    #[default]
    None,
    /// A valid one that waits until the other calls have ended.
    Held(FinalReport),
    /// One that failed.
    Broken(FailedReason),
    /// The report of the run, and how it was given.
    Accepted(FinalReport, ReportSource),
}

impl Report {
    /// Counts the tokens of the answer to a failed one; the others get theirs from their context.
    pub(super) fn answer_tokens(&self) -> u64 {
        match self {
            Self::Broken(reason) => estimate_tokens(&reason.observation()),
            Self::None | Self::Held(_) | Self::Accepted(_, _) => 0,
        }
    }

    /// Returns the part that decisions depend on.
    pub(super) const fn key(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Held(_) => 1,
            Self::Broken(_) => 2,
            Self::Accepted(_, ReportSource::Tool) => 3,
            Self::Accepted(_, ReportSource::Text) => 4,
        }
    }
}
