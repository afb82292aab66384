//! The budget of a run is that of all runs below it, too.

use serde_json::{Value, json};

use super::{asks, prompt, shown};
use crate::fixture::Fixture;

/// An agent whose answers are short: a whole one is set aside from its budget for each request.
const SHORT: &str = "sampling: {max_output_tokens: 15}\n";

/// An agent gets what its file states, at most what is left; one that states nothing half of what is left, and several equal parts.
#[test]
fn an_agent_gets_what_it_states_and_else_its_part_of_what_is_left() {
    let granted = |calls: usize, stated: &str| {
        let fixture = Fixture::new();
        let stated = format!("{SHORT}{stated}");
        fixture.agent("scout", &stated, &asks(&[], "found")[1..]);
        let ask = ("agent__scout", prompt("go"));
        let asked = vec![ask; calls];
        let lead = "agents: [scout.yaml]\nmax_tokens_consumed: 10060\n";
        fixture.agent("lead", lead, &asks(&asked, "told"));
        fixture.leads();
        let of = |call: usize| {
            let contract = fixture.contract_of(&format!("lead.{call}"));
            contract.max_tokens_consumed.0
        };
        (1..=calls).map(of).collect::<Vec<_>>()
    };
    // The message that calls them has used 60.
    assert_eq!(granted(1, ""), [5_000]);
    assert_eq!(granted(2, ""), [5_000, 5_000]);
    assert_eq!(granted(4, ""), [2_500; 4]);
    assert_eq!(granted(1, "max_tokens_consumed: 700\n"), [700]);
    // Each has used 60 before the next begins.
    assert_eq!(granted(2, "max_tokens_consumed: 20000\n"), [10_000, 9_940]);
}

/// B3: an agent ends within its own budget, and the run above is charged for what it used.
#[test]
fn an_agent_that_uses_its_budget_up_fails_alone_and_is_charged() {
    let fixture = Fixture::new();
    let says = asks(&[("clock", json!({}))], "Noon.");
    fixture.agent(
        "clock",
        &format!("{SHORT}tools: {{builtin: [clock]}}\nmax_tokens_consumed: 100\n"),
        &says,
    );
    let calls = asks(
        &[("agent__clock", prompt("What time is it?"))],
        "It failed.",
    );
    fixture.agent("lead", "agents: [clock.yaml]\n", &calls);
    let result = fixture.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let [child] = fixture.children_of("lead").try_into().unwrap();
    assert_eq!(
        child.outcome.to_string(),
        "FAILED_BUDGET_EXHAUSTED (max_tokens)"
    );
    assert_eq!(child.tokens, 60);
    let shown = shown(&result);
    assert!(shown[0].contains("FAILED_BUDGET_EXHAUSTED"), "{shown:?}");
}

/// A budget that agents together would pass is refused before the one that would pass it.
#[test]
fn the_agent_that_would_pass_the_budget_is_not_begun() {
    let fixture = Fixture::new();
    fixture.agent(
        "scout",
        &format!("{SHORT}max_tokens_consumed: 100\n"),
        &asks(&[], "found")[1..],
    );
    let ask = ("agent__scout", prompt("go"));
    // 60 for the message, 60 for each of the first three; then less is left than a prompt takes.
    let lead = "agents: [scout.yaml]\nmax_tokens_consumed: 245\n";
    fixture.agent("lead", lead, &asks(&vec![ask; 5], "told"));
    let result = fixture.leads();
    let shown = shown(&result);
    assert_eq!(fixture.children_of("lead").len(), 3, "{shown:?}");
    assert!(shown[3].starts_with("(tool failed: budget: "), "{shown:?}");
    assert!(shown[3].ends_with(" needed, 5 left)"), "{shown:?}");
}

