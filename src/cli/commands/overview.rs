//! A run as `monolith show` tells it: header, one line for each entry, calls, and how it ended.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::list::forked_from;
use crate::cli::error::CliError;
use crate::cli::escape::{brief, line};
use crate::cli::narrator::{Narrator, outcome, target_name};
use crate::cli::numbers::{counted, grouped, seconds, utc};
use crate::cli::recorded::Recorded;
use crate::cli::screen::{Screen, Style};
use crate::contract::{Completion, Grounds, ToolPolicy};
use crate::kernel::{Action, EffectRecord, EntryKind, EventKind, Predicate, RunStarted};
use crate::message::{CallSeq, Role};
use crate::telemetry::Ledger;

const BAR: u64 = 20;

/// What happened in one entry, as one line.
struct Row {
    action: Action,
    at_ms: u64,
    detail: String,
    hash: String,
    /// Tokens and milliseconds since the entry before.
    tokens: u64,
    took_ms: u64,
}

/// A call that was started.
struct Call {
    arguments: String,
    ended: Option<String>,
    name: String,
}

/// The whole of it.
pub(super) fn overview(
    screen: Screen,
    recorded: &Recorded,
    ledger: &Ledger,
) -> Result<String, CliError> {
    let (rows, calls) = read(recorded)?;
    let mut out = header(screen, recorded, ledger, &rows)?;
    out.push('\n');
    for row in &rows {
        out.push_str(&row.line(screen));
    }
    if !calls.is_empty() {
        let failed = ledger.failed_calls_count();
        let _ = writeln!(out, "\n{}, {failed} failed", counted(calls.len(), "call"));
    }
    for (call, told) in &calls {
        let ended = told.ended.as_deref().unwrap_or("no result");
        let arguments = brief(&told.arguments, 200);
        let _ = writeln!(out, "  {call}  {} {arguments}", line(&told.name));
        let _ = writeln!(out, "     {ended}");
    }
    out.push('\n');
    out.push_str(&end(screen, ledger, &rows));
    Ok(out)
}

/// Why the run ended as it did.
pub(super) fn why(
    screen: Screen,
    recorded: &Recorded,
    ledger: &Ledger,
) -> Result<String, CliError> {
    let (rows, _) = read(recorded)?;
    let mut out = end(screen, ledger, &rows);
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
    out.push_str(&budgets(recorded, ledger));
    Ok(out)
}

fn read(recorded: &Recorded) -> Result<(Vec<Row>, BTreeMap<CallSeq, Call>), CliError> {
    let mut narrator = Narrator::default();
    let mut rows: Vec<Row> = Vec::with_capacity(recorded.entries.len());
    let mut calls: BTreeMap<CallSeq, Call> = BTreeMap::new();
    let mut arguments = BTreeMap::new();
    for entry in &recorded.entries {
        let (action, event) = Recorded::decode(entry)?;
        let told = narrator.take(&recorded.contract, &action, event.as_ref());
        match event.map(|event| event.event) {
            Some(EventKind::InferenceReturned(returned)) => {
                let message = returned.result.canonical_message.into_iter();
                let asked = message.flat_map(|message| message.tool_calls);
                arguments = asked.map(|call| (call.id, call.arguments)).collect();
            }
            Some(EventKind::ToolReturned(returned)) => {
                if let Some(call) = calls.get_mut(&returned.call) {
                    call.ended = Some(outcome(&returned.outcome));
                }
            }
            _ => {}
        }
        for effect in &action.effects {
            if let EffectRecord::Execute { call, id, name, .. } = effect {
                let text = arguments.get(id).map(ToString::to_string);
                let call_told = Call {
                    arguments: text.unwrap_or_default(),
                    ended: None,
                    name: name.clone(),
                };
                calls.insert(*call, call_told);
            }
        }
        let before = rows.last();
        let at_ms = narrator.at_ms();
        let tokens_before = before.map_or(0, |row| row.action.counters.tokens());
        rows.push(Row {
            at_ms,
            detail: told.map_or_else(|| beside(&action), |told| told.detail),
            hash: entry.hash.short(8),
            tokens: action.counters.tokens().saturating_sub(tokens_before),
            took_ms: at_ms.saturating_sub(before.map_or(0, |row| row.at_ms)),
            action,
        });
    }
    Ok((rows, calls))
}

