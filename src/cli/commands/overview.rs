//! A run as `monolith show` tells it: header, one line for each entry, calls, and how it ended.

use std::fmt::Write as _;

use super::list::forked_from;
use super::story::{Row, Story};
use crate::cli::escape::{brief, line};
use crate::cli::narrator::target_name;
use crate::cli::numbers::{counted, grouped, seconds, utc};
use crate::cli::screen::{Screen, Style};
use crate::cli::standing::Standing;
use crate::contract::{Completion, ExecutionContract, Grounds, ToolPolicy};
use crate::kernel::{EntryKind, Predicate};
use crate::message::{Role, RunId};
use crate::telemetry::Ledger;

const BAR: u64 = 20;

/// The whole of it; `verified` says how far it is.
pub(super) fn overview(screen: Screen, story: &Story, verified: &str) -> String {
    let mut out = header(screen, story, verified);
    out.push('\n');
    for row in &story.rows {
        out.push_str(&row.line(screen));
    }
    if !story.calls.is_empty() {
        let _ = writeln!(out, "\n{}", calls(story));
    }
    let is_open = story.ledger.outcome().is_none();
    let none = if is_open {
        "no result yet"
    } else {
        "no result"
    };
    let awaited = story.ledger.approvals().awaited().filter(|_| is_open);
    for (call, told) in &story.calls {
        let waits = awaited.filter(|(waiting, _)| waiting == call);
        let waits =
            waits.map(|(_, hash)| format!("waits for an approval of its arguments, blake3 {hash}"));
        let ended = told.ended.as_deref().or(waits.as_deref()).unwrap_or(none);
        let arguments = brief(&told.arguments, 200);
        let _ = writeln!(out, "  {call}  {} {arguments}", line(&told.name));
        let _ = writeln!(out, "     {ended}");
    }
    out.push('\n');
    out.push_str(&end(screen, &story.ledger, &story.rows, story.standing));
    out
}

/// How many calls there were; one that still runs has not failed.
fn calls(story: &Story) -> String {
    let is_open = story.ledger.outcome().is_none();
    let unanswered = story.calls.values();
    let unanswered = unanswered.filter(|call| call.started && call.ended.is_none());
    let running = if is_open { unanswered.count() } else { 0 };
    let failed = story.ledger.failed_calls_count().saturating_sub(running);
    let mut out = format!("{}, {failed} failed", counted(story.calls.len(), "call"));
    if running > 0 {
        let _ = write!(out, ", {running} without a result yet");
    }
    let kept_back = story.calls.values().filter(|call| !call.started).count();
    if kept_back > 0 {
        let _ = write!(out, ", {kept_back} not started");
    }
    out
}

/// Why the run ended as it did.
pub(super) fn why(screen: Screen, story: &Story) -> String {
    let (rows, ledger) = (&story.rows, &story.ledger);
    let mut out = end(screen, ledger, rows, story.standing);
    let decided = rows.iter().rev().find(|row| row.action.predicate.is_some());
    if let (Some(row), Some(_)) = (decided, ledger.outcome()) {
        let action = &row.action;
        let _ = writeln!(
            out,
            "\nDecided in entry {}, {} → {}, {} into the run.",
            action.seq,
            action.from,
            action.to,
            seconds(row.at_ms)
        );
        out.push_str(
            match action.predicate.map_or(0, |predicate| predicate.item) {
                0 => "PRECHECK performs all its checks; the first that failed gave the code.\n",
                1 => "Predicates are asked in their order; this is the first of all.\n",
                _ => "Predicates are asked in their order; none before this one held.\n",
            },
        );
        for check in &action.checks {
            let verdict = if check.ok { "ok    " } else { "FAILED" };
            let detail = brief(&check.detail, 400);
            let _ = writeln!(out, "  {verdict}  {:?}  {detail}", check.name);
        }
    }
    out.push_str("\nBefore it:\n");
    let before = rows.iter().filter(|row| row.action.kind != EntryKind::Seal);
    let before: Vec<&Row> = before.collect();
    for row in before.iter().skip(before.len().saturating_sub(6)) {
        out.push_str(&row.line(screen));
    }
    out.push_str("\nUsed:\n");
    out.push_str(&budgets(&story.contract, ledger));
    out
}

