//! What must hold of the result document of every run, whatever its case expects (000 §2, §4, §5, §6).

use serde_json::Value;

use super::played::Played;
use crate::contract::{Completion, ToolTransport};
use crate::kernel::Outcome;
use crate::message::{AgentMessage, Role};
use crate::telemetry::{AccountingLine, AgentResult, ExitTag};

/// How every ephemeral notice begins: none of them enters the conversation.
const NOTICE: &str = "System notice: ";

/// Everything that is wrong; empty is good.
pub(super) fn broken(played: &Played) -> Vec<&'static str> {
    let ledger = played.ledger();
    let result = AgentResult::of_run(&played.run, &ledger);
    // As other programs see it.
    let document = serde_json::to_value(&result).unwrap_or_default();
    let outcome = played.run.outcome();
    let mut broken = Vec::new();
    let mut must = |holds: bool, what: &'static str| {
        if !holds {
            broken.push(what);
        }
    };
    must(
        outcome.is_some_and(|outcome| ends_as(&document, outcome)),
        "success, status, reason, error, exit code and tag say the same (000 §2, §5)",
    );
    must(
        accounts_for_everything(played, ledger.lines()),
        "each request and each started call has one entry, and their costs are the run's (000 §4)",
    );
    must(
        ledger.closed().count() == ledger.lines().len(),
        "where the run ends every entry is final (000 §4)",
    );
    must(
        in_order(played, outcome.is_some_and(|o| o.class.is_success())),
        "system, user, then assistant and tool in turn; no notice; an answer last (000 §6)",
    );
    broken
}

fn ends_as(document: &Value, outcome: Outcome) -> bool {
    let success = outcome.class.is_success();
    let report = &document["finalReport"];
    let reason = report["metadata"]["reason"].as_str();
    let said = report["content"]
        .as_str()
        .is_some_and(|text| !text.trim().is_empty());
    let error = document["error"].as_str();
    document["success"] == success
        && document["exit_code"] == outcome.exit_code()
        && (outcome.exit_code() == 0) == success
        && document["exit_tag"] == ExitTag::of(outcome).as_str()
        && (document["exit_tag"] == ExitTag::FinalAnswer.as_str()) == success
        && report["status"] == if success { "success" } else { "failure" }
        && (success || (said && reason == Some(outcome.code.as_str())))
        && error.is_some() != success
        && error.is_none_or(|error| error.starts_with(&outcome.to_string()))
}

fn accounts_for_everything(played: &Played, lines: &[AccountingLine]) -> bool {
    let counters = played.run.counters();
    let is_request = |line: &&AccountingLine| matches!(line, AccountingLine::Llm(_));
    let requests = lines.iter().filter(is_request).count();
    let calls = lines.len().saturating_sub(requests);
    let cost = lines.iter().fold(0_u64, |sum, line| match line {
        AccountingLine::Llm(line) => sum.saturating_add(line.cost_micro_usd.unwrap_or(0)),
        AccountingLine::Tool(_) => sum,
    });
    let numbered = lines.iter().zip(0_u64..).all(|(line, n)| line.index() == n);
    u64::try_from(requests) == Ok(counters.inferences)
        && u64::try_from(calls).is_ok_and(|calls| calls >= counters.executed)
        && cost == counters.cost_micro_usd
        && numbered
}

fn in_order(played: &Played, success: bool) -> bool {
    let opening = played.started.messages.len();
    let conversation = played.run.conversation();
    let Some((opening, added)) = conversation.split_at_checked(opening) else {
        return false;
    };
    let systems_first = opening.is_sorted_by_key(|message| message.role != Role::System);
    let task = opening
        .last()
        .is_some_and(|message| message.role == Role::User);
    let mut before: Option<&AgentMessage> = None;
    for message in added {
        let fits = match message.role {
            Role::System => false,
            Role::User => !message.content.starts_with(NOTICE),
            Role::Tool => before.is_some_and(|before| before.role != Role::User),
            Role::Assistant => before.is_none_or(|before| {
                before.role != Role::Assistant || stays_silent(played, before)
            }),
        };
        if !fits {
            return false;
        }
        before = Some(message);
    }
    let native = played.contract.tool_transport == ToolTransport::Native;
    let answered = before.is_some_and(|last| last.role == Role::Assistant);
    systems_first && task && (!success || !native || answered)
}

/// Whether a message of the model may be followed by another one: it only thought, or a final report is still to come.
fn stays_silent(played: &Played, message: &AgentMessage) -> bool {
    let thought = message.content.trim().is_empty() && message.tool_calls.is_empty();
    thought || played.contract.completion == Completion::FinalReport
}
