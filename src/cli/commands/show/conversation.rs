//! The conversation of a run for people: the task, what the model wrote and called, what came back, the answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::ui::screen::{Screen, Style};
use monolith_core::message::{AgentMessage, Role};
use monolith_core::view::RunView;
use monolith_service::text::escape::{brief, text};
use monolith_service::text::numbers::{counted, dollars, seconds};
use monolith_service::view::shown_run::ShownRun;
use monolith_service::view::withheld::{KeptText, WithheldText};

/// Size limits of a result that is not requested in full.
const RESULT_LINES: usize = 8;
const RESULT_CHARS: usize = 600;
/// Maximum length of a call's arguments then.
const ARGUMENT_CHARS: usize = 400;

/// Says that no text was held back.
pub(super) const NONE_WITHHELD: &str = "\nNo text was held back.\n";

/// The conversation, the answer, and what they took; `uncut` is what shows it whole, and without it nothing is cut. Of `withheld`, which has texts that were held back by their entries,
/// it takes those whose message has no other text.
pub(super) fn conversation(
    screen: Screen,
    run: &ShownRun,
    uncut: Option<&str>,
    withheld: &mut BTreeMap<u64, String>,
) -> String {
    let mut out = String::new();
    let full = uncut.is_none();
    let task = task_of(&run.conversation, run.opening);
    let mut names = BTreeMap::new();
    let first = if full { 0 } else { task.unwrap_or(0) };
    let left_out = run.conversation.iter().take(first);
    let left_out = left_out.filter(|message| message.role != Role::System);
    let left_out = left_out.count();
    if let (1.., Some(uncut)) = (left_out, uncut) {
        let earlier = counted(left_out, "earlier message");
        let _ = writeln!(out, "{earlier}; {uncut} shows them too\n");
    }
    let answer = run.answer.as_deref().map(str::trim);
    let answered = answer.and_then(|answer| {
        let mut last = run.conversation.iter().enumerate().rev();
        last.find(|(at, message)| {
            *at >= run.opening
                && message.role == Role::Assistant
                && message.content.trim() == answer
        })
    });
    let answered = answered.map(|(at, _)| at);
    let discarded = |at: usize| {
        let of_place = run.discarded.iter().filter(|_| full);
        let of_place = of_place.filter(move |(before, _)| *before == at);
        of_place.map(|(_, written)| {
            let title = "model (discarded: the attempt failed)";
            let title = screen.paint_out(Style::Bold, title);
            format!("{title}\n{}\n", indented(written.trim_end()))
        })
    };
    for (at, message) in run.conversation.iter().enumerate() {
        out.extend(discarded(at));
        for call in &message.tool_calls {
            names.insert(call.id.as_str(), call.name.as_str());
        }
        if at < first || message.role == Role::System && !full {
            continue;
        }
        let title = match message.role {
            Role::System => "system".to_owned(),
            Role::User if Some(at) == task => "task".to_owned(),
            Role::User if at < run.opening => "user".to_owned(),
            Role::User => "notice".to_owned(),
            Role::Assistant if Some(at) == answered => "answer".to_owned(),
            Role::Assistant => "model".to_owned(),
            Role::Tool => {
                let call = message.tool_call_id.as_deref();
                let name = call.and_then(|id| names.get(id)).copied();
                format!("result of {}", brief(name.unwrap_or("a call"), 200))
            }
        };
        let uncut = uncut.filter(|_| message.role == Role::Tool);
        let no_text = || match run.held_back.get(&at) {
            None => "  (no text)\n".to_owned(),
            Some((seq, bytes)) => match withheld.remove(seq) {
                Some(section) => section.trim_start_matches('\n').to_owned(),
                None => format!("  ({} held back: --withheld)\n", counted(*bytes, "byte")),
            },
        };
        let came = message.tool_call_id.as_ref().filter(|_| at >= run.opening);
        let came = came.and_then(|id| run.malformed.get(id));
        // The model was sent that the call failed; what came back instead of a result is shown.
        let message = match came {
            Some(came) => &Arc::new(AgentMessage {
                content: came.clone(),
                ..AgentMessage::clone(message)
            }),
            None => message,
        };
        out.push_str(&block(screen, &title, message, (full, uncut), no_text));
    }
    out.extend(discarded(run.conversation.len()));
    if let Some(answer) = answer.filter(|answer| answered.is_none() && !answer.is_empty()) {
        let _ = writeln!(out, "{}", screen.paint_out(Style::Bold, "answer"));
        out.push_str(&indented(answer));
        out.push('\n');
    }
    out.push_str(&used(&run.view));
    out
}

