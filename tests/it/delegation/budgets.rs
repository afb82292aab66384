//! The budget of a run is that of all runs below it, too.

use serde_json::json;

use super::{asks, prompt, shown};
use crate::fixture::Fixture;

/// An agent gets what its file states, at most what is left; one that states nothing half of what is left, and several equal parts.
#[test]
fn an_agent_gets_what_it_states_and_else_its_part_of_what_is_left() {
    let granted = |calls: usize, stated: &str| {
        let fixture = Fixture::new();
        fixture.agent("scout", stated, &asks(&[], "found")[1..]);
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
        "tools: {builtin: [clock]}\nmax_tokens_consumed: 100\n",
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
        "max_tokens_consumed: 100\n",
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

/// Two hundred agents at once, on however many processors: each within its part, none begun twice, and the whole tree verifies.
#[test]
fn two_hundred_agents_at_once_stay_within_the_budget_of_one_run() {
    /// A message holds at most 128 calls.
    const MANY: usize = 100;
    let fixture = Fixture::new();
    fixture.agent("scout", "", &asks(&[], "found")[1..]);
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
