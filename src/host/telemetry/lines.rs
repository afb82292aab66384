//! The accounting of a run: a line for each request, each execution of a call, and each final report in a tag.

use super::accounting::{
    AccountingLine, AccountingStatus, AccountingTokens, CallSource, CostSource, DroppedTokens,
    FINAL_REPORT_XML, LlmLine, Purpose, ToolLine, usd,
};
use super::failures;
use monolith_core::contract::{FINAL_REPORT, ToolTransport};
use monolith_core::message::{RunId, Usage};
use monolith_core::view::{
    Activity, Call, Execution, Report, Request, RequestEnd, RequestPurpose, RunView,
};

impl AccountingLine {
    /// The accounting so far, in the order in which requests and calls were started.
    #[must_use]
    pub fn of_run(view: &RunView) -> Vec<Self> {
        let numbers = 0..view.activities().len();
        numbers
            .filter_map(|number| Self::of_activity(view, number))
            .collect()
    }

    /// The lines of what has ended, in the order in which it did, without the first `from` of them.
    #[must_use]
    pub fn of_ended(view: &RunView, from: usize) -> Vec<Self> {
        let numbers = view.ended().iter().skip(from);
        numbers
            .filter_map(|number| Self::of_activity(view, *number))
            .collect()
    }

    fn of_activity(view: &RunView, number: usize) -> Option<Self> {
        Some(match *view.activities().get(number)? {
            Activity::Request(inference) => {
                Self::Llm(LlmLine::of(view, view.request(inference)?, number))
            }
            Activity::Execution(call, place) => {
                let call = view.call(call)?;
                Self::Tool(ToolLine::of_call(view, call, call.executions.get(place)?))
            }
            Activity::Report(place) => {
                Self::Tool(ToolLine::of_report(view, view.reports().get(place)?))
            }
        })
    }
}

impl LlmLine {
    fn of(view: &RunView, request: &Request, number: usize) -> Self {
        let target = usize::try_from(request.target).ok();
        let target = target.and_then(|index| view.contract().targets.get(index));
        let usage = request.usage.unwrap_or_default();
        let cost = request.cost_micro_usd;
        let run = RunNames::of(view);
        Self {
            provider: target.map(|t| t.provider.clone()).unwrap_or_default(),
            model: target.map(|t| t.model.clone()).unwrap_or_default(),
            status: status(request.succeeded()),
            latency: latency(request.sent_at_ms, request.ended_at_ms),
            tokens: AccountingTokens::from(&usage),
            index: index(number),
            turn: request.turn,
            attempt: request.attempt,
            purpose: match request.purpose {
                RequestPurpose::Attempt => None,
                RequestPurpose::Summary(_) => Some(Purpose::Summary),
                RequestPurpose::Sampling(_) => Some(Purpose::Sampling),
            },
            agent_id: run.agent_id,
            call_path: run.call_path,
            txn_id: run.own,
            parent_txn_id: run.parent,
            origin_txn_id: run.origin,
            timestamp: view.unix_ms(request.sent_at_ms),
            error: failures::of_request(request),
            cost_usd: cost.map(usd),
            cost_micro_usd: cost,
            cost_source: cost.map(|_| source(&usage)),
            cost_fault: usage.cost_fault,
            stop_reason: match &request.end {
                Some(RequestEnd::Returned { stop, .. }) => Some(*stop),
                _ => None,
            },
        }
    }
}

impl ToolLine {
    fn of_call(view: &RunView, call: &Call, execution: &Execution) -> Self {
        let contract = view.contract();
        let origin = contract.tool(&call.name).map(|tool| tool.origin.as_str());
        let origin = origin.unwrap_or_default();
        let result = execution.result();
        let waited = latency(execution.began_at_ms, execution.ended_at_ms);
        // The size of a call in a batch is known from its envelope only.
        let requested_size = call.batch.is_none().then(|| size(&call.arguments));
        let run = RunNames::of(view);
        Self {
            mcp_server: origin.strip_prefix("mcp:").unwrap_or(origin).to_owned(),
            command: call.name.clone(),
            status: status(execution.is_ok()),
            latency: result.map_or(waited, |result| result.duration_ms),
            index: index(execution.number),
            turn: execution.turn,
            attempt: execution.attempt,
            agent_id: run.agent_id,
            call_path: run.call_path,
            txn_id: run.own,
            parent_txn_id: run.parent,
            origin_txn_id: run.origin,
            timestamp: view.unix_ms(execution.called_at_ms()),
            characters_in: result.map_or(requested_size.unwrap_or(0), |result| result.bytes_in),
            characters_out: result.map_or(0, |result| result.bytes_out),
            source: (contract.tool_transport == ToolTransport::Xml).then_some(CallSource::Xml),
            dropped: execution.dropped.map(|dropped| DroppedTokens {
                original_tokens: dropped.original,
                replacement_tokens: dropped.replacement,
            }),
            error: failures::of_execution(execution),
        }
    }

    fn of_report(view: &RunView, report: &Report) -> Self {
        let mut own = view.contract().session_tools.iter();
        let own = own.find(|tool| tool.name == FINAL_REPORT);
        let run = RunNames::of(view);
        Self {
            mcp_server: own.map(|tool| tool.origin.clone()).unwrap_or_default(),
            command: FINAL_REPORT_XML.to_owned(),
            status: status(report.counted == Some(true)),
            latency: 0,
            index: index(report.number),
            turn: report.turn,
            attempt: report.attempt,
            agent_id: run.agent_id,
            call_path: run.call_path,
            txn_id: run.own,
            parent_txn_id: run.parent,
            origin_txn_id: run.origin,
            timestamp: view.unix_ms(report.at_ms),
            characters_in: report.bytes,
            characters_out: 0,
            source: Some(CallSource::Xml),
            dropped: None,
            error: failures::of_report(report),
        }
    }
}

/// The names of a run, of the one that it was forked from or called by, of the first of that line, and of its agent.
struct RunNames {
    agent_id: Option<String>,
    call_path: Option<String>,
    own: Option<RunId>,
    parent: Option<RunId>,
    origin: Option<RunId>,
}

impl RunNames {
    fn of(view: &RunView) -> Self {
        let parent = view.start().and_then(|start| start.parent.as_ref());
        Self {
            agent_id: view.agent_id().map(str::to_owned),
            call_path: view.call_path(),
            own: view.run_id().cloned(),
            parent: parent.map(|parent| parent.run_id.clone()),
            origin: view.origin().cloned(),
        }
    }
}

const fn status(is_ok: bool) -> AccountingStatus {
    if is_ok {
        AccountingStatus::Ok
    } else {
        AccountingStatus::Failed
    }
}

const fn source(usage: &Usage) -> CostSource {
    match usage.cost_micro_usd {
        Some(_) => CostSource::Provider,
        None => CostSource::Prices,
    }
}

fn latency(from_ms: u64, to_ms: Option<u64>) -> u64 {
    to_ms.map_or(0, |to_ms| to_ms.saturating_sub(from_ms))
}

fn index(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn size(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
