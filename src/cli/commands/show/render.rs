//! A run as `monolith show` lays it out: the conversation, how it ended, and the machine's view: header, one line for each entry, calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::conversation::conversation;
use super::files::files;
use super::servers::{not_up, servers};
use crate::commands::list::forked_from;
use crate::ui::entry_row::row_line;
use crate::ui::screen::{Screen, Style};
use monolith_core::contract::{Completion, Grounds, ToolPolicy};
use monolith_core::message::{RunId, utc};
use monolith_core::view::{ApprovalEnd, Call, RunView};
use monolith_host::telemetry;
use monolith_service::answer_refusal::AnswerRefusal;
use monolith_service::approval::ApprovalStatus;
use monolith_service::run_status::RunStatus;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::narration::{call_end, exchange, target_name};
use monolith_service::text::numbers::{counted, grouped};
use monolith_service::view::shown_run::ShownRun;

const BAR: u64 = 20;

/// The whole of it: the conversation, how it ended, then the machine's view. `verified` states how far it is verified;
/// `held_back` has texts by their entries: those of which the conversation has no message are shown below them.
pub(crate) fn overview(
    screen: Screen,
    run: &ShownRun,
    verified: &str,
    uncut: Option<&str>,
    mut held_back: BTreeMap<u64, String>,
) -> String {
    let view = &run.view;
    let mut out = conversation(screen, run, uncut, &mut held_back);
    out.push_str(&end(screen, view, run.status));
    out.push('\n');
    out.push_str(&header(screen, run, verified, uncut.is_none()));
    out.push('\n');
    for row in &run.rows {
        out.push_str(&row_line(screen, row));
        if let Some(section) = held_back.get(&row.seq) {
            let _ = writeln!(out, "{section}");
        }
    }
    if !view.calls().is_empty() {
        let _ = writeln!(out, "\n{}", calls(view));
    }
    let is_open = view.outcome().is_none();
    let none = if is_open {
        "no result yet"
    } else {
        "no result"
    };
    let machine = view.machine();
    let machine = machine.filter(|_| run.status == Some(RunStatus::Died));
    let is_gone = run.refusal == Some(AnswerRefusal::QuestionGone);
    let waits = if run.refusal.is_some() {
        "waited"
    } else {
        "waits"
    };
    let lost = machine.map(|machine| view.lost_calls(machine, run.above.ends));
    let lost = lost.unwrap_or_default();
    let awaited = view.approvals().awaited().filter(|_| is_open);
    for (number, call) in view.calls() {
        let awaits = awaited.filter(|(waiting, _)| waiting == number);
        let answer = run.approval.and_then(ApprovalStatus::answer);
        let awaits = awaits.map(|(_, hash)| {
            let (what, seen, text) = match &call.question {
                Some(question) => ("its server's question", question, line(question)),
                None => ("its arguments", &call.arguments, String::new()),
            };
            let length = counted(seen.len(), "byte");
            let bound = format!("{what}, {length}, blake3 {hash}");
            let bound = match text.as_str() {
                "" => bound,
                text => format!("{bound}: {text}"),
            };
            match answer {
                Some(answer) => format!("{answer} by a person, not taken by the run yet: {bound}"),
                None if call.question.is_some() => format!("{waits} for an answer to {bound}"),
                None => format!("{waits} for an approval of {bound}"),
            }
        });
        let is_lost = lost.iter().any(|(lost, _)| lost == number);
        let awaits = awaits.filter(|_| !is_lost && !is_gone);
        let none = if is_lost { "result lost" } else { none };
        let ended = ended(call).or(awaits).unwrap_or_else(|| none.to_owned());
        let arguments = brief(&call.arguments, 200);
        let name = if call.name.is_empty() {
            "a call".to_owned()
        } else {
            line(&call.name)
        };
        let _ = writeln!(out, "  {number}  {name} {arguments}");
        let _ = writeln!(out, "     {ended}");
        for asked in call.exchanges().map(exchange) {
            let _ = writeln!(out, "     {asked}");
        }
    }
    out.push_str(&files(view));
    out
}