/// Returns the run's usage, in one line.
fn used(view: &RunView) -> String {
    let used = view.counters();
    let cost = (used.cost_micro_usd > 0).then(|| format!(", {}", dollars(used.cost_micro_usd)));
    let below = view.used_below().map(|below| {
        let all = view.used_with_below();
        let cost = (below.cost_micro_usd > 0).then(|| format!(", {}", dollars(all.cost_micro_usd)));
        let (tokens, cost) = (counted(all.tokens, "token"), cost.unwrap_or_default());
        format!("with what is below it: {tokens}{cost}\n")
    });
    format!(
        "{}, {}, {}, {}{} in {}\n{}",
        counted(used.turns, "turn"),
        counted(used.inferences, "request"),
        counted(used.calls, "call"),
        counted(used.tokens(), "token"),
        cost.unwrap_or_default(),
        seconds(view.at_ms()),
        below.unwrap_or_default()
    )
}

/// The last message of the user before the run begins.
fn task_of(conversation: &[Arc<AgentMessage>], opening: usize) -> Option<usize> {
    let opening = conversation.iter().take(opening).enumerate();
    let mut of_user = opening.filter(|(_, message)| message.role == Role::User);
    of_user.next_back().map(|(at, _)| at)
}

/// One message, cut where something shows it uncut; `no_text` replaces the text where a message of the model has no text and no calls.
fn block(
    screen: Screen,
    title: &str,
    message: &AgentMessage,
    (full, uncut): (bool, Option<&str>),
    no_text: impl FnOnce() -> String,
) -> String {
    let mut out = format!("{}\n", screen.paint_out(Style::Bold, title));
    let content = message.content.trim_end();
    if let Some(uncut) = uncut {
        out.push_str(&shortened(content, uncut));
    } else if !content.is_empty() {
        out.push_str(&indented(content));
    } else if message.role == Role::Assistant && message.tool_calls.is_empty() {
        out.push_str(&no_text());
    }
    if let Some(reasoning) = message.reasoning.as_deref().filter(|_| full) {
        let reasoning = indented(&format!("(reasoning) {reasoning}"));
        out.push_str(&screen.paint_out(Style::Dim, reasoning.trim_end()));
        out.push('\n');
    }
    for call in &message.tool_calls {
        let most = if full { usize::MAX } else { ARGUMENT_CHARS };
        let name = brief(&call.name, 200);
        let _ = writeln!(out, "  → {name} {}", brief(call.arguments.as_str(), most));
    }
    out.push('\n');
    out
}

/// The first lines of a result, and how much is left out.
fn shortened(content: &str, uncut: &str) -> String {
    let lines: Vec<&str> = content.lines().take(RESULT_LINES).collect();
    let shown: String = lines.join("\n").chars().take(RESULT_CHARS).collect();
    let mut out = if shown.is_empty() {
        "  (empty)\n".to_owned()
    } else {
        indented(&shown)
    };
    let rest = content.len().saturating_sub(shown.len());
    if rest > 0 && shown.len() < content.len() {
        let rest = counted(rest, "byte");
        let _ = writeln!(out, "  … {rest} more; {uncut} shows all");
    }
    out
}

/// A text that the token gate held back. It is evidence: it has its own title, and is never called an answer.
pub(super) fn withheld_section(screen: Screen, seq: u64, withheld: &WithheldText) -> String {
    let bytes = counted(withheld.bytes, "byte");
    let title = format!("held back, entry {seq}, {bytes}");
    let title = screen.paint_out(Style::Bold, &title);
    let text = match &withheld.text {
        KeptText::Here(text) => indented(text),
        KeptText::Erased => "  (erased)\n".to_owned(),
        KeptText::NotExported => "  (not in this file; export --withheld includes it)\n".to_owned(),
    };
    format!("\n{title}: written before a call was validated, so it is no answer\n{text}")
}

/// Every line two characters in.
fn indented(content: &str) -> String {
    let mut out = String::new();
    for line in text(content).lines() {
        let _ = writeln!(out, "{}", format!("  {line}").trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_and_the_cut_is_counted() {
        let shortened = |content: &str| shortened(content, "--full");
        let check = |content: &str, expect: &str| assert_eq!(shortened(content), expect);
        check("", "  (empty)\n");
        check("one\ntwo", "  one\n  two\n");
        let lines = "x\n".repeat(RESULT_LINES + 2);
        let expect = format!(
            "{}  … 4 bytes more; --full shows all\n",
            "  x\n".repeat(RESULT_LINES)
        );
        check(lines.trim_end(), &expect);
        let long = "é".repeat(RESULT_CHARS + 1);
        assert!(shortened(&long).ends_with("  … 2 bytes more; --full shows all\n"));
    }

    #[test]
    fn what_a_result_holds_cannot_move_the_cursor() {
        assert_eq!(indented("a\u{1b}[2Jb"), "  a\\u{1b}[2Jb\n");
    }
}
