//! The selection of an agent for a task (INV-AGT-SEL-001 to 006): integers, no model, no randomness.

use crate::contract::{
    AgentId, AgentProfile, AgentScore, AgentSelection, Confidence, Signal, SignalKind,
};

use super::registry::Registry;

/// Hundredths for a task that is one of `exampleTasks`.
const EXACT_EXAMPLE: i64 = 60;
/// For a task that contains one.
const EXAMPLE: i64 = 40;
/// For a task that contains one of `notForTasks`.
const NOT_FOR: i64 = -50;
/// For each of `capabilities` that a task names.
const CAPABILITY: i64 = 10;
/// Maximum that counts.
const MOST_CAPABILITIES: usize = 3;
/// Confidence of the fallback.
const FALLBACK: i64 = 50;
/// Maximum number of recorded scores.
const MOST_RECORDED: usize = 16;

/// The agents that fit a task, the best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Number of selectable agents.
    pub considered: usize,
    /// At least one; sorted by confidence, and by the bytes of the id where that is the same.
    pub scores: Vec<AgentScore>,
    /// The selectable agents that do not fit, with the signals against them.
    pub unfit: Vec<AgentScore>,
}

impl Selection {
    /// The agent that is selected.
    pub fn best(&self) -> AgentId {
        let best = self.scores.first().map(|score| score.agent.clone());
        best.unwrap_or_else(|| AgentId::sanitized(AgentProfile::STANDARD))
    }

    /// As a contract records it.
    pub fn recorded(&self, registry: &Registry) -> AgentSelection {
        AgentSelection {
            considered: u64::try_from(self.considered).unwrap_or(u64::MAX),
            registry: registry.digest(),
            scores: self.scores.iter().take(MOST_RECORDED).cloned().collect(),
        }
    }
}

/// Selects among the enabled agents of a registry. An agent that nothing speaks for does not fit; where none does, `standard` is selected.
pub fn select(task: &str, registry: &Registry) -> Selection {
    let task = AgentProfile::normalized(task);
    let enabled = registry.registered().filter(|profile| profile.enabled);
    let all: Vec<AgentScore> = enabled.map(|profile| score(&task, profile)).collect();
    let considered = all.len();
    let fits = |score: &AgentScore| score.confidence > Confidence::clamped(0);
    let (mut scores, unfit): (Vec<_>, Vec<_>) = all.into_iter().partition(fits);
    scores.sort_by(|a, b| (b.confidence, &a.agent).cmp(&(a.confidence, &b.agent)));
    if scores.is_empty() {
        scores.push(AgentScore {
            agent: AgentId::sanitized(AgentProfile::STANDARD),
            confidence: Confidence::clamped(FALLBACK),
            signals: vec![Signal {
                adds: FALLBACK,
                kind: SignalKind::Fallback,
                matched: "no agent fits the task".to_owned(),
            }],
        });
    }
    Selection {
        considered,
        scores,
        unfit,
    }
}

/// Scores how well a profile fits a task, which is normalized.
fn score(task: &str, profile: &AgentProfile) -> AgentScore {
    let mut signals = Vec::new();
    let mut add = |kind, adds, matched: &str| {
        let matched = matched.to_owned();
        signals.push(Signal {
            adds,
            kind,
            matched,
        });
    };
    let is = |example: &&String| AgentProfile::normalized(example) == task;
    let contains = |example: &&String| {
        let example = AgentProfile::normalized(example);
        !example.is_empty() && task.contains(&example)
    };
    if let Some(example) = profile.example_tasks.iter().find(is) {
        add(SignalKind::ExactExample, EXACT_EXAMPLE, example);
    } else if let Some(example) = profile.example_tasks.iter().find(contains) {
        add(SignalKind::Example, EXAMPLE, example);
    }
    let named = profile.capabilities.iter();
    let named = named.filter(|name| names(task, name));
    for capability in named.take(MOST_CAPABILITIES) {
        add(SignalKind::Capability, CAPABILITY, capability.as_str());
    }
    if let Some(other) = profile.not_for_tasks.iter().find(contains) {
        add(SignalKind::NotFor, NOT_FOR, other);
    }
    AgentScore {
        agent: profile.id.clone(),
        confidence: Confidence::clamped(signals.iter().map(|signal| signal.adds).sum()),
        signals,
    }
}

