//! The invariants of every run's result document, whatever its case expects (000 §2, §4, §5, §6).

use serde_json::Value;

use monolith_core::contract::{Completion, ExecutionContract, ToolTransport};
use monolith_core::kernel::{Outcome, Run};
use monolith_core::message::{AgentMessage, Role};
use monolith_core::view::RunView;
use monolith_host::telemetry::{AccountingLine, AgentResult, ExitTag};

/// Prefix of every ephemeral notice; no notice enters the conversation.
const NOTICE: &str = "System notice: ";

/// The result of a call in the closing turn.
const WITHHELD: &str = "(tool failed: tools are withheld)";

/// Everything that is wrong; empty is good. `opening` is how many messages the conversation began with.
pub(super) fn broken(run: &Run, view: &RunView, opening: usize) -> Vec<&'static str> {
    let mut result = AgentResult::of_run(run, view);
    let added = result.conversation.iter().skip(opening);
    let spoken = added.filter(|message| message.role == Role::Assistant);
    let spoken = u32::try_from(spoken.count()).unwrap_or(u32::MAX);
    // As other programs see it. The conversation is judged below, as it is: its arguments may hold numbers that no `Value` holds.
    result.conversation.clear();
    let document = serde_json::to_value(&result).unwrap_or_default();
    let outcome = run.outcome();
    let mut broken = Vec::new();
    let mut must = |holds: bool, what: &'static str| {
        if !holds {
            broken.push(what);
        }
    };
    must(
        outcome.is_some_and(|outcome| ends_as(&document, view, outcome)),
        "success, status, reason, error, exit code and tag say the same (000 §2, §5)",
    );
    must(
        accounts_for_everything(run, &AccountingLine::of_run(view)),
        "each request and each started call has one entry, and their costs are the run's (000 §4)",
    );
    must(
        spoken <= run.counters().turns && run.counters().turns <= run.contract().max_turns,
        "the result has at most one message of the model for each turn (000 §9)",
    );
    must(
        view.ended().len() == view.activities().len(),
        "where the run ends every entry is final (000 §4)",
    );
    must(
        in_order(run, opening, outcome.is_some_and(|o| o.class.is_success())),
        "system, user, then assistant and tool in turn; no notice; an answer last (000 §6)",
    );
    broken
}

fn ends_as(document: &Value, view: &RunView, outcome: Outcome) -> bool {
    let success = outcome.class.is_success();
    let report = &document["finalReport"];
    let reason = report.pointer("/metadata/reason").and_then(Value::as_str);
    let said = report["content"]
        .as_str()
        .is_some_and(|text| !text.trim().is_empty());
    let error = document["error"].as_str();
    document["success"] == success
        && document["exit_code"] == outcome.exit_code()
        && (outcome.exit_code() == 0) == success
        && document["exit_tag"] == ExitTag::of_run(view, outcome).as_str()
        && (document["exit_tag"] == ExitTag::FinalAnswer.as_str()) == success
        && report["status"] == if success { "success" } else { "failure" }
        && (success || (said && reason == Some(outcome.code.as_str())))
        && error.is_some() != success
        && error.is_none_or(|error| error.starts_with(&outcome.to_string()))
}

fn accounts_for_everything(run: &Run, lines: &[AccountingLine]) -> bool {
    let counters = run.counters();
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

fn in_order(run: &Run, opening: usize, success: bool) -> bool {
    let conversation = run.conversation();
    let contract = run.contract();
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
                before.role != Role::Assistant || stays_silent(contract, before)
            }),
        };
        if !fits {
            return false;
        }
        before = Some(message);
    }
    let native = contract.tool_transport == ToolTransport::Native;
    // Calls beside a report run before it counts, and those of withheld tools are refused: both are answered behind it.
    let spoke = added.iter().rposition(|message| message.role != Role::Tool);
    let (spoken, withheld) = added.split_at(spoke.map_or(0, |at| at + 1));
    let answered = spoken
        .last()
        .is_some_and(|last| last.role == Role::Assistant)
        && (run.final_report().is_some()
            || withheld.iter().all(|message| message.content == WITHHELD));
    systems_first && task && (!success || !native || answered)
}