fn header(screen: Screen, story: &Story, verified: &str) -> String {
    let (contract, ledger) = (&story.contract, &story.ledger);
    let began = utc(ledger.started_unix_ms());
    let run_id = story.run_id.as_ref().map_or("", RunId::as_str);
    let run_id = screen.paint_out(Style::Bold, run_id);
    let mut out = format!("run       {run_id}, begun {began} UTC\n");
    let started = story.started.as_ref();
    let _ = writeln!(
        out,
        "contract  {}, hash {}",
        line(contract.contract_id()),
        contract.contract_hash().short(16)
    );
    if let Some(forked) = forked(story) {
        let _ = writeln!(out, "parent    {}", line(&forked));
    }
    let task = started.and_then(|started| {
        let mut messages = started.messages.iter().rev();
        messages.find(|message| message.role == Role::User)
    });
    if let Some(task) = task {
        let _ = writeln!(out, "task      {}", brief(&task.content, 200));
    }
    let policy = match contract.tool_policy {
        ToolPolicy::Required => "tools required",
        ToolPolicy::Optional => "tools optional",
        ToolPolicy::Forbidden => "tools forbidden",
    };
    let decision = &contract.policy_decision;
    let grounds = match decision.grounds {
        Grounds::Given => "as given".to_owned(),
        Grounds::Default => "by default".to_owned(),
        Grounds::ChatPage => "page chat".to_owned(),
        Grounds::CodeIntent => {
            let words = started.map(|started| started.intent_words.join(", "));
            format!("page code, words: {}", line(&words.unwrap_or_default()))
        }
        Grounds::CodeConceptual => "page code, no word of intent".to_owned(),
    };
    let strict = if contract.strict_mode {
        "strict"
    } else {
        "not strict"
    };
    let completion = match contract.completion {
        Completion::Message => "ends with a message",
        Completion::FinalReport => "ends with a final report",
    };
    let _ = writeln!(
        out,
        "policy    {policy} ({grounds}), {strict}, {completion}"
    );
    let targets: Vec<String> = (0..contract.targets.len())
        .map(|index| target_name(contract, u32::try_from(index).unwrap_or(u32::MAX)))
        .collect();
    let _ = writeln!(out, "targets   {}", targets.join(", "));
    out.push_str(&budgets(contract, ledger));
    let head = ledger.head().map(|head| head.short(16)).unwrap_or_default();
    let _ = writeln!(
        out,
        "chain     {} entries, head {head}, {verified}",
        story.rows.len()
    );
    out
}

/// The run that this one was forked from. A file does not hold it, so only its head is known there.
fn forked(story: &Story) -> Option<String> {
    if let Some(lineage) = &story.lineage {
        return Some(forked_from(lineage));
    }
    let parent = story.started.as_ref()?.parent.as_ref()?;
    let (run_id, head) = (&parent.run_id, parent.head.short(16));
    Some(format!(
        "forked from {run_id} at the entry with the hash {head}"
    ))
}

/// What was used of each limit.
fn budgets(contract: &ExecutionContract, ledger: &Ledger) -> String {
    let used = ledger.counters();
    let mut out = String::new();
    let mut bar = |name: &str, used: u64, limit: Option<u64>| {
        let shown = match limit {
            Some(limit) => format!(
                "{} {} of {}",
                filled(used, limit),
                grouped(used),
                grouped(limit)
            ),
            None => grouped(used),
        };
        let _ = writeln!(out, "{name:<9} {shown}");
    };
    bar("turns", used.turns.into(), Some(contract.max_turns.into()));
    bar("requests", used.inferences, Some(contract.max_inferences));
    bar(
        "tokens",
        used.tokens(),
        Some(contract.max_tokens_consumed.0),
    );
    bar("calls", used.calls, contract.max_calls.run);
    if let Some(limit) = &contract.max_cost_micro_usd {
        bar("micro-usd", used.cost_micro_usd, Some(limit.0));
    }
    bar("ms", ledger.at_ms(), Some(contract.total_timeout_ms));
    out
}

fn filled(used: u64, limit: u64) -> String {
    let full = used
        .saturating_mul(BAR)
        .checked_div(limit)
        .unwrap_or(BAR)
        .min(BAR);
    // What was used at all is seen.
    let full = if used > 0 { full.max(1) } else { full };
    let (full, rest) = (usize::try_from(full), usize::try_from(BAR - full));
    format!(
        "{}{}",
        "█".repeat(full.unwrap_or(0)),
        "░".repeat(rest.unwrap_or(0))
    )
}

/// The outcome, in its words and in one sentence.
pub(super) fn end(
    screen: Screen,
    ledger: &Ledger,
    rows: &[Row],
    standing: Option<Standing>,
) -> String {
    let Some(outcome) = ledger.outcome() else {
        return match standing {
            Some(Standing::Running { pid: Some(pid) }) => {
                format!("no end yet: the run is in progress, process {pid} drives it\n")
            }
            Some(Standing::Running { pid: None }) => {
                "no end yet: the run is in progress\n".to_owned()
            }
            Some(Standing::Interrupted) => {
                "no end yet: interrupted, no process drives the run\n".to_owned()
            }
            Some(Standing::Elsewhere) | None => {
                "no end yet: the run is in progress, or its process was cut off\n".to_owned()
            }
        };
    };
    let style = if outcome.class.is_success() {
        Style::Good
    } else {
        Style::Bad
    };
    let predicate: Option<Predicate> = rows.iter().rev().find_map(|row| row.action.predicate);
    let predicate = predicate.map(|predicate| format!("   {predicate}"));
    let why = ledger.why().unwrap_or_default();
    format!(
        "{}{}\n{} Exit code {}.\n",
        screen.paint_out(style, &outcome.to_string()),
        predicate.unwrap_or_default(),
        line(&why),
        outcome.exit_code()
    )
}