/// True if a task has the words of a name side by side: `code-review` is named by "a code review".
pub(super) fn names(task: &str, name: &AgentId) -> bool {
    let words = task.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let name: Vec<&str> = name.as_str().split('-').collect();
    words.windows(name.len()).any(|window| window == name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Digest;

    fn agent(id: &str, examples: &[&str], not_for: &[&str], can: &[&str]) -> AgentProfile {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let digest = Digest::of(id.as_bytes());
        AgentProfile {
            capabilities: can.iter().map(|name| AgentId::sanitized(name)).collect(),
            example_tasks: texts(examples),
            not_for_tasks: texts(not_for),
            ..AgentProfile::bare(AgentId::sanitized(id), "1".to_owned(), digest)
        }
    }

    fn registry(agents: Vec<AgentProfile>) -> Registry {
        let mut registry = Registry::default();
        for agent in agents {
            let _ = registry.create(agent);
        }
        registry
    }

    fn ranked(task: &str, agents: Vec<AgentProfile>) -> Vec<String> {
        let selection = select(task, &registry(agents));
        let scores = selection.scores.iter();
        scores
            .map(|score| format!("{} {}", score.agent, score.confidence))
            .collect()
    }

    /// 003/INV-AGT-SEL-005: an example that the task is adds 0.6, one that it contains 0.4, and only the better one counts.
    #[test]
    fn an_example_that_matches_adds_to_the_confidence() {
        let check = |task: &str, expect: &str| {
            let a = agent("a", &["Fix the bug", "fix"], &[], &[]);
            assert_eq!(ranked(task, vec![a]), [expect], "{task:?}");
        };
        check("Fix the bug", "a 0.60");
        check("  FIX  the\tbug. ", "a 0.60");
        check("Please fix the bug today", "a 0.40");
        check("Write a poem", "standard 0.50");
    }

    /// 003/INV-AGT-SEL-006: a task that it is not for takes 0.5, down to 0 and not below; strong signals leave it selectable.
    #[test]
    fn a_task_that_an_agent_is_not_for_takes_from_its_confidence() {
        let check = |task: &str, expect: &str| {
            let a = agent(
                "a",
                &["review the design", "review"],
                &["the design"],
                &["rust"],
            );
            assert_eq!(ranked(task, vec![a]), [expect], "{task:?}");
        };
        check("review the design", "a 0.10");
        check("review the design of rust", "standard 0.50");
        check("look at the design", "standard 0.50");
        let unfit = registry(vec![agent("a", &[], &["x"], &[])]);
        let unfit = select("x", &unfit).unfit;
        assert_eq!(unfit[0].confidence, Confidence::clamped(0));
        assert_eq!(unfit[0].signals[0].adds, -50);
    }

    /// 003/INV-AGT-SEL-004: there is always a result, and it is `standard` at 0.5 where none fits; a disabled agent never is one.
    #[test]
    fn without_a_match_the_standard_agent_is_selected() {
        assert_eq!(ranked("x", vec![]), ["standard 0.50"]);
        assert_eq!(
            ranked("", vec![agent("a", &["x"], &[], &[])]),
            ["standard 0.50"]
        );
        let mut disabled = agent("a", &["x"], &[], &[]);
        disabled.enabled = false;
        assert_eq!(ranked("x", vec![disabled]), ["standard 0.50"]);
    }

    /// 003/INV-AGT-SEL-003: the best comes first; the bytes of the id decide where two are alike.
    #[test]
    fn results_are_sorted_by_confidence_and_then_by_id() {
        let agents = vec![
            agent("b", &["x"], &[], &[]),
            agent("a", &["x"], &[], &[]),
            agent("a-b", &["x"], &[], &[]),
            agent("z", &["do x"], &[], &[]),
        ];
        assert_eq!(
            ranked("do x", agents),
            ["z 0.60", "a 0.40", "a-b 0.40", "b 0.40"]
        );
    }

    #[test]
    fn a_capability_is_named_by_its_words_and_counts_three_times_at_most() {
        let can = ["code-review", "rust", "sql", "http"];
        let check = |task: &str, expect: &str| {
            assert_eq!(
                ranked(task, vec![agent("a", &[], &[], &can)]),
                [expect],
                "{task:?}"
            );
        };
        check("a code review", "a 0.10");
        check("code-review, rust", "a 0.20");
        check("review code, trusted", "standard 0.50");
        check("code review rust sql http", "a 0.30");
    }

    /// 003/INV-AGT-SEL-001: ten thousand times the same.
    #[test]
    fn the_same_task_is_selected_alike_ten_thousand_times() {
        let agents = || {
            vec![
                agent("b", &["check the build"], &["deploy"], &["rust"]),
                agent("a", &["check"], &[], &["rust", "build"]),
                agent("c", &["check the build"], &[], &[]),
            ]
        };
        let task = "Check the build of rust";
        let first = select(task, &registry(agents()));
        assert_eq!(first.best().as_str(), "a");
        for turn in 0..10_000_usize {
            let mut agents = agents();
            // The order in which they were registered is no context.
            agents.rotate_left(turn % 3);
            assert_eq!(select(task, &registry(agents)), first);
        }
    }

    fn some_agent() -> impl Strategy<Value = AgentProfile> {
        let texts = || prop::collection::vec("[abc]( [abc]){0,2}", 0..4);
        let names = prop::collection::vec("[abc](-[abc])?", 0..4);
        ("[a-d]{1,2}", texts(), texts(), names, any::<bool>()).prop_map(
            |(id, examples, not_for, can, enabled)| {
                fn words(texts: &[String]) -> Vec<&str> {
                    texts.iter().map(String::as_str).collect()
                }
                let (examples, not_for, can) = (words(&examples), words(&not_for), words(&can));
                let mut agent = agent(&id, &examples, &not_for, &can);
                agent.enabled = enabled;
                agent
            },
        )
    }

    proptest! {
        /// 003/INV-AGT-SEL-001, 003/INV-AGT-SEL-002, 003/INV-AGT-SEL-003, 003/INV-AGT-SEL-004: for any registry and task.
        #[test]
        fn a_selection_is_sorted_in_range_never_empty_and_the_sum_of_its_signals(
            agents in prop::collection::vec(some_agent(), 0..8),
            task in "[abcABC .?]{0,12}",
        ) {
            let registry = registry(agents);
            let selection = select(&task, &registry);
            prop_assert!(!selection.scores.is_empty());
            let sorted = selection.scores.windows(2).all(|pair| {
                (pair[1].confidence, &pair[0].agent) < (pair[0].confidence, &pair[1].agent)
            });
            prop_assert!(sorted, "{selection:?}");
            for score in selection.scores.iter().chain(&selection.unfit) {
                let sum: i64 = score.signals.iter().map(|signal| signal.adds).sum();
                prop_assert_eq!(i64::from(score.confidence.hundredths()), sum.clamp(0, 100));
            }
            prop_assert_eq!(select(&task, &registry), selection);
        }
    }
}
