//! Random trees of runs whose models report what they used when their answers come: no run below another one uses more than it was granted.

use std::collections::BTreeMap;

use super::testing::*;
use super::tests_random::Dice;
use super::tests_variants::contracts::{priced, with_agents};
use super::{
    AgentOutcome, ChildEnd, DelegateOrder, Effect, EventKind, InferRequest, LostEffect, Outcome,
    OutcomeCode, State, ToolExposure, ToolReturned,
};
use crate::contract::{
    AgentLink, BigCount, DelegateTerms, DelegationGrant, DelegationTerms, Terms, ToolPolicy,
};
use crate::message::{
    CallSeq, Digest, InferenceSeq, ProviderFaultClass, RunId, ToolOutcome, Usage,
};

/// Tokens of a whole answer.
const ANSWER: u64 = 1_000;

/// A run of the tree.
struct Node {
    grant: Option<DelegationGrant>,
    harness: Harness,
    is_reported: bool,
    /// The run that delegated to it, with the call: its number, its id and its tool.
    parent: Option<(usize, CallSeq, String, String)>,
}

fn link(level: usize) -> AgentLink {
    AgentLink {
        digest: digest(level),
        id: None,
        name: format!("level {level}"),
    }
}

fn digest(level: usize) -> Digest {
    Digest::of(format!("level {level}").as_bytes())
}

/// The contract of a run at that depth, which may delegate to any number of agents at once.
fn terms_at(level: usize, max_tokens: u64, max_cost_micro_usd: Option<u64>) -> Terms {
    let agent = DelegateTerms {
        below: BTreeMap::new(),
        digest: digest(level + 1),
        file: "a.yaml".to_owned(),
        grant: None,
        id: None,
        least_tokens: 10,
        max_cost_micro_usd: None,
        max_tokens_consumed: None,
        total_timeout_ms: 600_000,
    };
    let terms = Terms {
        agents: BTreeMap::from([("agent__read".to_owned(), agent)]),
        delegation: Some(DelegationTerms {
            chain: (0..=level).map(link).collect(),
            granted: Vec::new(),
            max_depth: 3,
        }),
        max_attempts_per_turn: 3,
        max_cost_micro_usd: max_cost_micro_usd.map(BigCount),
        max_inferences: 30,
        max_tokens_consumed: BigCount(max_tokens),
        max_tool_calls_per_turn: 4,
        max_turns: 8,
        parallel_safe: vec!["read".to_owned()],
        parallel_tool_calls: true,
        ..priced(ToolPolicy::Optional)
    };
    with_agents(&["read"], terms)
}

struct Tree {
    dice: Dice,
    nodes: Vec<Node>,
}