/// Returns how a call ended, or why it was not started; `None` if neither is known.
fn ended(call: &Call) -> Option<String> {
    if call.is_started() {
        return call.reported().map(call_end);
    }
    Some(match call.approval? {
        ApprovalEnd::Allowed => return None,
        ApprovalEnd::Refused => {
            // A name in a key holds no white space, and no control character.
            let key = call.answered_by.as_deref();
            let who = key.and_then(|key| key.split('+').next());
            let who = who.map_or_else(|| "a person".to_owned(), line);
            let reason = call.reason.as_deref();
            let reason = reason.map_or_else(String::new, |why| format!(": {}", brief(why, 200)));
            format!("denied: approval, {who} refused it{reason}")
        }
        ApprovalEnd::Expired => "denied: approval, not answered in time".to_owned(),
        ApprovalEnd::Stopped => "not started: the run was stopped while it waited".to_owned(),
    })
}

/// Counts the calls; one that is still running has not failed.
fn calls(view: &RunView) -> String {
    let calls = || view.calls().values();
    let is_open = view.outcome().is_none();
    let unanswered = calls().filter(|call| call.is_started() && call.reported().is_none());
    let running = if is_open { unanswered.count() } else { 0 };
    let executions = calls().flat_map(|call| &call.executions);
    let failed = executions.filter(|execution| !execution.is_ok()).count();
    let failed = failed.saturating_sub(running);
    let mut out = format!("{}, {failed} failed", counted(view.calls().len(), "call"));
    if running > 0 {
        let _ = write!(out, ", {running} without a result yet");
    }
    let kept_back = calls().filter(|call| !call.is_started()).count();
    if kept_back > 0 {
        let _ = write!(out, ", {kept_back} not started");
    }
    out
}

