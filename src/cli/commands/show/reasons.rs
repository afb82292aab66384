//! Why a run ended as it did: the rule that decided, its figures, and the entries that led there.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::render::{budgets, end};
use super::shown_run::ShownRun;
use crate::ui::entry_row::EntryRow;
use crate::ui::screen::Screen;
use monolith_core::kernel::{OutcomeCode, Run};
use monolith_core::view::RunView;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::{counted, grouped, seconds};

/// How many entries of each kind are named.
const MOST_ENTRIES: usize = 6;

/// Why the run ended as it did.
pub(super) fn why(screen: Screen, run: &ShownRun) -> String {
    let view = &run.view;
    let mut out = end(screen, view, run.status);
    if let Some(decided) = view.decision().filter(|_| view.outcome().is_some()) {
        let _ = writeln!(out, "{}", decided.predicate);
    }
    if let (Some(decided), Some(outcome)) = (view.decision(), view.outcome()) {
        let _ = writeln!(
            out,
            "\nDecided in entry {}, {} → {}, {} into the run.",
            decided.seq,
            decided.from,
            decided.to,
            seconds(decided.at_ms)
        );
        out.push_str(match decided.predicate.item {
            0 => "PRECHECK performs all its checks; the first that failed gave the code.\n",
            1 => "Predicates are the machine's rules. It asks them in order, and this is the very first.\n",
            _ => "Predicates are the machine's rules. It asks them in order, and this is the first that held.\n",
        });
        let checks = &view.preflight().checks;
        for check in checks.iter().filter(|_| decided.predicate.item == 0) {
            let verdict = if check.ok { "ok    " } else { "FAILED" };
            let detail = brief(&check.detail, 400);
            let row = format!("  {verdict}  {:?}  {detail}", check.name);
            let _ = writeln!(out, "{}", row.trim_end());
        }
        for figure in figures(view, outcome.code) {
            let _ = writeln!(out, "  {}", line(&figure));
        }
    }
    let rows = || run.rows.iter().filter(|row| !row.is_seal());
    out.push_str(&flows(screen, view, &rows().collect::<Vec<_>>()));
    let failed: Vec<&EntryRow> = rows().filter(|row| row.failed()).collect();
    out.push_str(&listed(screen, "What failed", &failed));
    let warned: Vec<&EntryRow> = rows().filter(|row| row.warned()).collect();
    out.push_str(&listed(screen, "Warnings", &warned));
    // Rows that are listed above are not listed again.
    let named = |row: &EntryRow| row.failed() || row.warned();
    let others: Vec<&EntryRow> = rows().filter(|row| !named(row)).collect();
    let title = if failed.is_empty() && warned.is_empty() {
        "The last entries"
    } else {
        "The last entries beside them"
    };
    out.push_str(&listed(screen, title, &others));
    out.push_str("\nUsed:\n");
    out.push_str(&budgets(view));
    out
}

/// The last calls that rules of `flow` decided about, and the entries that show what tainted them.
fn flows(screen: Screen, view: &RunView, rows: &[&EntryRow]) -> String {
    let before = view.flows().len().saturating_sub(MOST_ENTRIES);
    let flows = view.flows().get(before..).unwrap_or_default();
    if flows.is_empty() {
        return String::new();
    }
    let mut out = "\nInformation flow:\n".to_owned();
    for (entry, flow) in flows {
        let _ = writeln!(out, "  entry {entry}: {}", line(&flow.sentence()));
    }
    let tainting: BTreeSet<u64> = flows
        .iter()
        .flat_map(|(_, flow)| flow.seen.iter().map(|source| source.entry))
        .collect();
    let rows = rows.iter().copied();
    let rows: Vec<&EntryRow> = rows.filter(|row| tainting.contains(&row.seq())).collect();
    out.push_str(&listed(
        screen,
        "The results that the model had seen",
        &rows,
    ));
    out
}

/// The last of these entries below a title.
fn listed(screen: Screen, title: &str, rows: &[&EntryRow]) -> String {
    let Some(before) = rows.len().checked_sub(1) else {
        return String::new();
    };
    let skipped = (before + 1).saturating_sub(MOST_ENTRIES);
    let more = match skipped {
        0 => String::new(),
        skipped => format!(" ({} before them)", counted(skipped, "entry")),
    };
    let mut out = format!("\n{title}{more}:\n");
    for row in rows.iter().skip(skipped) {
        out.push_str(&row.numbered_line(screen));
    }
    out
}