impl Tree {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let max_tokens = 3_000 + dice.roll() % 40_000;
        let max_cost = (dice.below(2) == 0).then_some(max_tokens / 20);
        let mut tree = Self {
            dice,
            nodes: Vec::new(),
        };
        tree.add(terms_at(0, max_tokens, max_cost), None, None);
        tree
    }

    fn add(
        &mut self,
        terms: Terms,
        grant: Option<DelegationGrant>,
        parent: Option<(usize, CallSeq, String, String)>,
    ) {
        let mut harness = Harness::new(terms);
        if harness.state() == State::Precheck {
            harness.push(probed());
        }
        self.nodes.push(Node {
            grant,
            harness,
            is_reported: false,
            parent,
        });
    }

    fn depth(&self, at: usize) -> usize {
        self.nodes[at]
            .parent
            .as_ref()
            .map_or(0, |(above, ..)| self.depth(*above) + 1)
    }

    /// Begins what the last step of a run delegates.
    fn delegate(&mut self, at: usize) {
        let orders: Vec<DelegateOrder> = self.nodes[at]
            .harness
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Delegate(order) => Some(order.clone()),
                _ => None,
            })
            .collect();
        let level = self.depth(at) + 1;
        for DelegateOrder { grant, order, .. } in orders {
            let terms = terms_at(level, grant.max_tokens, grant.max_cost_micro_usd);
            let call = (at, order.call, order.invocation.id, order.invocation.name);
            self.add(terms, Some(grant), Some(call));
        }
    }

    /// The usage of each run together with its child runs, as their models reported it.
    fn used(&self) -> Vec<(u64, u64)> {
        let own = self.nodes.iter().map(|node| {
            let counters = node.harness.run.counters();
            let tokens = counters.tokens_in + counters.tokens_out + counters.tokens_cache_read;
            (tokens, counters.cost_micro_usd)
        });
        let mut used: Vec<(u64, u64)> = own.collect();
        // A run comes after the one that delegates to it.
        for at in (1..used.len()).rev() {
            let (tokens, cost) = used[at];
            if let Some((above, ..)) = self.nodes[at].parent {
                used[above].0 += tokens;
                used[above].1 += cost;
            }
        }
        used
    }

    /// Usage of one request, at most what may be asked of the model.
    fn usage(&mut self, request: &InferRequest) -> Usage {
        let whole = self.dice.below(2) == 0;
        let mut part = |most: u64| {
            if whole {
                most
            } else {
                self.dice.roll() % (most + 1)
            }
        };
        let input = part(request.expected_tokens);
        Usage {
            cache_read: 0,
            cache_write: part(input),
            cost_fault: false,
            cost_micro_usd: None,
            estimated: false,
            input,
            output: part(ANSWER),
        }
    }

    /// Lets a run take one step, where it can; false where it cannot.
    fn step(&mut self, at: usize) -> bool {
        let node = &mut self.nodes[at];
        if node.harness.outcome().is_some() {
            return self.report(at);
        }
        let until = node.harness.effects.iter().find_map(|effect| match effect {
            Effect::Wait { until_ms } => Some(*until_ms),
            _ => None,
        });
        if let Some(until_ms) = until {
            node.harness.push_at(until_ms, EventKind::TimerFired);
        } else if let Some(request) = node.harness.request().cloned() {
            let usage = self.usage(&request);
            let harness = &self.nodes[at].harness;
            let event = match self.dice.below(12) {
                0 => EventKind::EffectLost(LostEffect::Inference(request.inference)),
                1 => with_usage(
                    failed(request.inference, ProviderFaultClass::Network),
                    usage,
                ),
                n if n < 8 && request.tools != ToolExposure::Withheld => {
                    let agents = vec!["agent__read"; self.dice.below(4) + 1];
                    answered(harness, request.inference, calls(&agents), usage)
                }
                _ => answered(harness, request.inference, text("It is MIT."), usage),
            };
            self.nodes[at].harness.push(event);
        } else {
            return false;
        }
        self.delegate(at);
        true
    }

    /// Tells the run above the end of a run, once.
    fn report(&mut self, at: usize) -> bool {
        let node = &mut self.nodes[at];
        let (Some(outcome), Some((above, call, id, name)), false) = (
            node.harness.outcome(),
            node.parent.clone(),
            node.is_reported,
        ) else {
            return false;
        };
        node.is_reported = true;
        let run_id = RunId::try_from(format!("r.{at}")).unwrap();
        let child = ChildEnd::of(run_id, (1, Digest::ZERO), outcome, &node.harness.run);
        let envelope = if outcome.class.is_success() {
            envelope(&id, &name, "MIT")
        } else {
            error_envelope(&id, &name)
        };
        self.nodes[above]
            .harness
            .push(EventKind::ToolReturned(Box::new(ToolReturned {
                call,
                child: Some(Box::new(child)),
                exchanges: Vec::new(),
                outcome: ToolOutcome::Returned(envelope),
            })));
        self.delegate(above);
        true
    }
}

fn answered(
    harness: &Harness,
    inference: InferenceSeq,
    message: crate::message::AgentMessage,
    usage: Usage,
) -> EventKind {
    with_usage(
        returned(inference, harness.run.admit(native(message)).result),
        usage,
    )
}

fn with_usage(mut event: EventKind, usage: Usage) -> EventKind {
    match &mut event {
        EventKind::InferenceReturned(returned) => returned.usage = usage,
        EventKind::InferenceFailed(failed) => failed.usage = Some(usage),
        _ => {}
    }
    event
}