/// What there is to say of an entry that is no transition.
fn beside(action: &Action) -> String {
    let note = action.note.as_deref().map(line).unwrap_or_default();
    match action.kind {
        EntryKind::Start => "the run begins".to_owned(),
        EntryKind::Seal => "sealed".to_owned(),
        EntryKind::Ignored => "an event that came too late".to_owned(),
        EntryKind::Noted | EntryKind::Transition => note,
    }
}

impl Row {
    fn line(&self, screen: Screen) -> String {
        let action = &self.action;
        let states = if action.kind == EntryKind::Transition {
            format!("{} → {}", action.from, action.to)
        } else {
            action.to.to_string()
        };
        let used = match (self.tokens, self.took_ms) {
            (0, 0) => String::new(),
            (0, ms) => format!("+{ms} ms"),
            (tokens, ms) => format!("+{} tokens, +{ms} ms", grouped(tokens)),
        };
        let hash = screen.paint_out(Style::Dim, &self.hash);
        format!(
            "{:>4}  {:>9}  {states:<24}  {hash}  {used:<22}  {}\n",
            action.seq,
            seconds(self.at_ms),
            self.detail
        )
        .trim_end()
        .to_owned()
            + "\n"
    }
}

fn header(
    screen: Screen,
    recorded: &Recorded,
    ledger: &Ledger,
    rows: &[Row],
) -> Result<String, CliError> {
    let contract = &recorded.contract;
    let began = utc(ledger.started_unix_ms());
    let run_id = screen.paint_out(Style::Bold, recorded.run_id.as_str());
    let mut out = format!("run       {run_id}, begun {began} UTC\n");
    let _ = writeln!(
        out,
        "contract  {}, hash {}",
        line(contract.contract_id()),
        contract.contract_hash().short(16)
    );
    if let Some(forked) = forked(recorded)? {
        let _ = writeln!(out, "parent    {}", line(&forked));
    }
    if let Some(task) = task(recorded)? {
        let _ = writeln!(out, "task      {}", brief(&task, 200));
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
            let words = started(recorded)?.map(|started| started.intent_words);
            format!(
                "page code, words: {}",
                line(&words.unwrap_or_default().join(", "))
            )
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
    out.push_str(&budgets(recorded, ledger));
    let head = ledger.head().map(|head| head.short(16)).unwrap_or_default();
    let _ = writeln!(out, "chain     {} entries, head {head}", rows.len());
    Ok(out)
}

/// The run that this one was forked from. A file does not hold it, so only its head is known there.
fn forked(recorded: &Recorded) -> Result<Option<String>, CliError> {
    if let Some(lineage) = recorded.lineage()? {
        return Ok(Some(forked_from(&lineage)));
    }
    let parent = started(recorded)?.and_then(|started| started.parent);
    Ok(parent.map(|parent| {
        let head = parent.head.short(16);
        format!(
            "forked from {} at the entry with the hash {head}",
            parent.run_id
        )
    }))
}

/// The user's message of entry 0.
fn task(recorded: &Recorded) -> Result<Option<String>, CliError> {
    let said = |started: RunStarted| {
        let mut messages = started.messages.into_iter().rev();
        messages.find(|message| message.role == Role::User)
    };
    Ok(started(recorded)?
        .and_then(said)
        .map(|message| message.content))
}

/// The inputs of the run, where its first entry has them.
fn started(recorded: &Recorded) -> Result<Option<RunStarted>, CliError> {
    let Some(first) = recorded.entries.first() else {
        return Ok(None);
    };
    let (_, event) = Recorded::decode(first)?;
    Ok(match event.map(|event| event.event) {
        Some(EventKind::RunStarted(started)) => Some(*started),
        _ => None,
    })
}

/// What was used of each limit.
fn budgets(recorded: &Recorded, ledger: &Ledger) -> String {
    let (contract, used) = (&recorded.contract, ledger.counters());
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
fn end(screen: Screen, ledger: &Ledger, rows: &[Row]) -> String {
    let Some(outcome) = ledger.outcome() else {
        return "no end yet: the run is in progress, or its process was cut off\n".to_owned();
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