/// The counts and limits that the outcome rests on, by the contract's own keys.
fn figures(view: &RunView, code: OutcomeCode) -> Vec<String> {
    let (contract, used) = (view.contract(), view.counters());
    let of = |key: &str, used: u64, limit: u64| {
        format!("{key}: {} of {} used", grouped(used), grouped(limit))
    };
    let turn = view.turns().last();
    let began = turn.map_or(0, |turn| turn.began_counted_ms);
    let attempts = turn.map_or(0, |turn| turn.attempts.len() as u64);
    let proof = || {
        let asked = counted(view.requested_calls(), "call");
        format!(
            "the model asked for {asked}; {} executed, {} of them without an error; 1 is required",
            used.executed, used.executed_ok
        )
    };
    match code {
        OutcomeCode::MaxTurnsExhausted => {
            vec![of(
                "max_turns",
                used.turns.into(),
                contract.max_turns.into(),
            )]
        }
        OutcomeCode::MaxInferences => {
            vec![of(
                "max_inferences",
                used.inferences,
                contract.max_inferences,
            )]
        }
        OutcomeCode::MaxTokens => {
            let limit = contract.max_tokens_consumed.0;
            let next = view.machine().filter(|_| view.closing().is_none());
            let next = next.map(Run::next_prompt_tokens);
            let next = next.filter(|next| used.tree_tokens().saturating_add(*next) > limit);
            let next = next.map(|next| {
                let tokens = grouped(next);
                format!(
                    "the next request has {tokens} before its answer, which would have exceeded it"
                )
            });
            let used = of("max_tokens_consumed", used.tree_tokens(), limit);
            std::iter::once(used).chain(next).collect()
        }
        OutcomeCode::MaxCost => {
            let limit = contract.max_cost_micro_usd.as_ref();
            let limit =
                limit.map(|limit| of("max_cost_micro_usd", used.tree_cost_micro_usd(), limit.0));
            limit.into_iter().collect()
        }
        OutcomeCode::MaxCalls => {
            let run = contract.max_calls.run;
            let run = run.map(|limit| of("max_calls.run", used.calls, limit));
            let tools = contract.max_calls.per_tool.iter().map(|(tool, limit)| {
                let calls = view.calls().values();
                let calls = calls.filter(|call| call.name == *tool && call.is_started());
                let calls = u64::try_from(calls.count()).unwrap_or(u64::MAX);
                of(&format!("max_calls.per_tool.{tool}"), calls, *limit)
            });
            run.into_iter().chain(tools).collect()
        }
        OutcomeCode::IdenticalCalls => {
            let limit = contract.max_identical_calls;
            let limit = limit.map(|limit| format!("max_identical_calls: {limit}"));
            limit.into_iter().collect()
        }
        OutcomeCode::AttemptsExhausted
        | OutcomeCode::Refusal
        | OutcomeCode::ContentFilter
        | OutcomeCode::ProviderAuth
        | OutcomeCode::ProviderQuota => {
            let limit = contract.max_attempts_per_turn.into();
            vec![of("max_attempts_per_turn", attempts, limit)]
        }
        OutcomeCode::FormatRetriesExhausted => {
            let (used, limit) = (used.format_retries, contract.max_format_retries);
            vec![of("max_format_retries", used.into(), limit.into())]
        }
        OutcomeCode::Arguments => {
            vec![format!("max_invalid_turns: {}", contract.max_invalid_turns)]
        }
        OutcomeCode::StepTimeout => {
            let took = view.counted_ms().saturating_sub(began);
            vec![of("step_timeout_ms", took, contract.step_timeout_ms)]
        }
        OutcomeCode::TotalTimeout => {
            vec![of(
                "total_timeout_ms",
                view.counted_ms(),
                contract.total_timeout_ms,
            )]
        }
        OutcomeCode::SynthesisWithoutTools => {
            let (used, limit) = (used.turns.into(), contract.max_turns.into());
            vec![of("max_turns", used, limit), proof()]
        }
        OutcomeCode::NoCallResponse | OutcomeCode::ProofNotSucceeded => vec![proof()],
        OutcomeCode::FinalReport
        | OutcomeCode::TextFallback
        | OutcomeCode::Synthesis
        | OutcomeCode::FinalMessage => vec![format!(
            "{} executed, {} of them without an error",
            counted(used.executed, "call"),
            used.executed_ok
        )],
        OutcomeCode::Context | OutcomeCode::ContextInfeasible => vec![format!(
            "context_budget.context_window: {}",
            grouped(contract.context_budget.context_window)
        )],
        _ => Vec::new(),
    }
}
