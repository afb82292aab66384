//! The output of the commands of a conversation. Does not know the conversation.

use std::fmt::Write as _;
use std::path::Path;

use monolith_core::contract::{ContractSpec, ExecutionContract};
use monolith_host::telemetry::cost;
use monolith_service::chat::{Turn, Used};
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::{counted, grouped, seconds};

pub(super) const HELP: &str = "\
/show    the last run
/tools   what the model may call
/undo    revert the file changes of the last message; again: of the one before
/forget  forget the last message and its answer
/cost    what this conversation has used
/quit    the end, as /exit and Ctrl-D
Ctrl-C   asks the answer to come to its end; a second one ends it at once
";

/// Returns the opening of a conversation: its contract, its model, and how to use it.
pub(super) fn opening_text(contract: &Path, spec: &ContractSpec) -> String {
    let contract = line(&contract.display().to_string());
    let mut models = spec.targets.iter().filter(|target| !target.summarizer);
    let first = models.next().map_or(String::new(), |target| {
        format!(" with {}/{}", line(&target.provider), line(&target.model))
    });
    let others = match models.count() {
        0 => String::new(),
        others => format!(", and {} after it", counted(others, "model")),
    };
    format!(
        "{contract}{first}{others}. Each message is a run. /help lists the commands, /quit ends."
    )
}

/// Lists the tools that the model may call, one per line.
pub(super) fn tools_text(contract: &ExecutionContract) -> String {
    let mut out = String::new();
    for tool in contract.exposed_tools() {
        let first = tool.description.lines().next().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}  {}", line(&tool.name), brief(first, 100));
    }
    if out.is_empty() {
        out.push_str("no tool may be called\n");
    }
    out
}

/// Reports a forgotten message: its run, and the run before it. `undos` is how many times `/undo` has to be typed for
/// its file changes.
pub(super) fn forgotten_text(
    gone: Option<&Turn>,
    last: Option<&Turn>,
    undos: Option<usize>,
) -> String {
    let Some(gone) = gone else {
        return "nothing to forget\n".to_owned();
    };
    let next = match last {
        Some(last) => format!("continues run {}", last.run_id),
        None => "starts a new conversation".to_owned(),
    };
    let stays = match undos {
        _ if !gone.executed => String::new(),
        Some(1) => {
            "changes made by its tools remain; /undo reverts file changes made by built-in tools\n"
                .to_owned()
        }
        Some(undos) => format!(
            "changes made by its tools remain; /undo reverts those of later runs first, and its own when typed {undos} times\n"
        ),
        None => "changes made by its tools remain, except those that /undo reverted\n".to_owned(),
    };
    format!(
        "run {} is removed from this conversation; the next message {next}\n{stays}",
        gone.run_id
    )
}

/// Returns the usage of a conversation so far.
pub(super) fn used_text(used: &Used) -> String {
    format!(
        "{}, {} in, {} out, {}, {}\n",
        counted(used.runs, "run"),
        counted(used.tokens_in, "token"),
        grouped(used.tokens_out),
        cost(used.unpriced, used.cost_micro_usd),
        seconds(used.elapsed_ms)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_host::telemetry::{AgentResult, ResultCounters};

    #[test]
    fn a_conversation_opens_with_its_contract_and_its_models() {
        let check = |targets: &str, expect: &str| {
            let text = format!(
                "targets: [{targets}]\nproviders: {{p: {{type: openai}}, q: {{type: openai}}}}"
            );
            let spec = ContractSpec::parse("a.yaml", &text, &[]).unwrap();
            let opening = opening_text(Path::new("a.yaml"), &spec);
            let (names, _) = opening.split_once(". Each message").unwrap();
            assert_eq!(names, expect);
        };
        check("{provider: p, model: m}", "a.yaml with p/m");
        check(
            "{provider: p, model: m}, {provider: q, model: n}",
            "a.yaml with p/m, and 1 model after it",
        );
    }

    #[test]
    fn what_was_used_adds_up() {
        let mut used = Used::default();
        let mut result = AgentResult::without_run(0, "", String::new(), 0);
        result.counters = ResultCounters {
            cost_micro_usd: 1_500_000,
            elapsed_ms: 1_200,
            tokens_in: 1_000,
            tokens_out: 20,
            ..ResultCounters::default()
        };
        used.add(&result);
        used.add(&result);
        assert_eq!(
            used_text(&used),
            "2 runs, 2,000 tokens in, 40 out, 3.000000 USD, 2.400s\n"
        );
    }
}