/// 11: the worst case is reserved at every level, so a tree passes a budget by no more than one run alone would.
#[test]
fn no_tree_passes_what_one_run_alone_may_use() {
    let (mut runs, mut tight) = (0, 0);
    for seed in 0..60 {
        let mut tree = Tree::new(seed);
        for _ in 0..2_000 {
            let at = tree.dice.below(tree.nodes.len());
            // Any run that can go on does, in any order.
            let nodes = tree.nodes.len();
            let moved = (0..nodes).any(|n| tree.step((at + n) % nodes));
            for (n, (node, (tokens, cost))) in tree.nodes.iter().zip(tree.used()).enumerate() {
                let Some(grant) = node.grant else {
                    let most = node.harness.run.contract().max_tokens_consumed.0 + ANSWER;
                    assert!(tokens <= most, "seed {seed}: {tokens} tokens of {most}");
                    continue;
                };
                assert!(
                    tokens <= grant.max_tokens,
                    "seed {seed}, run {n}: {tokens} tokens of {grant:?}"
                );
                let most = grant.max_cost_micro_usd.unwrap_or(u64::MAX);
                assert!(cost <= most, "seed {seed}, run {n}: {cost} of {grant:?}");
                tight += usize::from(tokens + ANSWER > grant.max_tokens && tokens > 0);
            }
            if !moved {
                break;
            }
        }
        assert!(
            tree.nodes[0].harness.outcome().is_some(),
            "seed {seed} has not ended"
        );
        runs += tree.nodes.len();
    }
    assert!(
        runs > 60 && tight > 0,
        "{runs} runs, {tight} near their grants"
    );
}

/// The end of a run that the call of an agent began, with what its models reported.
fn ended(call: u64, id: &str, tokens: u64) -> EventKind {
    let child = ChildEnd {
        cost_micro_usd: 0,
        entries: 1,
        head: Digest::ZERO,
        labels: None,
        outcome: Outcome::new(AgentOutcome::FailedBudgetExhausted, OutcomeCode::MaxTokens),
        run_id: RunId::try_from(format!("r.{call}")).unwrap(),
        tokens,
        tools_ok: 0,
    };
    EventKind::ToolReturned(Box::new(ToolReturned {
        call: CallSeq(call),
        child: Some(Box::new(child)),
        exchanges: Vec::new(),
        outcome: ToolOutcome::Returned(error_envelope(id, "agent__read")),
    }))
}

/// B8: once child runs together have used more than the budget, the others are ended: they send no further request.
#[test]
fn a_child_that_passes_the_budget_of_the_tree_ends_the_others() {
    for (tokens, ends) in [(50_000, true), (3_000, false)] {
        let mut h = Harness::new(terms_at(0, 10_000, None));
        h.push(probed());
        let request = h.request().expect("a request").clone();
        let message = calls(&["agent__read", "agent__read"]);
        let ids: Vec<String> = message.tool_calls.iter().map(|c| c.id.clone()).collect();
        h.push(answered(&h, request.inference, message, Usage::default()));
        h.push(ended(1, &ids[0], tokens));
        assert_eq!(h.effects.contains(&Effect::Cancel), ends, "{tokens}");
        h.push(ended(2, &ids[1], 10));
        if ends {
            assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (max_tokens)");
        } else {
            assert!(h.request().is_some(), "the next turn");
        }
    }
}

/// B8: a model that broke its limit once may fill the window the next time.
#[test]
fn after_an_answer_beyond_its_limit_a_granted_run_reserves_the_window() {
    for (output, goes_on) in [(ANSWER, true), (ANSWER + 1, false)] {
        let terms = Terms {
            max_tokens_consumed: BigCount(6_000),
            ..terms_at(1, 6_000, None)
        };
        assert!(terms.context_budget.context_window > 6_000);
        let mut h = Harness::new(terms);
        if h.state() == State::Precheck {
            h.push(probed());
        }
        let request = h.request().expect("a request").clone();
        let usage = Usage {
            output,
            ..Usage::default()
        };
        h.push(answered(&h, request.inference, text(" "), usage));
        assert_eq!(h.request().is_some(), goes_on, "{output}");
    }
}