fn header(screen: Screen, run: &ShownRun, verified: &str, full: bool) -> String {
    let view = &run.view;
    let contract = view.contract();
    let began = utc(view.started_unix_ms());
    let run_id = view.run_id().map_or("", RunId::as_str);
    let run_id = screen.paint_out(Style::Bold, run_id);
    let mut out = format!("run       {run_id}, begun {began} UTC\n");
    let _ = writeln!(
        out,
        "contract  {}, hash {}",
        line(contract.contract_id()),
        contract.contract_hash().short(16)
    );
    if let Some(forked) = forked(run) {
        let _ = writeln!(out, "parent    {}", line(&forked));
    }
    let start = view.start();
    if let Some(workspace) = &run.workspace {
        let workspace = line(&workspace.display().to_string());
        let _ = writeln!(out, "workspace {workspace}");
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
            let words = start.map(|start| start.intent_words.join(", "));
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
    let policy = if contract.asks_model() {
        format!("{policy} ({grounds}), {strict}, {completion}")
    } else {
        "one call, which must succeed".to_owned()
    };
    let _ = writeln!(out, "policy    {policy}");
    let targets: Vec<String> = (0..contract.targets.len())
        .map(|index| target_name(contract, u32::try_from(index).unwrap_or(u32::MAX)))
        .collect();
    let targets = if contract.asks_model() {
        targets.join(", ")
    } else {
        "none; the call is an input of the run".to_owned()
    };
    let _ = writeln!(out, "targets   {targets}");
    for address in view.addresses() {
        let (provider, is) = (line(&address.is.provider), line(&address.is.address));
        let since = match address.seq {
            0 => String::new(),
            seq => format!(", from entry {seq} on"),
        };
        let proxy = address.is.proxy.as_ref();
        let proxy = proxy.map_or_else(String::new, |proxy| format!(" through {}", line(proxy)));
        let _ = writeln!(out, "address   {provider} at {is}{proxy}{since}");
    }
    out.push_str(&servers(view));
    out.push_str(&not_up(view, full));
    out.push_str(&budgets(view));
    let head = view.head().map(|head| head.short(16)).unwrap_or_default();
    let _ = writeln!(
        out,
        "chain     {}, head {head}, {verified}",
        counted(view.entries(), "entry")
    );
    out
}

/// The run that this one was forked from. A file does not hold it, so only its head is known there.
fn forked(run: &ShownRun) -> Option<String> {
    if let Some(lineage) = &run.lineage {
        return Some(forked_from(lineage));
    }
    let parent = run.view.start()?.parent.as_ref()?;
    let (link, head) = (parent.link(), parent.head.short(16));
    Some(format!("{link} at the entry with the hash {head}"))
}

/// Shows the usage of each limit.
pub(super) fn budgets(view: &RunView) -> String {
    let (contract, used) = (view.contract(), view.counters());
    let mut out = String::new();
    let below = view.used_below();
    // What runs below used counts for the budget of the run above them, and is shown apart.
    let apart = |own: u64, below: u64| {
        let (own, below) = (grouped(own), grouped(below));
        format!(": {own} by this run, {below} by those below it")
    };
    let mut bar = |name: &str, used: u64, limit: Option<u64>, apart: Option<String>| {
        let apart = apart.unwrap_or_default();
        let shown = match limit {
            Some(limit) => format!(
                "{} {} of {}",
                filled(used, limit),
                grouped(used),
                grouped(limit)
            ),
            None => grouped(used),
        };
        let _ = writeln!(out, "{name:<9} {shown}{apart}");
    };
    let max_turns = Some(contract.max_turns.into());
    bar("turns", used.turns.into(), max_turns, None);
    bar(
        "requests",
        used.inferences,
        Some(contract.max_inferences),
        None,
    );
    bar(
        "tokens",
        used.tree_tokens(),
        Some(contract.max_tokens_consumed.0),
        below.map(|below| apart(used.tokens(), below.tokens)),
    );
    bar("calls", used.calls, contract.max_calls.run, None);
    let limit = contract.max_cost_micro_usd.as_ref().map(|limit| limit.0);
    let cost_below = below.filter(|below| below.cost_micro_usd > 0);
    if limit.is_some() || cost_below.is_some() {
        bar(
            "micro-usd",
            used.tree_cost_micro_usd(),
            limit,
            cost_below.map(|below| apart(used.cost_micro_usd, below.cost_micro_usd)),
        );
    }
    let total = Some(contract.total_timeout_ms);
    bar("ms", view.counted_ms(), total, None);
    let waited = view.waited_ms();
    if waited > 0 {
        let for_what = if contract.agents.is_empty() {
            "approvals"
        } else {
            "approvals and the ends of runs below"
        };
        let _ = writeln!(
            out,
            "waited    {} ms for {for_what}, which no timeout of a turn or the run counts",
            grouped(waited)
        );
    }
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
pub(crate) fn end(screen: Screen, view: &RunView, status: Option<RunStatus>) -> String {
    let Some(outcome) = view.outcome() else {
        return match status {
            Some(RunStatus::Running { pid: Some(pid) }) => {
                format!("no end yet: the run is in progress, process {pid} drives it\n")
            }
            Some(RunStatus::Running { pid: None }) => {
                "no end yet: the run is in progress\n".to_owned()
            }
            Some(RunStatus::Died) if view.is_suspended() => {
                "no end yet: suspended, no process drives the run\n".to_owned()
            }
            Some(RunStatus::Elsewhere) | None if view.is_suspended() => {
                "no end yet: suspended; resume it where it was started\n".to_owned()
            }
            Some(RunStatus::Died) => {
                "no end yet: its process died, and none drives the run\n".to_owned()
            }
            Some(RunStatus::Elsewhere) | None => {
                "no end yet: the run is in progress, or its process was cut off\n".to_owned()
            }
        };
    };
    let style = if outcome.class.is_success() {
        Style::Good
    } else {
        Style::Bad
    };
    let why = telemetry::why(view).unwrap_or_default();
    let unseen = telemetry::unseen_results(view);
    let unseen = unseen.map_or_else(String::new, |unseen| {
        let unseen = line(&unseen);
        let mut letters = unseen.chars();
        let first: String = letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        format!("{first}{}.\n", letters.as_str())
    });
    format!(
        "{}\n{} Exit code {}.\n{unseen}",
        screen.paint_out(style, &outcome.to_string()),
        line(&why),
        outcome.exit_code()
    )
}