/// True if another message may follow this message of the model: it only thought, or a final report is still to come.
fn stays_silent(contract: &ExecutionContract, message: &AgentMessage) -> bool {
    let thought = message.content.trim().is_empty() && message.tool_calls.is_empty();
    thought || contract.completion == Completion::FinalReport
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use monolith_core::contract::ContractSpec;
    use monolith_core::kernel::EntryDraft;
    use monolith_core::message::RunId;
    use monolith_core::session::{Control, RedactionKey};
    use monolith_core::transcript::SealedEntry;
    use monolith_core::view::Entry;
    use monolith_host::driver::{self, Environment, NoObserver, Observer, RunRequest};
    use monolith_host::store::{Durability, Store};

    const CONTRACT: &str = "\
task: Which licence?
system: Be brief.
targets: [{provider: demo, model: script}]
providers: {demo: {type: scripted, file: s.jsonl}}
tools: {builtin: [echo]}
max_turns: 4
prices: {version: a, models: {demo: {script: {input: 1, output: 2}}}}
";

    struct Watcher {
        opening: usize,
        view: Option<RunView>,
    }

    impl Observer for Watcher {
        fn below(&mut self, _: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> {
            Box::new(NoObserver)
        }

        fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
            if sealed.seq == 0 {
                self.opening = run.conversation().len();
            }
            let contract = || Arc::clone(run.contract());
            let view = self.view.get_or_insert_with(|| RunView::new(contract()));
            view.take(Entry::sealed(draft, sealed.hash));
        }
    }

    /// Generates model output, as a line of a script.
    fn line() -> impl Strategy<Value = String> {
        let said = |message: Value, finish: &str| {
            let choice = json!({"index": 0, "message": message, "finish_reason": finish});
            let usage = json!({"prompt_tokens": 30, "completion_tokens": 3});
            json!({"response": {"choices": [choice], "usage": usage}})
        };
        let text = move |text: &str, finish: &str| {
            said(json!({"role": "assistant", "content": text}), finish)
        };
        let calls = move |calls: &[(&str, &str)]| {
            let calls: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(n, (name, arguments))| {
                    json!({"id": format!("c{n}"), "type": "function",
                        "function": {"name": name, "arguments": arguments}})
                })
                .collect();
            let message = json!({"role": "assistant", "content": "so", "tool_calls": calls});
            said(message, "tool_calls")
        };
        let good = ("echo", r#"{"text":"a"}"#);
        let lines = [
            text("MIT.", "stop"),
            text("", "stop"),
            text("cut", "length"),
            text("no", "content_filter"),
            calls(&[good]),
            calls(&[good, good]),
            calls(&[("echo", "{}"), good]),
            calls(&[("nobody", "{}")]),
            calls(&[("echo", "[1]")]),
            said(
                json!({"role": "assistant", "content": null, "reasoning_content": "hm"}),
                "stop",
            ),
            json!({"status": 500, "response": "{}"}),
            json!({"status": 401, "response": {"error": {"message": "no"}}}),
            json!({"response": "nonsense"}),
            json!({"response": "", "fault": "reset"}),
        ];
        prop::sample::select(lines.map(|line| line.to_string()).to_vec())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// 000/2.output.1, 000/9.violations.4, 000/9.violations.5
        #[test]
        fn whatever_a_model_says_the_result_and_the_conversation_are_in_order(
            script in prop::collection::vec(line(), 1..9),
            policy in prop::sample::select(vec!["required", "optional", "forbidden"]),
            strict in any::<bool>(),
            cost in prop::sample::select(vec!["null", "50", "100000"]),
        ) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("s.jsonl"), script.join("\n")).unwrap();
            let sets = [
                format!("tool_policy={policy}"),
                format!("strict_mode={strict}"),
                format!("max_cost_micro_usd={cost}"),
            ];
            let spec = ContractSpec::parse("c.yaml", CONTRACT, &sets).unwrap();
            let key = RedactionKey::new([7; 32]);
            let request = RunRequest::new(spec, folder.path(), Environment::new(|_| None), key);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let (broken, end) = runtime.block_on(async {
                let store = Store::open(&folder.path().join("runs.db"), Durability::Normal).unwrap();
                let prepared = driver::prepare(request, &CancellationToken::new()).await.unwrap();
                let mut watcher = Watcher { opening: 0, view: None };
                let (_keep, control) = mpsc::channel(1);
                let finished = driver::drive(prepared, &store, control, &mut watcher).await.unwrap();
                let broken = broken(&finished.run, &watcher.view.unwrap(), watcher.opening);
                (broken, finished.run.outcome())
            });
            prop_assert!(broken.is_empty(), "{broken:?} where it ended {end:?} after {script:#?}");
        }
    }
}