/// The advice is about the budget that kept the agent from beginning, not about a model that makes no calls.
#[test]
fn advice_for_an_agent_without_budget_names_the_budget() {
    let fixture = Fixture::new();
    fixture.agent("scout", "", &asks(&[], "found")[1..]);
    let calls = asks(&[("agent__scout", prompt("go"))], "It failed.");
    let lead = "agents: [scout.yaml]\ntool_policy: required\ntool_proof: lineage\n";
    fixture.agent("lead", lead, &calls);
    let budget = ["--set", "max_tokens_consumed=5000"];
    let said = fixture.run(&super::lead(&budget)).err;
    for part in [
        " tokens needed (",
        "or a larger max_tokens_consumed for the run that calls it",
        "= help: agent__scout was called, and its run did not begin: remove the cause that the error names, then monolith continue lead ",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    for other in ["text_profile", "grammar_profile", "fewer agents"] {
        assert!(!said.contains(other), "{other}\n{said}");
    }
}

/// Two hundred agents at once, on however many processors: each within its part, none begun twice, and the whole tree verifies.
#[test]
fn two_hundred_agents_at_once_stay_within_the_budget_of_one_run() {
    /// A message holds at most 128 calls.
    const MANY: usize = 100;
    let fixture = Fixture::new();
    fixture.agent("scout", SHORT, &asks(&[], "found")[1..]);
    let beside = |agent: &str| {
        format!(
            "agents: [{agent}.yaml]\nmax_tool_calls_per_turn: {MANY}\nparallel_tool_calls: true\n\
             parallel_safe: [agent__{agent}]\n"
        )
    };
    let ask = ("agent__scout", prompt("go"));
    fixture.agent("middle", &beside("scout"), &asks(&vec![ask; MANY], "told"));
    let lead = format!("{}max_tokens_consumed: 100000\n", beside("middle"));
    let ask = ("agent__middle", prompt("go"));
    fixture.agent("lead", &lead, &asks(&[ask.clone(), ask], "told"));
    let ended = fixture.run(&super::lead(&["--json"]));
    let result = ended.document();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let middle = fixture.children_of("lead");
    let used: Vec<u64> = middle.iter().map(|child| child.tokens).collect();
    assert_eq!(used, [60 * 102; 2]);
    for call in 1..=2 {
        let run = format!("lead.{call}");
        let below = fixture.children_of(&run);
        assert_eq!(below.len(), MANY);
        // An equal part of what its message had left.
        let given = fixture.contract_of(&run).max_tokens_consumed.0;
        let part = fixture
            .contract_of(&format!("{run}.7"))
            .max_tokens_consumed
            .0;
        assert_eq!(part, (given - 60) / 100);
    }
    let (code, tree) = fixture.json(&["verify", "lead", "--tree"]);
    assert_eq!((code, Fixture::tree_names(&tree).len()), (0, 2 * MANY + 3));
}

/// 11: agents side by side whose models report the usage of long answers, once they have come.
fn reports(fixture: &Fixture, agents: usize, (prompt_tokens, answer): (u64, u64)) -> Value {
    let call = |n: usize| {
        let call = json!({"id": format!("c{n}"), "type": "function", "function": {"name": "clock", "arguments": "{}"}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let usage = json!({"prompt_tokens": prompt_tokens, "completion_tokens": answer, "total_tokens": prompt_tokens + answer});
        json!({"response": {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}})
            .to_string()
    };
    let file =
        "sampling: {max_output_tokens: 1000}\ntools: {builtin: [clock]}\nmax_identical_calls: 50\n";
    fixture.agent("scout", file, &[]);
    fixture.write(
        "scout.jsonl",
        &(0..20).map(call).collect::<Vec<_>>().join("\n"),
    );
    let lead = format!(
        "agents: [scout.yaml]\nmax_tool_calls_per_turn: {agents}\nparallel_tool_calls: true\n\
         parallel_safe: [agent__scout]\nmax_tokens_consumed: 10060\n"
    );
    let ask = ("agent__scout", prompt("go"));
    fixture.agent("lead", &lead, &asks(&vec![ask; agents], "told"));
    let ended = fixture.run(&super::lead(&["--json"]));
    ended.document()
}

/// 11: what models report late never takes agents side by side past the budget of the run that began them.
#[test]
fn agents_side_by_side_stay_within_the_budget_whatever_their_last_answers_use() {
    for agents in [1, 4, 8] {
        let fixture = Fixture::new();
        let result = reports(&fixture, agents, (50, 1_000));
        let children = fixture.children_of("lead");
        assert_eq!(children.len(), agents, "{result}");
        let used: u64 = children.iter().map(|child| child.tokens).sum();
        assert!((1..=10_000).contains(&used), "{agents} agents used {used}");
        for child in &children {
            let end = child.outcome.to_string();
            assert_eq!(end, "FAILED_BUDGET_EXHAUSTED (max_tokens)");
        }
    }
}

/// B8: a model that reports more than `max_output_tokens` has the context window as its worst case, so its agent sends no second request.
#[test]
fn an_agent_whose_model_breaks_its_limit_sends_one_request() {
    for agents in [1, 2] {
        let fixture = Fixture::new();
        let result = reports(&fixture, agents, (50, 2_000));
        let children = fixture.children_of("lead");
        // Each has 5,000, so another request with an answer of 1,000 would fit.
        let used: Vec<u64> = children.iter().map(|child| child.tokens).collect();
        assert_eq!(used, vec![2_050; agents], "{result}");
    }
}

/// B8: a grant that allows not one request begins no run; the model reads how much is missing.
#[test]
fn a_grant_that_allows_no_request_is_refused_before_the_run() {
    let fixture = Fixture::new();
    fixture.agent("scout", "", &asks(&[], "found")[1..]);
    let lead = "agents: [scout.yaml]\nmax_tokens_consumed: 6000\n";
    fixture.agent(
        "lead",
        lead,
        &asks(&[("agent__scout", prompt("go"))], "told"),
    );
    let result = fixture.leads();
    assert!(fixture.children_of("lead").is_empty(), "{result}");
    let shown = shown(&result);
    assert!(
        shown[0].contains("budget: ") && shown[0].contains("an answer of 4096"),
        "{shown:?}"
    );
    assert!(shown[0].contains("2970 granted"), "{shown:?}");
}
