//! Final reports that came as tags (000 §11), and what became of each.

use std::sync::Arc;

use super::turns::{Activities, Activity};
use crate::adapter::xml::Nonce;
use crate::contract::{ExecutionContract, FINAL_REPORT, ToolTransport};
use crate::kernel::{Action, InferenceReturned, ReportSource, State};
use crate::message::{RunId, StopReason, ToolInvocation, genesis};

/// A final report that came as a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The number of the activity.
    pub number: usize,
    /// The turn that it belongs to.
    pub turn: u32,
    /// The attempt in that turn, from 1.
    pub attempt: u32,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// Size of its content in bytes.
    pub bytes: u64,
    /// The error in it, as far as known.
    pub fault: Option<ReportFault>,
    /// True if the run ended with this report; none until its turn is over.
    pub counted: Option<bool>,
}

/// The error in a final report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportFault {
    /// The token gate holds it back: it came before a call of the run had been validated.
    HeldBack,
    /// It breaks its form.
    Form {
        /// The place, as an RFC 6901 pointer.
        pointer: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// It was cut at the output limit.
    Cut,
    /// The machine refused it, in its words.
    Refused(String),
}

/// The reports of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reports {
    all: Vec<Report>,
    /// The error of form in the last report, on any transport.
    last_fault: Option<ReportFault>,
    /// True if the last response holds a report.
    in_last: bool,
    /// True if any response held a report, even one held back.
    any: bool,
    /// Set while the last report is not yet judged.
    is_pending: bool,
    /// The id that a report in its tag has; none if calls do not travel as tags.
    slot: Option<String>,
}

impl Reports {
    /// The reports of the run of that name, before its first.
    pub(super) fn of_run(contract: &ExecutionContract, run_id: &RunId) -> Self {
        let slot = || Nonce::of(&genesis(contract.contract_hash(), run_id)).final_slot();
        Self {
            slot: (contract.tool_transport != ToolTransport::Native).then(slot),
            ..Self::default()
        }
    }

    pub(super) fn all(&self) -> &[Report] {
        &self.all
    }

    pub(super) const fn last_fault(&self) -> Option<&ReportFault> {
        self.last_fault.as_ref()
    }

    /// Returns true if any response held a report.
    pub(super) const fn any(&self) -> bool {
        self.any
    }

    /// Returns the error in the report of the last response, if it holds one.
    pub(super) fn fault_of_last(&self) -> Option<&ReportFault> {
        self.last_fault.as_ref().filter(|_| self.in_last)
    }

    /// A response came, with a report in its tag or without.
    pub(super) fn given(
        &mut self,
        contract: &ExecutionContract,
        activities: &mut Activities,
        action: &Action,
        returned: &InferenceReturned,
        at_ms: u64,
    ) {
        let result = &returned.result;
        let calls = result.canonical_message.iter();
        let mut calls = calls.flat_map(|message| &message.tool_calls);
        let report = calls.find(|call| call.name == FINAL_REPORT);
        self.in_last = report.is_some();
        self.any |= self.in_last
            || result
                .withheld
                .is_some_and(|held| held.report_bytes.is_some());
        if let Some(call) = report {
            let cut = (result.stop == StopReason::Length).then_some(ReportFault::Cut);
            self.last_fault = fault_of(contract, call).or(cut);
        }
        let (Some(slot), Some(message)) = (&self.slot, &result.canonical_message) else {
            return;
        };
        let in_its_tag = |call: &&ToolInvocation| call.name == FINAL_REPORT && call.id == *slot;
        // Of one that is held back the entry shows the size and nothing else.
        let held_back = result.withheld.and_then(|held| held.report_bytes);
        let (bytes, fault) = match message.tool_calls.iter().find(in_its_tag) {
            Some(call) => (
                u64::try_from(call.arguments.as_str().len()).unwrap_or(u64::MAX),
                fault_of(contract, call),
            ),
            None => match held_back {
                Some(bytes) => (bytes, Some(ReportFault::HeldBack)),
                None => return,
            },
        };
        let cut = result.stop == StopReason::Length;
        self.all.push(Report {
            at_ms,
            attempt: action.attempt,
            bytes,
            counted: None,
            fault: fault.or_else(|| cut.then_some(ReportFault::Cut)),
            number: activities.begin(Activity::Report(self.all.len())),
            turn: action.counters.turns,
        });
        self.is_pending = true;
    }

    /// Judges the pending report by an entry. The report counts if the run ends with it, and has failed if anything else
    /// follows its turn.
    pub(super) fn settle(&mut self, activities: &mut Activities, action: &Action) {
        let Some(report) = self.all.last_mut().filter(|_| self.is_pending) else {
            return;
        };
        if action.from == State::ValidateCalls && report.fault.is_none() {
            report.fault = action.note.clone().map(ReportFault::Refused);
        }
        if action.from != State::Commit {
            return;
        }
        let given = action.report.as_ref().map(|report| report.source);
        report.counted = Some(given == Some(ReportSource::Tool));
        self.is_pending = false;
        activities.end(report.number);
    }
}

/// The rule of its form that a report breaks.
fn fault_of(contract: &ExecutionContract, call: &ToolInvocation) -> Option<ReportFault> {
    let terms = contract.final_report.as_ref()?;
    // Tools have no part in it, and most forms have no schema.
    let validators = match &terms.schema {
        Some(_) => Arc::clone(contract.validators()),
        None => Arc::default(),
    };
    let fault = terms.read(&call.arguments, &validators).err()?;
    Some(ReportFault::Form {
        pointer: fault.pointer,
        rule: fault.rule,
    })
}
